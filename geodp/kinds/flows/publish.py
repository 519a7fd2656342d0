"""Publish flows between zones and both maps of their ends as one release with one charge.

A prior is declared before anything is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

from geodp.advice import pick, takes
from geodp.errors import Rule, UsageError
from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.io.read.rows.input_files import TableSource
from geodp.kinds.flows.estimator import EstimatedFlows, NoisyPairs, estimate_flows
from geodp.kinds.flows.flows import (
    Flows,
    depend_ends,
    describe_prior,
    describe_release,
    make_index,
    name_flows,
    state_prior,
    table_of_pairs,
)
from geodp.kinds.flows.kind import StatedEndsPrior, StatedFlowsPrior
from geodp.kinds.flows.levels import DEFAULT_OPTIONS, FlowsOptions, LevelRule
from geodp.kinds.flows.methods import EndsOfFlows
from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.reading.labels import require_free
from geodp.kinds.flows.reading.trips import Trips, read_trips
from geodp.kinds.flows.reading.units import require_named_unit
from geodp.kinds.flows.streams import (
    DESTINATIONS,
    DIVIDING,
    ORIGINS,
    LabelDesign,
    StreamDesign,
    StreamsPlan,
    TripStreams,
    count_labels,
    read_label_share,
    require_within,
)
from geodp.kinds.flows.zones import Zones, pairs_of, zones_of
from geodp.mechanisms import Mechanism
from geodp.mechanisms.base import Plain
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.loss import Budget, amounts_of
from geodp.privacy.noise.draws import Draws
from geodp.privacy.terms import Terms
from geodp.release.composite import place_cells
from geodp.release.inputs import choose_prior, describe_charge, read_input, state_tables
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, choose_pyramid, make_event, make_request
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import Cells, CountTable, ReleasedTable, coalesce
from geodp.table.prior import Prior
from geodp.typing import IntArray

OTHER_ZONES = Rule(
    "flows-prior-zones",
    "The prior has other zones than this release: read its trips on the same grid.",
)


def declare_prior(
    zones: Zones, prior: Flows | CountTable, source: str | None, *, left_out: bool = False
) -> FlowsPrior:
    """Make the prior of a release of flows between zones; ``left_out``: see FlowsPrior.

    Raises UsageError for an object that is no prior, for other zones, and for a prior that is
    neither declared public by a source nor was charged to a ledger.
    """
    if not isinstance(prior, Flows | CountTable):
        raise UsageError(
            "A prior of flows is a release of flows, or a table that geodp.flows.read_trips has "
            "read.",
            code="flows-prior-kind",
        )
    cells = prior.flows.table if isinstance(prior, Flows) else prior
    pairs = pairs_of(zones.grid)
    if len(cells.grid.places) != 2:
        raise UsageError(OTHER_ZONES)
    require_same_zones(
        prior.origins.grid if isinstance(prior, Flows) else zones_of(cells.grid), zones.grid
    )
    if isinstance(prior, Flows):
        source = source or describe_charge(prior.index.budget)
    known = Prior.of(pairs, _without_labels(cells, pairs), source or "")
    return FlowsPrior.of(zones, known, known.source, left_out)


def give_prior(release: Flows, prior: Flows | CountTable) -> Flows:
    """Return a release with its prior given again, which its files do not have.

    Parameters
    ----------
    release : Flows
        Opened from its folder, which has no file of its prior.
    prior : Flows or CountTable
        The prior as :func:`geodp.flows.publish` took it. No card has a digest of it, so that
        another one between the same zones is not recognised.

    Raises
    ------
    UsageError
        A release without a prior, or whose files have it; a prior of other zones, or of records.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((4, 4))
    >>> before = geodp.CountTable.from_dense(np.ones((4, 4, 4, 4), np.int64), grid.pairs())
    >>> told = {"prior": before, "prior_source": "made up", "leave_out_prior": True}
    >>> now = geodp.CountTable.from_dense(2 * before.to_dense(), grid.pairs())
    >>> release = geodp.flows.publish(now, epsilon=1, contribution=1, **told)
    >>> geodp.flows.give_prior(release, before).prior.trips
    256
    """
    stated = release.index.prior
    if stated is None or not stated.left_out:
        raise UsageError(
            "This release was made without a prior, or its files have it: leave out the prior "
            "(--prior).",
            code="flows-prior-not-needed",
        )
    zones = Zones.of(release.origins.grid)
    return replace(release, prior=declare_prior(zones, prior, stated.source, left_out=True))


def require_same_zones(known: Grid, wanted: Grid) -> None:
    """Raise UsageError where the zones of a prior are others than those of a release.

    The words for their source may differ, as of a table that was named anew, if codes and outlines,
    or the cells of a mask, are the same.
    """
    if known == wanted:
        return
    if _describe_zones(known) != _describe_zones(wanted):
        raise UsageError(OTHER_ZONES)
    outlines = [one.known_outlines and one.known_outlines.sha256 for one in (known, wanted)]
    if outlines[0] != outlines[1]:
        raise UsageError(
            "The prior's units have the codes of this release's and other outlines, so that its "
            "flows may be between other areas: read it with the same file of outlines.",
            code="flows-prior-outlines",
        )


def _describe_zones(grid: Grid) -> dict[str, Any]:
    """Describe zones without their outlines, and without the words for their source."""
    described = grid.describe()
    described.pop("outlines", None)
    for part in (described["mask"], described["order"]):
        table = part.get("regions", part) if isinstance(part, dict) else {}
        table.pop("source", None)
    return described


def _without_labels(cells: ReleasedTable | CountTable, pairs: Grid) -> Cells:
    """Add up the labels of cells on pairs of the same zones, of which a release stays one."""
    if not cells.grid.attributes:
        return cells if cells.grid == pairs else replace(cells, grid=pairs)
    # Fractions stay as they are, and are refused as a prior.
    each: Any = cells.count
    key, count = coalesce(pairs.encode(cells.grid.decode(cells.key)[:4]), each)
    if isinstance(cells, ReleasedTable):
        return ReleasedTable(pairs, key, count, cells.event)
    return CountTable.from_keys(pairs, key, count, bound=cells.bound, reading=cells.reading)


MOST_LABELS = 1000
"""Most combinations of labels of all attributes."""

LABEL = b"geodp flows identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""


@dataclass(frozen=True)
class FlowsInputs(Inputs):
    """Facts on its inputs that a release of flows states.

    Attributes
    ----------
    prior : FlowsPrior or None
        A declared one.
    """

    prior: FlowsPrior | None = None


@dataclass(frozen=True, eq=False)
class DrawnFlows:
    """Everything that is drawn.

    Attributes
    ----------
    flows, origins, destinations : DrawnCells
    noisy : tuple of int64[n, n]
        Pairs of blocks of every side.
    labels : tuple of int64[cells, labels]
        Trips by label of every kind of cells; empty: flows have no labels.
    decay : float
        See :class:`EstimatedFlows`.
    prior : StatedFlowsPrior or None
        With how far it was trusted; None: there is none.
    """

    flows: DrawnCells
    origins: DrawnCells
    destinations: DrawnCells
    noisy: tuple[IntArray, ...]
    labels: tuple[IntArray, ...]
    decay: float
    prior: StatedFlowsPrior | None


@takes(FlowsOptions, make_request, Trips, without=(*OF_TABLES, "people"), o="origin")
def publish(
    table: CountTable | TableSource,
    /,
    *,
    grid: Grid | str | None = None,
    unit: str | None = None,
    method: str | None = None,
    prior: Flows | CountTable | None = None,
    prior_source: str | None = None,
    leave_out_prior: bool = False,
    **options: Any,
) -> Flows:
    """Release the trips between zones, and those from and to every zone, under one budget.

    Trips from every zone are exactly its released origins, and trips to it its released
    destinations.

    Parameters
    ----------
    table : a frame or files, or CountTable
        One row for each trip, or counted rows (``value``); or what
        :func:`geodp.flows.read_trips`, :func:`geodp.flows.read_stays` or
        :func:`geodp.flows.read_pings` has read.
    grid : str or Grid
        For a frame or files: the public grid of zones, as for :func:`geodp.flows.read_trips`.
    unit : {"person", "person-day", "person-week", "person-month"}
        What is protected. Default: the unit whose trips the table bounds, or a person.
    contribution
        Most trips of one ``unit``, where no column of persons is named; you vouch for it.
    method : str, optional
        Of both maps of ends: ``pyramid``, the default, with settings after a colon.
    prior : Flows or CountTable, optional
        Flows that are expected, on the same zones: an earlier release, or a public table of
        pairs, as :func:`geodp.flows.read_trips` reads it. The measurements are the same; from
        them it is learned how far the prior can be trusted, between blocks and in both maps of
        ends. Labels are added up. The release contains the prior.
    prior_source : str, optional
        Where the prior was published, as text that the card quotes. With it you vouch that the
        prior is public: published already, for everybody. A release that was charged to a ledger
        needs none.
    leave_out_prior : bool
        Leave the prior, which has no noise, out of the files of the release: intervals then need it
        again (:func:`geodp.flows.give_prior`).

    Returns
    -------
    Flows
        With the releases ``flows``, ``origins`` and ``destinations``, and ``to_pandas()``.

    Raises
    ------
    UsageError
        Arguments that do not go together; nothing was charged.
    InputError
        A row that must not be used as it is; nothing was charged.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Notes
    -----
    The proof is in docs/proofs/flows.md.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> trips = pa.table({"id": ["a", "b"], "oy": [0, 1], "ox": [0, 2], "dy": [3, 3], "dx": [1, 1]})
    >>> grid = geodp.Grid.regular((16, 16))
    >>> places = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
    >>> release = geodp.flows.publish(trips, grid=grid, **places, person="id", epsilon=100)
    >>> ends = release.origins.table.count.sum(), release.destinations.table.count.sum()
    >>> bool(release.flows.table.count.sum() == ends[0] == ends[1])
    True
    """
    measured = FlowsOptions(**pick(FlowsOptions, options))
    request = make_request(
        **pick(make_request, options), method=method, unit=choose_unit(table, unit)
    )
    # Without persons nothing is bounded by unit: the operator states the contribution of one.
    bounded = None if options.get("person") is None else unit
    read = partial(read_trips, unit=bounded, key=request.key)
    table = read_input(table, CountTable, read, grid=grid, **options)
    declared = None
    if prior is None or prior is table:
        choose_prior(table, prior, prior_source)
    else:
        zones = Zones.of(zones_of(table.grid))
        declared = declare_prior(zones, prior, prior_source, left_out=leave_out_prior)
    prepared = prepare_flows(table, request, measured, declared)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def choose_unit(table: object, unit: str | None) -> str:
    """Return the unit of privacy: the one that is named, or that whose trips a table bounds.

    Raises UsageError for a unit of which pages and explanations do not speak.
    """
    if unit is None and isinstance(table, CountTable) and table.bound is not None:
        unit = table.bound.unit or None
    return require_named_unit("person" if unit is None else unit)


@dataclass(frozen=True, eq=False)
class FlowsDesign:
    """A release of flows before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : FlowsInputs
    plan : StreamsPlan
    preview : Flows
        The release of empty tables, with the prior.
    """

    drawn: ClassVar[type] = DrawnFlows

    request: Request
    inputs: FlowsInputs
    plan: StreamsPlan
    preview: Flows

    @property
    def event(self) -> Measurement:
        """The event of all streams together."""
        return self.plan.whole

    @property
    def draws(self) -> Draws:
        """The draws of all streams."""
        return self.plan.declare()

    @property
    def shown(self) -> Release:
        """The empty map of origins."""
        return self.preview.origins

    def identify(self, table: CountTable, trips: TripStreams) -> bytes:
        """Return the SHA-256 of everything that is measured, except the key.

        A prior is not: measurements are the same without it, and charged once.
        """
        design, plan = self.plan.design, self.plan
        named: tuple[Plain, ...] = (
            ("version", (name_flows(design).version, EndsOfFlows.version)),
            ("sides", design.sides),
            ("shares", design.shares),
            ("streams", (ORIGINS, DESTINATIONS)),
            ("pairs", tuple((draw.stream, draw.law) for draw in plan.draws_of_pairs)),
            ("whole", loss_fields(plan.whole)),
            ("pairs of zones", table.grid.identity),
        )
        if design.labels is not None:
            labels = tuple((draw.stream, draw.law) for draw in plan.draws_of_labels)
            named = (*named, ("label kinds", design.labels.kinds), ("labels", labels))
        if plan.zones.describe_order:
            # Which units a block has follows from where they lie, which their grid leaves out.
            named = (*named, ("order of zones", digest(plan.zones.describe_order)))
        maps = [trips.origins, trips.destinations]
        digests = [release_digest(one, plan.method, plan.ends) for one in maps]
        count = table.count.astype("<i8", copy=False)
        pairs = digest(table.key.astype("<u8", copy=False), count)
        return digest(LABEL, encode(named), *digests, pairs)

    def draw(self, trips: TripStreams, key: NoiseKey) -> DrawnFlows:
        """Draw both ends and the pairs of blocks, and estimate the flows."""
        # The estimate is post-processing, and yet done before the charge: whatever can fail is.
        plan, zones, prior = self.plan, self.plan.zones, self.inputs.prior
        priors = () if prior is None else prior.ends(zones)
        ends, seed = plan.draw_ends(trips, key, priors), plan.draw_seed(key)
        noisy, labels = plan.draw_pairs(trips, key), plan.draw_labels(trips, key)
        dividing = plan.draw_seed(key, DIVIDING) if labels else 0
        flows = estimate_ends(zones, ends.tables, noisy, seed, prior)
        pairs = table_of_pairs(plan, flows, labels, dividing, plan.whole)
        stated = None
        if prior is not None and flows.known is not None:
            trusted = (StatedEndsPrior(one.levels, one.attenuation) for one in ends.learned)
            stated = state_prior(prior.source, flows.known.weight, tuple(trusted), prior.left_out)
        origins, destinations = map(DrawnCells.of, ends.tables)
        return DrawnFlows(
            DrawnCells.of(pairs),
            origins,
            destinations,
            noisy=tuple(one.noisy for one in noisy),
            labels=tuple(one.noisy for one in labels),
            decay=flows.decay,
            prior=stated,
        )

    def complete(self, drawn: DrawnFlows, charge: Charge | None) -> Flows:
        """Return the release of what was drawn."""
        cells = (drawn.flows, drawn.origins, drawn.destinations)
        tables = place_cells(self.preview.tables.values(), cells)
        noisy, labels = self.plan.take_pairs(drawn.noisy), self.plan.take_labels(drawn.labels)
        learned = drawn.decay, drawn.prior
        return self.preview.with_drawn(tables, noisy, labels, learned, charge)


def estimate_ends(
    zones: Zones,
    ends: Sequence[ReleasedTable],
    noisy: Sequence[NoisyPairs],
    seed: int,
    prior: FlowsPrior | None = None,
) -> EstimatedFlows:
    """Estimate flows from released tables of both ends and noisy pairs."""
    origins, destinations = (one.counts_at(zones.key) for one in ends)
    return estimate_flows(zones, (origins, destinations), noisy, seed, prior=prior)


def prepare_flows(
    table: CountTable,
    request: Request,
    options: FlowsOptions = DEFAULT_OPTIONS,
    prior: FlowsPrior | None = None,
) -> Prepared[FlowsDesign, Flows]:
    """Do everything of :func:`publish` that comes before the charge; ``prior``: a declared one.

    Raises
    ------
    UsageError
        See :func:`publish`.
    """
    require_pairs(table.grid)
    zones = Zones.of(zones_of(table.grid))
    bound = bound_contribution(table, request.terms.contribution)
    inputs = FlowsInputs(*state_tables([table], request), bound, prior)
    design = design_flows(zones, table.grid.attributes, request, inputs, options)
    return prepare_trips(design, table)


def require_pairs(grid: Grid) -> None:
    """Raise UsageError for the grid of a table that does not count trips by pair of zones."""
    if len(grid.places) != 2:
        raise UsageError(
            "Flows are made of trips by pair of zones; geodp.flows.read_trips reads them.",
            code="flows-need-pairs",
        )


def prepare_trips(design: FlowsDesign, table: CountTable) -> Prepared[FlowsDesign, Flows]:
    """Prepare a release of trips by its design."""
    trips, pairs = TripStreams.of(table, design.plan.zones), int(table.key.size)
    prior = design.inputs.prior
    return Prepared(
        design,
        partial(design.identify, table, trips),
        partial(design.draw, trips),
        table.reading,
        counted={
            "domain_pairs": table.grid.size,
            "occupied_pairs": pairs,
            "counted_trips": int(table.count.sum()),
        },
        prior=None if prior is None else prior.sha256,
    )


def design_flows(
    zones: Zones,
    attributes: tuple[Attribute, ...],
    request: Request,
    inputs: FlowsInputs,
    options: FlowsOptions,
) -> FlowsDesign:
    """Design a release from public things alone; raises UsageError as :func:`publish` does."""
    terms, prior = request.terms.bound(inputs.bound), inputs.prior
    plan = make_plan(zones, terms, request.method, options, request.key_origin, attributes)
    stated = (*inputs.facts, describe_release(plan.whole.unit, plan.whole.spends))
    if prior is not None:
        stated = (*stated, describe_prior(prior.source))
    more = None, stated, inputs.readings[0], request.metadata
    of_pairs = preview_release(plan.pairs, name_flows(plan.design), plan.whole, *more)
    ends = EndsOfFlows.of(plan.method)
    of_ends = preview_release(zones.grid, ends, depend_ends(plan), *more)
    index = make_index(plan, prior, stated)
    preview = Flows(of_pairs, of_ends, of_ends, index, (), prior=prior)
    return FlowsDesign(request, inputs, plan, preview)


def make_plan(
    zones: Zones,
    terms: Terms,
    chosen: str | Mechanism | None = None,
    options: FlowsOptions = DEFAULT_OPTIONS,
    key_origin: str = "entropy",
    attributes: tuple[Attribute, ...] = (),
    rule: LevelRule | None = None,
) -> StreamsPlan:
    """Choose what is measured of flows, and with which noise, from public things only.

    ``terms``: with a contribution; ``rule``: what decides which blocks are measured, where it is
    not what the options say. UsageError for a method, levels, labels or a budget that do not fit.
    """
    per_loss = count_trips_a_loss(terms)
    labels = choose_labels(zones, attributes, per_loss, options.label_share)
    rule = rule or options.find_rule(zones.grid, per_loss)
    if rule == "given":
        assert options.levels is not None
        design = StreamDesign.of(options.levels, labels)
        require_within(options.levels, zones.grid)
    else:
        design = StreamDesign.choose(rule, zones.grid, per_loss, labels)
    design.require_fit(zones.grid)
    method = choose_pyramid(chosen, "Both ends of flows")
    ends = make_event(zones.grid, method, terms.share(design.end_share), key_origin)
    whole = Measurement.of(name_flows(design).spec, terms, 1, key_origin)
    for share in (*design.shares, *([] if labels is None else [labels.each])):
        whole.require_drawable(share)
    return StreamsPlan(zones, design, method, whole, ends, attributes)


def count_trips_a_loss(terms: Terms) -> float:
    """Count the trips of a unit for each unit of epsilon, by terms with a contribution."""
    amounts = amounts_of(terms.loss)
    loss = amounts["epsilon"]
    if loss is None:
        # Noise of rho has the deviation of Laplace noise of this epsilon.
        loss = cast(Any, 2 * float(cast(Any, amounts["rho"])) ** 0.5)
    assert terms.contribution is not None
    return float(terms.contribution / cast(Any, loss))


def choose_labels(
    zones: Zones, attributes: tuple[Attribute, ...], trips_a_loss: float, share: Budget | None
) -> LabelDesign | None:
    """Choose what is measured by label; None without attributes.

    UsageError for too many labels, for names that are taken, and for a share without labels.
    """
    if not attributes:
        if share is not None:
            raise UsageError(
                "A share for labels needs labels: name them (--by, by=).",
                code="flows-label-share-unused",
            )
        return None
    require_free(one.name for one in attributes)
    number = count_labels(attributes)
    if number > MOST_LABELS:
        raise UsageError(
            f"The labels of all attributes have more than {MOST_LABELS:,} combinations; the noise "
            "would hide them all. Leave attributes out, or give them fewer labels.",
            code="flows-labels-too-many",
        )
    return LabelDesign.choose(zones.grid, number, trips_a_loss, read_label_share(share))
