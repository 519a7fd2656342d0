"""Where areal units lie: their centres, areas and public order, and laws of distance between them.

Units are those of a table with outlines, or cells of H3 or S2. Units with outlines are ordered by
halving: all are divided in two equal parts across their longest extent, then each part, and so on.
Cells are in the order of their ids, which those of one coarser cell share at their beginning. So
blocks of any size are parts that lie together and have equally many units, and follow from the
public table alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import cos, radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.cells import cells_of
from geodp.grid.cells.system import CellSystem, degrees
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import longitude_period
from geodp.grid.outlines import Outlines
from geodp.grid.pairs import PairOrder
from geodp.kinds.flows.reading.positions import locate_in_space
from geodp.release.release import Release
from geodp.typing import FloatArray, IntArray, KeyArray

NEEDS_OUTLINES = Rule(
    "flows-units-need-outlines",
    "Flows between areal units need the outlines of these: give a table with outlines on the "
    "Earth, such as a GeoPackage, or cells of H3 or S2.",
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
        most, start = max(CHUNK // max(origin.size, 1), 1), 0
        while start < block.size:
            stop = int(np.searchsorted(ends, ends[start] + most, side="right")) - 1
            stop = max(stop, start + 1)
            some = ends[start:stop] - ends[start]
            unit = np.arange(ends[stop] - ends[start])
            unit += np.repeat(first[block[start:stop]] - some, size[start:stop])
            law = self.between(origin, unit) * weight[unit]
            out[:, start:stop] = np.add.reduceat(law, some, axis=1)
            start = stop
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
        for a, b in _list_runs(inner, max(CHUNK // size.size, 1)):
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


def _list_runs(first: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Yield runs of blocks with at most so many parts, or of one block."""
    begin = 0
    while begin < first.size - 1:
        end = int(np.searchsorted(first, first[begin] + rows, side="right")) - 1
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
def take_located(outlines: Outlines) -> tuple[Outlines, IntArray]:
    """Take the outlines of units that lie somewhere, and their columns: int64[n]."""
    column = np.flatnonzero(outlines.located)
    return (outlines if column.size == outlines.shapes.size else outlines.take(column)), column


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
