"""Released flows as lines from zone to zone, for GIS."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodp.errors import UsageError
from geodp.features.flows.units import find_outlines
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import longitude_period
from geodp.release.release import Release
from geodp.typing import IntArray


def draw_lines(flows: Release, rows: Any) -> Any:
    """Return flows as a frame of geopandas, with a line from origin to destination in each row.

    Lines connect the centres of cells, or points within units. Flows from or to a unit that lies
    nowhere are left out.

    Parameters
    ----------
    flows : Release
        The table of flows.
    rows : pandas.DataFrame
        Its rows, in their order.
    """
    try:
        import geopandas
    except ModuleNotFoundError:
        raise UsageError(
            "geopandas is not installed: pip install geopandas.", code="library-missing"
        ) from None
    table = flows.table
    if table.grid.names.on_map or table.grid.hierarchy is None:
        lines = flows.to_geopandas("count")
        return geopandas.GeoDataFrame(rows, geometry=lines.geometry.to_numpy(), crs=lines.crs)
    index = table.grid.decode(table.key)
    shapes, crs, located = connect_units(table.grid.hierarchy, index[1], index[3])
    return geopandas.GeoDataFrame(
        rows[located].reset_index(drop=True), geometry=shapes[located], crs=crs
    )


def connect_units(
    table: Hierarchy, origin: IntArray, destination: IntArray
) -> tuple[Any, str, Any]:
    """Connect points within units by lines, which go on across 180 degrees where that is shorter.

    Parameters
    ----------
    table : Hierarchy
    origin, destination : int64[n]
        Columns of units.

    Returns
    -------
    lines : object[n]
    crs : str
    located : bool[n]
        Whether both ends lie somewhere; other lines are none.
    """
    import shapely

    outlines, column = find_outlines(table)
    point = np.full((table.cells, 2), np.nan)
    point[column] = outlines.drawn.inner_points
    ends = np.stack([point[origin], point[destination]], axis=1)
    turn = longitude_period(outlines.crs)
    if turn is not None:
        across = ends[:, 1, 0] - ends[:, 0, 0]
        ends[:, 1, 0] -= np.where(np.abs(across) > turn / 2, np.copysign(turn, across), 0)
    located = np.isfinite(ends).all(axis=(1, 2))
    lines = np.full(located.size, None, object)
    lines[located] = shapely.linestrings(ends[located])
    return lines, outlines.crs, located
