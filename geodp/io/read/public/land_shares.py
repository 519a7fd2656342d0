"""Shares of land in a map's squares, and its shore: Natural Earth 1:10m, as bundled.

``land-10m.npz`` beside this file is the land of ``natural-earth-10m.json.xz`` without borders of
countries, in integer steps of that file; ``background.md`` says how it was made.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.io.read.public.coast import BEYOND, trace_outlines
from geodp.io.read.public.land import ISLETS, box_islands, find_near, read_islands

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
    import rasterio.features

    nearby = find_near(lattice, shapes, 0.0, valid=True)
    if not nearby:
        return np.zeros(size, np.uint8)
    a, _, c, _, e, f = lattice.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    drawn = rasterio.features.rasterize(
        ((one, 1) for one in nearby),
        out_shape=size,
        transform=rasterio.Affine(a * side, 0.0, c, 0.0, e * side, f),
        all_touched=True,
        dtype=np.uint8,
    )
    return np.asarray(drawn, np.uint8)


@lru_cache(maxsize=4)
def trace_shore(lattice: Lattice, steps: int) -> NDArray[np.int64]:
    """Trace the shore on a lattice, in the format of :func:`.coast.trace_coast`."""
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
