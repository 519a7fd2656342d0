"""Released flows as lines from zone to zone, in frames of geopandas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodp.features.flows.units import find_outlines
from geodp.grid.grid import Grid
from geodp.grid.outlines import Outlines
from geodp.grid.pairs import PairOrder
from geodp.release.release import Release


def draw_lines(flows: Release, rows: Any) -> Any:
    """Return flows as a frame of geopandas, with a line from origin to destination in each row.

    Lines are those of the release's files; cells of H3 and S2, of which files have no outlines, are
    traced. Flows from or to a unit that lies nowhere are left out.

    Parameters
    ----------
    flows : Release
        The table of flows.
    rows : pandas.DataFrame
        Its rows, in their order.
    """
    table = replace(flows.table, grid=_trace_units(flows.table.grid))
    lines = replace(flows, table=table).to_geopandas("count").geometry
    located = lines.notna().to_numpy()
    # Late: it is optional, and the lines have told where it is missing.
    import geopandas

    some = rows[located].reset_index(drop=True)
    return geopandas.GeoDataFrame(some, geometry=lines.to_numpy()[located], crs=lines.crs)


def _trace_units(pairs: Grid) -> Grid:
    """Return a grid of pairs that knows where its units lie."""
    order = pairs.order
    if not isinstance(order, PairOrder) or order.hierarchy.outlines is not None:
        return pairs
    traced, column = find_outlines(order.hierarchy)
    shapes = np.full(order.hierarchy.cells, None, object)
    shapes[column] = traced.shapes
    table = replace(order.hierarchy, outlines=Outlines(shapes, traced.crs))
    return pairs.with_order(replace(order, hierarchy=table))
