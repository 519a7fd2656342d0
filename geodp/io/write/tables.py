"""Released tables as CSV and as GeoParquet: one row for every cell that is not 0, in key order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write.geometry import SIDES, _sides, geo_metadata, geometry, has_geometry
from geodp.io.write.uncertainty import BESIDE, Errors, names_of
from geodp.table.counts import Counts
from geodp.table.released import ReleasedTable

ROW_GROUP = 1 << 16
"""Rows of a Parquet row group: in key order, a compact piece of the map."""

CHUNK = 4 * ROW_GROUP
"""Rows that are held in memory at a time."""


def require_released(table: object) -> None:
    """Raise UsageError for anything but a ReleasedTable: what is written is public."""
    if not isinstance(table, ReleasedTable):
        raise UsageError("Only released tables are written; geodp.publish makes one.")


def chunks(table: ReleasedTable) -> Iterator[tuple[slice, NDArray[np.int64], Counts]]:
    """A table in pieces of up to ``CHUNK`` cells: which they are, their indices and counts.

    Yields
    ------
    slice
    index : int64[d, n]
    count : int64[n] or float64[n]
    """
    for start in range(0, table.key.size, CHUNK):
        part = slice(start, start + CHUNK)
        yield part, table.grid.decode(table.key[part]), table.count[part]


def _counted(table: ReleasedTable, what: str) -> Iterator[tuple[slice, NDArray[np.int64], Counts]]:
    """`chunks`, counted for the operator's eyes."""
    progress.begin(what, table.key.size)
    for part, index, count in chunks(table):
        yield part, index, count
        progress.advance(count.size)


def place_columns(grid: Grid) -> tuple[str, ...]:
    """Names of the columns that hold codes."""
    return ("origin", "destination") if len(grid.places) == 2 else ("code",) * len(grid.places)


def centre_columns(grid: Grid) -> tuple[str, ...]:
    """Names of the columns that hold coordinates: x and y of every place, or none.

    Published codes say where a cell is; rows and columns do not, so their centres are written.
    """
    if any(place.system is not None or place.transform is None for place in grid.places):
        return ()
    if len(grid.places) == 2:
        return tuple(f"{end}_{axis}" for end in place_columns(grid) for axis in "xy")
    return ("x", "y") * len(grid.places)


def centres(grid: Grid, index: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """The values of `centre_columns`, in the places' CRS: float64[n] each."""
    found = []
    for number in range(len(grid.places) if centre_columns(grid) else 0):
        west, south, east, north = _sides(grid, index, number)
        found += [(west + east) / 2, (south + north) / 2]
    return found


def counted(name: str, unit: str) -> str:
    """What is counted, for labels: the name of the count, or the unit of privacy in plural.

    The name of a population says less than who is counted.

    Examples
    --------
    >>> counted("population", "person"), counted("population", "trip"), counted("jobs", "person")
    ('persons', 'trips', 'jobs')
    """
    if name != "population":
        return name
    return f"{unit}s" if unit.isascii() and unit.isalpha() and not unit.endswith("s") else unit


def column_names(grid: Grid, name: str, beside: tuple[str, ...] = BESIDE) -> tuple[str, ...]:
    """Names of the CSV's columns: places, centres, plain axes, attributes, count, its errors.

    ``beside``: those after the count; all that there can be are taken even where there are none.

    Raises UsageError where two columns would have one name.
    """
    where = (*place_columns(grid), *centre_columns(grid))
    names = (*where, *grid.axis_names[2 * len(grid.places) :], name)
    taken = [column.casefold() for column in (*names, *BESIDE, "geometry", "bbox")]
    twice = sorted({column for column in taken if taken.count(column) > 1})
    if twice:
        raise UsageError(
            f"Two columns would be called {twice[0]!r}; choose another name for the count or "
            "for the attribute."
        )
    return (*names, *beside)


def write_parquet(
    table: ReleasedTable,
    path: Path,
    *,
    name: str,
    errors: Errors | None,
    metadata: dict[str, Any],
) -> None:
    """Write GeoParquet 1.1, or plain Parquet for a grid that lies nowhere on the Earth.

    Cells are polygons whose corners are the same floats as their neighbours'; origin and
    destination are joined by a line between the cells' centres, of length 0 for those who
    stay. ``bbox`` columns and the key order let readers skip row groups.

    Parameters
    ----------
    table : ReleasedTable
    path : Path
    name : str
        Of the count's column.
    errors : Errors or None
        None leaves their columns out.
    metadata : dict
        Plain values for the schema's metadata key ``geodp``.

    Raises
    ------
    UsageError
        The table is no ReleasedTable.
    """
    require_released(table)
    grid = table.grid
    located = has_geometry(grid)
    extra = {"geodp": json.dumps(metadata, ensure_ascii=False)}
    if located:
        extra["geo"] = json.dumps(geo_metadata(grid), ensure_ascii=False)
    empty = _with_geometry(table, *_nothing(table), name, errors)
    schema = empty.schema.with_metadata(extra)
    repeated = [attribute.name for attribute in grid.attributes] + [*BESIDE]
    repeated += [f"bbox.{side}" for side in SIDES] if located else []
    with pa.parquet.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=repeated
    ) as writer:
        for part, index, _ in _counted(table, "Writing the Parquet file"):
            rows = _with_geometry(table, part, index, name, errors)
            writer.write_table(rows, row_group_size=ROW_GROUP)


def rows_of(table: ReleasedTable, name: str) -> Any:
    """All rows of a small table without standard errors, as an Arrow table."""
    return _columns(table, slice(None), table.grid.decode(table.key), name, None)


def _nothing(table: ReleasedTable) -> tuple[slice, NDArray[np.int64]]:
    """No rows, and the indices of no cell."""
    return slice(0), np.empty((len(table.grid.shape), 0), np.int64)


def _columns(
    table: ReleasedTable,
    rows: slice,
    index: NDArray[np.int64],
    name: str,
    errors: Errors | None,
) -> Any:
    """The CSV's columns of some rows, with their indices, as an Arrow table."""
    grid, key = table.grid, table.key[rows]
    arrays = []
    for number, place in enumerate(grid.places):
        row, col = index[2 * number], index[2 * number + 1]
        arrays.append(pa.array(place.format(row, col), pa.string()))
    arrays += [pa.array(axis) for axis in centres(grid, index)]
    plain = 2 * len(grid.places)
    arrays += [pa.array(axis) for axis in index[plain : plain + len(grid.extents)]]
    for attribute, axis in zip(grid.attributes, index[plain + len(grid.extents) :], strict=True):
        arrays.append(pa.array(attribute.labels, pa.string()).take(pa.array(axis)))
    arrays.append(pa.array(table.count[rows]))
    if errors is not None:
        arrays += [pa.array(column) for column in errors.columns(key, rows)]
    return pa.table(arrays, names=list(column_names(grid, name, names_of(errors))))


def _with_geometry(
    table: ReleasedTable,
    part: slice,
    index: NDArray[np.int64],
    name: str,
    errors: Errors | None,
) -> Any:
    """The Parquet file's columns of some rows, as an Arrow table."""
    grid, rows = table.grid, _columns(table, part, index, name, errors)
    if not has_geometry(grid):
        return rows
    wkb, covering = geometry(grid, index)
    return rows.append_column("geometry", wkb).append_column("bbox", covering)
