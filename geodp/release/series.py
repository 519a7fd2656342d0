"""A series of releases of any kind: one for every period, under one budget with one charge.

A kind gives the design of a release for a budget, and a :class:`Prepared` for each period of its
design. Its index (:class:`geodp.table.index.PeriodsCard`) says how the guarantee is stated for all
periods together. What differs between two periods is the difference of what was measured in each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast

from geodp.errors import Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.folder.kinds import kind_of
from geodp.io.folder.staged_release import StagedPeriods
from geodp.io.read.public.land import state_land
from geodp.io.verify.index import read_index
from geodp.io.verify.readback import explain_errors
from geodp.mechanisms import Mechanism
from geodp.options.shared import CHANGES
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge
from geodp.privacy.loss import amounts_of
from geodp.privacy.noise.draws import Draws
from geodp.privacy.terms import Terms
from geodp.release.card import state_budget
from geodp.release.composite import Composite
from geodp.release.frames import plot_curve, plot_maps, preview, stack_arrays, stack_frames
from geodp.release.opening import require_unwritten
from geodp.release.periods import Periods, declare_periods, draw_periods, identify_periods
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.release.sharing import Person, Sharing, count_changed, share_budget
from geodp.release.transaction import Inputs, Prepared
from geodp.reprs import one_line
from geodp.table.counts import CountTable
from geodp.table.index import IndexCard, PeriodsCard, TablesCard, describe_period
from geodp.table.reading import StatedReading, join_descriptions, join_known, require_rows_of_series

IDENTITY = b"geodp %s series identity 1"
"""Domain separation of the hash of a series, with a version of the list of components."""

PERIOD = b"geodp %s period 1"
"""Domain separation of the derivation of a period's key."""

IN_ONE = "One {} is in one period only."
"""The assumption of a series in which each period has a larger part of the budget."""

PROOF = (
    "at most {} of the {} periods differ between neighbours, each has 1/{} of the budget, and the "
    "noise of all periods is independent. Of one period, with all of its part: {}"
)
"""Why a series holds what it promises."""

Read = TypeVar("Read")
OneOf = TypeVar("OneOf", bound=Composite[Any] | Release)
IndexOf = TypeVar("IndexOf", bound=IndexCard)
SeriesOf = TypeVar("SeriesOf", bound=PeriodsCard)


