"""Evaluation of flows on confidential trips: how many are placed right, over many releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from geodp import progress
from geodp.advice import takes
from geodp.errors import UsageError
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.levels import FlowsOptions
from geodp.kinds.flows.publish import FlowsDesign, declare_prior, prepare_flows
from geodp.kinds.flows.zones import UnitZones, Zones, sum_pairs, zones_of
from geodp.privacy.key import NoiseKey
from geodp.privacy.loss import Budget
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.release.request import Request
from geodp.release.transaction import Prepared
from geodp.reprs import one_line
from geodp.table.counts import CountTable, ReleasedTable, coalesce
from geodp.tools.evaluate.evaluate import trial_key
from geodp.tools.evaluate.result import NOTICE
from geodp.typing import FloatArray, IntArray

SIDES = (1, 2, 4, 8)
"""Zones on a side of the squares between which trips are compared; of areal units, blocks of at
most their squares."""

TRIALS = 5
"""Default number of releases."""


@dataclass(frozen=True, eq=False)
class PairSums:
    """Trips between zones, of all labels together.

    Attributes
    ----------
    origin, destination, count : int64[n]
        Each pair of zones once, with trips above 0.
    """

    origin: IntArray = field(repr=False)
    destination: IntArray = field(repr=False)
    count: IntArray = field(repr=False)

    @classmethod
    def of(cls, zones: Zones, table: CountTable | ReleasedTable) -> PairSums:
        """Sum a table of pairs over its labels."""
        return cls(*sum_pairs(zones, table))

    @property
    def total(self) -> int:
        """Number of trips."""
        return int(self.count.sum())

    def between(self, of_zone: IntArray) -> tuple[IntArray, IntArray]:
        """Sum trips between blocks: numbers of their pairs, increasing, and trips: int64[n] each.

        ``of_zone``: block of each zone, int64[zones].
        """
        blocks = int(of_zone.max()) + 1
        place = of_zone[self.origin] * blocks + of_zone[self.destination]
        pair, trips = coalesce(place.view(np.uint64), self.count)
        return pair.view(np.int64), np.asarray(trips, np.int64)


def measure_flows(zones: Zones, true: PairSums, released: PairSums) -> dict[str, float]:
    """Compute how well released flows are placed.

    Returns
    -------
    dict
        By side of squares of zones (1, 2, 4, 8): ``right``, per cent of the trips that are in the
        right pair of squares, of the true trips, or of the released ones where these are more;
        ``common``, the common part of commuters in per cent, of the mean of both; ``error``, the
        mean absolute error of the pairs that have trips. Then per cent of the released pairs
        without a trip (``empty``), and of the pairs with trips that are released as 0
        (``missing``), and the mean length of released trips in per cent of the true one
        (``length``).
    """
    figures: dict[str, float] = {}
    # Of whichever has more trips, as a release of all possible trips would have none wrong.
    most, both = max(true.total, released.total, 1), max(true.total + released.total, 1)
    for side in SIDES:
        of_zone = zones.blocks(side).of_zone
        (place, trips), (other, made) = true.between(of_zone), released.between(of_zone)
        _, here, there = np.intersect1d(place, other, assume_unique=True, return_indices=True)
        found = np.zeros(trips.size, np.int64)
        found[here] = made[there]
        right = int(np.minimum(trips, found).sum())
        figures[f"right {side}"] = 100 * right / most
        figures[f"common {side}"] = 200 * right / both
        figures[f"error {side}"] = float(np.abs(trips - found).mean()) if trips.size else 0.0
        if side == 1:
            figures["empty"] = 100 * (1 - here.size / max(other.size, 1))
            figures["missing"] = 100 * (1 - here.size / max(place.size, 1))
    length = mean_length(zones, true)
    figures["length"] = 100 * mean_length(zones, released) / length if length else 100.0
    return figures


def mean_length(zones: Zones, flows: PairSums) -> float:
    """Compute the mean length of trips between the centres of zones, in the unit of zones.

    Trips from or to a zone that lies nowhere are left out.
    """
    length = _lengths(zones, flows.origin, flows.destination)
    some = np.isfinite(length)
    trips = int(flows.count[some].sum())
    return float((length[some] * flows.count[some]).sum()) / trips if trips else 0.0


def _lengths(zones: Zones, origin: IntArray, destination: IntArray) -> FloatArray:
    """Compute distances between the centres of zones: float64[n]; not a number: nowhere."""
    if isinstance(zones, UnitZones):
        apart = zones.places.point[origin] - zones.places.point[destination]
        return np.asarray(np.sqrt((apart**2).sum(axis=1)), np.float64)
    high, wide, _ = zones.steps
    down, across = (axis[origin] - axis[destination] for axis in (zones.row, zones.column))
    return np.asarray(np.hypot(down * high, across * wide), np.float64)


@dataclass(frozen=True, eq=False)
class FlowsEvaluation:
    """Figures of releases of flows on confidential trips, see :func:`evaluate`.

    Attributes
    ----------
    spends : str
        Budget of each release.
    contribution : int
        Most trips of one unit.
    trials : int
    zones : int
        Number of zones.
    sides : tuple of int
        Sides of the squares between which trips are compared.
    figures : dict
        Means over the releases; see :func:`measure_flows`.
    standard_errors : dict
        Of these means; None for one trial.
    public : bool
        Whether the caller asserted that the trips are public; otherwise this is confidential.
    """

    __repr__ = one_line

    spends: str
    contribution: int
    trials: int
    zones: int
    figures: Mapping[str, float] = field(repr=False)
    standard_errors: Mapping[str, float | None] = field(repr=False)
    public: bool = False
    sides: tuple[int, ...] = SIDES

    @property
    def notice(self) -> str | None:
        """Notice that accompanies every copy of a confidential evaluation."""
        return None if self.public else NOTICE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, the notice first."""
        head = {} if self.notice is None else {"notice": self.notice}
        return {
            **head,
            "confidential": not self.public,
            "spends": self.spends,
            "contribution": self.contribution,
            "trials": self.trials,
            "zones": self.zones,
            "sides": list(self.sides),
            "figures": dict(self.figures),
            "standard_errors": dict(self.standard_errors),
        }


