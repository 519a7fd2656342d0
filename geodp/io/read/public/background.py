"""What is drawn behind a map: the coastline and borders, land by squares, and names of places.

``land-10m.npz`` beside this file is the land of ``natural-earth-10m.json.xz`` without borders of
countries, in integer steps of that file, and ``towns.csv.xz`` lists the names of places, the most
important ones first; ``background.md`` says how they were made.
"""

from __future__ import annotations

import csv
import io
import lzma
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.crs import open_transformer
from geodp.grid.lattice import Lattice
from geodp.io.read.public.land import (
    ISLETS,
    box_islands,
    draw_shapes,
    find_land,
    find_near,
    read_islands,
)

BEYOND = 20_000.0
"""Metres around the map within which land is included, so that its cut edges lie outside."""

LOOSE = 0.7
"""Tolerance of the simplification of lines, as a fraction of a step."""


def trace_coast(lattice: Lattice, steps: int) -> NDArray[np.int64]:
    """Trace the outlines of all countries on a lattice, coarsened.

    Parameters
    ----------
    lattice : Lattice
        Lattice with a CRS and a transform.
    steps : int
        Number of steps along the longer side of the lattice, from its north-western corner.

    Returns
    -------
    int64[n]
        Line after line: the number of its points, the steps eastwards and southwards to the first
        one, and from each to the next.

    Examples
    --------
    >>> sea = Lattice(10, 10, crs="EPSG:4326", transform=(0.1, 0, -40, 0, -0.1, 30))
    >>> trace_coast(sea, 100)
    array([], dtype=int64)
    """
    return trace_outlines(lattice, find_land(lattice, BEYOND), steps)


def trace_outlines(lattice: Lattice, shapes: list[Any], steps: int) -> NDArray[np.int64]:
    """Trace the outlines of shapes in the lattice's CRS, in the format of :func:`trace_coast`."""
    import shapely

    west, south, east, north = lattice.bounds
    step = max(east - west, north - south) / steps
    land = np.array(shapes, object)
    # Islets may be lines or points in the coastline, and these have no boundary to draw.
    edges = np.where(shapely.get_dimensions(land) == 2, shapely.boundary(land), land)
    inside = shapely.clip_by_rect(edges, west, south, east, north)
    lines = shapely.get_parts(shapely.line_merge(inside))
    encoded = []
    for line in shapely.simplify(lines, LOOSE * step):
        point = shapely.get_coordinates(line)
        at = np.rint((point - [west, north]) / [step, -step]).astype(np.int64)
        distinct = np.append(True, (at[1:] != at[:-1]).any(axis=1))[: len(at)]
        # A line that shrinks to one point on the coarse steps would be an invisible stroke.
        if distinct.sum() > 1:
            moves = np.diff(at[distinct], axis=0, prepend=0)
            encoded.append(np.append(len(moves), moves.reshape(-1)))
    return np.concatenate([np.empty(0, np.int64), *encoded])


QUARTERS = 4
"""Number of steps in which shares of land are expressed."""

MAX_FINE_SQUARES = 1 << 20
"""Largest number of squares that are divided into sixteen parts; more are divided into four."""


@lru_cache(maxsize=4)
def share_land(lattice: Lattice, side: int) -> NDArray[np.uint8]:
    """Compute the quarters of every square of cells that are land.

    They are rounded up: a square with any land has at least one quarter, and so have squares around
    the middle of a small island, and of a sea of islets, that the coastline lacks.

    Parameters
    ----------
    lattice : Lattice
        Lattice with a CRS and a transform.
    side : int
        Cells along the side of a square; the first square begins at row 0 and column 0.

    Returns
    -------
    uint8[rows, cols]
        From 0, which is water, to 4.

    Examples
    --------
    >>> tokyo_bay = Lattice(1, 3, crs="EPSG:4326", transform=(0.3, 0, 139.3, 0, -0.1, 35.6))
    >>> share_land(tokyo_bay, 1)
    array([[4, 3, 3]], dtype=uint8)
    """
    rows, cols = -(-lattice.rows // side), -(-lattice.cols // side)
    # Sixteen parts resolve quarters well; larger maps use fewer to bound memory and time.
    parts = 4 if rows * cols <= MAX_FINE_SQUARES else 2
    drawn = _draw(lattice, read_land(), side / parts, (rows * parts, cols * parts))
    held = drawn.reshape(rows, parts, cols, parts).sum(axis=(1, 3), dtype=np.int64)
    islands = _draw(lattice, _box_islands(), side, (rows, cols))
    quarters = -(-held * QUARTERS // parts**2)
    shares = np.array(np.maximum(quarters, islands), np.uint8)
    shares.flags.writeable = False  # cached, and shared by all maps of a series
    return shares


def _draw(
    lattice: Lattice, shapes: NDArray[Any], side: float, size: tuple[int, int]
) -> NDArray[np.uint8]:
    """Rasterize shapes: uint8[size], 1 for squares of so many cells along a side that touch any."""
    nearby = find_near(lattice, shapes, 0.0, valid=True)
    a, _, c, _, e, f = lattice.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    return draw_shapes(nearby, size, (a * side, 0.0, c, 0.0, e * side, f))


@lru_cache(maxsize=4)
def trace_shore(lattice: Lattice, steps: int) -> NDArray[np.int64]:
    """Trace the shore on a lattice, in the format of :func:`trace_coast`."""
    nearby = find_near(lattice, read_land(), BEYOND, valid=True)
    lines = trace_outlines(lattice, nearby, steps)
    # The result is cached: a caller must not change it for the next one.
    lines.flags.writeable = False
    return lines


@cache
def read_land() -> NDArray[Any]:
    """Read all land as polygons in degrees: geometry[n]."""
    import shapely

    with np.load(Path(__file__).with_name("land-10m.npz")) as held:
        steps = np.stack([held["x"].cumsum(), held["y"].cumsum()], axis=1)
        points = steps * held["scale"] + held["shift"]
        ends = [np.append(0, np.cumsum(held[name])) for name in ("rings", "parts")]
    return np.asarray(shapely.from_ragged_array(shapely.GeometryType.POLYGON, points, ends))


@cache
def _box_islands() -> NDArray[Any]:
    """Return boxes around islands that the coastline lacks: geometry[n]."""
    countries = {country for country, _, _ in read_islands()} | {*ISLETS}
    return np.array(box_islands(countries))


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
    from pyproj import CRS

    x, y, names, japanese = _read_towns()
    if not CRS.from_user_input(lattice.crs).is_geographic:
        move = open_transformer("OGC:CRS84", lattice.crs)
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
