"""A release of flows: trips between zones and both maps of ends, one guarantee, one folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np

from geodp.accuracy.interval import USUAL, Estimate, Interval
from geodp.accuracy.interval_arithmetic import Figures
from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.decimals import find_weights
from geodp.io.verify.card import require
from geodp.io.write.tables import UNCERTAINTY_COLUMNS
from geodp.io.write.view import JointView, View
from geodp.kinds.flows.comparison import (
    TRIPS,
    FlowSide,
    Group,
    compare_between,
    compare_labels,
    compare_within,
    pair_sides,
    require_comparable,
    require_no_prior,
)
from geodp.kinds.flows.estimates import FlowEstimator
from geodp.kinds.flows.estimator import FLAT, EstimatedFlows, NoisyPairs, sort_counts
from geodp.kinds.flows.files import (
    PRIOR,
    name_file,
    name_labels,
    read_labels,
    read_noisy,
    read_prior,
    view_of,
    write_flows,
    write_measured,
)
from geodp.kinds.flows.kind import (
    DESTINATIONS,
    FLOWS,
    GROUPED,
    ORIGINS,
    TABLES,
    FlowsCard,
    FlowsGuarantee,
    MeasuredLabels,
    MeasuredPairs,
    StatedDecay,
    StatedEndsPrior,
    StatedFlowsPrior,
    StatedPairErrors,
)
from geodp.kinds.flows.label_model import NoisyLabels, divide_labels
from geodp.kinds.flows.methods import FLOWS_PROOF, EndsOfFlows, FlowsOfTrips
from geodp.kinds.flows.pair_errors import are_near, look_up_errors, state_errors
from geodp.kinds.flows.prior_flows import MEANING, FlowsPrior, TrustedPrior
from geodp.kinds.flows.reading.rules import find_stays
from geodp.kinds.flows.regions import Crossing, divide_zones, ground_of
from geodp.kinds.flows.streams import (
    LabelDesign,
    StreamDesign,
    StreamsPlan,
    count_labels,
)
from geodp.kinds.flows.zones import Zones, draw_lines, slice_pairs, zones_of
from geodp.mechanisms import find_method
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.privacy.terms import Terms
from geodp.release.card import PRIOR_PUBLIC
from geodp.release.composite import Composite, fill_tables
from geodp.release.opening import open_release
from geodp.release.regional import Compared, Regional
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable, coalesce
from geodp.table.index import Constraint, Joint, Rebuilt, state_event
from geodp.table.plain import write_plain
from geodp.table.prior import RULES

LABELLED = "Origins and destinations are those of trips of all labels together."
"""The constraint that is added where flows have labels."""

COUNTED = "One {} has at most {:,} of all trips."
"""The assumption of the contribution, by unit."""

WEIGHED = "One {} has at most {:,} of all trips, each counted as its weight."
"""The assumption where trips have weights."""


@dataclass(frozen=True, eq=False)
class EndsOfRegions(Regional):
    """Trips that begin in a region, and that end there.

    Attributes
    ----------
    origins, destinations : Release
        Both maps of ends.
    """

    origins: Release
    destinations: Release

    quantities = (ORIGINS, DESTINATIONS)

    @property
    def tables(self) -> dict[str, Release]:
        """Both maps by name."""
        return {ORIGINS: self.origins, DESTINATIONS: self.destinations}

    def estimate_all(
        self, regions: Iterable[Any], *, interval: str = USUAL
    ) -> list[dict[str, Estimate]]:
        """Estimate many regions, in their order, by the names of the maps.

        ``interval``: see :meth:`geodp.Release.estimate`.
        """
        listed, maps = [*regions], self.tables.values()
        found = zip(*(one.estimate_all(listed, interval=interval) for one in maps), strict=True)
        return [dict(zip(self.tables, both, strict=True)) for both in found]

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return both numbers of many regions."""
        return [*self.estimate_all(regions, **options)]


