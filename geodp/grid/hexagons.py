"""Cells of H3 as areal units: hexagons, and twelve pentagons, of the whole Earth.

H3 is a kept library, an extra (``hexagons``). A cell does not lie wholly in its parent, but it has
exactly one, so that the cells of some bounds are a table of units, whose levels are H3's coarser
resolutions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.units import add_other, grid_of_units

FINEST = 15
"""The finest resolution of H3."""

MOST_CELLS = 1_000_000
"""Of one grid: each of them is a row of the release's table of units, of 2 kB while it is made."""

FEW = 7
"""Cells of a level above which there is no other: a cell has at most seven parts."""

WIDEST = 90.0
"""Degrees of longitude of a box that is asked of H3, which takes one of 180 for its complement."""

OVERLAP = 1e-9
"""Degrees by which such boxes overlap, so that no centre falls between two."""


def hexagon_resolution(spec: str) -> int:
    """Return the resolution of ``h3:RESOLUTION``; UsageError for another text.

    >>> hexagon_resolution("h3:7")
    7
    """
    found = re.fullmatch(r"h3:([0-9]|1[0-5])", spec)
    if found is None:
        raise UsageError(f"Cells of H3 are h3:RESOLUTION, from h3:0 to h3:{FINEST}.")
    return int(found[1])


def grid_of_hexagons(resolution: int, bounds: Sequence[float], other: str | None = None) -> Grid:
    """Return the grid whose cells are all H3 cells of a resolution with their centres in a box.

    Codes are H3's indices as texts of 15 digits. Levels are named ``h3_7``, ``h3_6``, ..., up to
    the first of at most seven cells. :func:`geodp.grid.units.index_of_units` reads codes.

    Parameters
    ----------
    resolution : int
        0 to 15.
    bounds : sequence of float
        West, south, east, north, public, in degrees of WGS 84; not across 180 degrees.
    other : str, optional
        Name of a unit that is added on every level, for codes that are no cell in the box.

    Raises UsageError where h3 is not installed, and for a box that holds no centre, or too many.
    """
    west, south, east, north = _require_box(bounds)
    if isinstance(resolution, bool) or resolution not in range(FINEST + 1):
        raise UsageError(f"Resolutions of H3 are whole numbers from 0 to {FINEST}.")
    try:
        import h3
        from h3.api import numpy_int
    except ImportError:
        raise UsageError(
            "Cells of H3 need h3, which is not installed: pip install 'geodp[hexagons]'."
        ) from None
    share = (math.sin(math.radians(north)) - math.sin(math.radians(south))) * (east - west) / 720
    about = share * h3.get_num_cells(resolution)
    if about > MOST_CELLS:
        raise UsageError(
            f"The bounds hold about {about:,.0f} cells of h3:{resolution}, more than "
            f"{MOST_CELLS:,}; choose smaller bounds (--bounds, bounds=) or a lower resolution."
        )
    parts = [
        numpy_int.h3shape_to_cells(
            h3.LatLngPoly([(south, low), (south, high), (north, high), (north, low)]), resolution
        )
        for low, high in _slices(west, east)
    ]
    cells = np.unique(np.concatenate(parts))
    if not cells.size:
        raise UsageError(
            f"The bounds hold the centre of no cell of h3:{resolution}; choose wider bounds "
            "(--bounds, bounds=) or a higher resolution."
        )
    levels = {f"h3_{resolution}": _texts(cells)}
    number, coarser = np.arange(cells.size), cells
    for above in range(resolution - 1, -1, -1):
        if coarser.size <= FEW:
            break
        parents = [numpy_int.cell_to_parent(cell, above) for cell in coarser.tolist()]
        coarser, place = np.unique(np.array(parents, np.uint64), return_inverse=True)
        number = place[number]
        levels[f"h3_{above}"] = _texts(coarser)[number]
    box = " ".join(f"{edge:.12g}" for edge in (west, south, east, north))
    source = (
        f"H3 cells of resolution {resolution} whose centres lie in {box} (west, south, east, north "
        f"in degrees of WGS 84), by h3 {h3.__version__}"
    )
    if other is not None:
        levels, source = add_other(levels, source, other)
    return grid_of_units(levels, source)


def _require_box(bounds: Sequence[float]) -> tuple[float, float, float, float]:
    """Return west, south, east, north; UsageError for what is no box in degrees."""
    box = [float(edge) for edge in bounds]
    if len(box) != 4 or not np.isfinite(box).all():
        raise UsageError("Bounds are four finite numbers: west, south, east, north.")
    west, south, east, north = box
    if not (-180 <= west <= 180 and -180 <= east <= 180 and -90 <= south < north <= 90):
        raise UsageError(
            "Bounds of cells of H3 are west, south, east, north in degrees: longitudes -180 to "
            "180, latitudes -90 to 90, the south below the north."
        )
    if not west < east:
        raise UsageError(
            "Bounds of cells of H3 do not reach across 180 degrees; the west is below the east."
        )
    return west, south, east, north


def _slices(west: float, east: float) -> Iterator[tuple[float, float]]:
    """Yield the west and east of boxes that are narrow enough for H3, the first from the west."""
    edges = np.linspace(west, east, math.ceil((east - west) / WIDEST) + 1).tolist()
    for low, high in pairwise(edges):
        yield low, min(high + OVERLAP, east)


def _texts(cells: NDArray[np.uint64]) -> NDArray[np.str_]:
    """Return the indices of cells, uint64[n], as texts of 15 digits."""
    return np.array([f"{cell:x}" for cell in cells.tolist()], np.str_)
