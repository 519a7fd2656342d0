"""Regions of zones, and polygons in units and in cells of H3 and S2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geodp.errors import Rule, UsageError, printable
from geodp.features.flows.units import DEGREES, HALF, find_outlines
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.typing import IntArray

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
        which their centre is.

    Raises
    ------
    UsageError, CodeError
        It is no region of the grid, or a polygon cuts a unit.
    """
    if not hasattr(region, "geom_type"):
        return Region.of(grid, region)
    if grid.names.on_map:
        return Region.of(grid, region)
    column = find_columns(grid, region)
    if not column.size:
        raise UsageError(NO_ZONE if has_cells(grid) else NO_UNIT)
    return Region.of_map(grid, np.zeros_like(column), column)


def find_named(grid: Grid, shapes: Mapping[str, Any]) -> dict[str, Region]:
    """Find the zones of regions by name; UsageError, which names the region, as above."""
    found = {}
    for name, shape in shapes.items():
        try:
            found[name] = find_region(grid, shape)
        except UsageError as error:
            raise UsageError(f"{printable(name)}: {error}", code=error.code) from None
    return found


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
