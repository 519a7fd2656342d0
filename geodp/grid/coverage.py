"""The part of each cell of a lattice that lies in a polygon."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodp.typing import FloatArray


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
