"""Cells that polygons cut, and which part of their people lies inside by a public map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.grid.region import boxes_of_polygons, shapes_on
from geodp.typing import FloatArray, IntArray


def cover(shape: Any, x: FloatArray, y: FloatArray) -> FloatArray:
    """Compute the part of each cell that lies in a polygon: float64[rows, cols], from 0 to 1.

    Each edge of the polygon adds the area to its right, with the sign of its direction, so that
    what lies outside is cancelled.

    Parameters
    ----------
    shape : shapely Polygon or MultiPolygon
        In the CRS of the edges.
    x, y : float64[cols + 1], float64[rows + 1]
        Edges of columns and of rows, at equal distances, rising or falling.

    Examples
    --------
    >>> from shapely import box
    >>> cover(box(0.5, 0.0, 2.0, 1.0), np.arange(4.0), np.arange(3.0)).tolist()
    [[0.5, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    import shapely

    rows, cols = y.size - 1, x.size - 1
    # A hole runs in the other direction than the ring around it.
    rings = shapely.get_rings(shapely.get_parts(shapely.orient_polygons(shape)))
    points, ring = shapely.get_coordinates(rings, return_index=True)
    points = (points - [x[0], y[0]]) / [x[1] - x[0], y[1] - y[0]]
    first = np.flatnonzero(ring[1:] == ring[:-1])
    ends = np.stack([points[first], points[first + 1]])
    # Edges above and below the lattice cover nothing; what lies left of it covers whole rows.
    ends = _cut(_cut(ends, 1, rows), 0, cols)
    (left, bottom), (right, top) = ends[0].T, ends[1].T
    row = np.floor((bottom + top) / 2).astype(np.int64)
    inside = (row >= 0) & (row < rows)
    middle, height, row = ((left + right) / 2)[inside], (top - bottom)[inside], row[inside]
    middle = np.clip(middle, 0, cols)
    col = np.minimum(middle.astype(np.int64), cols)
    beyond = height * (middle - col)
    at = row * (cols + 2) + col
    area = np.bincount(at, height - beyond, rows * (cols + 2))
    area += np.bincount(at + 1, beyond, rows * (cols + 2))
    parts = np.cumsum(area.reshape(rows, cols + 2), axis=1)[:, :cols]
    return np.asarray(np.clip(np.abs(parts), 0.0, 1.0), np.float64)


def _cut(ends: FloatArray, axis: int, number: int) -> FloatArray:
    """Cut edges where they cross the lines of an axis, from 0 to a number: float64[2, n, 2]."""
    low = np.clip(np.floor(ends[..., axis].min(axis=0)), -1, number).astype(np.int64)
    high = np.clip(np.ceil(ends[..., axis].max(axis=0)), 0, number + 1).astype(np.int64)
    pieces = np.maximum(high - low, 1)
    edge = np.repeat(np.arange(pieces.size), pieces)
    line = low[edge] + np.arange(edge.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    start, step = ends[0][edge], (ends[1] - ends[0])[edge]
    long = np.where(step[:, axis] == 0, 1.0, step[:, axis])
    cuts = np.stack([line, line + 1]) - start[:, axis]
    # The first and the last piece reach to the ends of the edge.
    outer = np.stack([line <= low[edge], line + 1 >= high[edge]])
    falls = step[:, axis] < 0
    at = np.where(outer, np.where(falls, [[1.0], [0.0]], [[0.0], [1.0]]), cuts / long)
    at = np.where(falls, at[::-1], at)
    at[:, step[:, axis] == 0] = [[0.0], [1.0]]
    return np.asarray(start + np.clip(at, 0.0, 1.0)[..., None] * step, np.float64)


TOLERANCE = 1e-6
"""Part of a cell beside a polygon's border that is rounding."""

NEIGHBOURS = np.array([[-1, 1, 0, 0], [0, 0, -1, 1]])
"""From a cell to its four neighbours, in rows and columns."""


@dataclass(frozen=True, eq=False)
class FinerMap:
    """A public map of land or people on squares that are smaller than the cells of a grid.

    Attributes
    ----------
    x, y : float64[cols + 1], float64[rows + 1]
        Edges of its columns and rows, in the CRS of the grid.
    mass : uint8 or float64[rows, cols]
        Land or people of each square, 0 or more.
    is_people : bool
    """

    x: FloatArray
    y: FloatArray
    mass: NDArray[Any]
    is_people: bool

    def split(self, shape: Any, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Add up the map in cells, and in what a polygon has of each: float64[rows, cols] each.

        ``x``, ``y``: edges of the cells. A square belongs to the cell that has its centre.
        """
        (rows, row), (cols, col) = _cells_of(self.y, y), _cells_of(self.x, x)
        size = y.size - 1, x.size - 1
        if not row.size or not col.size:
            return np.zeros(size), np.zeros(size)
        mass = self.mass[rows, cols].astype(np.float64)
        part = cover(shape, _with_end(self.x, cols), _with_end(self.y, rows))
        cell = (row[:, None] * size[1] + col).reshape(-1)
        every, inside = (
            add_up(cell, one.reshape(-1), size[0] * size[1]).reshape(size)
            for one in (mass, mass * part)
        )
        return every, inside


def add_up(at: IntArray, values: FloatArray, number: int) -> FloatArray:
    """Add up values by their places, from 0 to a number: float64[number]."""
    return np.bincount(at, values, number).astype(np.float64)


def _cells_of(edges: FloatArray, cells: FloatArray) -> tuple[slice, IntArray]:
    """Return which squares of an axis have their centre in cells, and in which: int64[n]."""
    middle = (edges[1:] + edges[:-1]) / 2
    at = np.floor((middle - cells[0]) / (cells[1] - cells[0])).astype(np.int64)
    some = np.flatnonzero((at >= 0) & (at < cells.size - 1))
    here = slice(int(some[0]), int(some[-1]) + 1) if some.size else slice(0, 0)
    return here, at[here]


def _with_end(edges: FloatArray, squares: slice) -> FloatArray:
    return edges[squares.start : squares.stop + 1]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cells that polygons cut, with their four neighbours.

    Attributes
    ----------
    polygon : int64[n]
        Number of the polygon, rising.
    place : int64[2, n]
        Row and column of each cell.
    share : float64[n]
        Part of the cell's people inside the polygon: of its area, or by a finer map.
    counted : bool[n]
        Whether the cell belongs to the region of the polygon, as its centre lies inside.
    against : float64[4, n]
        Part of the cell in the people of itself and a neighbour; NaN where nobody lives by the map.
    """

    polygon: IntArray
    place: IntArray
    share: FloatArray
    counted: NDArray[np.bool_]
    against: FloatArray

    @property
    def neighbours(self) -> IntArray:
        """Rows and columns of the neighbours: int64[2, 4, n], perhaps outside the map."""
        around: IntArray = self.place[:, None] + NEIGHBOURS[:, :, None]
        return around


def find_outline(area: Any) -> Any:
    """Return the polygon of an area as for :meth:`geodp.grid.region.Region.of`, or of a box.

    None for codes of areas, which cut no cell, and for boxes across 180 degrees.
    """
    import shapely

    if hasattr(area, "geom_type"):
        return area
    is_box = not isinstance(area, str) and area[0] < area[2] and area[1] < area[3]
    return shapely.box(*area) if is_box else None


def find_cuts(place: Lattice, shapes: Sequence[Any], finer: FinerMap | None = None) -> Cuts:
    """Find the cells of a map that polygons cut.

    Parameters
    ----------
    place : Lattice
        Lattice with a transform.
    shapes : sequence of shapely Polygon or MultiPolygon, or None
        In the lattice's CRS; None cuts nothing.
    finer : FinerMap, optional
        What people live on. Default: the area.
    """
    import shapely

    x, y = place.edges()
    pieces = [(np.empty((2, 0), np.int64), *np.empty((2, 0)), np.empty((4, 0)))]
    shapes = shapes_on(place, shapes)
    for shape, (rows, cols) in zip(shapes, boxes_of_polygons(place, shapes), strict=True):
        if shape is None or rows.start == rows.stop or cols.start == cols.stop:
            pieces.append(pieces[0])
            continue
        left, top = max(cols.start - 1, 0), max(rows.start - 1, 0)
        xs, ys = x[left : cols.stop + 2], y[top : rows.stop + 2]
        part = cover(shape, xs, ys)
        cut = np.nonzero((part > TOLERANCE) & (part < 1 - TOLERANCE))
        share = part[cut]
        against = np.full((4, share.size), 0.5)
        if finer is not None:
            mass, inside = finer.split(shape, xs, ys)
            here, around = mass[cut], np.pad(mass, 1)
            share = np.divide(inside[cut], here, out=share, where=here > 0)
            index = np.stack(cut)[:, None] + NEIGHBOURS[:, :, None] + 1
            both = here + around[index[0], index[1]]
            against = np.divide(here, both, out=np.full(both.shape, np.nan), where=both > 0)
        middle = [(one[1:] + one[:-1]) / 2 for one in (xs, ys)]
        shapely.prepare(shape)
        counted = shapely.contains_xy(shape, middle[0][cut[1]], middle[1][cut[0]])
        pieces.append((np.stack([cut[0] + top, cut[1] + left]), share, counted, against))
    places, shares, counts, parts = zip(*pieces, strict=True)
    polygon = np.repeat(np.arange(len(pieces)) - 1, [one.size for one in shares])
    return Cuts(
        polygon,
        np.concatenate(places, axis=1),
        np.concatenate(shares),
        np.concatenate(counts).astype(np.bool_),
        np.concatenate(parts, axis=1),
    )
