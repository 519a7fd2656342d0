"""Bounds of a domain that are not given along the edges of cells: the cells that cover them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.codes import CodeSystem
from geodp.grid.crs import name_crs, open_transformer

STEP = 0.05
"""Spacing, in degrees, of the points on a box's edges that are transformed to another CRS."""

MAX_POINTS = 2_000
"""Maximal number of points on one edge of a box."""

NEAR = 1e-6
"""Tolerance, in cells: a bound this close to an edge is meant to run along it."""


Box = tuple[float, float, float, float]
"""West, south, east, north in degrees; a west above the east is across 180 degrees."""


def read_box(bounds: Sequence[float]) -> Box:
    """Return west, south, east, north; UsageError if this is not a box in degrees."""
    box = [float(edge) for edge in bounds]
    if len(box) != 4 or not np.isfinite(box).all():
        raise UsageError(
            "Bounds are four finite numbers: west, south, east, north.", code="bounds-not-finite"
        )
    west, south, east, north = box
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south < north <= 90):
        raise UsageError(
            "Bounds in degrees are west, south, east, north: longitudes -180 to 180, latitudes -90 "
            "to 90, the south below the north.",
            code="bounds-not-degrees",
        )
    if west == east:
        raise UsageError(
            "The west and the east of bounds in degrees must differ; a west above the east is a "
            "box across 180 degrees.",
            code="bounds-without-width",
        )
    return west, south, east, north


def bounds_of_degrees(system: CodeSystem, box: Sequence[float]) -> tuple[Fraction, ...]:
    """Return the smallest bounds along edges of cells that contain a box in degrees.

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

    Raises UsageError if it is not a box in degrees, or extends beyond the extent.

    Examples
    --------
    >>> from geodp.grid.codes import code_system
    >>> [int(edge) for edge in bounds_of_degrees(code_system("cbs:500m"), (5.1, 52, 5.2, 52.1))]
    [135000, 445500, 142500, 457000]
    """
    west, south, east, north = read_box(box)
    # From here on east is above west, so that a box across 180 degrees needs no second case;
    # `move_points` takes longitudes back to -180 to 180.
    east += 360 if east < west else 0
    x, y = move_points(edge_points((west, south, east, north)), system.crs)
    # Points along the edges, not the corners alone: a straight edge in degrees is curved in most
    # CRSs and may bulge out of the extent, or out of the box around its corners.
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


def edge_points(box: Box) -> NDArray[np.float64]:
    """Return points along a box's edges, float64[n, 2], at most `STEP` degrees apart."""
    west, south, east, north = box
    counts = (
        min(math.ceil((high - low) / STEP) + 1, MAX_POINTS)
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
    """Transform points in degrees to a CRS: x and y, float64[n] each.

    Coordinates are infinite where the CRS is not defined, and unchanged if it has degrees itself.
    """
    from pyproj import CRS  # late: it is slow, and most bounds do without

    if CRS.from_user_input(crs).is_geographic:
        return points[:, 0], points[:, 1]
    # CRS84 and always_xy: longitude first, whatever order the axes have in the CRS's definition.
    move = open_transformer("OGC:CRS84", crs)
    x, y = move.transform((points[:, 0] + 180) % 360 - 180, points[:, 1])
    return np.asarray(x), np.asarray(y)


def cover_points(
    system: CodeSystem, x: NDArray[np.float64], y: NDArray[np.float64], name: str
) -> tuple[Fraction, ...]:
    """Return the bounds of the cells that contain points in a system's CRS, float64[n] each.

    Points outside the extent are left out; UsageError, with their name, if all of them are.
    """
    at, inside = _inside(system, x, y)
    row0, col0, rows, cols = system.extent
    low, high = (row0, col0), (row0 + rows, col0 + cols)
    if not inside.any():
        raise UsageError(
            f"No part of {name} lies in the extent of {system.name}.", code="area-outside-extent"
        )
    ends = [_ends(one[inside]) for one in at]
    if system.around is not None:
        ends[1] = _shortest(at[1][inside], system.around)
        high = (high[0], high[1] + system.around)
    (south, north), (west, east) = (
        # At least one cell, also where all points lie on one edge of cells.
        (max(first, minimum), min(max(last, first + 1), maximum))
        for (first, last), minimum, maximum in zip(ends, low, high, strict=True)
    )
    edges = ((west, 1), (south, 0), (east, 1), (north, 0))
    return tuple(system.origin[axis] + edge * system.step[axis] for edge, axis in edges)


def _inside(
    system: CodeSystem, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Return rows and columns of points as floats, and whether they lie in the extent: [n] each."""
    row0, col0, rows, cols = system.extent
    with np.errstate(invalid="ignore"):
        at = [
            (values - float(origin)) / float(step)
            for values, origin, step in zip((y, x), system.origin, system.step, strict=True)
        ]
        if system.around is not None:
            # Columns beyond the last one are the first ones again, once around the Earth.
            at[1] = np.where(at[1] > col0 + cols, at[1] - system.around, at[1])
        inside = (at[0] >= row0 - NEAR) & (at[0] <= row0 + rows + NEAR)
        inside &= (at[1] >= col0 - NEAR) & (at[1] <= col0 + cols + NEAR)
    return at, inside


def _ends(at: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first cell and the one after the last; touching an edge adds no cell."""
    return math.floor(at.min() + NEAR), math.ceil(at.max() - NEAR)


def _shortest(at: NDArray[np.float64], around: int) -> tuple[int, int]:
    """Return the first and the last of the columns that contain positions, float64[n].

    The widest gap between them is left out, so that Fiji is 6 degrees wide; the last column may
    then exceed the number of columns around the Earth.
    """
    first, last = _ends(at)
    held = np.unique(np.floor(at).astype(np.int64))
    gaps = np.diff(held)
    # The gap across 180 degrees is the one that an ordinary range leaves out already.
    if not gaps.size or gaps.max() <= first + around - last:
        return first, last
    gap = int(gaps.argmax())
    return int(held[gap + 1]), int(held[gap]) + 1 + around
