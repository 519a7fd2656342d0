"""Positions of coordinates: in space, in whole centimetres, and on the grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from geodp.errors import Rule, require_none
from geodp.grid.crs import normalise_crs
from geodp.grid.lattice import Lattice, longitude_period
from geodp.io.read.rows.fields import coordinates, decimal_points
from geodp.io.read.rows.locators import transformation
from geodp.kinds.flows.kernels.stays import Position
from geodp.typing import FloatArray

Locate: TypeAlias = Callable[[FloatArray, FloatArray], Position]

AXIS, SQUARED_ECCENTRICITY = 637_813_700.0, 0.006694379990141316
"""Semi-major axis of the ellipsoid of WGS 84 in centimetres, and its squared eccentricity."""

DEGREES = Rule(
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
        require_none(~((np.abs(y) <= 90) & (np.abs(x) <= 360)), DEGREES)
        return place_in_space(x, y)

    return locate


def read_coordinates(column: pa.Array, decimal: str | None) -> FloatArray:
    """Return coordinates as finite numbers, float64[n]; CodeError at the first that is none.

    ``decimal``: see :class:`geodp.io.read.reader.Reader`.
    """
    return coordinates(decimal_points(column, decimal, thousands=False))


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
