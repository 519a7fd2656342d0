"""Records of places, such as pings of phones, as stays and trips of persons."""

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
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.forms.geometry import crs_of_points, read_points
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import Transform, locate_points, transformation
from geodp.io.read.rows.scratch import Columns
from geodp.kinds.flows.kernels import stays as kernels
from geodp.kinds.flows.kernels.stays import Position
from geodp.kinds.flows.reading.land import in_words_of_flows
from geodp.kinds.flows.reading.options import COUNTED
from geodp.kinds.flows.reading.periods import UNITS, number_periods
from geodp.kinds.flows.reading.positions import Locate, locate_in_space, read_coordinates
from geodp.kinds.flows.reading.rules import (
    ACCURACY_FACT,
    DEGREES_FACT,
    StayRules,
    require_accuracy,
)
from geodp.kinds.flows.reading.traces import (
    Batch,
    TracedTrips,
    Traces,
    find_moves,
    number_units,
    sort_rows,
)
from geodp.table.counts import CountTable
from geodp.typing import IntArray

COORDINATES = Rule(
    "flows-pings-without-coordinates",
    "Pings need coordinates, as stays are found by distances: two columns such as lat,lon (--pings "
    "lat,lon; place=('lat', 'lon')), or a column of point geometries, and a grid with a CRS.",
)

ACCURACY = Rule(
    "flows-accuracy-form",
    "an accuracy must be a radius in metres, a number that is not negative; drop rows with another "
    "one, or without one.",
)


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

        ``columns``: y and x, or geometries. CodeError at the first row without a point, or with a
        place that is refused.
        """
        with in_words_of_flows():
            if len(columns) == 1:
                east, north = read_points(columns[0])
            else:
                north, east = (read_coordinates(one, self.decimal) for one in columns)
            position = self.in_space(east, north)
            return position, np.stack(locate_points(self.land, east, north, self.move))


@dataclass(frozen=True, kw_only=True)
class Pings(Traces):
    """Reader of records of places.

    Attributes
    ----------
    place : pair of str, or str
        Columns of y and x, such as latitude and longitude; or a column of point geometries.
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
        """Return the columns of y, x and time, and that of accuracies if there is one."""
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

    def prepare_places(self, table: InputTable) -> PointReader:
        """Return the reader of the points of a table, which have one CRS."""
        if isinstance(self.place, tuple):
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
        with rows.named(" and ".join(self.columns_of_place)):
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
    >>> where = {"place": ("lat", "lon"), "time": "t", "person": "id"}
    >>> int(geodp.flows.read_pings(pings, grid=grid, **where, trips=5).count.sum())
    1
    """
    return Pings.of(grid, **options).read(paths)