@dataclass(frozen=True, eq=False)
class Flows(Composite[FlowsCard]):
    """A release of flows between zones, with both maps of their ends.

    Attributes
    ----------
    flows : Release
        Trips by pair of zones.
    origins, destinations : Release
        Trips from and to every zone, each with its card and errors.
    index : FlowsCard
        What they share: the guarantee, the measured levels and the charge.
    noisy : tuple of NoisyPairs
        Measured pairs of blocks, the finest first.
    labels : tuple of NoisyLabels
        Measured trips by label, of the largest cells first; empty: flows have no labels.
    prior : FlowsPrior or None
        Flows that were expected; ``index.prior`` states how much they were trusted.
    """

    __repr__ = one_line

    # The table of all pairs has at most as many rows as that of flows.
    joint_rows: ClassVar[dict[str, int]] = {FLOWS: 1}

    flows: Release = field(repr=False)
    origins: Release = field(repr=False)
    destinations: Release = field(repr=False)
    index: FlowsCard
    noisy: tuple[NoisyPairs, ...] = field(repr=False)
    labels: tuple[NoisyLabels, ...] = field(default=(), repr=False)
    prior: FlowsPrior | None = field(default=None, repr=False)

    @property
    def ends(self) -> EndsOfRegions:
        """Both maps of ends, of which regions are asked."""
        return EndsOfRegions(self.origins, self.destinations)

    @property
    def tables(self) -> dict[str, Release]:
        """All tables by name."""
        return {FLOWS: self.flows, ORIGINS: self.origins, DESTINATIONS: self.destinations}

    @property
    def ground(self) -> Grid:
        """The grid on which regions and places lie."""
        return ground_of(self.origins.grid)

    def with_drawn(
        self,
        tables: Sequence[ReleasedTable],
        noisy: Sequence[NoisyPairs],
        labels: Sequence[NoisyLabels],
        learned: tuple[float, StatedFlowsPrior | None],
        charge: Charge | None,
    ) -> Self:
        """Return the release of drawn tables in place of empty ones, in the order of ``tables``.

        ``learned``: the decay, and the prior with how far it was trusted.
        """
        # Of what is released: whoever puts tables of two releases together is found out.
        stated, prior = state_decay(learned[0], self.index.decay.unit), learned[1]
        identity = describe_identity(tables, (*noisy, *labels), stated, prior, self.prior)
        made = fill_tables(self.tables.values(), tables, identity, charge)
        index = replace(self.index, decay=stated, prior=prior)
        drawn = replace(
            self,
            flows=made[0],
            origins=made[1],
            destinations=made[2],
            index=index,
            noisy=tuple(noisy),
            labels=tuple(labels),
        ).with_charge(charge)
        return replace(drawn, index=replace(drawn.index, pairs=drawn.state_errors()))

    def view(self) -> JointView:
        """Return the view of all pairs of zones, of all labels together, with their errors."""
        return view_of(self.flows, self.origins.grid, self.index.pairs)

    def views(self) -> list[View]:
        """Return the views of all pairs of zones and of both maps of ends, for exports."""
        return [self.view(), *(one.view(name) for name, one in self.ends.tables.items())]

    def state_errors(self) -> StatedPairErrors | None:
        """Compute the errors of pairs of zones by size; None: no trips are released."""
        return state_errors(self._estimator)

    def to_pandas(self, *, errors: bool = False) -> Any:
        """Return the flows as a frame of pandas: origin, destination and count of every pair.

        Labels have a column each, before the count. On a grid with codes an end is one column,
        otherwise two, such as ``origin_row`` and ``origin_col``. Pairs that are not listed have 0
        trips.

        Parameters
        ----------
        errors : bool
            Add ``standard_error``, ``low`` and ``high`` of each pair by its size, as
            ``index.pairs`` states them and ``flows.csv`` lists them: as large as for nine tenths of
            the pairs with so many trips. :meth:`estimate` gives those of one flow.

        Raises
        ------
        UsageError
            pandas is not installed, or errors are asked for of flows by label.
        """
        rows = self._frame()
        if not errors:
            return rows
        if self.flows.table.grid.attributes:
            raise UsageError(
                "Errors of single pairs are those of all labels together, and these flows are by "
                "label: estimate them (Flows.estimate, geodp estimate).",
                code="flows-errors-by-label",
            )
        count = rows["count"].to_numpy().astype(np.float64)
        columns = look_up_errors(self.index.pairs, count)
        return rows.assign(**dict(zip(UNCERTAINTY_COLUMNS, columns, strict=True)))

    def _frame(self) -> Any:
        table, rows = self.flows.table, self.flows.to_pandas("count")
        labels = [one.name for one in table.grid.attributes]
        if table.grid.places[0].system is not None or not table.grid.names.on_map:
            return rows[["origin", "destination", *labels, "count"]]
        rows = rows[[*labels, "count"]]
        index = table.grid.decode(table.key)[: len(table.grid.maps.axes)]
        for number, (name, axis) in enumerate(zip(table.grid.maps.axes, index, strict=True)):
            rows.insert(number, name, axis)
        return rows

    def to_geopandas(self, *, errors: bool = False) -> Any:
        """Return the flows as a frame of geopandas: the rows of ``to_pandas``, each with a line.

        Lines lead from centre to centre, of areal units from a point within to another, with
        length 0 within a zone; in the CRS of the grid, or of the outlines. Flows from or to a zone
        that lies nowhere, such as one for all other places, are left out. ``to_file`` writes them
        as a GeoPackage or FlatGeobuf. Raises UsageError for zones that lie nowhere on the Earth,
        and where geopandas is not installed.
        """
        return draw_lines(self.flows, self.to_pandas(errors=errors))

    def estimate(
        self,
        origin: Any,
        destination: Any,
        **labels: Any,
    ) -> Estimate:
        """Estimate the trips from one region to another, with a 95 % interval.

        Parameters
        ----------
        origin, destination
            Regions of the map of zones, each as for :meth:`geodp.Release.estimate`; polygons also
            on cells of H3 and S2, in degrees, which are those with their centre inside.
        **labels
            A label of an attribute, or several: ``hour=8``, ``mode=["car", "bus"]``. Default: all.
            Of regions that hold a part of a block by label (``index.guarantee.labels.side``),
            intervals are wide, as the labels of single zones were not measured.

        Returns
        -------
        Estimate

        Examples
        --------
        >>> import numpy as np, geodp
        >>> grid = geodp.Grid.regular((16, 16))
        >>> key = np.random.default_rng(0).integers(0, 1 << 16, 5000).astype(np.uint64)
        >>> trips = geodp.CountTable.from_keys(grid.pairs(), key, np.ones(5000, np.int64))
        >>> release = geodp.flows.publish(trips, contribution=1, epsilon=1)
        >>> one = release.estimate((0, 0, 8, 8), (8, 8, 16, 16))
        >>> one.low <= one.count <= one.high
        True
        """
        regions = [(origin, destination)]
        return self.estimate_all(regions, labels=labels)[0]

    def estimate_groups(
        self,
        groups: Sequence[Sequence[tuple[Any, Any]]],
        *,
        labels: Mapping[str, Any] | None = None,
    ) -> list[Estimate]:
        """Estimate sums of pairs of regions.

        Parameters
        ----------
        groups : sequence of sequence of pairs
            The pairs of a group have no common flows.
        labels : mapping, optional
            A label, or several, by attribute.
        """
        return self._estimator.estimate_sets(groups, [labels or {}])[0]

    @takes(estimate_groups, without=("groups",))
    def estimate_all(self, regions: Iterable[tuple[Any, Any]], **how: Any) -> list[Estimate]:
        """Estimate many pairs of regions."""
        return self.estimate_groups([[one] for one in regions], **how)

    def estimate_sets(
        self,
        regions: Iterable[tuple[Any, Any]],
        sets: Sequence[Mapping[str, Any]],
    ) -> list[list[Estimate]]:
        """Estimate pairs of regions for several sets of labels, such as all hours.

        Parameters
        ----------
        regions : iterable of pairs
            As for :meth:`estimate_all`.
        sets : sequence of mapping
            Each a label, or several, by attribute: ``[{"hour": 7}, {"hour": 8}]``; an empty one
            is for all.

        Returns
        -------
        list of list of Estimate
            Those of the first set for every pair of regions, and so on: the same as
            :meth:`estimate_all` returns for each set, in the time of one.
        """
        groups = [[one] for one in regions]
        return self._estimator.estimate_sets(groups, sets)

    def compare(
        self,
        one: tuple[Any, Any],
        other: tuple[Any, Any] | None = None,
        labels: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None] = (None, None),
        *,
        release: Flows | None = None,
    ) -> Interval:
        """Estimate by how much a second flow differs from a first, or a later release from this.

        Parameters
        ----------
        one : (region, region)
            Regions of origins and of destinations, each as for :meth:`estimate`.
        other : (region, region), optional
            Those of the second flow; default: ``one``.
        labels : (mapping, mapping)
            A label, or several, by attribute, of either flow: ``({"hour": 8}, {"hour": 18})``.
        release : Flows, optional
            Release of the second flow, in which as many trips of as long periods are counted;
            default: this one.

        Returns
        -------
        Interval
            The second flow less the first, with a 95 % interval. Where ``is_certain`` is False,
            noise and model do not tell the two apart.

        Raises
        ------
        UsageError
            Labels that are no pair; flows of this release that have common ones; or the same
            release twice, one in which another unit is protected or other numbers of trips are
            counted, in all or between two zones, or two of which one is the prior of the other.

        Examples
        --------
        >>> import numpy as np, geodp
        >>> grid = geodp.Grid.regular((16, 16))
        >>> key = np.random.default_rng(0).integers(0, 1 << 16, 50_000).astype(np.uint64)
        >>> trips = geodp.CountTable.from_keys(grid.pairs(), key, np.ones(50_000, np.int64))
        >>> release = geodp.flows.publish(trips, contribution=1, epsilon=1)
        >>> west, east = (0, 0, 4, 16), (4, 0, 16, 16)
        >>> release.compare((west, west), (east, east)).is_certain
        True
        """
        first, second = pair_sides((one, one if other is None else other), labels)
        if release is None:
            found = self.compare_sides(first, second)
        else:
            (found,) = self.compare_all(release, [(first, second)])
        return cast(Interval, found.difference[TRIPS])

    def compare_sides(self, one: FlowSide, other: FlowSide) -> Compared:
        """Compare two flows of this release, each of many regions; see :meth:`compare`."""
        return compare_within(self._estimator, one, other)

    def compare_labels(
        self,
        groups: Sequence[Group],
        labels: tuple[Mapping[str, Any], Mapping[str, Any]],
    ) -> list[Compared]:
        """Compare many flows of this release by two sets of labels; see :meth:`compare`."""
        return compare_labels(self._estimator, groups, labels)

    def require_comparable(self, release: Flows) -> None:
        """Raise UsageError unless another release is of units with as many trips on one grid."""
        require_comparable(
            (self.index.guarantee, release.index.guarantee),
            (self.flows.table, release.flows.table),
            (self._facts, release._facts),
        )

    def compare_all(
        self, release: Flows, sides: Sequence[tuple[FlowSide, FlowSide]]
    ) -> list[Compared]:
        """Compare many flows with those of another release; see :meth:`compare`."""
        self.require_comparable(release)
        estimators = self._estimator, release._estimator
        require_no_prior((self.index.prior, release.index.prior), estimators)
        return compare_between(estimators, sides)

    @takes(estimate_groups, without=("groups",))
    def estimate_across(self, line: Any, **how: Any) -> Crossing:
        """Estimate the trips that begin on one side of a line and end on the other.

        Parameters
        ----------
        line : shapely LineString
            In the grid's CRS, or in columns and rows on a grid that lies nowhere, where (0, 0) is
            a corner of the first zone, at the top left as it is drawn. It divides the map in two:
            it reaches from edge to edge, or is closed. A zone lies where its centre does. On units
            across 180 degrees it may go on (178 to 182), and takes the shorter way between points
            that are more than 180 degrees apart.

        Returns
        -------
        Crossing
            Trips from left to right along the line, from right to left, and both together.

        Raises
        ------
        UsageError
            It is no line, or divides the map in another way.

        Examples
        --------
        >>> import numpy as np, geodp, shapely
        >>> grid = geodp.Grid.regular((16, 16))
        >>> key = np.random.default_rng(0).integers(0, 1 << 16, 5000).astype(np.uint64)
        >>> trips = geodp.CountTable.from_keys(grid.pairs(), key, np.ones(5000, np.int64))
        >>> release = geodp.flows.publish(trips, contribution=1, epsilon=1)
        >>> one = release.estimate_across(shapely.LineString([(0, 5), (16, 5)]))
        >>> one.there.count + one.back.count == one.both.count
        True
        """
        return self.estimate_screenlines([line], **how)[0]

    @takes(estimate_groups, without=("groups",))
    def estimate_screenlines(self, lines: Iterable[Any], **how: Any) -> list[Crossing]:
        """Estimate the trips across many lines."""
        groups: list[list[tuple[Any, Any]]] = []
        for line in lines:
            left, right = divide_zones(self.origins.grid, line)
            there, back = (left, right), (right, left)
            groups += [[there], [back], [there, back]]
        found = self.estimate_groups(groups, **how)
        return [Crossing(*found[at : at + 3]) for at in range(0, len(found), 3)]

    @property
    def _facts(self) -> tuple[str, ...]:
        """Sentences of the card of the flows on what was done with the rows."""
        return self.flows.card().guarantee.not_protected

    @cached_property
    def _estimator(self) -> FlowEstimator:
        """The estimator of the flows of this release, which keeps what it has fitted.

        Raises UsageError where no file has the prior that flows or ends were estimated with.
        """
        stated = self.index.prior
        if stated is not None and stated.is_used and self.prior is None:
            raise UsageError(
                "This release was estimated with a prior, which its files do not have: errors and "
                "intervals need it. Give it again (geodp.flows.give_prior(); geodp estimate "
                f"--prior): {stated.source}.",
                code="flows-prior-not-given",
            )
        flows, origins, destinations = (one.table for one in self.tables.values())
        length, trusted = self.index.decay.length, None
        if stated is not None and self.prior is not None:
            trusted = TrustedPrior.of(self.prior, stated.weight, int(origins.count.sum()))
        return FlowEstimator(
            self.plan,
            flows,
            origins,
            destinations,
            self.noisy,
            FLAT if length is None else length,
            (self.origins, self.destinations),
            self.labels,
            trusted,
        )

    @property
    def plan(self) -> StreamsPlan:
        """The plan of the measurements, by the tables and the index.

        Raises UsageError for levels, and VerificationError for labels, that no release of these
        zones measures; UsageError where the origins have another method than those of flows.
        """
        whole, ends = (cast(Measurement, one.event) for one in (self.flows, self.origins))
        guarantee, attributes = self.index.guarantee, self.flows.grid.attributes
        stated = guarantee.labels
        labels = None if stated is None else LabelDesign.read(stated.side, stated.share)
        design = StreamDesign.of({one.side: one.share for one in guarantee.levels}, labels)
        method = find_method(ends.mechanism)
        if not isinstance(method, EndsOfFlows):
            raise UsageError(
                "Origins have another method than ends of flows.", code="flows-ends-differ"
            )
        zones = Zones.of(self.origins.grid)
        if labels is not None:
            labels.require_possible(zones.grid, count_labels(attributes))
        terms = Terms(whole.loss, whole.neighbours, unit=whole.unit).bound(whole.bound)
        part = terms.share(design.end_share)
        event = method.pyramid.event(zones.grid, part, whole.key_origin)
        return StreamsPlan(zones, design, method.pyramid, whole, event, attributes)

    @property
    def constraints(self) -> tuple[Constraint[Flows], ...]:
        """Sentences that hold in every zone, with their checks."""
        return list_constraints(self.plan)

    def write_joint(self, folder: Path) -> Joint:
        """Write all pairs of zones with their errors, and what was measured besides the ends."""
        # Nothing of a prior that is left out may be in a public file.
        prior = None if self.prior is None or self.prior.left_out else self.prior
        zones, attributes = Zones.of(self.origins.grid), self.flows.grid.attributes
        files, left_out = write_flows(self.view(), folder)
        drawn, undrawn = self._map().write(folder)
        measured = write_measured(self.noisy, self.labels, prior, zones, attributes, folder)
        return (*files, *drawn, *measured), (*left_out, *undrawn)

    def _map(self, withdrawn: str | None = None) -> Any:
        """Return the map of the release, a :class:`geodp.kinds.flows.picture.FlowsMap`.

        ``withdrawn``: the day on which the release was withdrawn, if it was.
        """
        # Fonts and colours of maps come with it, which take time to import.
        from geodp.kinds.flows.picture import FlowsMap

        views, prior = self.table_views, self.index.prior
        ends = views[ORIGINS], views[DESTINATIONS]
        # The same is drawn by whoever opens the files, which lack a prior that is left out.
        lost = prior is not None and bool(prior.left_out) and prior.is_used
        return FlowsMap(
            replace(self.view().named(FLOWS), ends=ends, withdrawn=withdrawn),
            self.origins.grid,
            self.index.guarantee.levels[0].side,
            None if lost else self.estimate_all,
        )

    def rebuild(self) -> Rebuilt[FlowsCard]:
        """Derive the index from the tables, the noisy pairs, and what was learned of them.

        Raises VerificationError for tables of different zones, and for a prior of no release.
        """
        stated, plan, cards = self.index, self.plan, [one.card() for one in self.tables.values()]
        prior = stated.prior
        require(
            bool(plan.attributes) is (stated.guarantee.labels is not None),
            Rule("flows-labels-differ", "The flows have labels that the index does not state."),
        )
        require(
            all((one.domain.mask is None) is (self.flows.grid.mask is None) for one in cards),
            Rule("flows-mask-missing", "The files do not show the mask that the cards state."),
        )
        require(
            zones_of(self.flows.grid) == self.origins.grid == self.destinations.grid,
            Rule("flows-grids-differ", "Flows and their ends have different zones."),
        )
        require(
            prior is None or (prior.weight <= 1 and len(prior.ends) == 2),
            Rule("flows-prior-differs", "The index states a prior that no release has."),
        )
        ends, facts = depend_ends(plan), cards[0].guarantee.not_protected
        own = replace(plan.whole, mechanism=name_flows(plan.design).spec)
        pairs, note = stated.pairs, "; errors of pairs follow from a prior that no file has"
        if prior is None or not (prior.left_out and prior.is_used):
            pairs, note = self.state_errors(), ""
        # Platforms round differently.
        if pairs is not None and stated.pairs is not None and are_near(stated.pairs, pairs):
            pairs = stated.pairs
        index = replace(
            make_index(plan, prior, facts),
            decay=StatedDecay(stated.decay.length, cast(Any, plan.zones.steps[2])),
            pairs=pairs,
            # Earlier versions did not state the rules of stays in the index.
            stays=None if stated.stays is None else find_stays(facts),
        )
        belongs = [describe_release(plan.whole.unit, plan.whole.spends)]
        if prior is not None:
            learned = prior.weight, prior.ends, prior.left_out
            index = replace(index, prior=state_prior(prior.source, *learned))
            belongs.append(describe_prior(prior.source))
        tables = [one.table for one in self.tables.values()]
        noisy: list[NoisyPairs | NoisyLabels] = [*self.noisy, *self.labels]
        belongs.append(describe_identity(tables, noisy, stated.decay, prior, self.prior))
        events = {FLOWS: own, ORIGINS: ends, DESTINATIONS: ends}
        return Rebuilt(index, events, tuple(belongs), plan.whole.loss, note)


