"""Stays of persons, each a place and when somebody was there, as trips from one to the next.

They are given, or made of the pings of devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, Rule, UsageError, require_none
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
from geodp.io.read.layout.recognise import require_longitude_first
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.fields import coordinates, decimal_points
from geodp.io.read.rows.forms.geometry import crs_of_points, read_points
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import (
    Locator,
    Transform,
    cell_locators,
    locate,
    locate_points,
    require_unit,
    transformation,
)
from geodp.io.read.rows.scratch import Columns
from geodp.kinds.flows.kernels import stays as kernels
from geodp.kinds.flows.kernels.stays import Position
from geodp.kinds.flows.reading.options import COUNTED
from geodp.kinds.flows.reading.reader import CRS_UNUSED, advise, in_words_of_flows
from geodp.kinds.flows.reading.rules import (
    ACCURACY_FACT,
    DEGREES_FACT,
    GAP_FACT,
    STAYS_FACT,
    StayRules,
    read_duration,
    require_accuracy,
    say_duration,
)
from geodp.kinds.flows.reading.traces import (
    Batch,
    TracedTrips,
    Traces,
    find_moves,
    number_units,
    sort_rows,
)
from geodp.kinds.flows.reading.units import UNITS, number_periods
from geodp.kinds.flows.zones import Locate, locate_in_space
from geodp.table.counts import CountTable
from geodp.typing import FloatArray, IntArray

BEFORE, AFTER = -(2**63), 2**63 - 1
"""Times of a stay that began before its period, and of one that ends after it."""

MOST_PERIODS = 366
"""Most periods over which a stay may extend, as it is in each of them."""

MOST_PARTS = 1 << 18
"""Most parts of stays, each in its period, that are made before they may go to disk."""

REVERSED = Rule(
    "flows-stay-reversed", "the stay ends before it begins; correct such rows, or drop them."
)

TOO_LONG = Rule(
    "flows-stay-too-long",
    f"the stay extends over more than {MOST_PERIODS} of the periods that are protected; correct "
    "such rows, or drop them.",
)

REVERSED_FACT = "that no stay that was read ends before it begins"
TOO_LONG_FACT = f"that no stay that was read extends over more than {MOST_PERIODS} of the periods"
SPLIT_FACT = (
    "that a stay over several periods is in each of them, and that no trip leads to it in those "
    "before which it began"
)


@dataclass(frozen=True, kw_only=True)
class Stays(Traces):
    """Reader of stays.

    Attributes
    ----------
    place : str or pair of str
        Column of codes; or a pair of columns as for :func:`read_trips`.
    time, person : str
        Columns of times at which stays begin, and of ids of persons.
    end : str, optional
        Column of times at which stays end; without it stays have no duration.
    time_zone : str, optional
        The IANA name of the zone of days and hours, if times count from UTC. Where units have
        periods, each period is taken by itself: a stay over midnight is one in each day, and a trip
        over midnight is lost.
    gap : str or int, optional
        Longest time from a stay to the next one with a trip: ``"4h"`` or seconds; default: none.
    outside : {"error", "crop", "drop"}, optional
        As for :func:`read_trips`; trips from or to a stay outside are left out where places may lie
        outside. All places outside are one zone where they are counted (`other`), but those with a
        zone of their name: stays there that meet are one, also in different places.
    by : str, sequence of str, or mapping, optional
        Attributes by which trips are counted, as for :func:`read_trips`. ``hour`` and ``daytype``
        are made from the time of departure: the end of the stay at the origin, or the begin of the
        next stay where that is earlier; without `end` that of the stay at the origin. A trip has
        all other labels from the stay at its destination, as a travel diary says at each stop how
        and why somebody came there: from the row with which it begins. Stays to which no trip leads
        need none.
    """

    end: str | None = None
    gap: int | str | None = None

    kind: ClassVar[str] = "stays"
    held: ClassVar[int] = 208
    rows: ClassVar[str] = "rows"
    form: ClassVar[Any] = "table"
    labelled_row: ClassVar[str] = (
        "the row with which the stay at the destination of the trip begins, of several that "
        "which ends first, and of these the one whose label comes first in its list"
    )

    @cached_property
    def seconds_between(self) -> int:
        """Most seconds between two stays with a trip; UsageError for a gap that is none."""
        return AFTER if self.gap is None else read_duration(self.gap)

    def state(self) -> tuple[str, ...]:
        """State for the card by which rules trips are made."""
        facts = [STAYS_FACT.format(unit=self.protected)]
        if self.seconds_between != AFTER:
            facts.append(GAP_FACT.format(gap=say_duration(self.seconds_between)))
        if self.end is not None:
            facts.append(REVERSED_FACT)
            facts += [SPLIT_FACT, TOO_LONG_FACT] if UNITS[self.protected] else []
        return tuple(facts)

    def list_columns(self) -> list[str]:
        """Return the columns of the place, those of its begin and, if there is one, of its end."""
        assert self.place is not None
        assert self.time is not None
        if self.crs is not None and not self.lies_on_earth:
            raise UsageError(CRS_UNUSED)
        return [*self.columns_of_place, self.time, *([] if self.end is None else [self.end])]

    def prepare_places(self, table: InputTable) -> list[Locator]:
        """Return the locators of places of a table."""
        assert self.place is not None
        points = self.locate_points(table, self.place, self.columns_of_place)
        if points is not None:
            return advise([points])
        if self.crs is not None:
            raise UsageError(CRS_UNUSED)
        if isinstance(self.place, str):
            code, columns = self.place, dict[str, str]()
        else:
            code, columns = None, dict(zip(self.grid.axis_names, self.place, strict=True))
        outside = self.codes_outside
        return advise(cell_locators(self.grid, code, columns, **outside))

    def read_batch(
        self,
        rows: RowPositions,
        arrays: Sequence[pa.Array],
        places: list[Locator],
        labels: Columns,
        zone: str | None,
    ) -> Iterator[Batch]:
        """Yield rows, one for each period of a stay, their cells, persons and times."""
        size = len(self.columns_of_place)
        time, *end, names = arrays[size:]
        index = locate(self.grid, rows, places, arrays[:size])
        begins = ends = self.read_times(rows, self.time, time, zone)
        if self.end is not None:
            ends = self.read_times(rows, self.end, end[0], zone)
            with rows.named(self.end):
                require_none(ends < begins, REVERSED)
        if not UNITS[self.protected]:
            yield rows, index, names, [begins, ends, *labels]
            return
        first, last = (number_periods(one, self.protected, zone) for one in (begins, ends))
        number = np.maximum(last - first, 0) + 1
        with rows.named(self.end):
            require_none(number > MOST_PERIODS, TOO_LONG)
        # In slices, as all periods of long stays may need much more memory than the stays.
        for start, stop in cut(number, MOST_PARTS):
            each = number[start:stop]
            at = np.repeat(np.arange(start, stop), each)
            within = np.arange(at.size) - np.repeat(np.cumsum(each) - each, each)
            period = (first[at] + within).astype(np.int32)
            times = [
                np.where(within > 0, BEFORE, begins[at]),
                np.where(within < number[at] - 1, AFTER, ends[at]),
            ]
            more = [*times, period, *(one[at] for one in labels)]
            yield rows.at(at), index[:, at], names.take(pa.array(at)), more

    @property
    def departs(self) -> str | None:
        """Column of the times at which stays end, or at which they are."""
        return self.time if self.end is None else self.end

    @property
    def departure(self) -> str:
        """Meaning of the time of a trip, for the card."""
        if self.end is None:
            return "the stay at the origin of the trip, which has no duration"
        return (
            "the end of the stay at the origin of the trip, or of the begin of the next stay where "
            "that is earlier"
        )

    def find_trips(self, person: IntArray, columns: Columns, labels: Columns) -> TracedTrips:
        """Find the trips of some persons, each from a stay to the next one."""
        zone, begin, end, *periods = columns
        order = sort_rows(person, *periods, begin, end, zone, *labels)
        unit = number_units(person[order], *(one[order] for one in periods))
        begin, end, zone = begin[order], end[order], zone[order]
        first, follows = np.empty(order.size, np.int64), np.empty(order.size, np.bool_)
        size = kernels.chain_stays(unit, begin, end, zone, self.seconds_between, first, follows)
        later = np.flatnonzero(follows[:size])
        earlier, row = zone[first[later - 1]], first[later]
        # Nobody departs after having arrived; and a stay may go on beyond its period.
        last = np.maximum.reduceat(end, first[:size]) if size else end
        begins, moves = begin[first[:size]], find_moves(unit[first[:size]])
        apart = int(np.count_nonzero(moves & (begins[1:] > begins[:-1])))
        tally = {
            "stays": size,
            "moves": (number := int(np.count_nonzero(moves))),
            "moves_at_one_time": number - apart,
            "moves_lost_to_gap": apart - later.size,
        }
        departure = np.minimum(last[later - 1], begin[row])
        return TracedTrips(order[row], earlier, zone[row], departure, tally)


def cut(number: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of slices of numbers int64[n] whose sums are at most ``most``."""
    total, start = np.cumsum(number), 0
    while start < total.size:
        before = total[start] - number[start]
        stop = int(np.searchsorted(total, before + most, side="right"))
        yield start, stop
        start = stop


