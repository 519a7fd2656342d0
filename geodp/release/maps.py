"""A release of several maps of one grid, stated by its streams, quantities and constraints.

It is for a kind of one's own (docs/how-to/add-a-kind-of-release.md): a subclass of
:class:`MapsKind` states what is measured with which part of the budget, what follows from it, and
what must hold. How a release is prepared, charged, kept, written, checked, opened and resumed
follows from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import inf
from pathlib import Path
from types import new_class
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import USUAL, WORST_CASE, Interval
from geodp.accuracy.interval_arithmetic import Bounds, Figures, divide
from geodp.advice import takes
from geodp.errors import NAMES, Rule, UsageError, VerificationError, is_name
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.folder.publication import write_rows
from geodp.io.write.tables import RowErrors
from geodp.io.write.view import JointView, View
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.registry import list_parts
from geodp.release.composite import RegionalRelease, add_fact, fill_tables, place_cells
from geodp.release.index_kind import IndexKind, SeriesKind
from geodp.release.inputs import check_labels, state_tables
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.opening import open_release
from geodp.release.periods import Periods
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.release import Release
from geodp.release.request import (
    OF_TABLES,
    Request,
    choose_pyramid,
    make_event,
    make_request,
    make_series_request,
)
from geodp.release.series import (
    PeriodsDesign,
    ReleasedPeriods,
    design_periods,
    join_inputs,
    prepare_periods,
    require_alike,
    share_periods,
)
from geodp.release.sharing import Person
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.reprs import one_line
from geodp.table.card import File, LeftOut
from geodp.table.contribution import bound_contribution, combine_bounds
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.index import (
    Constraint,
    Joint,
    PeriodsCard,
    Rebuilt,
    TablesCard,
    TablesGuarantee,
    Together,
    state_event,
)
from geodp.table.plain import before
from geodp.table.reading import join_known
from geodp.typing import KeyArray

LABEL = b"geodp maps identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""

STREAM = b"geodp maps stream 1"
"""Domain separation of the derivation of a stream's key."""

DECIMALS = 4
"""Decimals of ratios in files."""

PROOF = (
    "each map has a part of the budget, the parts add up to it, and the noise of all maps is "
    "independent; everything else is post-processing"
)
"""Why such a release holds what it promises."""


COUNTED = "One {} adds at most {:,} to the sum of the counts of each map."
"""The assumption of the contribution."""

EXPECTED = Rule("maps-expected", "Give the maps {}, all on one public grid.")


class MapStream(NamedTuple):
    """A map that is measured.

    Attributes
    ----------
    name : str
        Of its table: small letters. It derives the key of the noise, so that it is never renamed.
    share : Fraction
        Part of the budget; those of all streams add up to 1.
    """

    name: str
    share: Fraction


@dataclass(frozen=True)
class MapRatio:
    """A quantity that follows from two maps, the first for each of the second.

    Attributes
    ----------
    name : str
        Of its column.
    of : (str, str)
        Names of the streams.
    unit : str
        Such as "employed for each adult".
    least, most : float
        Between which every true ratio lies.
    """

    name: str
    of: tuple[str, str]
    unit: str
    least: float
    most: float


@dataclass(frozen=True, kw_only=True, repr=False)
class MapsCard(TablesCard):
    """The index of a release of several maps.

    Attributes
    ----------
    quantities : tuple of MapRatio
        What follows from the maps.
    """

    quantities: tuple[MapRatio, ...] = field(metadata=before("constraints"))


