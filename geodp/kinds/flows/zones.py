"""Zones of flows, in an order in which neighbours follow each other, and blocks of them.

Keys of a map interleave the bits of rows and columns, so that the zones of a square block whose
side is a power of two follow each other. Areal units are ordered by where they lie, in space and in
whole centimetres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import cos, hypot, isqrt, radians
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError, require_none
from geodp.grid.axes import Attribute
from geodp.grid.cells import cells_of
from geodp.grid.cells.system import CellSystem, degrees
from geodp.grid.crs import normalise_crs, unit_of
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy, HierarchyOrder, PairOrder
from geodp.grid.lattice import Lattice, longitude_period
from geodp.grid.order import bits_for
from geodp.grid.outlines import Outlines
from geodp.grid.unit_map import take_located
from geodp.grid.units import pairs_of_units
from geodp.io.read.rows.locators import transformation
from geodp.kinds.flows.kernels import balancing
from geodp.kinds.flows.kernels.stays import Position
from geodp.release.release import Release
from geodp.table.counts import Cells, coalesce
from geodp.table.prior import Prior
from geodp.typing import FloatArray, IntArray, KeyArray

Locate: TypeAlias = Callable[[FloatArray, FloatArray], Position]

AXIS, SQUARED_ECCENTRICITY = 637_813_700.0, 0.006694379990141316
"""Semi-major axis of the ellipsoid of WGS 84 in centimetres, and its squared eccentricity."""

BEYOND_DEGREES = Rule(
    "flows-degrees",
    "a latitude is beyond 90 degrees, or a longitude beyond 360: the columns may be swapped, or "
    "coordinates of another CRS (--points-crs, crs=).",
)


def locate_in_space(crs: str) -> Locate:
    """Return the function from x and y (float64[n] each) to positions in space.

    Distances between positions are those of straight lines between points of the ellipsoid of WGS
    84, which differ from those along it by less than a millimetre in a kilometre up to 100 km.

    Parameters
    ----------
    crs : str
        CRS of x and y; UsageError if it is unknown.
    """
    crs = str(normalise_crs(crs))
    # How datums differ does not matter here: distances stay the same to a few millionths.
    move = None if longitude_period(crs) == 360 else transformation(_in_degrees(), crs, True)

    def locate(x: FloatArray, y: FloatArray) -> Position:
        if move is not None:
            x, y = move(x, y)
        # Not a number, as PROJ may return, is within no limits.
        require_none(~((np.abs(y) <= 90) & (np.abs(x) <= 360)), BEYOND_DEGREES)
        return place_in_space(x, y)

    return locate


def _in_degrees() -> Lattice:
    """Return a lattice in degrees of the whole world, to which coordinates are transformed."""
    return Lattice(rows=180, cols=360, crs="EPSG:4326", transform=(1, 0, -180, 0, -1, 90))


def place_in_space(longitude: FloatArray, latitude: FloatArray) -> Position:
    """Return the geocentric positions of places in degrees: int32[n] each, in centimetres."""
    east, north = np.radians(longitude), np.radians(latitude)
    sine = np.sin(north)
    normal = AXIS / np.sqrt(1 - SQUARED_ECCENTRICITY * sine * sine)
    from_axis = normal * np.cos(north)
    return (
        np.rint(from_axis * np.cos(east)).astype(np.int32),
        np.rint(from_axis * np.sin(east)).astype(np.int32),
        np.rint(normal * (1 - SQUARED_ECCENTRICITY) * sine).astype(np.int32),
    )


NEEDS_OUTLINES = Rule(
    "flows-units-need-outlines",
    "Flows between areal units need the outlines of these: give a table with outlines on the "
    "Earth, such as a GeoPackage, or cells of H3 or S2. Counted trips between units without "
    "outlines are published by geodp publish --pairs.",
)

STEPS, LEAST_STRETCH = 1 << 20, 0.1
"""Steps along the longer side of the box around all units, and the least length of a degree of
longitude, in degrees of latitude, that is used for these."""

CENTIMETRES = 1e5
"""Centimetres in a kilometre."""

WITHIN = 0.52
"""Mean distance of two points of a square or a circle, in parts of the root of its area."""

MOST_POINTS = 4096
"""Most points between which a law is computed; of more units, neighbours are taken together."""

HALF, DEGREES = 180.0, "EPSG:4326"
"""Half a turn around the Earth, and the CRS of outlines of cells."""

CHUNK = 1 << 21
"""Pairs between which a law is computed at a time."""

AT_ONCE = 1 << 16
"""Pairs of zones that are looked at at once: arrays of more would be new memory each time."""

LEAST_LAW = 1e-9
"""Least value of a law: no distance is impossible, and whatever was measured has to fit."""


@dataclass(frozen=True, eq=False)
class UnitPlaces:
    """Places of units, in an order in which neighbours follow each other.

    Attributes
    ----------
    column : int64[n]
        Column of each in the grid of units.
    point : float64[n, 3]
        Centres, in kilometres from the centre of the Earth; not a number: nowhere.
    area : float64[n]
        In square kilometres.
    """

    column: IntArray = field(repr=False)
    point: FloatArray = field(repr=False)
    area: FloatArray = field(repr=False)

    @property
    def number(self) -> int:
        """Number of units."""
        return int(self.column.size)

    @cached_property
    def located(self) -> int:
        """Number of units that lie somewhere; others, such as one for all other places, are last.

        It is 1 at least.
        """
        return int(np.isfinite(self.area).sum())

    def starts(self, side: int) -> IntArray:
        """Return the first unit of every block of at most ``side**2`` units, and their number.

        A unit that lies nowhere is a block of its own.

        Returns
        -------
        int64[blocks + 1]
        """
        first = start_blocks(self.located, side)
        return np.append(first, np.arange(self.located, self.number + 1))

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Width of a unit, and diagonal of the box around all, in kilometres."""
        point = self.point[: self.located]
        width = float(np.sqrt(np.median(self.area[: self.located])))
        diagonal = float(np.hypot.reduce(point.max(axis=0) - point.min(axis=0)))
        # Units may have no area, and one alone has no neighbour.
        diagonal = max(diagonal, width, 1e-3)
        return max(width, 1e-3 * diagonal), diagonal

    def group(self, first: IntArray) -> UnitPlaces:
        """Take units together: runs from ``first[i]`` to ``first[i + 1]``, int64[m + 1]."""
        size, at, end = np.diff(first), first[:-1], first[-1]
        point = np.add.reduceat(self.point[:end], at, axis=0) / size[:, None]
        return UnitPlaces(np.arange(at.size), point, np.add.reduceat(self.area[:end], at))

    def apart(self, origin: IntArray, destination: IntArray) -> FloatArray:
        """Compute distances between units in kilometres: float64[a, b].

        In a straight line between centres, which differs from that along the Earth by a thousandth
        at 1,000 km; within a unit from its area. Not a number from nowhere.
        """
        squares = np.zeros((origin.size, destination.size))
        for axis in range(3):
            one = self.point[origin, axis, None] - self.point[destination, axis]
            one *= one
            squares += one
        apart = np.sqrt(squares, out=squares)
        same = np.nonzero(origin[:, None] == destination)
        apart[same] = WITHIN * np.sqrt(self.area[destination[same[1]]])
        return apart


