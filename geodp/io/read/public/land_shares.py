"""How much of a map's squares is land, and its shore: Natural Earth 1:10m, as it is bundled.

``land-10m.npz`` beside this file is the land of ``natural-earth-10m.json.xz`` without borders of
countries, in whole steps of that file; ``background.md`` says how it was made.
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
"""Steps in which shares of land are stated."""

MOST_FINE = 1 << 20
"""Squares of which sixteen parts each are looked at; of more, four parts each."""


@lru_cache(maxsize=4)
def share_land(lattice: Lattice, side: int) -> NDArray[np.uint8]:
    """Return how many quarters of every square of cells are land.

    They are rounded up: a square with any land has a quarter at least, and so have squares around
    the middle of a small island, and of a sea of islets, that the coastline does not have.

    Parameters
    ----------
    lattice : Lattice
        With a CRS and a transform.
    side : int
        Cells along the side of a square; the first lies at row 0 and column 0.

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
    parts = 4 if rows * cols <= MOST_FINE else 2
    drawn = _draw(lattice, read_land(), side / parts, (rows * parts, cols * parts))
    held = drawn.reshape(rows, parts, cols, parts).sum(axis=(1, 3), dtype=np.int64)
    islands = _draw(lattice, _box_islands(), side, (rows, cols))
    quarters = -(-held * QUARTERS // parts**2)
    found = np.array(np.maximum(quarters, islands), np.uint8)
    found.flags.writeable = False  # the same for every map of a series
    return found


def _draw(
    lattice: Lattice, shapes: NDArray[Any], side: float, size: tuple[int, int]
) -> NDArray[np.uint8]:
    """Return which squares of so many cells along a side touch shapes: uint8[size]."""
    import rasterio.features

    found = find_near(lattice, shapes, 0.0, valid=True)
    if not found:
        return np.zeros(size, np.uint8)
    a, _, c, _, e, f = lattice.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    drawn = rasterio.features.rasterize(
        ((one, 1) for one in found),
        out_shape=size,
        transform=rasterio.Affine(a * side, 0.0, c, 0.0, e * side, f),
        all_touched=True,
        dtype=np.uint8,
    )
    return np.asarray(drawn, np.uint8)


@lru_cache(maxsize=4)
def trace_shore(lattice: Lattice, steps: int) -> NDArray[np.int64]:
    """Return the shore on a lattice, coarsened: as :func:`.coast.trace_coast`, without borders."""
    found = find_near(lattice, read_land(), BEYOND, valid=True)
    lines = trace_outlines(lattice, found, steps)
    lines.flags.writeable = False
    return lines


@cache
def read_land() -> NDArray[Any]:
    """Return all land as polygons in degrees: geometry[n]."""
    import shapely

    with np.load(Path(__file__).with_name("land-10m.npz")) as held:
        steps = np.stack([held["x"], held["y"]], axis=1).cumsum(axis=0)
        points = steps * held["scale"] + held["shift"]
        ends = [np.append(0, np.cumsum(held[name])) for name in ("rings", "parts")]
    return np.asarray(shapely.from_ragged_array(shapely.GeometryType.POLYGON, points, ends))


@cache
def _box_islands() -> NDArray[Any]:
    """Return boxes around islands that the coastline does not have: geometry[n]."""
    countries = {country for country, _, _ in read_islands()} | {*ISLETS}
    return np.array(box_islands(countries))
