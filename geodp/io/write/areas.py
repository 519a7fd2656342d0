"""Files of official areas and regions beside a release: one table for every level."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from geodp.accuracy.areas import Areas, levels_above
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write import tables
from geodp.io.write.csv import write_csv, write_rows
from geodp.io.write.geometry import has_geometry
from geodp.io.write.uncertainty import ERROR, Errors, names_of, six_digits


def file_names(grid: Grid, name: str) -> dict[str, str]:
    """Name of every level's files, without their endings: ``population-basic``.

    Raises UsageError where two levels would share a file, or two columns a name.
    """
    levels = [level for level, _ in levels_above(grid)]
    found = {level: f"{name}-{_word(level)}" for level in levels}
    if len(set(found.values())) < len(found):
        raise UsageError("Two levels of regions would be written to one file; rename a level.")
    if grid.regions is not None:
        columns = [*levels, *(a.name for a in grid.attributes), name, ERROR]
        if len({column.casefold() for column in columns}) < len(columns):
            raise UsageError("A level of regions has the name of another column; rename it.")
    return found


def write_areas(
    areas: Areas, stem: Path, *, name: str, metadata: dict[str, Any]
) -> tuple[list[str], bool]:
    """Write ``stem.csv`` with its ``.csvt`` and ``stem.parquet``.

    Parameters
    ----------
    areas : Areas
    stem : Path
        Without an ending.
    name : str
        Of the count's column.
    metadata : dict
        Plain values for the Parquet file.

    Returns
    -------
    list of str
        Names of the columns of both files.
    bool
        Whether the Parquet file has geometries too.
    """
    csv, parquet = (stem.parent / f"{stem.name}.{ending}" for ending in ("csv", "parquet"))
    errors = None if areas.standard_error is None else Errors(areas.standard_error)
    if areas.table is not None:
        table = areas.table
        write_csv(table, csv, name=name, errors=errors)
        tables.write_parquet(table, parquet, name=name, errors=errors, metadata=metadata)
        columns = tables.column_names(table.grid, name, names_of(errors))
        return list(columns), has_geometry(table.grid)
    rows = area_rows(areas, name)
    if areas.standard_error is not None:
        rows = rows.append_column(ERROR, pa.array(six_digits(areas.standard_error)))
    texts = "".join(text for column in areas.texts.values() for text in set(column))
    write_rows([rows], rows.schema, csv, texts=texts)
    extra = {"geodp": json.dumps(metadata, ensure_ascii=False)}
    pa.parquet.write_table(rows.replace_schema_metadata(extra), parquet, compression="zstd")
    return rows.schema.names, False


def area_rows(areas: Areas, name: str) -> Any:
    """Names and counts of areas, as an Arrow table."""
    if areas.table is not None:
        return tables.rows_of(areas.table, name)
    arrays = [pa.array(text, pa.string()) for text in areas.texts.values()]
    return pa.table([*arrays, pa.array(areas.count)], names=[*areas.texts, name])


def _word(level: str) -> str:
    """A level as a part of a file name."""
    return re.sub(r"[^\w-]+", "_", level.partition(":")[2] or level)