@dataclass(frozen=True, eq=False)
class ReleasedPeriods(Generic[OneOf, IndexOf]):
    """Releases of one kind in chronological order, on one grid.

    Attributes
    ----------
    periods : Periods
        Their times.
    releases : tuple
        One for each period, with its part of the budget. ``series[2]`` and ``series["2020"]`` are
        single ones, and ``series[1:]`` a tuple of some.
    index : IndexCard
        What all periods share, the guarantee of all together, and the charge.
    """

    __repr__ = one_line

    periods: Periods
    releases: tuple[OneOf, ...]
    index: IndexOf

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[OneOf]:
        return iter(self.releases)

    def __getitem__(self, at: Any) -> Any:
        """Return the release of a period, by its number from 0 or its time.

        Raises UsageError for a time that is no period.
        """
        if not isinstance(at, str):
            return self.releases[at]
        if at not in self.periods.names:
            raise UsageError(
                f"There is no period {printable(at[:40])} in this series: its periods are "
                f"{', '.join(self.periods.names)}.",
                code="period-unknown",
            )
        return self.releases[self.periods.names.index(at)]

    @property
    def ground(self) -> Grid:
        """The grid on which regions and places lie."""
        return self.releases[0].ground

    @property
    def times(self) -> tuple[str, ...]:
        """Times of the periods, in chronological order."""
        return self.periods.names

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of every period."""
        first: Any = self.releases[0]
        return cast(tuple[str, ...], first.quantities)

    @property
    def named(self) -> dict[str, Any]:
        """The releases by their times, in chronological order."""
        return dict(zip(self.periods.names, self.releases, strict=True))

    def _find_pair(self, times: tuple[str, str] | None) -> tuple[Any, Any]:
        """Return the releases of two periods; None: of the first and the last one."""
        pair = times or (self.periods.names[0], self.periods.names[-1])
        if isinstance(times, str) or len(pair) != 2 or len({*pair}) != 2:
            raise UsageError(
                "A series is compared at two of its times, such as "
                f"times=({self.periods.names[0]!r}, {self.periods.names[-1]!r}).",
                code="series-two-times",
            )
        return self[pair[0]], self[pair[1]]

    def estimate(self, *region: Any, **options: Any) -> dict[str, Any]:
        """Estimate a region in every period.

        Parameters
        ----------
        *region, **options
            As for ``estimate`` of a release of this kind.

        Returns
        -------
        dict
            Estimates by time, in chronological order. Errors of different periods are independent.

        Raises
        ------
        UsageError
            As for a release of this kind.
        """
        return {time: one.estimate(*region, **options) for time, one in self.named.items()}

    def compare(self, *region: Any, **options: Any) -> Any:
        """Estimate by how much a region differs between two periods, the later less the earlier.

        Parameters
        ----------
        *region, **options
            As for ``compare`` of a release of this kind, and ``times``: the two periods; default:
            the first and the last one.

        Returns
        -------
        object
            A difference of this kind, with 95 % intervals: the errors of two periods are
            independent.

        Raises
        ------
        UsageError
            A time that is no period, the same one twice, or not two of them.
        """
        first, last = self._find_pair(options.pop("times", None))
        return first.compare(*region, release=last, **options)

    def changes(
        self, *region: Any, since: Literal["previous", "first"] = "previous", **options: Any
    ) -> dict[tuple[str, str], Any]:
        """Estimate by how much a region differs between periods, each less an earlier one.

        Parameters
        ----------
        *region, **options
            As for :meth:`compare`, without ``times``.
        since : {"previous", "first"}
            The earlier period: the one before each, or the first one for all.

        Returns
        -------
        dict
            Differences by the two times, the earlier one first, in chronological order; each is as
            :meth:`compare` returns it.

        Raises
        ------
        UsageError
            As for :meth:`compare`, and for another ``since``.
        """
        return {
            pair: self.compare(*region, times=pair, **options)
            for pair in pair_times(self.times, since)
        }

    def to_pandas(self) -> Any:
        """Convert the rows of all periods to a ``pandas.DataFrame``, with a first column ``time``.

        Raises UsageError where pandas is not installed.
        """
        return stack_frames({time: one.to_pandas() for time, one in self.named.items()}, "time")

    def to_geopandas(self) -> Any:
        """Convert the rows of all periods to a ``geopandas.GeoDataFrame``; see :meth:`to_pandas`.

        Raises UsageError for a grid without a place on the Earth, and without geopandas.
        """
        return stack_frames({time: one.to_geopandas() for time, one in self.named.items()}, "time")

    def to_xarray(self) -> Any:
        """Convert all cells of all periods to xarray, with a first dimension ``time``.

        Its coordinate is the start of each period: datetime64[times]. A series of counts is an
        ``xarray.DataArray``; one of several tables is a ``Dataset`` with a variable for each table
        that is one map, such as persons and households.

        Raises UsageError as :meth:`geodp.Release.to_xarray` does.
        """
        return stack_arrays([one.to_xarray() for one in self.releases], self.periods.dates)

    def plot(
        self,
        region: Any = None,
        *,
        quantity: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Draw small maps of all periods on one scale, or the curve of a region, with Matplotlib.

        Parameters
        ----------
        region : region, optional
            As for ``estimate``; of flows one region, from which and to which trips lead. Its curve
            has the 95 % interval of every period. Default: maps of the first table that is one map.
        quantity : str, optional
            Of the curve. Default: the first one.
        ax : matplotlib.axes.Axes, or an array of them for maps, optional
            Default: new axes.
        **kwargs
            Passed to ``errorbar`` of a curve, and to ``imshow`` of maps.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them

        Raises
        ------
        UsageError
            A region that ``estimate`` refuses, a quantity that the release does not have, a grid
            that is not one map, and without Matplotlib.
        """
        if region is None:
            tables = [[*one.tables.values()] for one in self.releases]
            at = next((n for n, one in enumerate(tables[0]) if not one.grid.maps.missing), 0)
            maps = {time: one[at] for time, one in zip(self.times, tables, strict=True)}
            return plot_maps(maps, ax, **kwargs)
        found = self._list_figures(region)
        name = next(iter(found[0])) if quantity is None else quantity
        if name not in found[0]:
            raise UsageError(
                f"There is no {printable(name[:40])} here; give quantity= one of "
                f"{', '.join(found[0])}.",
                code="quantity-unknown",
            )
        numbers = {time: one[name] for time, one in zip(self.times, found, strict=True)}
        return plot_curve(numbers, name.replace("_", " "), ax, **kwargs)

    def _list_figures(self, region: Any) -> list[Any]:
        """Return the quantities of a region in every period."""
        # Of flows the maps of their ends are about regions.
        maps: list[Any] = [getattr(one, "ends", one) for one in self.releases]
        places = Region.of(self.ground, region)
        return [one.list_figures([places])[0] for one in maps]

    def card(self) -> IndexOf:
        """Return the public index, without periods."""
        return self.index

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public`` every period has a folder, named by
            its time, with a complete release; beside these is the index.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and of periods.

        Raises
        ------
        UsageError, OutputError
            See :meth:`geodp.Release.write`.
        """
        require_unwritten(table for one in self.releases for table in one.tables.values())
        first: Any = self.releases[0]
        first.check_place(path, overwrite=overwrite)
        with StagedPeriods.stage(path, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def write_into(self, place: StagedPeriods, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the series into a folder that was staged before the charge."""
        return place.write_periods(self.named, self.index, restricted)

    def explore(self, time: str | None = None, **kwargs: Any) -> Any:
        """Show a period on an interactive map in a notebook; see :meth:`geodp.Release.explore`.

        ``time``: that of the period; default: the last one.
        """
        return self[self.times[-1] if time is None else time].explore(**kwargs)

    def _repr_html_(self) -> str:
        """Render small maps of the first and the last period as HTML, for notebooks."""
        index: Any = self.index
        views = {}
        for time in dict.fromkeys((self.times[0], self.times[-1])):
            name, table = next(iter(self[time].tables.items()))
            views[f"{name}, {time}"] = table.view(name)
        periods = f"{len(self)} periods, {self.times[0]} to {self.times[-1]}"
        return preview(views, [index.guarantee.in_words, periods])