def start_blocks(number: int, side: int) -> IntArray:
    """Return the first of every block of at most ``side**2`` of so many units: int64[blocks].

    All units are halved until no part has more; ``side``: a power of two.
    """
    if side == 1:
        return np.arange(number)
    size = _halve(number, count_halvings(number, side))
    return np.asarray(np.cumsum(size) - size, np.int64)


def _halve(number: int, times: int) -> IntArray:
    """Return the sizes of the parts of so many units that were halved so many times."""
    size = np.array([number])
    for _ in range(times):
        # The larger half first.
        size = np.stack([(size + 1) // 2, size // 2], axis=1).reshape(-1)
    return size


def count_halvings(number: int, side: int) -> int:
    """Count how often units are halved until no part has more than ``side**2`` of them."""
    return max((number - 1).bit_length() - 2 * (side.bit_length() - 1), 0)


def count_blocks(number: int, side: int) -> int:
    """Count the blocks of at most ``side**2`` of so many units."""
    return number if side == 1 else 1 << count_halvings(number, side)


def order_units(point: IntArray) -> IntArray:
    """Order units so that the blocks of :func:`start_blocks` lie together: int64[n].

    Parameters
    ----------
    point : int64[n, 2]
        Centres; equal ones stay in the order that they have.
    """
    order = np.arange(len(point))
    for halvings in range(count_halvings(order.size, 2)):
        # Sizes are those of the blocks, which are halved to the same depth.
        size = _halve(order.size, halvings)
        first = np.cumsum(size) - size
        for start, stop in zip(first.tolist(), (first + size).tolist(), strict=True):
            part = order[start:stop]
            at = point[part]
            axis = int(np.argmax(at.max(axis=0) - at.min(axis=0)))
            order[start:stop] = part[np.argsort(at[:, axis], kind="stable")]
    return order


def step_centres(outlines: Outlines) -> IntArray:
    """Return the centres of boxes around outlines, in steps of one length: int64[n, 2].

    Elementary arithmetic only, so that the order of units, and with it their noise, does not
    depend on the version of a geometry library.
    """
    drawn = outlines.drawn
    west, south, east, north = drawn.boxes.T
    centre = np.stack([(west + east) / 2, (south + north) / 2], axis=1)
    if longitude_period(outlines.crs) == 2 * HALF:
        # A degree of longitude is shorter than one of latitude.
        middle = (south.min() + north.max()) / 2
        centre[:, 0] *= round(max(cos(radians(middle)), LEAST_STRETCH), 2)
    low = centre.min(axis=0)
    span = max(float((centre.max(axis=0) - low).max()), np.finfo(np.float64).tiny)
    return np.asarray(np.floor((centre - low) / span * STEPS), np.int64)


@dataclass(frozen=True, eq=False)
class UnitLaw:
    """The law of a decay between units.

    Attributes
    ----------
    places : UnitPlaces
    decay : float
        In kilometres.
    """

    places: UnitPlaces
    decay: float

    @cached_property
    def elsewhere(self) -> float:
        """Value of the law from and to units that lie nowhere: its mean over all others."""
        first = self.places.starts(_side_of(self.places.located, MOST_POINTS))
        some = self.places.group(first[: first.size - (self.places.number - self.places.located)])
        every, size = np.arange(some.number), np.diff(first[: some.number + 1])
        total = 0.0
        for part in _cut(every, max(CHUNK // some.number, 1)):
            law = compute_law(some.apart(part, every), self.decay)
            total += float((size[part, None] * law * size).sum())
        return total / float(size.sum()) ** 2

    def between(self, origin: IntArray, destination: IntArray) -> FloatArray:
        """Compute the law between units: float64[a, b]."""
        law = compute_law(self.places.apart(origin, destination), self.decay)
        self._fill(law, origin, destination)
        return law

    def _fill(self, law: FloatArray, origin: IntArray, destination: IntArray) -> None:
        """Fill in the law from and to units that lie nowhere."""
        located = self.places.located
        if located < self.places.number:
            law[origin >= located] = self.elsewhere
            law[:, destination >= located] = self.elsewhere

    def attract(
        self, origin: IntArray, block: IntArray, first: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Sum the law from origins to all units of blocks, times weights of these: float64[a, b].

        The parameters are those of :func:`geodp.kinds.flows.kernels.balancing.attract`.
        """
        size = first[block + 1] - first[block]
        out = np.empty((origin.size, block.size))
        ends = np.append(0, np.cumsum(size))
        for start, stop in list_runs(ends, max(CHUNK // max(origin.size, 1), 1)):
            some = ends[start:stop] - ends[start]
            unit = np.arange(ends[stop] - ends[start])
            unit += np.repeat(first[block[start:stop]] - some, size[start:stop])
            law = self.between(origin, unit) * weight[unit]
            out[:, start:stop] = np.add.reduceat(law, some, axis=1)
        return out

    def average(self, side: int) -> FloatArray:
        """Average the law over the units of every two blocks: float64[blocks, blocks].

        Of many units neighbours are taken together, unless they are blocks of their own.
        """
        places, first = self.places, self.places.starts(side)
        finest = min(side, _side_of(places.located, MOST_POINTS))
        finer = places.starts(finest)
        size, inner = np.diff(finer), np.searchsorted(finer, first)
        # Sums of one number are this number, and take most of the time.
        single = side == 1
        law, apart = UnitLaw(places.group(finer), self.decay), measure_groups(places, finest)
        out, every = np.empty((first.size - 1, first.size - 1)), np.arange(size.size)
        for a, b in list_runs(inner, max(CHUNK // size.size, 1)):
            part = np.arange(inner[a], inner[b])
            values = compute_law(apart[part], self.decay).astype(np.float64)
            law._fill(values, part, every)
            if single:
                out[a:b] = values
                continue
            values *= size
            values = np.add.reduceat(values, inner[:-1], axis=1) * size[part, None]
            out[a:b] = np.add.reduceat(values, inner[a:b] - inner[a], axis=0)
        if single:
            return out
        number = np.diff(first)
        out /= number[:, None]
        out /= number
        return out


def compute_law(apart: NDArray[Any], decay: float) -> NDArray[Any]:
    """Compute the law of a decay from distances in kilometres, of the same type and shape."""
    apart = apart / -decay
    np.exp(apart, out=apart)
    return np.asarray(np.maximum(apart, LEAST_LAW, out=apart))


@lru_cache(maxsize=1)
def measure_groups(places: UnitPlaces, side: int) -> NDArray[np.float32]:
    """Compute the distances between blocks of a side in kilometres, once for all decays.

    Returns
    -------
    float32[blocks, blocks]
    """
    groups = places.group(places.starts(side))
    every = np.arange(groups.number)
    apart = np.empty((every.size, every.size), np.float32)
    for part in _cut(every, max(CHUNK // every.size, 1)):
        apart[part] = groups.apart(part, every)
    return apart


def _side_of(number: int, most: int) -> int:
    """Return the side of the smallest blocks of units of which there are at most so many."""
    side = 1
    while count_blocks(number, side) > most:
        side *= 2
    return side


def _cut(every: IntArray, rows: int) -> Iterator[IntArray]:
    """Yield parts of at most so many."""
    for start in range(0, every.size, rows):
        yield every[start : start + rows]


def list_runs(first: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of runs of groups with at most so many parts, or of one group.

    ``first``: int64[groups + 1], the first part of every group, and the number of all.
    """
    begin = 0
    while begin < first.size - 1:
        end = int(np.searchsorted(first, first[begin] + most, side="right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def find_places(table: Hierarchy) -> UnitPlaces:
    """Find where the units of a table lie; UsageError where it does not tell."""
    outlines, _ = find_outlines(table)
    return _find_places(table, outlines)


@lru_cache(maxsize=4)
def _find_places(table: Hierarchy, outlines: Outlines) -> UnitPlaces:
    """Find where units lie; ``outlines``: those of the table, which tell it from others."""
    import shapely

    _, known = find_outlines(table)
    unknown = np.setdiff1d(np.arange(table.cells), known)
    # Of units in the order of columns, which decides between equal places.
    order = np.concatenate([known[_order_known(table, outlines)], unknown])
    centre = shapely.get_coordinates(shapely.centroid(outlines.drawn.shapes))
    at = np.stack(locate_in_space(outlines.crs)(*centre.T), axis=1)
    point, area = np.full((table.cells, 3), np.nan), np.full(table.cells, np.nan)
    point[known], area[known] = at / CENTIMETRES, outlines.areas
    return UnitPlaces(order, point[order], area[order])


def _order_known(table: Hierarchy, outlines: Outlines) -> IntArray:
    """Order the units that lie somewhere: int64[n].

    Cells in whole numbers alone: where they lie is computed by functions such as the arctangent,
    of which libraries differ in the last bit, and with it the noise of blocks would.
    """
    if table.outlines is not None:
        return order_units(step_centres(outlines))
    return np.argsort(_read_cells(table)[1])


def find_outlines(table: Hierarchy) -> tuple[Outlines, IntArray]:
    """Find the outlines of the units of a table, and the columns of these; UsageError without any.

    Cells of H3 and S2 have those of their system, in degrees. The unit for other places has none.
    """
    # Tables are equal that differ in their outlines alone, which no cache may confuse.
    if table.outlines is not None:
        return take_located(table.outlines)
    return _trace_table(table)


@lru_cache(maxsize=4)
def _trace_table(table: Hierarchy) -> tuple[Outlines, IntArray]:
    """Trace the cells of a table of H3 or S2."""
    system, cells, column = _read_cells(table)
    system.require_library()
    return trace_cells(*system.outline(cells)), column


def _read_cells(table: Hierarchy) -> tuple[CellSystem, KeyArray, IntArray]:
    """Return the system of a table of H3 or S2, its cells uint64[n] and their columns int64[n]."""
    known = cells_of(table)
    if known is None:
        raise UsageError(NEEDS_OUTLINES)
    system, _ = known
    codes = np.empty(table.cells, object)
    codes[table.cell[1]] = table.codes[-1]
    cells, good = system.read(codes.astype(np.str_))
    return system, cells[good], np.flatnonzero(good)


def trace_cells(centre: FloatArray, corners: FloatArray) -> Outlines:
    """Trace cells in degrees from points of a unit sphere.

    Parameters
    ----------
    centre : float64[n, 3]
    corners : float64[n, k, 3]
    """
    import shapely

    middle, _ = degrees(centre)
    longitude, latitude = degrees(corners)
    # Across 180 degrees a cell goes on.
    longitude = middle[:, None] + (longitude - middle[:, None] + HALF) % (2 * HALF) - HALF
    return Outlines.of(shapely.polygons(np.stack([longitude, latitude], axis=-1)), DEGREES)


def draw_lines(flows: Release, rows: Any) -> Any:
    """Return flows as a frame of geopandas, with a line from origin to destination in each row.

    Lines are those of the release's files; cells of H3 and S2, of which files have no outlines, are
    traced. Flows from or to a unit that lies nowhere are left out.

    Parameters
    ----------
    flows : Release
        The table of flows.
    rows : pandas.DataFrame
        Its rows, in their order.
    """
    table = replace(flows.table, grid=_trace_units(flows.table.grid))
    lines = replace(flows, table=table).to_geopandas("count").geometry
    located = lines.notna().to_numpy()
    # Late: it is optional, and the lines have told where it is missing.
    import geopandas

    some = rows[located].reset_index(drop=True)
    return geopandas.GeoDataFrame(some, geometry=lines.to_numpy()[located], crs=lines.crs)


def _trace_units(pairs: Grid) -> Grid:
    """Return a grid of pairs that knows where its units lie."""
    order = pairs.order
    if not isinstance(order, PairOrder) or order.hierarchy.outlines is not None:
        return pairs
    traced, column = find_outlines(order.hierarchy)
    shapes = np.full(order.hierarchy.cells, None, object)
    shapes[column] = traced.shapes
    table = replace(order.hierarchy, outlines=Outlines(shapes, traced.crs))
    return pairs.with_order(replace(order, hierarchy=table))


NEEDS_MAP = Rule(
    "flows-need-map",
    "Flows need a grid of one map of cells, without attributes or regions, such as jis:basic or "
    "Grid.regular((rows, columns)); or areal units with outlines, or cells of H3 or S2.",
)

KILOMETRES_A_DEGREE = 111.2
"""Length of a degree of latitude."""


@dataclass(frozen=True, eq=False)
class ZoneBlocks:
    """Blocks of zones that lie together, in the order of the zones.

    Attributes
    ----------
    side : int
        Rows and columns of a square block: a power of two. A block of areal units has at most
        ``side**2`` of them.
    first : int64[n + 1]
        Zones of block i are those from ``first[i]`` to ``first[i + 1]``.
    row, column : int64[n]
        Places of the blocks; of areal units in one row.
    on_map : bool
        Whether blocks are squares of a map.
    """

    side: int
    first: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    on_map: bool = True

    @property
    def number(self) -> int:
        """Number of blocks."""
        return int(self.row.size)

    @property
    def places(self) -> dict[str, IntArray]:
        """Places of the blocks by name: row and column, or the number of a block of units."""
        if self.on_map:
            return {"row": self.row, "col": self.column}
        return {"block": self.column}

    @property
    def of_zone(self) -> IntArray:
        """Block of every zone: int64[zones]."""
        return np.repeat(np.arange(self.number), np.diff(self.first))

    def sums(self, values: IntArray) -> IntArray:
        """Sum values of zones by block: int64[n]."""
        return np.asarray(np.add.reduceat(values, self.first[:-1]), np.int64)


@dataclass(frozen=True, eq=False)
class Zones:
    """Cells of a map, or areal units, as origins and destinations.

    Attributes
    ----------
    grid : Grid
        One map without attributes, whose zones are the cells of its mask if it has one; or units.
    key : uint64[n]
        Of cells of a map in increasing order.
    row, column : int64[n]
    """

    grid: Grid
    key: KeyArray = field(repr=False)
    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)

    @classmethod
    def of(cls, grid: Grid) -> Zones:
        """Make the zones of a grid; UsageError for a grid of another kind."""
        require_zones(grid)
        if not grid.names.on_map:
            return UnitZones.of_units(grid)
        key = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
        return cls(grid, key, *grid.decode(key))

    @property
    def number(self) -> int:
        """Number of zones."""
        return int(self.key.size)

    @cached_property
    def _numbers(self) -> IntArray:
        """Numbers of zones by row and column, for which a search would take most of the time."""
        numbers = np.zeros(self.grid.shape, np.int64)
        numbers[self.row, self.column] = np.arange(self.number)
        return numbers

    def find(self, index: IntArray) -> IntArray:
        """Return the numbers of zones by their rows and columns: int64[2, k] to int64[k]."""
        place = index[0] * self.grid.shape[1] + index[1]
        return np.asarray(np.take(self._numbers, place), np.int64)

    @property
    def describe_order(self) -> bytes:
        """Describe what blocks depend on besides the grid; empty for cells of a map."""
        return b""

    def blocks(self, side: int) -> ZoneBlocks:
        """Group the zones into blocks of a side; side 1: the zones themselves."""
        row, column = self.row // side, self.column // side
        new = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
        starts = np.flatnonzero(np.append(True, new))
        return ZoneBlocks(side, np.append(starts, self.number), row[starts], column[starts])

    @cached_property
    def steps(self) -> tuple[float, float, str]:
        """Height and width of a zone, and their unit: km, or cells on a grid without a place."""
        place = self.grid.places[0]
        unit = "" if place.transform is None or place.crs is None else unit_of(place.crs)
        if unit not in ("metre", "degree"):
            return 1.0, 1.0, "cells"
        assert place.transform is not None
        high, wide = abs(place.transform[4]), place.transform[0]
        if unit == "metre":
            return high / 1000, wide / 1000, "km"
        _, south, _, north = place.bounds
        wide *= cos(radians((south + north) / 2))
        return high * KILOMETRES_A_DEGREE, wide * KILOMETRES_A_DEGREE, "km"

    @property
    def extent(self) -> tuple[float, float]:
        """Width of a zone, and diagonal of the box around all, in the unit of ``steps``."""
        high, wide, _ = self.steps
        rows, columns = (int(np.ptp(axis)) + 1 for axis in (self.row, self.column))
        return max(high, wide), hypot(rows * high, columns * wide)

    def table(self, decay: float, side: int = 1) -> FloatArray:
        """Compute the law of a decay by the distance in rows and columns of blocks.

        Parameters
        ----------
        decay : float
            Length over which flows decrease by the factor e.
        side : int
            Of the blocks, between which the law is averaged over pairs of their zones, as if all
            squares of both were zones.

        Returns
        -------
        float64[rows, columns]
        """
        high, wide, _ = self.steps
        rows, columns = (-(-size // side) * side for size in self.grid.shape)
        # From -(rows - 1) to rows - 1: averages of blocks reach to both sides.
        down, across = np.arange(1 - rows, rows) * high, np.arange(1 - columns, columns) * wide
        law = np.exp(-np.hypot(down[:, None], across) / decay)
        for axis in (0, 1):
            law = average_blocks(law, side, axis)
        return np.asarray(np.maximum(law, LEAST_LAW), np.float64)

    def law(self, decay: float, blocks: ZoneBlocks, origin: IntArray | None = None) -> FloatArray:
        """Compute the law of a decay from some blocks to all: float64[m, n].

        ``origin``: int64[m]; None: of all blocks.
        """
        origin = np.arange(blocks.number) if origin is None else origin
        law, table = np.empty((origin.size, blocks.number)), self.table(decay, blocks.side)
        balancing.fill_law(origin, blocks.row, blocks.column, table, law)
        return law

    def attraction(self, decay: float) -> Attraction:
        """Return the law of a decay between single zones, to be added up."""
        return LatticeLaw(self.row, self.column, self.table(decay))


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """A law between cells of a map, by their distance in rows and columns.

    Attributes
    ----------
    row, column : int64[n]
    table : float64[rows, columns]
        See :meth:`Zones.table`.
    """

    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    table: FloatArray = field(repr=False)

    def attract(
        self, origin: IntArray, block: IntArray, first: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Sum the law from origins to all zones of blocks, times weights of these: float64[a, b].

        The parameters are those of :func:`geodp.kinds.flows.kernels.balancing.attract`.
        """
        value = np.empty((origin.size, block.size))
        places = self.row, self.column
        balancing.attract(places, origin, block, first, weight, self.table, value)
        return value


Attraction: TypeAlias = LatticeLaw | UnitLaw
"""A law of distance between single zones."""


@dataclass(frozen=True, eq=False)
class UnitZones(Zones):
    """Areal units as origins and destinations.

    Attributes
    ----------
    places : UnitPlaces
        Where they lie, in the order of the zones.
    """

    places: UnitPlaces = field(repr=False)

    @classmethod
    def of_units(cls, grid: Grid) -> UnitZones:
        """Make the zones of a grid of units; UsageError where it does not tell where they lie."""
        assert grid.hierarchy is not None
        places = find_places(grid.hierarchy)
        index = np.stack([np.zeros_like(places.column), places.column])
        return cls(grid, grid.encode(index), index[0], index[1], places)

    @property
    def describe_order(self) -> bytes:
        """Return the columns of the units in their order, of which blocks are made."""
        return self.column.astype("<i8").tobytes()

    def blocks(self, side: int) -> ZoneBlocks:
        """Group the units into blocks of at most ``side**2`` of them."""
        first = self.places.starts(side)
        number = np.arange(first.size - 1)
        return ZoneBlocks(side, first, np.zeros_like(number), number, on_map=False)

    @cached_property
    def steps(self) -> tuple[float, float, str]:
        """Width of a unit that is as large as most, twice, and the unit: km."""
        width, _ = self.places.extent
        return width, width, "km"

    @property
    def extent(self) -> tuple[float, float]:
        """Width of a unit, and diagonal of the box around all, in kilometres."""
        return self.places.extent

    def law(self, decay: float, blocks: ZoneBlocks, origin: IntArray | None = None) -> FloatArray:
        """Compute the law of a decay from some blocks to all, or from all: float64[m, n]."""
        law = UnitLaw(self.places, decay).average(blocks.side)
        return law if origin is None or origin.size == blocks.number else law[origin]

    def attraction(self, decay: float) -> Attraction:
        """Return the law of a decay between single units."""
        return UnitLaw(self.places, decay)


def require_zones(grid: Grid) -> None:
    """Raise UsageError for a grid whose cells are no zones of flows.

    They are those of one map, or of its mask, in the order of their bits, or units of which it is
    known where they lie.
    """
    if grid.hierarchy is not None and not grid.names.on_map and grid.plain_map is not None:
        find_places(grid.hierarchy)
        return
    plain = grid.plain_map is not None and grid.hierarchy is None
    if not plain or grid.order != Grid(grid.places).order:
        raise UsageError(NEEDS_MAP)


def pairs_of(grid: Grid, attributes: Sequence[Attribute] = ()) -> Grid:
    """Return the grid of pairs of zones of a grid, and of labels of attributes."""
    if not grid.names.on_map:
        pairs = pairs_of_units(grid)
    else:
        pairs = grid.pairs() if grid.mask is None else Grid(grid.places * 2, mask=grid.mask)
    for one in attributes:
        pairs = pairs.with_attribute(one.name, one.labels)
    return pairs


def slice_pairs(number: int) -> Iterator[slice]:
    """Yield slices of so many pairs, in their order, of which each takes little memory."""
    for start in range(0, number, AT_ONCE):
        yield slice(start, min(start + AT_ONCE, number))


def number_pairs(zones: Zones, cells: Cells | Prior) -> Iterator[tuple[slice, IntArray, IntArray]]:
    """Yield some pairs of zones of a table at a time, in the order of their keys.

    Yields
    ------
    slice
    ends : int64[2, n]
        Numbers of the zones of origin and destination.
    labels : int64[attributes, n]
    """
    for some in slice_pairs(cells.key.size):
        index = cells.grid.decode(cells.key[some])
        yield some, np.stack([zones.find(index[at : at + 2]) for at in (0, 2)]), index[4:]


def sum_pairs(zones: Zones, cells: Cells | Prior) -> tuple[IntArray, IntArray, IntArray]:
    """Sum a table of pairs of zones over its labels: origins, destinations and trips, int64[n].

    Pairs are by origin and destination, each once.
    """
    index = cells.grid.decode(cells.key)
    ends = [zones.find(index[at : at + 2]) for at in (0, 2)]
    place = (ends[0] * zones.number + ends[1]).view(np.uint64)
    pair, count = coalesce(place, np.asarray(cells.count, np.int64))
    return *np.divmod(pair.view(np.int64), zones.number), np.asarray(count, np.int64)


def zones_of(pairs: Grid) -> Grid:
    """Return the grid of the zones whose pairs a grid has, without labels.

    Pairs that were read from files know no outlines.
    """
    order = pairs.order
    if isinstance(order, PairOrder):
        return Grid(pairs.places[:1], order=HierarchyOrder.of(order.hierarchy))
    return Grid(pairs.places[:1], mask=pairs.mask)


def count_zone_blocks(grid: Grid, side: int) -> int:
    """Count the blocks of a side, before any is made."""
    if not grid.names.on_map:
        return count_blocks(grid.size, side)
    if grid.mask is not None:
        # Keys of the cells of a square share their first bits; an axis may have fewer than others.
        below = side.bit_length() - 1
        (number,) = grid.domain.count_blocks([sum(min(bits_for(n), below) for n in grid.shape)])
        return number
    rows, columns = (-(-size // side) for size in grid.shape)
    return rows * columns


def side_of_all(grid: Grid) -> int:
    """Return the side of a block that holds all zones, which is no power of two."""
    return max(grid.shape) if grid.names.on_map else isqrt(grid.size - 1) + 1


def average_blocks(law: FloatArray, side: int, axis: int) -> FloatArray:
    """Average a law over all pairs of places in two blocks, along an axis.

    Parameters
    ----------
    law : float64[..., 2 n - 1, ...]
        By differences from ``1 - n`` to ``n - 1``; n is a multiple of the side.
    side : int
    axis : int

    Returns
    -------
    float64[..., n / side, ...]
        By differences of blocks, from 0 on.
    """
    size = (law.shape[axis] + 1) // 2
    # Of two blocks, side - |k| pairs of places lie k further apart than the blocks do.
    weight = (side - np.abs(np.arange(1 - side, side))) / side**2
    edges = [(side, side) if one == axis else (0, 0) for one in range(law.ndim)]
    padded = np.moveaxis(np.pad(law, edges), axis, 0)
    centre = np.arange(size // side) * side + size - 1 + side
    parts = [np.tensordot(weight, padded[at - side + 1 : at + side], 1) for at in centre]
    return np.moveaxis(np.array(parts), 0, axis)
