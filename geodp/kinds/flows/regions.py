"""Regions of zones, and polygons in units and in cells of H3 and S2."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from geodp.errors import Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.kinds.flows.units import DEGREES, HALF, find_outlines
from geodp.typing import IntArray

BOX = re.compile(r"([0-9]{1,9})_([0-9]{1,9})(?::([0-9]{1,9})_([0-9]{1,9}))?")
"""Rows and columns of one zone, or of the first and the last of a box."""

NO_ZONE = Rule("flows-polygon-without-zone", "No zone has its centre in the polygon.")

NO_UNIT = Rule("flows-polygon-without-unit", "No unit lies in the polygon.")


def find_region(grid: Grid, region: Any) -> Region:
    """Find the zones of a region.

    Parameters
    ----------
    grid : Grid
        Of the zones.
    region
        As for :meth:`geodp.Release.estimate`. Cells of H3 and S2 are in a polygon, in degrees, in
        which their centre is. On a grid without codes, ``"8_27"`` is the zone in row 8 and column
        27, as files name it, and ``"8_20:15_27"`` the box of the zones from one to the other.

    Raises
    ------
    UsageError, CodeError
        It is no region of the grid, or a polygon cuts a unit.
    """
    if isinstance(region, str) and not has_codes(grid):
        return _find_box(grid, region)
    if not hasattr(region, "geom_type"):
        return Region.of(grid, region)
    if grid.names.on_map:
        return Region.of(grid, region)
    column = find_columns(grid, region)
    if not column.size:
        raise UsageError(NO_ZONE if has_cells(grid) else NO_UNIT)
    return Region.of_map(grid, np.zeros_like(column), column)


def has_codes(grid: Grid) -> bool:
    """Test whether zones have codes, by which regions are named."""
    return not grid.names.on_map or grid.places[0].system is not None


def _find_box(grid: Grid, text: str) -> Region:
    """Find the zones of a box named by rows and columns of two zones, or of one."""
    place, found = grid.places[0], BOX.fullmatch(text.strip())
    if found is not None:
        top, left = (int(one) for one in found.group(1, 2))
        bottom, right = (int(found[at] or first) for at, first in ((3, top), (4, left)))
        if top <= bottom < place.rows and left <= right < place.cols:
            row, col = np.mgrid[top : bottom + 1, left : right + 1].reshape(2, -1)
            return Region.of_map(grid, row, col)
    raise UsageError(
        f"{printable(text)} is no zone: this grid has no codes, and its zones are named by row and "
        f"column, from 0_0 to {place.rows - 1}_{place.cols - 1}; 0_0:7_7 is the box of all zones "
        "between two of them.",
        code="flows-zone-name",
    )


def ground_of(grid: Grid) -> Grid:
    """Return a grid in the CRS in which polygons are read: of cells of H3 and S2 in degrees."""
    if not has_cells(grid):
        return grid
    return Grid.regular((180, 360), crs=DEGREES, transform=(1, 0, -HALF, 0, -1, HALF / 2))


def has_cells(grid: Grid) -> bool:
    """Test whether zones are cells of H3 or S2 whose outlines no file lists."""
    return grid.known_outlines is None and grid.names.cells is not None


def find_columns(grid: Grid, shape: Any) -> IntArray:
    """Return the columns of the units in a polygon: int64[n].

    UsageError for another shape, and where it cuts a unit with an outline. Cells of H3 and S2 are
    where their centre is, and the polygon may go on across 180 degrees.
    """
    import shapely

    if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
        # Refused in the words of other grids.
        Region.of(Grid.regular((1, 1)), shape)
    assert grid.hierarchy is not None
    outlines, column = find_outlines(grid.hierarchy)
    if not has_cells(grid):
        whole, cut = outlines.units_in(shape)
        if cut >= 0:
            code = grid.names.format(0, np.array([[0], [column[cut]]]))[0]
            raise UsageError(
                f"The polygon cuts unit {printable(str(code))}, and flows are known between entire "
                "units only: draw it along their borders, or name units by their codes (--from, "
                "--to).",
                code="flows-polygon-cuts-unit",
            )
        return np.asarray(column[whole], np.int64)
    x, y = outlines.inner_points.T
    shapely.prepare(shape)
    turns = (-2 * HALF, 0.0, 2 * HALF)
    inside = [shapely.contains_xy(shape, x + turn, y) for turn in turns]
    return np.asarray(column[np.any(inside, axis=0)], np.int64)
