"""Persons, households and mean size of every cell in one table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.io.folder.manifest import sha256
from geodp.io.write.csv import MEDIA_TYPE as CSV_TYPE
from geodp.io.write.csv import is_marked, write_rows
from geodp.io.write.geometry import geo_metadata
from geodp.io.write.parquet import MEDIA_TYPE as PARQUET_TYPE
from geodp.io.write.tables import ROW_GROUP
from geodp.io.write.view import Rows, View
from geodp.release.release import Release
from geodp.table.card import File

NAME = "persons-and-households"
"""Name of the files, without their endings."""

ENDINGS = (".csv", ".csvt", ".parquet")
"""Endings of the files."""

COLUMNS = ("persons", "households", "mean_size")
"""Columns beside those that name the cell."""

BELIEVED = 5
"""Households of a cell whose mean size is shown, in standard errors of the households."""

MEAN_SIZE = (
    f"persons for each household; empty where the households are fewer than {BELIEVED} times their "
    "standard error"
)


def write_joint(persons: Release, households: Release, folder: Path) -> tuple[File, ...]:
    """Write the table as CSV and as Parquet; return the entries of its files in the index.

    Parameters
    ----------
    persons, households : Release
        Which list the same cells.
    folder : Path
    """
    view = view_of(persons)
    schema = join_columns(view.empty, households).schema
    path = folder / f"{NAME}.csv"
    write_rows(_rows(view, households), schema, path, texts=view.texts)
    _write_parquet(view, households, path.with_suffix(".parquet"))
    mark = "; begins with the byte order mark of UTF-8" if is_marked(path) else ""
    what = f"persons, households and mean size of every cell: {MEAN_SIZE}"
    outlines = " with the outlines of the cells" if view.located else ""
    entries = (
        (".csv", CSV_TYPE, f"{what}{mark}", tuple(schema.names)),
        (".csvt", "text/plain", "types of the CSV's columns, for GDAL and QGIS", ()),
        (".parquet", PARQUET_TYPE, f"the same{outlines}", tuple(schema.names)),
    )
    return tuple(
        File(
            name=f"{NAME}{ending}",
            media_type=media_type,
            what=text,
            extras={"columns": columns} if columns else {},
            sha256=sha256(path.with_suffix(ending)),
        )
        for ending, media_type, text, columns in entries
    )


def view_of(persons: Release) -> View:
    """Return the view of persons whose columns the table begins with, without their errors."""
    return View(persons.table, persons.view(COLUMNS[0]).card)


def _write_parquet(view: View, households: Release, path: Path) -> None:
    """Write the table as GeoParquet, or as plain Parquet for a grid that lies nowhere."""
    extra = {"geodp": json.dumps(view.about, ensure_ascii=False)}
    if view.located:
        extra["geo"] = json.dumps(geo_metadata(view.table.grid), ensure_ascii=False)
    schema = _locate(view.empty, households).schema.with_metadata(extra)
    with pa.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for rows in view.rows("Writing both counts"):
            writer.write_table(_locate(rows, households), row_group_size=ROW_GROUP)


def _locate(rows: Rows, households: Release) -> Any:
    """Return the columns of some rows, with the outlines of cells that lie on the Earth."""
    columns = join_columns(rows, households)
    if not rows.view.located:
        return columns
    outline, box = rows.outlines
    return columns.append_column("geometry", outline).append_column("bbox", box)


def _rows(view: View, households: Release) -> Iterator[Any]:
    """Yield the rows in chunks."""
    for rows in view.rows("Writing both counts"):
        yield join_columns(rows, households)


def join_columns(rows: Rows, households: Release) -> Any:
    """Append households and mean size to the columns of persons."""
    homes = households.table.counts_at(rows.view.table.key[rows.part])
    believed = homes >= BELIEVED * max_error(households)
    mean = np.round(rows.count / np.maximum(homes, 1), 3)
    column = pa.array(mean, pa.float64(), mask=~believed)
    return rows.columns.append_column(COLUMNS[1], pa.array(homes)).append_column(COLUMNS[2], column)


def max_error(households: Release) -> float:
    """Return the largest standard error of the households of a cell."""
    errors = households.method.block_errors(households.grid, households.event)
    assert errors is not None  # as households are a release of the pyramid
    return errors[-1].largest
