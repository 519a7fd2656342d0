"""Fields and statements that readers of trips, of stays and of records of places share.

Coordinates are located on a map of cells, or in areal units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.cells.cell_grid import OUTSIDE
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.names import UNKNOWN
from geodp.grid.unit_map import POINT_OUTSIDE, find_land
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
from geodp.io.read.layout.presets import describe_layout
from geodp.io.read.layout.recognise import require_longitude_first
from geodp.io.read.rows.columns import InputTable, find_column
from geodp.io.read.rows.decimals import Weights
from geodp.io.read.rows.forms.geometry import NOT_POINT, Geometry, geometry_of, geometry_points
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import Locator, Transform, point_locator, transformation
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.kinds.flows.reading.labels import By, Clock, TripLabels
from geodp.kinds.flows.reading.options import RowOptions
from geodp.kinds.flows.reading.rules import find_fact
from geodp.kinds.flows.reading.units import TripBound, require_bounds
from geodp.kinds.flows.zones import find_outlines, pairs_of
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable
from geodp.table.reading import StatedReading
from geodp.typing import IntArray

OUTSIDE_UNITS = Rule(
    "flows-point-outside-units",
    "the point lies in no unit; give a table of all units, leave out trips from and to such "
    "places (--outside drop, outside='drop'), or count them in a zone of their own (--other, "
    "other=).",
)

OUTSIDE_CELLS = Rule(
    "flows-point-outside-cells",
    "the point lies in no cell of the grid's public area; give wider bounds or another mask "
    "(--bounds, --mask; bounds=, mask=), leave out trips from and to such places (--outside drop, "
    "outside='drop'), or count them in a zone of their own (--other, other=).",
)

UNKNOWN_UNIT = Rule(
    "flows-code-unknown",
    "the code is not in the table of units; check leading zeros, a prefix such as 1400000US and "
    "the table's year, give a table that lists every unit, leave out trips from and to such "
    "places (--outside drop, outside='drop'), or count them in a zone of their own (--other, "
    "other=).",
)

NOT_A_POINT = Rule(
    "flows-geometry-not-a-point",
    "a place must be one point; of a line, or of several points, give both ends of the trip as "
    "columns of their own.",
)

IN_FLOWS = {
    NOT_POINT.code: NOT_A_POINT,
    OUTSIDE.code: OUTSIDE_CELLS,
    POINT_OUTSIDE.code: OUTSIDE_UNITS,
    UNKNOWN.code: UNKNOWN_UNIT,
}
"""Rules of other readers, which know no trips, by code, and those that say what flows take."""


@contextmanager
def in_words_of_flows() -> Iterator[None]:
    """Raise errors of places outside with the rules of :data:`IN_FLOWS`."""
    try:
        yield
    except CodeError as error:
        raise CodeError(error.position, IN_FLOWS.get(error.code, error.rule)) from None


def advise(locators: Sequence[Locator]) -> list[Locator]:
    """Return locators that refuse places outside in the words of flows."""

    def advised(locator: Locator) -> Locator:
        def read(*columns: Any) -> Sequence[NDArray[np.int64]]:
            with in_words_of_flows():
                return locator.read(*columns)

        return replace(locator, read=read)

    return [advised(one) for one in locators]


def count_as_other(index: IntArray, other: IntArray) -> IntArray:
    """Return indices with places outside in place of which another zone counts.

    Parameters
    ----------
    index : int64[d, n]
        Of which the first axes are rows and columns of one place or of two; -1: outside.
    other : int64[2]
        Row and column of the zone of all other places.
    """
    index = index.copy()
    for at in range(0, min(len(index), 4), 2):
        outside = index[at] < 0
        index[at, outside], index[at + 1, outside] = other
    return index


Place: TypeAlias = str | tuple[str, str]
"""A column of codes, or of point geometries; or a pair of columns: x and y, such as longitude
and latitude, or row and column on a grid that lies nowhere."""

CRS_UNUSED = Rule(
    "flows-crs-unused",
    "There are no coordinates here, so that a CRS says nothing: leave it out (--points-crs, crs=).",
)

OTHER_ON_MAP = Rule(
    "flows-other-on-map",
    "Every zone of a map is a square somewhere, so that it has none for all other places (--other, "
    "other=): give areal units, such as the squares of the map with their codes and outlines "
    "(--grid units:FILE, read_units), or cells of H3 or S2; or leave out trips from and to such "
    "places (--outside drop, outside='drop').",
)

OTHER_IS_PLACE = Rule(
    "flows-other-is-place",
    "A zone of other places (--other, other=) lies somewhere, so that its own trips could not be "
    "told from those; name the units that the grid was made with (read_units and grid_of_cells, "
    "other=).",
)

OTHER_WITH_OUTSIDE = Rule(
    "flows-other-with-outside",
    "Places outside are counted in a zone of their own (--other, other=), or left out (--outside, "
    "outside=): choose one.",
)

OTHER_FACT = "that places outside were counted as the zone {other}"
"""Statement on places outside, where these are counted in a zone of their own."""

Units: TypeAlias = tuple[Any, ...]
"""Units [n], keys of the pairs of their trips uint64[n] and, if there are any, weights."""

SEPARATOR = "\x1f"
"""Character between a person and a period."""

KEPT_FACT = (
    "that of each {unit} at most {trips:,} trips were kept in all, and at most {per_pair:,} "
    "between two zones, chosen by a hash of the {unit}'s own trips under a secret key"
)
"""Statement of a release on how its trips were bounded."""

WHERE_FACT = "that only rows with {} were read"
"""Statement on the selection of rows."""


def find_bounds(facts: Iterable[str]) -> tuple[int, int] | None:
    """Find in the facts of a card how many trips of a unit were kept, and between two zones.

    None where geodp did not bound trips.
    """
    kept = find_fact(KEPT_FACT, facts)
    if kept is None:
        return None
    most, of_pair = (int(kept[name].replace(",", "")) for name in ("trips", "per_pair"))
    return most, of_pair


def find_other(grid: Grid, other: str) -> IntArray:
    """Find the zone of all other places: its row and column, int64[2].

    UsageError for a map, and for a name that is no unit, or one that lies somewhere.
    """
    table = grid.hierarchy
    if grid.names.on_map or table is None:
        raise UsageError(OTHER_ON_MAP)
    cells = grid.names.cells
    if cells is not None and (cells[1].levels_of_codes([other]) >= 0).any():
        raise UsageError(OTHER_IS_PLACE)
    place = grid.names.find([other], other=other)[:, 0]
    if place[1] in find_outlines(table)[1]:
        raise UsageError(OTHER_IS_PLACE)
    return np.asarray(place, np.int64)


@dataclass(frozen=True, kw_only=True)
class RowReader(RowOptions):
    """Reader of rows of persons.

    Attributes
    ----------
    person : str, optional
        Column that identifies persons; rows without an id are refused. Without it
        :func:`geodp.flows.publish` asks for the contribution.
    trips, per_pair : int
        Most trips that are kept of a unit, in all (default: 1) and between two zones (default:
        ``trips``). They are a uniform sample of the unit's trips, unless ``per_pair`` is smaller:
        pairs that a unit travels often then have fewer of the kept trips. Which are kept depends
        on the unit's own trips and the key alone, not on the order of rows.
    unit : {"person", "person-day", "person-week", "person-month"}
        What is protected, and whose trips are bounded; default: a person. The table carries it, and
        is published for this unit only.
    time, time_zone : str, optional
        Column of the times at which trips began, for units of periods, hours and day types; and
        the IANA name of the zone of their days, if they count from UTC. Days follow summer time.
    outside : {"error", "crop", "drop"}, optional
        Treatment of trips with an end outside the domain: "crop" drops those outside the grid's
        extent, but refuses those that a mask excludes. Default: "error".
    other : str, optional
        Zone of all other places: a unit of this name, which a grid of units or of cells of H3 or S2
        was made with (``read_units(..., other="elsewhere")``, ``grid_of_cells``). Places outside
        are counted there, and are neither refused nor left out. Blank codes, and those that are no
        cells of the grid's level, remain errors.
    by : str, sequence of str, or mapping, optional
        Attributes by which trips are counted, each of which a trip has one label of: ``"hour"``,
        ``("hour", "mode")``, or ``{"mode": "column"}``; by default columns have their names.
        ``hour`` and ``daytype`` (weekday, weekend) are made from ``time`` where it is given and no
        column is named.
    labels : mapping, optional
        All labels of attributes, from a public source and never from the trips; ``hour``,
        ``weekday``, ``month``, ``quarter`` and ``daytype`` have standard ones.
    key : NoiseKey, optional
        Key of the choice of trips; default: a fresh one.
    """

    person: str | None = None
    trips: int | None = None
    per_pair: int | None = None
    unit: str | None = None
    time: str | None = None
    time_zone: str | None = None
    other: str | None = None
    by: By | None = None
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    key: NoiseKey | None = None

    @cached_property
    def land(self) -> Lattice:
        """The map on which coordinates are located."""
        crops = self.outside == "crop" and self.grid.known_outlines is not None
        return find_land(self.grid, drops=self.drops or crops)

    @property
    def drops(self) -> bool:
        """Whether places outside are no errors; they are left out, or counted in another zone.

        Codes that are no cells at all remain errors.
        """
        return self.outside == "drop" or self.other is not None

    @property
    def codes_outside(self) -> dict[str, Any]:
        """Options on codes outside; a blank one remains an error where others are counted."""
        return {"drops": self.outside == "drop", "other": self.other}

    @property
    def lies_on_earth(self) -> bool:
        """Whether places have coordinates, and not rows and columns."""
        return self.land.transform is not None or not self.grid.names.on_map

    @cached_property
    def other_place(self) -> IntArray | None:
        """Row and column of the zone of all other places, int64[2]; None without one."""
        if self.other is None:
            return None
        if self.outside not in (None, "error"):
            raise UsageError(OTHER_WITH_OUTSIDE)
        return find_other(self.grid, self.other)

    @cached_property
    def labelled(self) -> TripLabels:
        """Attributes that trips are published by."""
        return TripLabels.of(self.by, self.labels, self.time)

    @cached_property
    def pairs(self) -> Grid:
        """The grid of pairs of zones, and labels."""
        return pairs_of(self.grid, self.labelled.attributes)

    @cached_property
    def move(self) -> Transform | None:
        """The transformation of coordinates to the CRS of the grid; None: they have it already."""
        return transformation(self.land, self.crs, self.allow_ballpark)

    def find_points(self, table: InputTable, place: Place, named: Sequence[str]) -> Geometry | None:
        """Return the column of geometries that a place is; None for codes and pairs of columns.

        ``named``: all columns of places, for the error where there is none of a name.
        """
        if not isinstance(place, str):
            return None
        return geometry_of(table, table.columns[find_column(table, place, named)])

    def locate_points(
        self, table: InputTable, place: Place, named: Sequence[str]
    ) -> Locator | None:
        """Return the locator of points of a place, by x and y; None for codes, rows and columns.

        ``named``: as of :meth:`find_points`. UsageError for a latitude in the place of a longitude.
        """
        geometry = self.find_points(table, place, named)
        if geometry is not None:
            return geometry_points(self.land, geometry, self.crs, self.allow_ballpark)
        if isinstance(place, str) or not self.lies_on_earth:
            return None
        require_longitude_first(*place)
        # A stated CRS is the operator's answer to the question that the check would raise.
        check = None if self.crs is not None else UnitCheck(self.land, REMEDY_OF_POINTS)
        return point_locator(self.land, *place, self.move, check, self.decimal)

    def take_other(self, index: IntArray) -> IntArray:
        """Count places outside in the zone of all other places, if there is one.

        The parameter and the result are those of :func:`count_as_other`.
        """
        other = self.other_place
        return index if other is None else count_as_other(index, other)

    def describe(self, table: InputTable, form: Any, places: dict[str, str]) -> StatedReading:
        """Describe for the card how a table is read.

        ``form``: kind of a row; ``places``: columns of places by what they hold.
        """
        layout = describe_layout(table.columns)
        return StatedReading(
            form=form, layout=layout, places=places, crs=self.crs, person=self.person
        )

    def state_places(self, inside: str, dropped: str) -> list[str]:
        """State for the card which rows were selected, and what became of places outside.

        ``inside``, ``dropped``: where these were refused, and where they were left out.
        """
        chosen = ", ".join(f"{name} = {value}" for name, value in self.where.items())
        outside = inside if self.outside in (None, "error") else dropped
        if self.other is not None:
            outside = OTHER_FACT.format(other=self.other)
        return [*([WHERE_FACT.format(chosen)] if chosen else []), outside]

    def require_units(self) -> str:
        """Return the protected unit; UsageError for columns that do not go together."""
        raise NotImplementedError

    def list_units(self, paths: TableSource, survey: Survey) -> Iterator[Units]:
        """Yield units and pairs of their trips, in parts; all trips of a unit are in one part.

        ``paths``: rows of persons; ``survey``: notes what was read. Raises InputError for a row in
        another form.
        """
        raise NotImplementedError

    def state_units(self) -> tuple[str, ...]:
        """State for the card how trips are made, and which rows were left out or refused."""
        raise NotImplementedError

    @property
    def protected(self) -> str:
        """The protected unit: a person, unless another one is named."""
        return "person" if self.unit is None else self.unit

    @cached_property
    def clock(self) -> Clock:
        """The check of the times of departure, if hours are made from them."""
        return Clock()

    def keep_trips(
        self, paths: TableSource, facts: Sequence[str], weights: Weights | None = None
    ) -> CountTable:
        """Count the trips that are kept of each unit by pair of zones.

        ``facts``: statements for the card on what was read; ``weights``: of trips, which the units
        of :meth:`list_units` then have.
        """
        # Made before anything is read, so that wrong bounds are refused at once.
        trips = 1 if self.trips is None else self.trips
        most, per_pair = require_bounds(trips, trips if self.per_pair is None else self.per_pair)
        bound = TripBound(most, per_pair, self.key)
        runs, survey = Runs(self.memory_of_part, self.scratch), Survey()
        largest = 1 if weights is None else weights.largest
        for names, key, *given in self.list_units(paths, survey):
            weight = np.minimum(given[0], largest) if given else None
            kept = bound.keep(names, key, weight)
            survey.tally({"trips_lost_to_bound": key.size - kept.size, "trips_kept": kept.size})
            runs.add(key[kept], None if weight is None else weight[kept])
        unit = self.protected
        fact = KEPT_FACT.format(unit=unit, trips=most, per_pair=per_pair)
        return CountTable.of_cells(
            self.pairs,
            *runs.arrays(),
            bound=ContributionBound(most * largest, "geodp", unit=unit),
            reading=survey.reading((fact, *facts)),
        )

    @property
    def memory_of_part(self) -> int:
        """Bytes for the rows, which wait by person; and as many for the pairs of their trips."""
        return max(bytes_of(self.memory) // 2, MIN_MEMORY)

    def state_zone(self) -> str:
        """Name for the card the zone of the periods."""
        return self.time_zone or "local time, as the times say it"
