"""Persons, households and mean size of every cell in one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from geodp.io.folder.manifest import sha256
from geodp.io.write.csv import MEDIA_TYPE, is_marked, write_rows
from geodp.io.write.view import Rows, View
from geodp.release.release import Release
from geodp.table.card import File

NAME = "persons-and-households"
"""Name of the files, without their endings."""

COLUMNS = ("persons", "households", "mean_size")
"""Columns beside those that name the cell."""

BELIEVED = 5
"""Households of a cell whose mean size is shown, in standard errors of the households."""

MEAN_SIZE = (
    f"persons for each household; empty where the households are fewer than {BELIEVED} times their "
    "standard error"
)


def write_joint(persons: Release, households: Release, folder: Path) -> tuple[File, ...]:
    """Write the table as CSV, and the types of its columns; return their entries in the index.

    Parameters
    ----------
    persons, households : Release
        Which list the same cells.
    folder : Path
    """
    view = View(persons.table, persons.view(COLUMNS[0]).card)
    schema = _append(view.empty, households).schema
    path = folder / f"{NAME}.csv"
    write_rows(_rows(view, households), schema, path, texts=view.texts)
    mark = "; begins with the byte order mark of UTF-8" if is_marked(path) else ""
    what = f"persons, households and mean size of every cell: {MEAN_SIZE}{mark}"
    types = path.with_suffix(".csvt")
    return (
        File(
            name=path.name,
            media_type=MEDIA_TYPE,
            what=what,
            extras={"columns": tuple(schema.names)},
            sha256=sha256(path),
        ),
        File(
            name=types.name,
            media_type="text/plain",
            what="types of the CSV's columns, for GDAL and QGIS",
            sha256=sha256(types),
        ),
    )


def _rows(view: View, households: Release) -> Iterator[Any]:
    """Yield the rows in chunks."""
    for rows in view.rows("Writing both counts"):
        yield _append(rows, households)


def _append(rows: Rows, households: Release) -> Any:
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
