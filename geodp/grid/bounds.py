"""Bounds of a domain that are not given along the edges of cells: those that hold places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.codes import CodeSystem
from geodp.grid.crs import name_crs

STEP = 0.05
"""Degrees between the points of a box's edges that are moved to another CRS."""

MOST_POINTS = 2_000
"""On one edge of a box."""

NEAR = 1e-6
"""Of a cell, by which a bound may lie beyond an edge that it is meant to run along."""


def bounds_of_degrees(system: CodeSystem, box: Sequence[float]) -> tuple[Fraction, ...]:
    """Return the smallest bounds of cells that hold a box in degrees.

    Parameters
    ----------
    system : CodeSystem
    box : sequence of float
        West, south, east, north: longitudes -180 to 180, a west that is not below the east across
        180 degrees, and latitudes. In degrees of the system's CRS where that has degrees, and of
        WGS 84 elsewhere.

    Returns
    -------
    tuple of Fraction
        West, south, east, north in the CRS of the system, along edges of cells.

    Raises UsageError for what is no box in degrees, or leaves the extent.

    Examples
    --------
    >>> from geodp.grid.codes import code_system
    >>> [int(edge) for edge in bounds_of_degrees(code_system("cbs:500m"), (5.1, 52, 5.2, 52.1))]
    [135000, 445500, 142500, 457000]
    """
    if len(box) != 4 or not np.isfinite(np.array(box, float)).all():
        raise UsageError(
            "Bounds are four finite numbers: west, south, east, north.", code="bounds-not-finite"
        )
    west, south, east, north = map(float, box)
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south < north <= 90):
        raise UsageError(
            "Bounds in degrees are west, south, east, north: longitudes -180 to 180, latitudes -90 "
            "to 90, the south below the north.",
            code="bounds-not-degrees",
        )
    if west == east:
        raise UsageError(
            "The west and the east of bounds in degrees must differ.", code="bounds-without-width"
        )
    east += 360 if east < west else 0
    x, y = move_points(edge_points((west, south, east, north)), system.crs)
    if not _inside(system, x, y)[1].all():
        row0, col0, rows, cols = system.extent
        edges = [
            float(system.origin[axis] + edge * system.step[axis])
            for axis, edge in ((1, col0), (0, row0), (1, col0 + cols), (0, row0 + rows))
        ]
        raise UsageError(
            f"The bounds in degrees leave the extent of {system.name}, which is "
            f"{' '.join(f'{edge:g}' for edge in edges)} in units of {name_crs(system.crs)}: choose "
            "a smaller box, or leave the bounds out for all of it.",
            code="bounds-outside-extent",
        )
    return cover_points(system, x, y, "the bounds in degrees")


def edge_points(box: tuple[float, float, float, float]) -> NDArray[np.float64]:
    """Return points of a box's edges, float64[n, 2], no two neighbours far apart."""
    west, south, east, north = box
    counts = (
        min(math.ceil((high - low) / STEP) + 1, MOST_POINTS)
        for low, high in ((west, east), (south, north))
    )
    xs, ys = (
        np.linspace(low, high, count)
        for (low, high), count in zip(((west, east), (south, north)), counts, strict=True)
    )
    sides = [np.stack(np.broadcast_arrays(xs, y), axis=1) for y in (south, north)]
    sides += [np.stack(np.broadcast_arrays(x, ys), axis=1) for x in (west, east)]
    return np.concatenate(sides)


def move_points(points: NDArray[np.float64], crs: str) -> tuple[NDArray[np.float64], ...]:
    """Return x and y, float64[n] each, of points in degrees in a CRS.

    They are infinite where it has no place for them, and stay where it has degrees itself.
    """
    from pyproj import CRS, Transformer  # late: it is slow, and most bounds do without

    if CRS.from_user_input(crs).is_geographic:
        return points[:, 0], points[:, 1]
    move = Transformer.from_crs("OGC:CRS84", crs, always_xy=True)
    x, y = move.transform((points[:, 0] + 180) % 360 - 180, points[:, 1])
    return np.asarray(x), np.asarray(y)


def cover_points(
    system: CodeSystem, x: NDArray[np.float64], y: NDArray[np.float64], name: str
) -> tuple[Fraction, ...]:
    """Return the bounds of the cells that hold points in a system's CRS, float64[n] each.

    Points outside the extent are left out; UsageError, which calls them by the name, where all are.
    """
    at, inside = _inside(system, x, y)
    row0, col0, rows, cols = system.extent
    low, high = (row0, col0), (row0 + rows, col0 + cols)
    if not inside.any():
        raise UsageError(
            f"Nothing of {name} lies in the extent of {system.name}.", code="area-outside-extent"
        )
    ends = [_ends(one[inside]) for one in at]
    if system.around is not None:
        ends[1] = _shortest(at[1][inside], system.around)
        high = (high[0], high[1] + system.around)
    (south, north), (west, east) = (
        (max(first, least), min(max(last, first + 1), most))
        for (first, last), least, most in zip(ends, low, high, strict=True)
    )
    edges = ((west, 1), (south, 0), (east, 1), (north, 0))
    return tuple(system.origin[axis] + edge * system.step[axis] for edge, axis in edges)


def _inside(
    system: CodeSystem, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Return rows and columns of points as floats, and which lie in the extent: [n] each."""
    row0, col0, rows, cols = system.extent
    with np.errstate(invalid="ignore"):
        at = [
            (values - float(origin)) / float(step)
            for values, origin, step in zip((y, x), system.origin, system.step, strict=True)
        ]
        if system.around is not None:
            at[1] = np.where(at[1] > col0 + cols, at[1] - system.around, at[1])
        inside = (at[0] >= row0 - NEAR) & (at[0] <= row0 + rows + NEAR)
        inside &= (at[1] >= col0 - NEAR) & (at[1] <= col0 + cols + NEAR)
    return at, inside


def _ends(at: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first cell and that after the last; an edge that is touched brings none."""
    return math.floor(at.min() + NEAR), math.ceil(at.max() - NEAR)


def _shortest(at: NDArray[np.float64], around: int) -> tuple[int, int]:
    """Return the first and the last of the columns that hold places at, float64[n].

    Across the widest gap between them no column is needed, so that Fiji is 6 degrees wide; the
    last may then lie beyond the number of columns around the Earth.
    """
    first, last = _ends(at)
    held = np.unique(np.floor(at).astype(np.int64))
    gaps = np.diff(held)
    if not gaps.size or gaps.max() <= first + around - last:
        return first, last
    gap = int(gaps.argmax())
    return int(held[gap + 1]), int(held[gap]) + 1 + around