@takes(FlowsOptions)
def evaluate(
    table: CountTable,
    /,
    *,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str | None = None,
    method: str | None = None,
    prior: Flows | CountTable | None = None,
    prior_source: str | None = None,
    trials: int = TRIALS,
    key: NoiseKey | None = None,
    public: bool = False,
    **options: Any,
) -> FlowsEvaluation:
    """Measure how well flows would be placed, by releases that nobody sees.

    Each release is compared with the trips of the table, as they were bounded; what bounding
    persons drops is not measured. The result is computed from the confidential trips and is not
    differentially private: it is for the operator only, unless the trips are public. Nothing is
    charged.

    Parameters
    ----------
    table : CountTable
        What :func:`geodp.flows.read_trips`, :func:`geodp.flows.read_stays` or
        :func:`geodp.flows.read_pings` has read.
    epsilon, rho, delta, neighbours, contribution, unit
        See :func:`geodp.flows.publish`.
    levels, expected_trips, concentrated, label_share, method, prior, prior_source
        See :func:`geodp.flows.publish`.
    trials : int
        Number of releases.
    key : NoiseKey, optional
        Makes the evaluation reproducible; no noise of it is that of a release with this key.
    public : bool
        You assert that the trips are public.

    Returns
    -------
    FlowsEvaluation

    Raises
    ------
    UsageError
        See :func:`geodp.flows.publish`; a table without trips, or no trial.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> key = np.random.default_rng(0).integers(0, 1 << 16, 5000).astype(np.uint64)
    >>> trips = geodp.CountTable.from_keys(grid.pairs(), key, np.ones(5000, np.int64))
    >>> one = geodp.flows.evaluate(trips, contribution=1, epsilon=1, trials=2, public=True)
    >>> 0 < one.figures["right 1"] < one.figures["right 8"] < 100
    True
    """
    if not isinstance(table, CountTable):
        raise UsageError(
            "flows.evaluate takes the trips that geodp.flows.read_trips, read_stays or read_pings "
            "has read.",
            code="flows-evaluate-table",
        )
    if unit is None:
        unit = (table.bound.unit if table.bound is not None else None) or "person"
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit)
    request = Request(terms=terms, method=method, key=key, allow_empty=True)
    declared = None
    if prior is not None:
        declared = declare_prior(Zones.of(zones_of(table.grid)), prior, prior_source)
    prepared = prepare_flows(table, request, FlowsOptions(**options), declared)
    return evaluate_prepared(prepared, table, trials, public=public)


def evaluate_prepared(
    prepared: Prepared[FlowsDesign, Flows],
    table: CountTable,
    trials: int = TRIALS,
    *,
    public: bool = False,
) -> FlowsEvaluation:
    """Evaluate a release of a table that is ready to be drawn; see :func:`evaluate`."""
    if not isinstance(trials, int) or trials < 1:
        raise UsageError("trials must be a whole number of at least 1.", code="flows-trials-few")
    design = prepared.design
    zones, whole = design.plan.zones, design.plan.whole
    true = PairSums.of(zones, table)
    if not true.total:
        raise UsageError(
            "There are no trips to compare releases with.", code="flows-evaluate-empty"
        )
    contents, found = prepared.identify(), []
    progress.begin("Evaluating", 1.0)
    for trial in range(trials):
        request = design.request
        key = None if request.key is None else trial_key(request.key, contents, trial)
        asked = replace(design, request=replace(request, key=key, ledger=None))
        drawn = replace(prepared, design=asked).release()
        found.append(measure_flows(zones, true, PairSums.of(zones, drawn.flows.table)))
        progress.part((trial + 1) / trials)
    values = {name: np.array([one[name] for one in found]) for name in found[0]}
    return FlowsEvaluation(
        spends=whole.spends,
        contribution=whole.contribution,
        trials=trials,
        zones=zones.number,
        figures={name: float(one.mean()) for name, one in values.items()},
        standard_errors={
            name: None if trials == 1 else float(one.std(ddof=1) / trials**0.5)
            for name, one in values.items()
        },
        public=public,
    )
