"""Graticule: lines of latitude and longitude over a map, with their degrees beside it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.lattice import Lattice
from geodp.io.write.drawing.sheet import Line
from geodp.io.write.frame import crs_of, round_length

LINES = 3
"""Smallest number of round steps of longitude and of latitude in a map."""

FINE, EVERY = 4096, 64
"""Number of points for cutting a line at the map's edges, and the stride of those drawn."""

NEAR = 1.5
"""Distance from an edge, in pixels, within which a line gets a label there."""


def list_lines(
    place: Lattice, box: tuple[float, float, float, float]
) -> list[tuple[Line, str, bool]]:
    """Compute lines in the pixels of a map, with their degrees, and whether each is a meridian.

    Parameters
    ----------
    place : Lattice
        The map that is drawn.
    box : (float, float, float, float)
        Left, top, width and height of the map.

    Raises
    ------
    UsageError
        The map has no place on the Earth, or lies across the date line.
    """
    if place.crs is None or place.transform is None:
        raise UsageError(
            "--graticule needs a grid with a coordinate reference system.",
            code="graticule-needs-crs",
        )
    west, south, east, north = _bounds(place)
    lines = []
    for number, (low, high) in enumerate(((west, east), (south, north))):
        # Meridians and parallels are curves in most projections.
        along = np.linspace(*((south, north) if number == 0 else (west, east)), FINE)
        for degree in _steps(low, high):
            across = np.full(FINE, float(degree))
            lon, lat = (across, along) if number == 0 else (along, across)
            for points in _cut(*_to_pixels(place, box, lon, lat), box):
                lines.append((points, format_degrees(degree, number == 0), number == 0))
    return [(Line(points), text, meridian) for points, text, meridian in lines]


def touches(line: Line, at: float, *, top: bool) -> tuple[float, float] | None:
    """Return where a line ends on the top edge or on the left one; None if it does not."""
    for point in (line.points[0], line.points[-1]):
        if abs(point[1 if top else 0] - at) < NEAR:
            return point
    return None


def format_degrees(degree: Fraction, meridian: bool) -> str:
    """Format degrees with the hemisphere.

    Examples
    --------
    >>> format_degrees(Fraction(-1, 2), True), format_degrees(Fraction(35), False)
    ('0.5°W', '35°N')
    """
    sides = "EW" if meridian else "NS"
    side = "" if degree == 0 else sides[degree < 0]
    return f"{abs(float(degree)):g}°{side}"


def _bounds(place: Lattice) -> tuple[float, float, float, float]:
    """Return west, south, east and north of a map in degrees."""
    from pyproj import Transformer

    crs = crs_of(str(place.crs))
    if crs.is_geographic:
        return place.bounds
    move = Transformer.from_crs(crs, "OGC:CRS84", always_xy=True)
    west, south, east, north = move.transform_bounds(*place.bounds, densify_pts=41)
    if not np.isfinite([west, south, east, north]).all() or west >= east:
        raise UsageError(
            "--graticule is not drawn across the date line.", code="graticule-at-date-line"
        )
    return west, south, east, north


def _steps(low: float, high: float) -> list[Fraction]:
    """Return round degrees between two, without the ends."""
    step = round_length(Fraction((high - low) / LINES))
    # Exact fractions, so that 0.1 degrees are counted without rounding errors.
    first, last = math.floor(Fraction(low) / step) + 1, math.ceil(Fraction(high) / step)
    return [number * step for number in range(first, last)]


def _to_pixels(
    place: Lattice,
    box: tuple[float, float, float, float],
    lon: NDArray[np.float64],
    lat: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from pyproj import Transformer

    x, y = lon, lat
    crs = crs_of(str(place.crs))
    if not crs.is_geographic:
        x, y = Transformer.from_crs("OGC:CRS84", crs, always_xy=True).transform(lon, lat)
    west, south, east, north = place.bounds
    left, top, width, height = box
    return left + (x - west) / (east - west) * width, top + (north - y) / (north - south) * height


def _cut(
    x: NDArray[np.float64], y: NDArray[np.float64], box: tuple[float, float, float, float]
) -> list[tuple[tuple[float, float], ...]]:
    """Return the parts of a line that lie on the map."""
    left, top, width, height = box
    inside = (x >= left) & (x <= left + width) & (y >= top) & (y <= top + height)
    # A curve may leave the map and come back: every stretch inside becomes a line.
    edge = np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]])))
    parts = []
    for start, stop in edge.reshape(-1, 2).tolist():
        if stop - start > 1:
            points_drawn = [*range(start, stop - 1, EVERY), stop - 1]
            parts.append(tuple((float(x[i]), float(y[i])) for i in points_drawn))
    return parts
