"""Pyramids that are nowhere worse than another method: planned, and simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.plan.families import Objectives, draw_families
from geodp.features.plan.objectives import choose_shares
from geodp.features.plan.plan import Plan, Planner
from geodp.features.plan.search import Candidate, improve
from geodp.features.plan.simulation import FRESH, ErrorRatio, PlanSimulation, Simulated
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.mechanisms.trees.levels import steps_of
from geodp.privacy.budget import Budget
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.reprs import one_line
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable

RELEASES = 4
"""Number of releases of each plan that is tried, and of the plans whose errors are reported."""

MOVES = 60
"""Number of neighbours that the search tries."""

FEW = 64
"""Minimal number of regions, over all releases, for a conclusive ratio."""

OTHERS = 0.1
"""Weight of the mean ratio, relative to the largest: it decides between equal plans."""

FAMILIES = Objectives.parse("squares=1,polygons=1,rectangles=1")


@dataclass(frozen=True, eq=False)
class Dominance:
    """A pyramid, compared with the method that it is to dominate.

    Attributes
    ----------
    plan : Plan
    ratios : dict of int to float
        Planned standard error divided by the other's, by cells of a block; empty if the other has
        no closed form.
    simulated : tuple of Ratio
        Ratios for squares of all sizes, polygons and rectangles, in releases of a public table that
        were not used for the choice; empty without a simulation.
    few : tuple of str
        Names of those with too few regions for a conclusion.
    description : str
        Description of the simulation.
    """

    __repr__ = one_line

    plan: Plan
    ratios: dict[int, float]
    simulated: tuple[ErrorRatio, ...] = ()
    few: tuple[str, ...] = ()
    description: str = ""

    @property
    def largest(self) -> float:
        """Largest planned ratio of aligned blocks.

        Without a closed form, the largest simulated ratio.
        """
        if self.ratios:
            return max(self.ratios.values())
        return max(ratio.largest for ratio in self.conclusive)

    @property
    def conclusive(self) -> tuple[ErrorRatio, ...]:
        """Simulated ratios of groups with enough regions."""
        return tuple(ratio for ratio in self.simulated if ratio.name not in self.few)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result of the simulation, and where the pyramid does not dominate."""
        if not self.simulated:
            return ()
        worst = max(self.conclusive, key=lambda ratio: ratio.largest)
        over = [ratio for ratio in self.conclusive if ratio.largest > 1]
        sentences = [
            f"Simulated on {self.description}: the largest ratio is {_format_ratio(worst)}, of "
            f"{worst.name}; other tables can have a larger one."
        ]
        if over:
            each = "; ".join(f"{ratio.name} {_format_ratio(ratio)}" for ratio in over)
            sentences.append(f"It does not dominate there: {each}.")
        if self.few:
            sentences.append(f"Too few to tell: {', '.join(self.few)}.")
        return tuple(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "largest_ratio": self.largest,
            "ratios": {str(cells): ratio for cells, ratio in self.ratios.items()},
            "simulated": [ratio.to_dict() for ratio in self.simulated],
            "too_few": list(self.few),
            "dominance": list(self.sentences),
        }


def _format_ratio(ratio: ErrorRatio) -> str:
    if ratio.mae >= ratio.rmse:
        return f"{ratio.mae:.3f} +- {ratio.mae_error:.3f} (mean absolute error)"
    return f"{ratio.rmse:.3f} +- {ratio.rmse_error:.3f} (root-mean-square error)"


def dominate(
    grid: Grid,
    other: str | Mechanism | Sequence[float],
    *,
    chain: str = "",
    prior: CountTable | ReleasedTable | None = None,
    releases: int | None = None,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    regions: Mapping[str, Any] | None = None,
) -> Dominance:
    """Choose a pyramid whose errors exceed those of a method nowhere, or nearly nowhere.

    For a method with a closed form, planned errors of aligned blocks are minimised first. Then, and
    for all other methods, both are run on a public table, and the largest ratio over squares,
    polygons and rectangles, and of planned errors, is minimised. The reported ratios come from new
    simulations.

    Parameters
    ----------
    grid : Grid
    other : str, Mechanism or sequence of float
        A method; or standard errors of blocks of 1, 2, 4 ... cells, or of 1, 4, 16 ... cells, which
        do not restrict the sizes between: in these cases nothing is simulated.
    chain : str, optional
    prior : CountTable or ReleasedTable, optional
        A public map on the same grid. Default: a synthetic map of towns on the grid's domain.
    releases : int, optional
        Number of releases of each plan that is tried; 0: closed forms of aligned blocks only.
        Default: 4 on a grid of one map, otherwise 0.
    epsilon, rho, delta, neighbours, contribution, unit, people, regions
        See :func:`geodp.plan`; ``people`` scales the public map.

    Raises
    ------
    UsageError
        The method does not support the grid, or has no closed form on it and nothing is simulated;
        or the list has another length.

    Examples
    --------
    >>> result = dominate(Grid.regular((64, 64)), "topdown", epsilon=1, releases=0)
    >>> round(result.largest, 2)
    0.79
    """
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    planner = Planner(grid, terms, regions)
    is_method = isinstance(other, str | Mechanism)
    # Squares, polygons and rectangles need a single map.
    often = (0 if grid.maps.missing else RELEASES) if releases is None else releases
    if often < 0 or (releases and not is_method):
        raise UsageError(
            "The number of releases must be 0 or more, and needs a method by name.",
            code="simulated-method-missing",
        )
    row = _row_of(planner, other)
    result = Dominance(planner.plan("pyramid"), {})
    if row is not None:
        chosen = choose_shares(planner, row[::-1] / _width(planner), chain, ratio=True)
        result = Dominance(chosen, _ratios(chosen, row))
    if not (is_method and often):
        if row is None:
            raise UsageError(
                f"{other} has no closed form on this grid, so it must be simulated.",
                code="no-closed-form-on-grid",
            )
        return result
    assert isinstance(other, str | Mechanism)
    proxy = Proxy.of(grid, prior, planner.terms.people)
    return Contest(planner, planner.plan(other), proxy, often).improve(result.plan, row, chain)