def make_index(
    plan: StreamsPlan, prior: FlowsPrior | StatedFlowsPrior | None, facts: Iterable[str]
) -> FlowsCard:
    """Make the index of a release that is to be drawn; ``facts``: those of its tables' cards."""
    return FlowsCard.state(
        plan.whole,
        guarantee=state_guarantee(plan, None if prior is None else prior.source, facts),
        prior=None if prior is None else state_prior(prior.source, left_out=prior.left_out),
        decay=state_decay(FLAT, plan.zones.steps[2]),
        constraints=tuple(one.sentence for one in list_constraints(plan)),
        stays=find_stays(facts),
    )


def list_constraints(plan: StreamsPlan) -> tuple[Constraint[Flows], ...]:
    """List what holds exactly in a release."""
    return (
        Constraint(
            "Trips from every zone to all zones are exactly its released origins.",
            lambda one: _are_ends(one.flows.table, 0, one.origins.table),
        ),
        Constraint(
            "Trips to every zone from all zones are exactly its released destinations.",
            lambda one: _are_ends(one.flows.table, 2, one.destinations.table),
        ),
        Constraint("Origins and destinations have one total.", _have_one_total),
        *([Constraint(LABELLED, _have_one_total)] if plan.attributes else []),
        *([] if plan.zones.grid.names.on_map else [Constraint(GROUPED, _are_small)]),
    )