def pair_times(times: Sequence[str], since: str) -> list[tuple[str, str]]:
    """Pair every time after the first with an earlier one, which comes first.

    ``since``: the earlier one is the ``previous`` of each, or the ``first`` of all; UsageError for
    another word.

    Examples
    --------
    >>> pair_times(("2020", "2021", "2022"), "first")
    [('2020', '2021'), ('2020', '2022')]
    """
    CHANGES.check(since, lambda _: "since=")
    earlier = times[:-1] if since == "previous" else [times[0]] * (len(times) - 1)
    return [*zip(earlier, times[1:], strict=True)]


def open_periods(
    folder: Path, card: PeriodsCard, made: type[ReleasedPeriods[Any, Any]] = ReleasedPeriods
) -> Any:
    """Open a series of the class ``made`` from its public folder."""
    times, releases = [one.time for one in card.periods], []
    for time in times:
        with explain_errors(folder / time):
            index = read_index(folder, f"{time}/{card.period.file}", card.period.from_json)
        releases.append(kind_of(index).open(folder / time))
    return made(Periods.of(times), tuple(releases), card)


@dataclass(frozen=True, eq=False)
class PeriodsDesign:
    """A series before anything is drawn.

    Attributes
    ----------
    request : Request
        Of all periods together.
    inputs : Inputs
        Of all periods together.
    periods : Periods
    sharing : Sharing
    total : Measurement
        Event of all periods together.
    parts : tuple of StoredDesign
        The periods, each with its part of the budget; ``preview`` is a release without counts.
    index : PeriodsCard
        Without a charge.
    made : callable
        Makes the series of its periods, its releases and its index.
    """

    request: Request
    inputs: Any
    periods: Periods
    sharing: Sharing
    total: Measurement
    parts: tuple[Any, ...]
    index: Any
    made: Callable[..., Any]

    @property
    def drawn(self) -> Any:
        """Type of what is drawn."""
        return tuple.__class_getitem__((self.parts[0].drawn, ...))

    @property
    def event(self) -> Measurement:
        """The event to charge for all periods, with the series' name for the ledger."""
        mechanism = self.parts[0].event.mechanism
        times, called = self.periods.names, self.index.called
        text = f"{mechanism}, {len(times)} {called}s {times[0]} to {times[-1]}, "
        text += f"{self.total.unit} in {self.sharing.person}"
        return replace(self.total, mechanism=text)

    @property
    def label(self) -> bytes:
        """Label that derives the keys of periods."""
        kind: bytes = self.index.period.kind.encode()
        return PERIOD % kind

    @property
    def identity(self) -> bytes:
        """Label that separates the hash of the series from that of other kinds."""
        kind: bytes = self.index.period.kind.encode()
        return IDENTITY % kind

    @property
    def draws(self) -> Draws:
        """With the key of every period, the draws of its release."""
        return declare_periods(self.label, len(self.parts), self.parts[0].draws)

    @property
    def shown(self) -> Release:
        """The table of the first period whose card is shown."""
        shown: Release = self.parts[0].shown
        return shown

    def complete(self, drawn: Sequence[Any], charge: Charge | None) -> Any:
        """Return the series of what was drawn in place of nothing."""
        parts = zip(self.parts, drawn, strict=True)
        releases = tuple(part.complete(one, charge) for part, one in parts)
        return self.made(self.periods, releases, replace(self.index, budget=state_budget(charge)))