@dataclass(frozen=True)
class MapsSeriesGuarantee(Together, TablesGuarantee):
    """The privacy guarantee of all periods together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class MapsSeriesCard(PeriodsCard):
    """The index of a series of releases of several maps."""

    promise: ClassVar = MapsSeriesGuarantee

    guarantee: MapsSeriesGuarantee


@dataclass(frozen=True, eq=False)
class Maps(RegionalRelease[MapsCard]):
    """A release of several maps.

    Attributes
    ----------
    kind : MapsKind
    maps : mapping of str to Release
        By the names of the streams.
    index : MapsCard
    """

    __repr__ = one_line

    kind: MapsKind = field(repr=False)
    maps: Mapping[str, Release] = field(repr=False)
    index: MapsCard

    @property
    def tables(self) -> dict[str, Release]:
        """The maps by name."""
        return {**self.maps}

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the maps and of the ratios."""
        return (*self.maps, *(one.name for one in self.kind.quantities))

    @property
    def ratios(self) -> dict[str, tuple[str, str]]:
        """The ratios, with the names of both maps of each."""
        return {one.name: one.of for one in self.kind.quantities}

    @property
    def constraints(self) -> tuple[Constraint[Maps], ...]:
        """Constraints that hold exactly, which are those of the kind."""
        return self.kind.constraints

    def with_fact(self, fact: str) -> Maps:
        """Return the release with a public fact more on the card of every map."""
        return replace(self, maps=add_fact(self.maps, fact))

    def estimate(self, region: Any, *, interval: str = USUAL) -> dict[str, Any]:
        """Estimate every map and every quantity in a region.

        ``region``, ``interval``: as for :meth:`geodp.Release.estimate`.

        Returns
        -------
        dict of str
            An :class:`~geodp.Estimate` for each map, an :class:`~geodp.Interval` for each ratio;
            None where it is not estimable.
        """
        return self.estimate_all([region], interval=interval)[0]

    def estimate_all(
        self, regions: Iterable[Any], *, interval: str = USUAL
    ) -> list[dict[str, Any]]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`."""
        grid = next(iter(self.maps.values())).grid
        listed = [Region.of(grid, one) for one in regions]
        found: dict[str, Any] = {
            name: one.estimate_all(listed, interval=interval) for name, one in self.maps.items()
        }
        bounds = {name: Bounds.of(each) for name, each in found.items()}
        for one in self.kind.quantities:
            ratio = divide_maps(one, bounds, interval)
            found[one.name] = [ratio.at(place) for place in range(len(listed))]
        return [dict(zip(found, each, strict=True)) for each in zip(*found.values(), strict=True)]

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return the maps and the ratios of many regions by their names."""
        return [*self.estimate_all(regions, **options)]

    def views(self) -> list[View]:
        """Return the views of all maps and of all ratios, for exports."""
        return [*super().views(), *map(self._view_ratio, self.kind.quantities)]

    def _view_ratio(self, one: MapRatio) -> View:
        """Return the table of a ratio, of the cells that its second map lists."""
        base = self.maps[one.of[1]]
        card = replace(base.view(one.of[1]).card, release_id="")
        columns = _RatioColumns(0.0, None, self, one)
        return JointView(base.table, card, columns, stem=one.name)

    def write_joint(self, folder: Path) -> Joint:
        """Write a table of every ratio, of the cells that its second map lists."""
        files: list[File] = []
        left_out: list[LeftOut] = []
        for one in self.kind.quantities:
            what = f"{one.unit} in every cell that {one.of[1]} lists, with 95 % intervals"
            listed, missing = write_rows(self._view_ratio(one), one.name, folder, what)
            files += listed
            left_out += missing
        return tuple(files), tuple(left_out)

    def rebuild(self) -> Rebuilt[MapsCard]:
        """Derive from the maps what their index and their cards must say."""
        first = cast(Measurement, next(iter(self.maps.values())).event)
        whole = replace(first, share=Fraction(1))
        events = {one.name: replace(first, share=one.share) for one in self.kind.streams}
        total = self.kind.name_event(whole)
        identity = describe_maps(one.table for one in self.maps.values())
        facts = (self.kind.describe(total), identity)
        return Rebuilt(self.kind.state(total), events, facts, total.loss)


def describe_maps(tables: Iterable[ReleasedTable]) -> str:
    """Describe, for the card of each map, the released counts of all of them."""
    arrays = (array for one in tables for array in (one.key, np.asarray(one.count, np.int64)))
    return f"that the counts of all maps of its release have the digest {digest(*arrays).hex()}"


@dataclass(frozen=True, eq=False)
class _RatioColumns(RowErrors):
    """The columns of a ratio's table after the count of its second map."""

    maps: Maps | None = None
    ratio: MapRatio | None = None

    @staticmethod
    def of(ratio: MapRatio) -> tuple[str, ...]:
        """Return the names of the columns of a ratio."""
        return (ratio.of[0], ratio.name, f"{ratio.name}_low", f"{ratio.name}_high")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        assert self.ratio is not None
        return self.of(self.ratio)

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of some cells; ratios are masked where they are not estimable."""
        assert self.maps is not None
        assert self.ratio is not None
        bounds = {name: _bound_cells(self.maps.maps[name], key) for name in self.ratio.of}
        ratio = divide_maps(self.ratio, bounds)
        return [bounds[self.ratio.of[0]].count.astype(np.int64), *ratio.columns(DECIMALS)]


def divide_maps(ratio: MapRatio, bounds: Mapping[str, Bounds], interval: str = USUAL) -> Interval:
    """Estimate a ratio of maps at some places: float64[n]."""
    first, second = (bounds[name] for name in ratio.of)
    # What a clamp took of one map it may have taken of the other.
    is_worst = interval == WORST_CASE
    return divide(first, second, ratio.least, ratio.most, dependent=is_worst)


def _bound_cells(release: Release, key: KeyArray) -> Bounds:
    """Return the bounds of cells, which need not be listed."""
    # Those of files are rounded, and the same before and after a release is written.
    intervals = Release(release.table).intervals()
    assert intervals is not None  # as a pyramid has closed forms
    count = np.asarray(release.table.counts_at(key), np.float64)
    return Bounds(count, np.zeros(key.size), *intervals.of(key))


@dataclass(frozen=True, eq=False)
class MapsDesign:
    """A release of several maps before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : Inputs
    kind : MapsKind
    method : Pyramid
    whole : Measurement
        Event of all maps together.
    preview : Maps
        The release of empty maps.
    """

    drawn: ClassVar[Any] = tuple[DrawnCells, ...]

    request: Request
    inputs: Inputs
    kind: MapsKind
    method: Pyramid
    whole: Measurement
    preview: Maps

    @property
    def event(self) -> Measurement:
        """The event of all maps, with the release's name for the ledger."""
        return self.kind.name_event(self.whole)

    @property
    def shown(self) -> Release:
        """The first map without people."""
        return next(iter(self.preview.maps.values()))

    @property
    def parts(self) -> list[Measurement]:
        """Events of the noise of every map."""
        return [cast(Measurement, one.event).own for one in self.preview.maps.values()]

    @property
    def draws(self) -> Draws:
        """The draws of the method, with the key of each map."""
        grid = self.shown.grid
        names = map(self.kind.name_key, self.preview.maps)
        return Draws.of(
            (),
            {
                name: self.method.declare(grid, part)
                for name, part in zip(names, self.parts, strict=True)
            },
        )

    def identify(self, tables: Sequence[CountTable]) -> bytes:
        """Return the SHA-256 of everything that the release depends on except the key."""
        named = (
            *(("kind", self.kind.name), ("whole", loss_fields(self.whole))),
            *(("stream", name) for name in self.preview.maps),
        )
        digests = [
            release_digest(one, self.method, part)
            for one, part in zip(tables, self.parts, strict=True)
        ]
        return digest(LABEL, encode(named), *digests)

    def draw(self, tables: Sequence[CountTable], key: NoiseKey) -> tuple[DrawnCells, ...]:
        """Draw every map with a key of its own."""
        drawn = []
        for name, table, part in zip(self.preview.maps, tables, self.parts, strict=True):
            with key.derive(self.kind.name_key(name)) as own:
                drawn.append(DrawnCells.of(self.method.release(table, part, own)))
        return tuple(drawn)

    def complete(self, drawn: Sequence[DrawnCells], charge: Charge | None) -> Maps:
        """Return the release of what was drawn."""
        previews = self.preview.maps
        tables = place_cells(previews.values(), drawn)
        # Of what is released: whoever puts maps of two releases together is found out.
        made = fill_tables(previews.values(), tables, describe_maps(tables), charge)
        maps = dict(zip(previews, made, strict=True))
        return replace(self.preview, maps=maps).with_charge(charge)


class MapsSeriesKind(SeriesKind):
    """A kind of series of releases of several maps, which follows from the kind of these."""

    index = MapsSeriesCard


class MapsKind(IndexKind):
    """A kind of release of several maps; a subclass states what differs.

    Attributes
    ----------
    name : str
        Of the kind: small letters. The index is ``NAME.json``, of the schema ``geodp-NAME-1``.
    title : str
        With its article, for sentences.
    streams : tuple of MapStream
        All maps, at least one.
    quantities : tuple of MapRatio
    constraints : tuple of Constraint
        What holds exactly of every release, a sentence of the index and its check.
    series : SeriesKind
        Made of these: the kind of a release for every period.
    """

    index = MapsCard
    streams: ClassVar[tuple[MapStream, ...]]
    quantities: ClassVar[tuple[MapRatio, ...]] = ()
    constraints: ClassVar[tuple[Constraint[Maps], ...]] = ()
    series: ClassVar[SeriesKind]

    def __init_subclass__(cls) -> None:
        """Make the classes of indexes; UsageError for what no release can be made of."""
        if (fault := next(_list_faults(cls), None)) is not None:
            raise UsageError(f"{cls.__name__}: {fault}", code="kind-misstated")
        card = new_class(f"{cls.__name__}Card", (MapsCard,), {"kind": cls.name})
        cls.index = cast(type[MapsCard], card)
        super().__init_subclass__()
        cls.series = _make_series(cls)

    @takes(make_request, without=OF_TABLES)
    def publish(self, tables: Mapping[str, CountTable], **options: Any) -> Maps:
        """Release confidential maps under one budget, with one charge.

        Parameters
        ----------
        tables : mapping of str to CountTable
            Of every stream, by name, all on one public grid.

        Raises
        ------
        UsageError, BudgetError
            As for :func:`geodp.publish`; nothing was charged.
        """
        prepared = self.prepare(tables, make_request(**options))
        # Between: the frame of the decorator.
        warn_before_release(prepared.design.shown, between=1)
        return prepared.release()

    @takes(make_request, without=OF_TABLES)
    def publish_series(
        self,
        tables: Sequence[Mapping[str, CountTable]],
        *,
        times: Sequence[str],
        person: Person,
        **options: Any,
    ) -> ReleasedPeriods[Maps, MapsSeriesCard]:
        """Release maps of several periods under one budget, with one charge.

        Parameters
        ----------
        tables : sequence of mapping
            For every period in the order of time, what :meth:`publish` takes.
        times : sequence of str
            Public: years, months, days or hours in ISO 8601 (``2024-05``), evenly spaced.
        person : {"all", "one"}
            Whether one person may be in every period, which then share the budget, or is in one.

        Raises
        ------
        UsageError, BudgetError
            As for :func:`geodp.publish_series`; nothing was charged.
        """
        request = make_series_request(**options)
        prepared = self.prepare_series(tables, Periods.of(times), request, person=person)
        warn_before_release(prepared.design.shown, between=1)
        return prepared.release()

    def prepare(
        self, tables: Mapping[str, CountTable], request: Request
    ) -> Prepared[MapsDesign, Maps]:
        """Do everything that comes before the charge of a release of confidential maps.

        Parameters
        ----------
        tables : mapping of str to CountTable
            Of every stream, by name, all on one public grid.
        request : Request

        Raises
        ------
        UsageError
            Maps that are missing or on other grids, and as for :func:`geodp.publish`.
        """
        listed = self._list_maps(tables)
        bound = _bound(listed, request)
        inputs = Inputs(*state_tables(listed, request, check_labels(listed, bound)), bound)
        return _prepare(self.design(listed[0].grid, request, inputs), listed)

    def prepare_series(
        self,
        tables: Sequence[Mapping[str, CountTable]],
        periods: Periods,
        request: Request,
        *,
        person: Person,
    ) -> Prepared[PeriodsDesign, ReleasedPeriods[Maps, MapsSeriesCard]]:
        """Do everything that comes before the charge of a series, a release for every period.

        Parameters
        ----------
        tables : sequence of mapping
            For every period in the order of time, what :meth:`prepare` takes.
        periods : Periods
        request : Request
            Of all periods together.
        person : {"all", "one"}
            Whether one person may be in every period, which then share the budget, or is in one.

        Raises
        ------
        UsageError
            Tables of different grids, other times than tables, and as for :meth:`prepare`.
        """
        listed = [self._list_maps(one) for one in tables]
        wrong = EXPECTED.format(", ".join(one.name for one in self.streams))
        first = require_alike(listed, periods, list, wrong, lambda one: {"grid": one[0].grid})
        bound = _bound([table for maps in listed for table in maps], request)
        joined = [
            join_inputs(one, periods, check_labels(one, bound), allow_empty=request.allow_empty)
            for one in zip(*listed, strict=True)
        ]
        facts = dict.fromkeys(fact for facts, _ in joined for fact in facts)
        inputs = Inputs(tuple(facts), tuple(reading for _, reading in joined), bound)
        design = self.design_series(first[0].grid, periods, request, inputs, person=person)
        parts = [_prepare(part, maps) for part, maps in zip(design.parts, listed, strict=True)]
        return prepare_periods(design, parts)

    def _list_maps(self, tables: Mapping[str, CountTable]) -> list[CountTable]:
        """List maps in the order of streams; UsageError for missing ones, or on other grids."""
        names = [one.name for one in self.streams]
        if sorted(tables) != sorted(names) or len({*(one.grid for one in tables.values())}) != 1:
            raise UsageError(EXPECTED.format(", ".join(names)))
        return [tables[name] for name in names]

    def design(self, grid: Grid, request: Request, inputs: Inputs) -> MapsDesign:
        """Design a release from public things alone; UsageError as for :meth:`prepare`."""
        if unused := [name for name in OF_TABLES if getattr(request, name)]:
            raise UsageError(
                f"These are for a release of one table, and not for {self.title}: "
                f"{', '.join(unused)}.",
                code="maps-option",
            )
        method = choose_pyramid(request.method, "Several maps")
        terms, origin = request.terms.bound(inputs.bound), request.key_origin
        whole = make_event(grid, method, terms, origin)
        facts = (*inputs.facts, self.describe(self.name_event(whole)))
        maps = {}
        for one, reading in zip(self.streams, inputs.readings, strict=True):
            event = make_event(grid, method, terms.share(one.share), origin).depending_on(whole)
            people = request.terms.people
            maps[one.name] = preview_release(
                *(grid, method, event, people, facts, reading, request.metadata)
            )
        preview = Maps(self, maps, self.state(self.name_event(whole)))
        for constraint in self.constraints:
            # Of the release of nobody; nothing more can be tried before the charge.
            if not constraint.holds(preview):
                raise UsageError(
                    f"This does not hold in {self.title}: {constraint.sentence}",
                    code="maps-constraint",
                )
        for ratio in self.quantities:
            columns = (*maps[ratio.of[1]].view(ratio.of[1]).columns, *_RatioColumns.of(ratio))
            if len(set(columns)) != len(columns):
                raise UsageError(
                    f"The ratio {ratio.name} is named as another column of its table: "
                    f"{', '.join(columns)}.",
                    code="maps-column",
                )
        return MapsDesign(request, inputs, self, method, whole, preview)

    def design_series(
        self, grid: Grid, periods: Periods, request: Request, inputs: Inputs, *, person: Person
    ) -> PeriodsDesign:
        """Design a series from public things alone; UsageError as for :meth:`prepare_series`."""
        method = choose_pyramid(request.method, "Several maps")
        terms = request.terms.bound(inputs.bound)
        sharing = share_periods(grid, method, terms, len(periods.names), person)

        def make(each: Request) -> MapsDesign:
            return self.design(grid, each, inputs)

        return design_periods(make, self.series.index, periods, sharing, request, inputs)

    def open(self, folder: Path) -> Maps:
        """Open the maps in a public folder, which its index lists."""
        index = self.read_card(folder)
        names = [one.name for one in self.streams]
        if [one.name for one in index.tables] != names:
            raise VerificationError(
                f"The index does not list the maps {', '.join(names)}.", code="maps-differ"
            )
        return Maps(
            self, {one.name: open_release(folder / one.name) for one in index.tables}, index
        )

    def state(self, total: Measurement) -> MapsCard:
        """State the index of a release that is not drawn yet; ``total``: event of all maps."""
        counted = COUNTED.format(total.unit, total.contribution)
        promise = TablesGuarantee(
            source=PROOF,
            **state_event(total, "any result of these maps together"),
            assumptions=(replace(total.assumption, statement=counted),),
        )
        return self.index.state(
            total,
            guarantee=promise,
            quantities=self.quantities,
            constraints=tuple(one.sentence for one in self.constraints),
        )

    def name_event(self, whole: Measurement) -> Measurement:
        """Return the event of all maps together, with the release's name for the ledger."""
        names = ", ".join(one.name for one in self.streams)
        return replace(whole, mechanism=f"{whole.mechanism} of {names}")

    def describe(self, total: Measurement) -> str:
        """Describe, for the card of one map, the release that it is a part of."""
        return (
            f"that it is one of the maps of {self.title}; together they spend {total.spends}, "
            "charged once"
        )

    def name_key(self, stream: str) -> bytes:
        """Return the digest from which the key of a stream is derived."""
        return digest(STREAM, self.name.encode(), stream.encode())


def _make_series(kind: type[MapsKind]) -> SeriesKind:
    """Make the kind of a series of releases of a kind."""
    name, title = f"{kind.name}-series", f"a series, each period of which is {kind.title}"
    card = new_class(
        f"{kind.__name__}SeriesCard",
        (MapsSeriesCard,),
        {"kind": name},
        lambda body: body.update(period=kind.index),
    )
    stated = {"index": card, "title": title}
    made = new_class(f"{kind.__name__}Series", (MapsSeriesKind,), {}, lambda b: b.update(stated))
    return cast(SeriesKind, made())


def _bound(tables: Sequence[CountTable], request: Request) -> ContributionBound:
    """Return the bound on the contribution to any of several maps."""
    stated = request.terms.contribution
    return combine_bounds([bound_contribution(one, stated) for one in tables])


def _prepare(design: MapsDesign, tables: Sequence[CountTable]) -> Prepared[MapsDesign, Maps]:
    """Prepare the release of a design; ``tables``: of every stream."""
    names = [one.name for one in design.kind.streams]
    cells = {name: int(one.key.size) for name, one in zip(names, tables, strict=True)}
    counted = {name: int(one.count.sum()) for name, one in zip(names, tables, strict=True)}
    known = {"occupied_cells": cells, "counted": counted}
    return Prepared(
        design,
        partial(design.identify, tables),
        partial(design.draw, tables),
        join_known(one.reading for one in tables),
        cells=max(cells.values()),
        counted=known,
    )


def _list_faults(kind: type[MapsKind]) -> Iterator[str]:
    """Yield what is wrong with the statement of a kind, a sentence each."""
    name, title = getattr(kind, "name", None), getattr(kind, "title", None)
    if not is_name(name) or name in (*list_parts(), "release"):
        yield f"name is {name!r}; give {NAMES} that geodp does not have, such as 'employment'."
    if not (isinstance(title, str) and title):
        yield "title is missing; give one with its article, such as 'a release of employment'."
    streams, ratios = getattr(kind, "streams", ()), kind.quantities
    if not streams or not all(isinstance(one, MapStream) for one in streams):
        yield "streams must list one MapStream(name, share) or more."
        return
    names = [one.name for one in streams]
    for one in streams:
        if not re.fullmatch("[a-z]+", str(one.name)):
            yield f"the stream {one.name!r} must have a name of small letters from a to z alone."
        if not (isinstance(one.share, Fraction) and one.share > 0):
            yield f"the share of {one.name} must be a Fraction above 0, and is {one.share!r}."
    if sum(one.share for one in streams) != 1:
        yield "the shares of the streams do not add up to 1."
    if len({*names, *(one.name for one in ratios)}) != len(names) + len(ratios):
        yield "two streams or quantities have one name."
    for ratio in ratios:
        if not re.fullmatch(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*", ratio.name):
            yield f"the ratio {ratio.name!r} must have a name of small letters, digits, - and _."
        if not {*ratio.of} <= {*names} or len({*ratio.of}) != 2:
            yield f"the ratio {ratio.name} must be of two of the streams {', '.join(names)}."
        if not 0 <= ratio.least < ratio.most < inf:
            yield f"least and most of {ratio.name} must be finite, in this order and not below 0."