def _are_ends(flows: ReleasedTable, first: int, ends: ReleasedTable) -> bool:
    """Test whether flows add up to a map of ends; ``first``: number of the axis of its rows."""
    index, count = flows.grid.decode(flows.key), np.asarray(flows.count, np.int64)
    key, total = coalesce(ends.grid.encode(index[first : first + 2]), count)
    return np.array_equal(key, ends.key) and np.array_equal(total, ends.count)


def _have_one_total(release: Flows) -> bool:
    """Test whether flows of all labels, origins and destinations have the same total."""
    totals = {int(one.table.count.sum()) for one in release.tables.values()}
    return len(totals) == 1


def _are_small(release: Flows) -> bool:
    """Test whether blocks of areal units have at most as many units as a square of their side."""
    zones = Zones.of(release.origins.grid)
    sides = {one.blocks.side for one in release.noisy} | {one.side for one in release.labels}
    return all(np.bincount(zones.blocks(side).of_zone).max() <= side**2 for side in sides)


def state_labels(plan: StreamsPlan) -> MeasuredLabels | None:
    """State what is measured by label; None: flows have no labels."""
    labels, law = plan.design.labels, plan.label_law
    if labels is None or law is None:
        return None
    return MeasuredLabels(
        attributes=tuple(one.name for one in plan.attributes),
        side=labels.side,
        pair_side=labels.pair_side,
        share=str(labels.share),
        standard_error=float(law.variance**0.5),
    )


