"""Cells at either end of pairs: the public list of those in a mask, as released beside the counts.

A raster shows the mask of a map, and pairs have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.grid.grid import Grid
from geodp.io.write.format import Entry, Format
from geodp.io.write.parquet import MEDIA_TYPE
from geodp.io.write.view import View
from geodp.typing import IntArray


class ZonesOfPairs(Format):
    """The cells of the mask of pairs, if the grid has one."""

    name: ClassVar[str] = "zones"
    endings: ClassVar[tuple[str, ...]] = ("zones.parquet",)
    rank: ClassVar[int] = 22

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        grid, file = view.table.grid, zones_file(view.name)
        if grid.mask is not None and grid.maps.ends:
            rows = zone_rows(grid)
            pa.parquet.write_table(rows, folder / file, compression="zstd")
            what = "the cells of the public mask, between which pairs lead, also those of 0"
            yield Entry(file, MEDIA_TYPE, what, {"columns": list(rows.column_names)})


def zones_file(name: str) -> str:
    """Return the name of the file in a release's public folder with the cells of a mask."""
    return f"{name}.zones.parquet"


def zone_rows(grid: Grid) -> Any:
    """Return the codes of the cells of a mask, or their rows and columns, as an Arrow table."""
    index = list_zones(grid)
    if grid.places[0].system is not None:
        return pa.table({"code": pa.array(grid.names.format(0, index).tolist(), pa.string())})
    return pa.table([pa.array(axis.astype(np.int32)) for axis in index], names=["row", "col"])


def list_zones(grid: Grid) -> IntArray:
    """List the rows and columns of all cells at either end of pairs, by these: int64[2, n]."""
    if grid.mask is None:
        return np.indices(grid.shape[:2]).reshape(2, -1)
    one = Grid(grid.places[:1], mask=grid.mask)
    index = one.decode(one.domain.keys_of_ranks(np.arange(one.size)))
    return index[:, np.lexsort(index[::-1])]


def count_zones(grid: Grid) -> int:
    """Count the cells at either end of pairs."""
    return grid.shape[0] * grid.shape[1] if grid.mask is None else grid.mask.cells


def number_zones(grid: Grid, index: IntArray) -> IntArray:
    """Return the numbers of cells in :func:`list_zones`: int64[2, n] to int64[n]."""
    at = np.ravel_multi_index(tuple(index), grid.shape[:2])
    if grid.mask is None:
        return np.asarray(at, np.int64)
    listed = np.ravel_multi_index(tuple(list_zones(grid)), grid.shape[:2])
    return np.asarray(np.searchsorted(listed, at), np.int64)


FORMATS = (ZonesOfPairs(),)
