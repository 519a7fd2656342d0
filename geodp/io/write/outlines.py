"""Public outlines of all units of a release, regardless of the counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.grid.grid import Grid
from geodp.grid.hierarchy import HierarchyOrder
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import geo_metadata, outlines_at
from geodp.io.write.parquet import MEDIA_TYPE
from geodp.io.write.view import View

COLUMNS = ("code", "geometry", "bbox")


class UnitOutlines(Format):
    """One outline for each unit of the domain, if a table of units has outlines.

    Tables of counts do not list units with a count of 0, but maps show all units.
    """

    name: ClassVar[str] = "outlines"
    endings: ClassVar[tuple[str, ...]] = ("outlines.parquet",)
    rank: ClassVar[int] = 21

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        grid, file = view.table.grid, outlines_file(view.name)
        if grid.known_outlines is not None:
            rows = outline_rows(grid)
            pa.parquet.write_table(rows, folder / file, compression="zstd")
            what = "the public outlines of all units of the domain, also of those of 0"
            details = {"columns": list(COLUMNS), "geoparquet": "1.1.0"}
            yield Entry(file, MEDIA_TYPE, what, details)


def outlines_file(name: str) -> str:
    """Return the name of the file in a release's public folder with the outlines of its units."""
    return f"{name}.outlines.parquet"


def grid_of_ends(grid: Grid) -> Grid:
    """Return the grid of units itself, or of the units whose pairs a grid has."""
    if grid.maps.one is not None or grid.hierarchy is None:
        return grid
    return Grid(grid.places[:1], order=HierarchyOrder.of(grid.hierarchy))


def outline_rows(grid: Grid) -> Any:
    """Return codes, outlines and their boxes of all units, in key order, as an Arrow table.

    Units that lie nowhere are left out.
    """
    grid = grid_of_ends(grid)
    assert grid.known_outlines is not None
    # A grid of units has one row, with a column for each unit.
    column = np.flatnonzero(grid.known_outlines.located)
    code = pa.array(grid.names.format(0, np.stack([np.zeros_like(column), column])), pa.string())
    columns = [code, *outlines_at(grid.known_outlines, column)]
    geo = json.dumps(geo_metadata(grid), ensure_ascii=False)
    return pa.table(columns, names=list(COLUMNS)).replace_schema_metadata({"geo": geo})


FORMATS = (UnitOutlines(),)