def state_guarantee(plan: StreamsPlan, prior: str | None, facts: Iterable[str]) -> FlowsGuarantee:
    """State the guarantee of all tables together.

    ``prior``: the source of one, if there is one; ``facts``: those of the tables' cards.
    """
    event, design = plan.whole, plan.design
    levels = [
        MeasuredPairs(side, str(share), float(law.variance**0.5))
        for side, share, law in zip(design.sides, design.shares, plan.laws, strict=True)
    ]
    max_weight, raked_to = find_weights(facts)
    counted = COUNTED if max_weight is None else WEIGHED
    statement = counted.format(event.unit, event.contribution)
    assumed = [replace(event.assumption, statement=statement)]
    if prior is not None:
        assumed.append(Assumption("prior", PRIOR_PUBLIC, "operator", prior))
    return FlowsGuarantee(
        **state_event(event, "any result of these tables together"),
        source=FLOWS_PROOF,
        end_share=str(design.end_share),
        levels=tuple(levels),
        labels=state_labels(plan),
        assumptions=tuple(assumed),
        max_weight=max_weight,
        raked_to=raked_to,
    )


def state_prior(
    source: str,
    weight: float = 0.0,
    ends: tuple[StatedEndsPrior, ...] = (),
    left_out: bool | None = False,
) -> StatedFlowsPrior:
    """State a prior; parameters: see :class:`StatedFlowsPrior`."""
    return StatedFlowsPrior(source, weight, MEANING, RULES, ends, left_out or None)


