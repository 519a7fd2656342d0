"""Polygons that lie partly outside the map, where nothing is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from geodp.grid.grid import Grid
from geodp.grid.region import share_on

NEGLIGIBLE = 1e-4
"""Share of an area outside the map that is rounding, or a shore drawn otherwise."""

SMALLEST = 0.1
"""Least percentage that a sentence has."""


def share_outside(grid: Grid, area: Any) -> float:
    """Compute the share of a polygon's area that lies outside the only map of a grid, from 0 to 1.

    0 for what is no polygon, and for units, of which none is cut.

    Examples
    --------
    >>> from shapely import box
    >>> grid = Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 2))
    >>> share_outside(grid, box(1, 0, 3, 2)), share_outside(grid, box(0, 0, 2, 2))
    (0.5, 0.0)
    """
    if not hasattr(area, "geom_type") or grid.outlines is not None or grid.maps.one is None:
        return 0.0
    share = 1 - share_on(grid.places[0], area)
    return round(share, 6) if share > NEGLIGIBLE else 0.0


def list_outside(shares: Mapping[str, float], text: str) -> Iterator[str]:
    """Yield a sentence for every polygon of which a share lies outside the map.

    Parameters
    ----------
    shares : mapping of str to float
        Shares by the names of the polygons; see `share_outside`.
    text : str
        The sentence, with the fields ``place`` and ``percent``.
    """
    for place, share in shares.items():
        if share > 0:
            yield text.format(place=place, percent=f"{max(100 * share, SMALLEST):.1f}")
