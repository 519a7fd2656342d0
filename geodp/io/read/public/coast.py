"""The coastline and borders around a map, as lines to draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.io.read.public.land import find_land

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