@takes(Stays, without=COUNTED)
def read_stays(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Make trips from stay to stay, and count them by pair of zones.

    Trips of a unit, which is a person or a person in a period, are made of the unit's own stays
    alone, and are then bounded as :func:`read_trips` does.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
        One row for each stay, in any order. Stays of one zone that meet or overlap are one, and so
        are copies of a row.
    grid : str or Grid
        The public grid of zones; see :func:`read_trips`.

    Returns
    -------
    CountTable
        On the grid of pairs, for :func:`geodp.flows.publish`. Its ``reading`` tells the operator
        in ``tallied`` and ``warnings`` what was lost; see :func:`read_pings`.

    Raises
    ------
    InputError
        A person, a time or a place is missing, or a stay ends before it begins; it names file and
        row.
    UsageError
        Columns or rules that do not go together.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> when = {"t": ["2024-05-01T00:00", "2024-05-01T08:00", "2024-05-01T19:00"]}
    >>> stays = pa.table({"id": ["a"] * 3, "y": [0, 1, 0], "x": [0, 0, 0], **when})
    >>> where = {"place": ("x", "y"), "time": "t", "person": "id"}
    >>> table = geodp.flows.read_stays(stays, grid=geodp.Grid.regular((2, 2)), **where, trips=5)
    >>> int(table.count.sum())
    2
    """
    return Stays.of(grid, **options).read(paths)


COORDINATES = Rule(
    "flows-pings-without-coordinates",
    "Pings need coordinates, as stays are found by distances: two columns such as lon,lat (--pings "
    "lon,lat; place=('lon', 'lat')), or a column of point geometries, and a grid with a CRS.",
)

ACCURACY = Rule(
    "flows-accuracy-form",
    "an accuracy must be a radius in metres, a number that is not negative; drop rows with another "
    "one, or without one.",
)


def read_coordinates(column: pa.Array, decimal: str | None) -> FloatArray:
    """Return coordinates as finite numbers, float64[n]; CodeError at the first that is none.

    ``decimal``: see :class:`geodp.io.read.reader.Reader`.
    """
    return coordinates(decimal_points(column, decimal, thousands=False))


@dataclass(frozen=True, eq=False)
class PointReader:
    """Reader of the points of a table, from two columns or one of geometries.

    Attributes
    ----------
    land : Lattice
        The map on which they are located.
    in_space : callable
        From x and y to positions in space.
    move : Transform or None
        To the CRS of the map; None: they have it already.
    decimal : str or None
        Decimal mark of coordinates in texts.
    """

    land: Lattice
    in_space: Locate
    move: Transform | None
    decimal: str | None

    def read(self, columns: Sequence[pa.Array]) -> tuple[Position, IntArray]:
        """Return the positions of points, and their rows and columns int64[2, n].

        ``columns``: x and y, or geometries. CodeError at the first row without a point, or with a
        place that is refused.
        """
        with in_words_of_flows():
            if len(columns) == 1:
                east, north = read_points(columns[0])
            else:
                east, north = (read_coordinates(one, self.decimal) for one in columns)
            position = self.in_space(east, north)
            return position, np.stack(locate_points(self.land, east, north, self.move))


@dataclass(frozen=True, kw_only=True)
class Pings(Traces):
    """Reader of records of places.

    Attributes
    ----------
    place : pair of str, or str
        Columns of x and y, such as longitude and latitude; or a column of point geometries.
    time, person : str
        Columns of times, which are read to the second, and of ids of persons.
    time_zone : str, optional
        The IANA name of the zone of days and hours, if times count from UTC. Where units have
        periods, the records of each period are taken by themselves: a stay over midnight is one in
        each day, and a trip over midnight is lost.
    radius : float
        Metres from the first record of a stay within which all others are; default: 200.
    dwell, gap : str or int
        Least duration of a stay, and longest time without a record that a stay or a trip may
        extend over: ``"10min"``, ``"2h"`` or seconds; default: 10 minutes and 2 hours. The gap is
        several times the interval at which the devices record, which is public; where they record
        less often, most trips are lost.
    speed : float
        Kilometres an hour; default: 1,000. A record is left out if the steps to and from it are
        both longer than the radius and faster. No stay or trip extends over another such step.
    accuracy : str, optional
        Column of accuracy radii in metres; without it all records are used.
    largest_accuracy : float, optional
        Largest accuracy radius of records that are used; default: `radius`.
    outside : {"error", "crop", "drop"}, optional
        As for :func:`read_trips`. Places outside take part in stays; trips with an end there are
        left out where places may lie outside.
    by : str, sequence of str, or mapping, optional
        Attributes by which trips are counted, as for :func:`read_trips`. ``hour`` and ``daytype``
        are made from the time of departure, which is that of the last ping of the stay at the
        origin, and a trip has all other labels from this ping. Pings that are the last one of no
        such stay need none.
    """

    radius: float | None = None
    dwell: int | str | None = None
    gap: int | str | None = None
    speed: float | None = None
    accuracy: str | None = None
    largest_accuracy: float | None = None

    kind: ClassVar[str] = "pings"
    held: ClassVar[int] = 176
    rows: ClassVar[str] = "pings"
    form: ClassVar[Any] = "points"
    departure: ClassVar[str] = "the last ping of the stay at the origin of the trip"
    labelled_row: ClassVar[str] = (
        f"{departure}, of several in one second and place the one whose label comes first in its "
        "list"
    )

    @cached_property
    def rules(self) -> StayRules:
        """The rules by which records become stays; UsageError where they are none."""
        return StayRules.of(self.radius, self.dwell, self.gap, self.speed)

    @cached_property
    def largest(self) -> float:
        """Largest accuracy radius in metres of records that are used."""
        return require_accuracy(self.largest_accuracy, self.accuracy, self.rules)

    def state(self) -> tuple[str, ...]:
        """State for the card by which rules trips are made."""
        facts = (*self.rules.state(self.protected), DEGREES_FACT.format(further=self.further))
        largest = self.largest
        if self.accuracy is None:
            return facts
        return (*facts, ACCURACY_FACT.format(largest=largest, accuracy=self.accuracy))

    @property
    def further(self) -> str:
        """Condition of the rows that are checked: those that are used."""
        return "" if self.accuracy is None else " and is accurate enough"

    def list_columns(self) -> list[str]:
        """Return the columns of x, y and time, and that of accuracies if there is one."""
        if not self.lies_on_earth or self.land.crs is None:
            raise UsageError(COORDINATES)
        assert self.time is not None
        columns = [*self.columns_of_place, self.time]
        return columns if self.accuracy is None else [*columns, self.accuracy]

    @cached_property
    def _columns_of_points(self) -> PointReader:
        """Reader of two columns of coordinates, in the CRS of the grid or in the one named."""
        in_space = locate_in_space(self.crs or str(self.land.crs))
        return PointReader(self.land, in_space, self.move, self.decimal)

    @cached_property
    def _unit(self) -> UnitCheck:
        """Check that coordinates are in the unit of the grid."""
        return UnitCheck(self.land, REMEDY_OF_POINTS)

    def prepare_places(self, table: InputTable) -> PointReader:
        """Return the reader of the points of a table, which have one CRS."""
        if isinstance(self.place, tuple):
            require_longitude_first(*self.place)
            return self._columns_of_points
        assert self.place is not None
        geometry = self.find_points(table, self.place, self.columns_of_place)
        if geometry is None:
            raise UsageError(COORDINATES)
        crs = crs_of_points(geometry, self.crs)
        move = transformation(self.land, crs, self.allow_ballpark)
        return PointReader(self.land, locate_in_space(crs), move, None)

    def read_batch(
        self,
        rows: RowPositions,
        arrays: Sequence[pa.Array],
        places: PointReader,
        labels: Columns,
        zone: str | None,
    ) -> Iterator[Batch]:
        """Yield the rows that are accurate enough, their cells, persons, times and positions."""
        size = len(self.columns_of_place)
        points, (time, *accuracy, names) = list(arrays[:size]), arrays[size:]
        if accuracy:
            accurate = self._find_accurate(rows, accuracy[0])
            rows, mask = rows.select(accurate), pa.array(accurate)
            points = [one.filter(mask) for one in points]
            time, names = (one.filter(mask) for one in (time, names))
            labels = tuple(one[accurate] for one in labels)
        name = " and ".join(self.columns_of_place)
        with rows.named(name):
            if self.crs is None and len(points) == 2:
                xs, ys = (decimal_points(one, self.decimal, False) for one in points)
                require_unit(self._unit, rows, name, xs, ys)
            position, index = places.read(points)
        seconds = self.read_times(rows, self.time, time, zone)
        more: list[NDArray[Any]] = [seconds, *position]
        if UNITS[self.protected]:
            more.append(number_periods(seconds, self.protected, zone).astype(np.int32))
        yield rows, index, names, [*more, *labels]

    def _find_accurate(self, rows: RowPositions, column: pa.Array) -> NDArray[np.bool_]:
        """Return which rows are accurate enough; InputError for an accuracy that is none."""
        assert self.accuracy is not None
        with rows.named(self.accuracy):
            try:
                radius = read_coordinates(column, self.decimal)
            except CodeError as error:
                # What is said there is of coordinates.
                raise CodeError(error.position, ACCURACY) from None
            require_none(radius < 0, ACCURACY)
        return np.asarray(radius <= self.largest, np.bool_)

    def find_trips(self, person: IntArray, columns: Columns, labels: Columns) -> TracedTrips:
        """Find the trips of some persons, each from a stay to the next one."""
        zone, time, *position = columns
        periods = position[3:]
        order = sort_rows(person, *periods, time, *labels)
        unit = number_units(person[order], *(one[order] for one in periods))
        time, zone = time[order], zone[order]
        at = (position[0][order], position[1][order], position[2][order])
        limits = self.rules.limits
        radius, speed, _, gap = limits
        kept = np.empty(order.size, np.int64)
        kept = kept[: kernels.select_records(unit, time, at, zone, radius, speed, kept)]
        room = kept.size // 2
        within, first = np.empty(kept.size, np.bool_), np.empty(room, np.int64)
        place, follows = np.empty(room, np.uint64), np.empty(room, np.bool_)
        size = kernels.find_stays(unit, time, at, zone, kept, limits, within, first, place, follows)
        end = np.flatnonzero(follows[:size])
        # The last record of a stay before the next stay begins.
        of_stays = np.flatnonzero(within)
        last = of_stays[np.searchsorted(of_stays, first[end]) - 1]
        row = kept[last]
        again = find_moves(unit) & (time[1:] == time[:-1])
        # Longer times without a ping before each ping of a unit but the first, and up to each.
        broken = np.append(False, find_moves(unit[kept]) & (np.diff(time[kept]) > gap))
        broken, breaks = broken[: kept.size], np.cumsum(broken)[: kept.size]
        beside = broken | np.append(broken[1:], False)[: kept.size]
        moves = find_moves(unit[kept[first[:size]]])
        lost = moves & ~follows[1:size]
        over = lost & (np.diff(breaks[first[:size]]) > 0)
        count: Callable[[NDArray[np.bool_]], int] = np.count_nonzero
        tally = {
            "pings_accurate": order.size,
            "pings_in_one_second": count(again),
            "pings_too_fast": order.size - count(again) - kept.size,
            "pings_in_stays": of_stays.size,
            "pings_lost_to_gap": count(beside & ~within),
            "pings_lost_to_radius_or_dwell": count(~beside & ~within),
            "stays": size,
            "moves": count(moves),
            "moves_lost_to_gap": count(over),
            "moves_too_fast": count(lost & ~over),
        }
        return TracedTrips(order[row], place[end - 1], place[end], time[row], tally)


@takes(Pings, without=COUNTED)
def read_pings(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Make trips from stay to stay of records of places, and count them by pair of zones.

    Trips of a unit, which is a person or a person in a period, are made of the unit's own records
    alone, and are then bounded as :func:`read_trips` does.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
        Records in any order.
    grid : str or Grid
        The public grid of zones: one map of cells with a CRS.

    Returns
    -------
    CountTable
        On the grid of pairs, for :func:`geodp.flows.publish`. Its ``reading`` tells the operator
        in ``tallied`` what was lost to each rule, and in ``warnings`` where that is most. Both are
        confidential, and a rule must not be chosen by them.

    Raises
    ------
    InputError
        A person, a time or a coordinate is missing, or a place is no zone; it names file and row.
    UsageError
        Columns or rules that do not go together.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> clock = ["08:00", "08:10", "08:20", "09:00", "09:10"]
    >>> rows = {"id": ["a"] * 5, "t": [f"2024-05-01T{one}" for one in clock]}
    >>> places = {"lat": [35.05] * 5, "lon": [139.01] * 3 + [139.11] * 2}
    >>> grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    >>> pings = pa.table({**rows, **places})
    >>> where = {"place": ("lon", "lat"), "time": "t", "person": "id"}
    >>> int(geodp.flows.read_pings(pings, grid=grid, **where, trips=5).count.sum())
    1
    """
    return Pings.of(grid, **options).read(paths)
