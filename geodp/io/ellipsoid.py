"""How large cells are on the Earth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodp.lattice import Lattice

if TYPE_CHECKING:
    from pyproj import CRS


def block_areas(place: Lattice, block: int) -> NDArray[np.float64]:
    """Area of blocks, in square kilometres, or in cells where it is not known.

    Returns
    -------
    float64[rows, cols]
        Blocks at the far edges are cut where the lattice ends.
    """
    row = np.append(np.arange(0, place.rows, block), place.rows)
    col = np.append(np.arange(0, place.cols, block), place.cols)
    if place.crs is None or place.transform is None:
        return np.outer(np.diff(row), np.diff(col)).astype(np.float64)
    crs = _crs(place.crs)
    x, south, _, north = place.edges_at(row, col)
    y = south if place.northwards else north
    unit = crs.axis_info[0].unit_conversion_factor
    if not crs.is_geographic:
        return np.outer(np.abs(np.diff(y)) * unit / 1e3, np.diff(x) * unit / 1e3)
    # Snyder (1987), equation 3-12: area between two parallels of the ellipsoid.
    major, flattening = _ellipsoid(crs)
    eccentricity = math.sqrt(flattening * (2 - flattening))
    sine = np.sin(y * unit)
    zone = sine / (1 - (eccentricity * sine) ** 2)
    if eccentricity:
        zone = (zone + np.arctanh(eccentricity * sine) / eccentricity) / 2
    minor = major * (1 - flattening)
    return np.outer(minor**2 * np.abs(np.diff(zone)), np.diff(x) * unit / 1e6)


def cell_size(place: Lattice) -> tuple[float, float]:
    """Width and height of a cell in the middle of the map: kilometres, or the CRS's units."""
    if place.transform is None:
        return 1.0, 1.0
    wide, high = place.transform[0], abs(place.transform[4])
    if place.crs is None:
        return wide, high
    crs = _crs(place.crs)
    unit = crs.axis_info[0].unit_conversion_factor
    if not crs.is_geographic:
        return wide * unit / 1e3, high * unit / 1e3
    major, flattening = _ellipsoid(crs)
    squared = flattening * (2 - flattening)
    middle = (place.bounds[1] + place.bounds[3]) / 2 * unit
    curve = 1 - squared * math.sin(middle) ** 2
    along_parallel = major * math.cos(middle) / math.sqrt(curve)
    along_meridian = major * (1 - squared) / curve**1.5
    return wide * unit * along_parallel / 1e3, high * unit * along_meridian / 1e3


def _crs(crs: str) -> CRS:
    from pyproj import CRS

    return CRS.from_user_input(crs)


def _ellipsoid(crs: CRS) -> tuple[float, float]:
    """Semi-major axis in metres, and flattening."""
    found = crs.ellipsoid
    if found is None:
        return 6_371_000.0, 0.0
    inverse = found.inverse_flattening
    return found.semi_major_metre, 1 / inverse if inverse else 0.0
