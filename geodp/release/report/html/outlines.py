"""Outlines of units for a page: simplified so that neighbours still share their borders."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.outlines import Outlines, rings_of, to_cells
from geodp.io.write.frame import ground_of
from geodp.release.report.html.markup import pack_integers
from geodp.typing import FloatArray, IntArray

STEPS = 4096
"""Steps along the longer side of the map; points of outlines are integer steps."""

LOOSE = 0.7
"""Tolerance of the simplification, in steps."""

SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
"""Ring that stands for a unit smaller than a step."""


def lay_ground(outlines: Outlines) -> Lattice:
    """Return the lattice of steps on which a page's map of units is drawn."""
    return ground_of(outlines, STEPS)


def pack_outlines(grid: Grid, outlines: Outlines, ground: Lattice) -> dict[str, Any]:
    """Pack codes, areas, inner points and rings of units, as plain values and packed arrays.

    Rings follow unit by unit: the number of rings, and for each ring the number of its points, the
    steps eastwards and southwards to the first one, and from each to the next.
    """
    # Units are the columns of a lattice with one row.
    index = np.zeros((2, outlines.shapes.size), np.int64)
    index[1] = np.arange(index.shape[1])
    shapes = outlines.lay_on(ground, LOOSE)
    middle = to_cells(outlines.inner_points, ground)
    return {
        "rows": ground.rows,
        "cols": ground.cols,
        "codes": grid.names.show(0, index),
        "areas": [float(f"{area:.6g}") for area in outlines.areas.tolist()],
        # In sixteenths of a step, so that they stay inside small units.
        "middles": pack_integers(np.rint(16 * middle).astype(np.int64).reshape(-1)),
        "rings": pack_integers(np.concatenate([*map(_list_rings, shapes, middle)])),
    }


def box_of_units(outlines: Outlines, unit: IntArray) -> tuple[int, int, int, int]:
    """Return the bounding box of units in steps: first row and column, and those after the last.

    ``unit``: numbers of units, int64[n].
    """
    boxes, ground = outlines.boxes[unit], lay_ground(outlines)
    (west, south), (east, north) = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    corners = to_cells(np.array([[west, north], [east, south]]), ground)
    (left, top), (right, bottom) = np.floor(corners[0]), np.ceil(corners[1])
    return int(top), int(left), int(bottom), int(right)


def trace_cells(index: IntArray) -> IntArray:
    """Trace the border of a set of cells as straight lines between cells.

    Parameters
    ----------
    index : int64[2, n]
        Rows and columns of the cells, at least one.

    Returns
    -------
    int64[k]
        Lines along rows, then lines along columns: their number, and for each line the row (or
        column) of cells that it lies before, and the column (or row) where it begins and ends, each
        as the difference from the line before.

    Examples
    --------
    >>> trace_cells(np.array([[5, 5], [7, 8]])).tolist()
    [2, 5, 7, 9, 1, 0, 0, 2, 7, 5, 6, 2, 0, 0]
    """
    # A margin of one empty cell on each side, so that borders at the edge are parts, too.
    first = index.min(axis=1)
    inside = np.zeros(index.max(axis=1) - first + 3, bool)
    inside[tuple(index - first[:, None] + 1)] = True
    parts = list[IntArray]()
    for grid, (across, along) in ((inside, first), (inside.T, first[::-1])):
        edge = grid[1:] != grid[:-1]
        ends = np.diff(edge.astype(np.int8), axis=1, prepend=0, append=0)
        line, begin = np.nonzero(ends == 1)
        _, end = np.nonzero(ends == -1)
        lines = np.stack([line + across, begin + along - 1, end + along - 1], axis=1)
        parts += [np.array([len(lines)]), np.diff(lines, axis=0, prepend=0).reshape(-1)]
    return np.concatenate(parts).astype(np.int64)


def _list_rings(shape: Any, middle: FloatArray) -> IntArray:
    """List the rings of a unit in integer steps; a square where all are smaller than a step."""
    rings = [points for ring in rings_of(shape) if len(points := _round(ring)) > 2]
    # Every unit keeps a ring, so that the script can draw it and find it.
    rings = rings or [np.floor(middle).astype(np.int64) + SQUARE]
    parts = [np.append(len(ring), np.diff(ring, axis=0, prepend=0).reshape(-1)) for ring in rings]
    return np.concatenate([[len(rings)], *parts])


def _round(points: FloatArray) -> NDArray[np.int64]:
    """Round the points of a ring to steps, without repeated points and the closing one."""
    at = np.rint(points).astype(np.int64)
    distinct = np.append((at[1:] != at[:-1]).any(axis=1), False)
    return np.asarray(at[distinct], np.int64)