def share_periods(
    grid: Grid, method: Mechanism, terms: Terms, number: int, person: Person
) -> Sharing:
    """Divide a budget among a number of periods; ``method``: of a table of one period.

    As in a single release, the budget says which noise it is for.
    """
    noise: Any = "gaussian" if terms.gaussian else "laplace"
    return share_budget(grid, method, terms, snapshots=number, person=person, noise=noise)


def design_periods(
    make: Callable[[Request], Any],
    index: type[PeriodsCard],
    periods: Periods,
    sharing: Sharing,
    request: Request,
    inputs: Inputs,
    made: type[ReleasedPeriods[Any, Any]] = ReleasedPeriods,
) -> PeriodsDesign:
    """Design a series from public things alone.

    Parameters
    ----------
    make : callable
        Makes the design of a period from what is asked for of it; raises UsageError.
    index : type
        Class of the index of the series.
    periods : Periods
    sharing : Sharing
        Division of the budget among them.
    request : Request
        Of all periods together.
    inputs : Inputs
        Of all periods together.
    made : type
        Class of the series.
    """
    one = make(replace(request, terms=sharing.each))
    table = next(iter(one.preview.tables.values()))
    each = one.preview.index.event_with(table.event)
    total = replace(each, **amounts_of(sharing.total.loss))
    stated = state_series(index, one.preview.index, each, total, periods, sharing.person)
    names, person = periods.names, sharing.person
    facts = [describe_period(time, names, person, total.unit, total.spends) for time in names]
    parts = tuple(replace(one, preview=one.preview.with_fact(fact)) for fact in facts)
    return PeriodsDesign(request, inputs, periods, sharing, total, parts, stated, made)


