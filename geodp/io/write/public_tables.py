"""Public tables beside the counts of a release: of regions, units, cells of pairs, and totals.

They are given by the operator, and do not depend on the counts.
"""

from __future__ import annotations

import csv as rows_of_texts
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, Hierarchy, HierarchyOrder
from geodp.io.write import csv, parquet
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import geo_metadata, outlines_at
from geodp.io.write.view import View
from geodp.typing import IntArray

NAMED = ("code", "name")
"""Columns of the names of units."""

OUTLINED = ("code", "geometry", "bbox")
"""Columns of the outlines of units."""


class HierarchyTable(Format):
    """The public table of a hierarchy, if the grid has one."""

    name: ClassVar[str] = "hierarchy"
    endings: ClassVar[tuple[str, ...]] = ("regions.csv",)
    rank: ClassVar[int] = 20

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        grid, file = view.table.grid, hierarchy_file(view.name)
        for table in grid.areas.tables:
            write_hierarchy(table, grid, folder / file)
            yield Entry(
                file,
                csv.MEDIA_TYPE,
                "the public table of regions: the code of each cell of the domain, and of the "
                "regions that hold it, the finest level first",
            )


def hierarchy_file(name: str) -> str:
    """Return the name of the file in a release's public folder with its table of regions."""
    return f"{name}.regions.csv"


def write_hierarchy(regions: Hierarchy, grid: Grid, path: str | Path) -> None:
    """Write a table of regions as :func:`geodp.io.read.public.tables.read_hierarchy` reads it:
    in key order, UTF-8.

    Parameters
    ----------
    regions : Hierarchy
    grid : Grid
        Grid of one map, whose cells the regions hold.
    path : path

    Raises OSError if the file cannot be written.
    """
    # Stored from the coarsest level, but files list the finest first, next to the cell.
    levels = regions.levels[::-1]
    columns = [grid.places[0].format(*regions.cell), *(regions.labels(level) for level in levels)]
    texts = "".join([*levels, *(code for codes in regions.codes for code in codes)])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    _write_texts(path, [CELL, *levels], rows, texts)


class UnitNames(Format):
    """The names of all units, if a table of units has names beside their codes."""

    name: ClassVar[str] = "names"
    endings: ClassVar[tuple[str, ...]] = ("names.csv",)
    rank: ClassVar[int] = 23

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        grid, file = view.table.grid, names_file(view.name)
        if grid.names.titled:
            write_names(grid, folder / file)
            what = "the public names of all units of the domain, also of those of 0"
            yield Entry(file, csv.MEDIA_TYPE, what, {"columns": list(NAMED)})


def names_file(name: str) -> str:
    """Return the name of the file in a release's public folder with the names of its units."""
    return f"{name}.names.csv"


def write_names(grid: Grid, path: str | Path) -> None:
    """Write codes and names of all units of a grid of units, or of their pairs, in key order.

    Raises OSError if the file cannot be written.
    """
    table = grid.hierarchy
    assert table is not None
    assert table.names is not None
    rows = zip(table.codes[-1], table.names, strict=True)
    _write_texts(path, NAMED, rows, "".join((*table.codes[-1], *table.names)))


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
            details = {"columns": list(OUTLINED), "geoparquet": "1.1.0"}
            yield Entry(file, parquet.MEDIA_TYPE, what, details)


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
    return pa.table(columns, names=list(OUTLINED)).replace_schema_metadata({"geo": geo})


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
            yield Entry(file, parquet.MEDIA_TYPE, what, {"columns": list(rows.column_names)})


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


class TotalsTable(Format):
    """The table of public totals, if a release has some."""

    name: ClassVar[str] = "totals"
    endings: ClassVar[tuple[str, ...]] = ("totals.csv",)
    rank: ClassVar[int] = 50

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file, or none."""
        totals = view.totals
        if totals is None:
            return
        path = folder / totals_file(view.name)
        columns = [*totals.columns, "total"]
        texts = "".join(text for name in (totals.columns, *totals.names) for text in name)
        rows = zip(totals.names, totals.total.tolist(), strict=True)
        _write_texts(path, columns, ([*name, total] for name, total in rows), texts)
        what = f"public totals of areas, which the counts meet exactly; from: {totals.source}"
        yield Entry(path.name, csv.MEDIA_TYPE, what, {"columns": columns})


def totals_file(name: str) -> str:
    """Return the name of the file in a release's public folder with its public totals."""
    return f"{name}.totals.csv"


def _write_texts(
    path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]], texts: str
) -> None:
    """Write a CSV file, whose encoding depends on all of its ``texts``."""
    with open(path, "w", encoding=csv.encoding_for(texts), newline="") as file:
        written = rows_of_texts.writer(file, lineterminator="\n")
        written.writerow(header)
        written.writerows(rows)


FORMATS = (HierarchyTable(), UnitOutlines(), UnitNames(), ZonesOfPairs(), TotalsTable())