def state_decay(decay: float, unit: Any) -> StatedDecay:
    """State a decay; that of a law without distance has no length."""
    return StatedDecay(None if decay >= FLAT else float(f"{decay:.4g}"), unit)


def name_flows(design: StreamDesign) -> FlowsOfTrips:
    """Make the method of flows with what is measured as its settings."""
    labels = design.labels
    return FlowsOfTrips(
        "-".join(map(str, design.sides)),
        "-".join(map(str, design.shares)),
        "" if labels is None else f"{labels.side}-{labels.share}",
    )


def describe_release(unit: str, spends: str) -> str:
    """Describe, for the card of one table, the release that it is a part of."""
    return (
        f"that it is one of the tables of a release of flows that protects one {unit}; together "
        f"they spend {spends}, charged once"
    )


def describe_prior(source: str) -> str:
    """Describe, for the card of one table, the prior of the release that it is a part of."""
    return (
        "that flows and both maps of ends of its release were estimated with a public prior: "
        f"{source}"
    )


def describe_identity(
    tables: Sequence[ReleasedTable],
    noisy: Sequence[NoisyPairs | NoisyLabels],
    decay: StatedDecay,
    prior: StatedFlowsPrior | None = None,
    written: FlowsPrior | None = None,
) -> str:
    """Describe, for the card of each table, everything that was released together.

    ``written``: the prior, if a file of the release has it.
    """
    arrays = [array for one in tables for array in (one.key, np.asarray(one.count, np.int64))]
    arrays += [np.ascontiguousarray(one.noisy) for one in noisy]
    if prior is not None:
        stated = [decay.length, write_plain(prior)]
        # Of a prior that is left out no digest is public.
        if written is not None and not prior.left_out:
            stated.append(written.sha256)
        whole = digest(*arrays, json.dumps(stated, sort_keys=True).encode()).hex()
        return f"that tables, noisy pairs, decay and prior of its release have the digest {whole}"
    whole = digest(*arrays, repr(decay.length).encode()).hex()
    return f"that tables, noisy pairs and decay of its release have the digest {whole}"