def state_series(
    kind: type[SeriesOf],
    period: TablesCard,
    each: Measurement,
    total: Measurement,
    periods: Periods,
    person: Person,
) -> SeriesOf:
    """State what all periods share, without the charge and the periods.

    Parameters
    ----------
    kind : type
        Class of the index.
    period : TablesCard
        Index of a period.
    each, total : Measurement
        Event of this period, and of all periods together.
    periods : Periods
    person : {"all", "one"}
    """
    promise, number = period.state_together(each, total), len(periods.names)
    changed = count_changed(person, total.neighbours, number)
    in_one = [Assumption("series", IN_ONE.format(total.unit), "operator")]
    stated = {one.name: getattr(promise, one.name) for one in fields(promise)} | {
        # A person may be counted as often as it says in each period.
        "in_words": re.sub(r"( is counted .+)\.$", r"\1 in each period.", promise.in_words),
        "source": PROOF.format(changed, number, changed, promise.source),
        "assumptions": (*promise.assumptions, *(in_one if person == "one" else [])),
    }
    together = kind.promise(**stated, person=person, changed=changed, each_spends=each.spends)
    return kind.state(total, step=periods.step, guarantee=together, **kind.take(period))


def require_alike(
    tables: Sequence[Read],
    periods: Periods,
    kind: type[Read],
    wrong: Rule,
    describe: Callable[[Read], Mapping[str, object]],
) -> Read:
    """Return the first of the tables of all periods.

    Parameters
    ----------
    tables : sequence
    periods : Periods
    kind : type
        Class of a table; ``wrong``: the message for another one.
    describe : callable
        Returns what has to be the same in all tables, by its name.

    Raises
    ------
    UsageError
        Another number of tables than of times, or tables that are not alike.
    """
    if not all(isinstance(table, kind) for table in tables):
        raise UsageError(wrong)
    if len(tables) != len(periods.names):
        raise UsageError(
            f"There are {len(tables)} tables and {len(periods.names)} times; give one table for "
            "each time.",
            code="tables-and-times-differ",
        )
    first = describe(tables[0])
    for table, time in zip(tables, periods.names, strict=True):
        different = [name for name, one in describe(table).items() if one != first[name]]
        if different:
            raise UsageError(
                f"The table of {time} has another {different[0]} than that of "
                f"{periods.names[0]}; read all of them with the same options.",
                code="tables-of-times-differ",
            )
    return tables[0]


def join_inputs(
    tables: Sequence[CountTable], periods: Periods, further: Iterable[str], *, allow_empty: bool
) -> tuple[tuple[str, ...], StatedReading | None]:
    """Return public facts about the tables of all periods, and how all of them were read.

    Parameters
    ----------
    tables : sequence of CountTable
    periods : Periods
    further : iterable of str
        Facts that follow from what was checked.
    allow_empty : bool

    Raises
    ------
    UsageError
        A file, or all of them, counts nobody.
    """
    read = {time: (one.rows, one.reading) for time, one in zip(periods.names, tables, strict=True)}
    met = require_rows_of_series(read, allow_empty=allow_empty)
    readings = [None if one.reading is None else one.reading.public for one in tables]
    facts = (*dict.fromkeys((*met, *further)), *state_land(tables[0].grid))
    return facts, join_descriptions(readings)


def prepare_periods(
    design: PeriodsDesign, parts: Sequence[Prepared[Any, Any]]
) -> Prepared[PeriodsDesign, Any]:
    """Prepare a series; ``parts``: the prepared releases of the periods, in their order."""
    times, cells = design.periods.names, [one.cells for one in parts]

    def identify() -> bytes:
        digests = [one.identify() for one in parts]
        return identify_periods(
            design.identity, times, design.sharing.person, design.total, digests
        )

    def draw(key: NoiseKey) -> tuple[Any, ...]:
        return draw_periods(design.label, times, key, [one.draw for one in parts])

    return Prepared(
        design,
        identify,
        draw,
        join_known(one.reading for one in parts),
        cells=cells,
        counted={
            name: {time: one.counted[name] for time, one in zip(times, parts, strict=True)}
            for name in parts[0].counted
        },
        prior=parts[0].prior,
    )
