"""Names of places for orientation on a map: Natural Earth, as bundled.

``towns.csv.xz`` beside this file lists them, the most important ones first; ``background.md`` names
the source.
"""

from __future__ import annotations

import csv
import io
import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice


@dataclass(frozen=True)
class Town:
    """A town.

    Attributes
    ----------
    x, y : float
        Coordinates in the CRS of the map.
    name : str
        Name in Latin letters.
    japanese : str
        Name in Japanese; empty if the source has none.
    """

    x: float
    y: float
    name: str
    japanese: str


def find_towns(lattice: Lattice) -> list[Town]:
    """Find the places on a lattice with a CRS and a transform, the most important ones first.

    Examples
    --------
    >>> tokyo_bay = Lattice(1, 1, crs="EPSG:4326", transform=(0.9, 0, 139.3, 0, -0.6, 36.0))
    >>> [place.name for place in find_towns(tokyo_bay)][:2]
    ['Tokyo', 'Yokohama']
    """
    from pyproj import CRS, Transformer

    x, y, names, japanese = _read_towns()
    if not CRS.from_user_input(lattice.crs).is_geographic:
        move = Transformer.from_crs("OGC:CRS84", lattice.crs, always_xy=True)
        x, y = move.transform(x, y)
    elif lattice.period is not None:
        # A lattice across 180 degrees has longitudes beyond it, and the table of towns has none.
        x = lattice.wrap(x)
    west, south, east, north = lattice.bounds
    inside = (x > west) & (x < east) & (y > south) & (y < north)
    return [
        Town(float(x[i]), float(y[i]), names[i], japanese[i])
        for i in np.flatnonzero(inside).tolist()
    ]


@cache
def _read_towns() -> tuple[NDArray[np.float64], NDArray[np.float64], list[str], list[str]]:
    """Read longitudes and latitudes in degrees, names, and names in Japanese."""
    packed = Path(__file__).with_name("towns.csv.xz").read_bytes()
    rows = list(csv.DictReader(io.StringIO(lzma.decompress(packed).decode())))
    lon, lat = (np.array([float(row[axis]) for row in rows]) for axis in ("longitude", "latitude"))
    return lon, lat, [row["name"] for row in rows], [row["japanese"] for row in rows]