def table_of_pairs(
    plan: StreamsPlan, flows: EstimatedFlows, labels: Sequence[NoisyLabels], seed: int, event: Any
) -> ReleasedTable:
    """Make the released table of flows, divided among labels; ``flows`` are overwritten."""
    if labels and flows.place.size:
        return _table_of_labels(plan, flows, labels, seed, event)
    zones = plan.zones
    for some in slice_pairs(flows.place.size):
        ends = np.divmod(flows.place[some].view(np.int64), zones.number)
        index = np.stack([axis[end] for end in ends for axis in (zones.row, zones.column)])
        # In place: of many trips these arrays are most of the memory.
        flows.place[some] = plan.pairs.encode(index)
    sort_counts(flows.place, flows.count)
    return ReleasedTable(plan.pairs, flows.place, flows.count, event)


def _table_of_labels(
    plan: StreamsPlan, flows: EstimatedFlows, labels: Sequence[NoisyLabels], seed: int, event: Any
) -> ReleasedTable:
    zones, listed = plan.zones, flows.join()
    of, label, count = divide_labels(zones, listed, labels, seed)
    places = [axis[end[of]] for end in listed[:2] for axis in (zones.row, zones.column)]
    sizes = [len(one.labels) for one in plan.attributes]
    index = np.stack([*places, *np.unravel_index(label, sizes)])
    return ReleasedTable(plan.pairs, *coalesce(plan.pairs.encode(index), count), event)