@dataclass(frozen=True, eq=False)
class Contest:
    """Comparison of pyramids with a method on a public table.

    Attributes
    ----------
    planner : Planner
    other : Plan
    proxy : Proxy
    releases : int
    """

    planner: Planner
    other: Plan
    proxy: Proxy
    releases: int

    def improve(self, plan: Plan, row: NDArray[np.float64] | None, chain: str) -> Dominance:
        """Return the best neighbour of a plan, evaluated on new releases of both."""
        grid = self.planner.grid
        simulation = PlanSimulation(self.proxy, draw_families(FAMILIES, grid, self.proxy))
        groups = [group for one in simulation.families for group in one.groups]
        # Ratios of few regions are mostly chance, and would misguide the search.
        enough = np.array([group.count(grid) * self.releases >= FEW for group in groups])
        if not enough.any():
            raise UsageError(
                "The grid is too small to simulate; take more releases, or 0.",
                code="grid-too-small-to-simulate",
            )
        tried = range(self.releases)
        theirs = simulation.run(self.other.method, self.other.event, tried)

        def value(candidate: Candidate) -> float:
            one = self.planner.plan(candidate.spec)
            ours = simulation.run(one.method, one.event, tried)
            planned = [] if row is None else list(_ratios(one, row).values())
            # The largest ratio dominates, the mean decides between equal plans.
            logs = np.log([*_largest(ours, theirs)[enough], *planned])
            return float(logs.max() + OTHERS * logs.mean())

        start = Candidate.of_method(plan.method, grid, gaussian=self.planner.terms.gaussian)
        if chain and start.steps != tuple(steps_of(chain)):
            start = Candidate.of(steps_of(chain), [1.0] * (len(steps_of(chain)) + 1))
        radices = grid.order.radices
        best, _ = improve([start], value, radices, moves=MOVES, fixed=bool(chain))
        chosen = self.planner.plan(best.spec)
        # The search prefers plans that were lucky in its own releases. New ones give an unbiased
        # ratio, and at least two of them a standard error.
        fresh = range(FRESH, FRESH + max(2, self.releases))
        both = [simulation.run(one.method, one.event, fresh) for one in (chosen, self.other)]
        few = tuple(group.name for group, some in zip(groups, enough, strict=True) if not some)
        ratios = {} if row is None else _ratios(chosen, row)
        description = f"{len(fresh)} releases of {self.proxy.description}"
        return Dominance(chosen, ratios, ErrorRatio.all_of(*both), few, description)


def _largest(ours: Simulated, theirs: Simulated) -> NDArray[np.float64]:
    ratios = ErrorRatio.all_of(ours, theirs)
    return np.array([max(ratio.largest, 1e-9) for ratio in ratios])


def _width(planner: Planner) -> float:
    return float(planner.plan("pyramid").event.width())


def _ratios(plan: Plan, row: NDArray[np.float64]) -> dict[int, float]:
    pairs = zip(plan.blocks, row.tolist(), strict=True)
    return {b.cells: float(b.standard_error or 0.0) / e for b, e in pairs if e < inf}


def _row_of(
    planner: Planner, other: str | Mechanism | Sequence[float]
) -> NDArray[np.float64] | None:
    """Return standard errors of blocks of 1, 2, 4 ... cells; None for a method without them."""
    digits = len(planner.grid.order.radices)
    row = np.full(digits + 1, inf)
    if isinstance(other, str | Mechanism):
        theirs = planner.plan(other)
        row[:] = [block.standard_error for block in theirs.blocks] or np.nan
        return row if theirs.blocks else None
    numbers = np.asarray(other, np.float64)
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise UsageError("Standard errors to dominate must be above 0.", code="row-not-positive")
    step = {digits + 1: 1, digits // 2 + 1: 2}.get(numbers.size)
    if step is None:
        raise UsageError(
            f"A list for this grid needs {digits + 1} standard errors (blocks of 1, 2, 4 ... "
            f"cells) or {digits // 2 + 1} (1, 4, 16 ...).",
            code="row-length",
        )
    # Sizes in between keep an infinite limit.
    row[::step] = numbers
    return row