def depend_ends(plan: StreamsPlan) -> Measurement:
    """Return the event of a map of ends, which depends on all that is measured of flows.

    Both maps have the mean of their noisy totals, and the card of each has a digest of everything.
    """
    noise = replace(plan.ends, mechanism=EndsOfFlows.of(plan.method).spec)
    return noise.depending_on(plan.whole)


def draw_map(release: Flows, look: Any, withdrawn: str | None = None) -> Any:
    """Lay out the map of a release; see :meth:`geodp.kinds.flows.picture.FlowsMap.draw`."""
    return release._map(withdrawn).draw(look)


def open_flows(folder: Path, card: FlowsCard) -> Flows:
    """Open the tables, the noisy pairs and the prior of a public folder.

    Raises ValueError where a file lists other pairs or cells than were measured.
    """
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    flows, origins, destinations = (tables[name] for name in TABLES)
    opened = Flows(flows, origins, destinations, card, ())
    plan, prior = opened.plan, None
    if card.prior is not None and not card.prior.left_out:
        prior = read_prior(folder / PRIOR, plan.zones, card.prior.source)
    # Variances are those of the laws, as the index states the nearest standard errors.
    noisy = tuple(read_noisy(folder / name_file(one.blocks.side), one) for one in plan.empty_pairs)
    labels = tuple(
        read_labels(folder / name_labels(one.ends), one, plan.zones, plan.attributes)
        for one in plan.empty_labels
    )
    return replace(opened, noisy=noisy, labels=labels, prior=prior)
