"""Files of official areas and regions beside a release: one table for every level."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet

from geodp import progress
from geodp.accuracy.areas import Areas
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write import csv, parquet, tables
from geodp.io.write.csv import types_entry, write_csv, write_rows
from geodp.io.write.format import Entry, Format, Released
from geodp.io.write.geometry import has_geometry
from geodp.io.write.uncertainty import ERROR, RowErrors, names_of, six_digits
from geodp.io.write.view import View


class AreaTables(Format):
    """A table of every level of official areas or regions, as CSV and as Parquet."""

    name: ClassVar[str] = "areas"
    rank: ClassVar[int] = 30

    def check(self, grid: Grid, name: str) -> None:
        """Ask whether all levels have files and columns of their own."""
        file_names(grid, name)

    def write(self, released: Released, folder: Path) -> Iterator[Entry]:
        """Write the levels one by one, the coarsest first."""
        card, grid = released.card, released.table.grid
        for areas in released.areas():
            progress.begin(f"Writing {areas.level}", public=True)
            stem = file_names(grid, card.name)[areas.level]
            about = parquet.describe_release(areas.event, card.schema, card.name, card.release_id)
            columns, located = write_areas(
                areas, folder / stem, name=card.name, metadata={**about, "level": areas.level}
            )
            rows = f"counts of {areas.level}: exactly the sums of their cells inside the domain"
            said: dict[str, Any] = {
                "level": areas.level,
                "unit": tables.name_of_counts(card.name, areas.event.unit),
                "values": card.mechanism.values,
            }
            if areas.standard_error is not None:
                said["standard_error"] = f"of each area {card.expected_error.holds}"
            yield Entry(f"{stem}.csv", csv.MEDIA_TYPE, rows, {"columns": columns, **said})
            yield types_entry(stem)
            more = ["geometry", "bbox"] if located else []
            said["geoparquet"] = "1.1.0" if located else None
            rows += ", with the areas' outlines" if located else ""
            said = {"columns": columns + more, **said}
            yield Entry(f"{stem}.parquet", parquet.MEDIA_TYPE, rows, said)


def file_names(grid: Grid, name: str) -> dict[str, str]:
    """Name of every level's files, without their endings: ``population-basic``.

    Raises UsageError where two levels would share a file, or two columns a name.
    """
    levels = [level for level, _ in grid.areas.above_cells]
    found = {level: f"{name}-{_word(level)}" for level in levels}
    if len(set(found.values())) < len(found):
        raise UsageError(
            "Two levels of regions would be written to one file; rename a level.",
            code="region-levels-share-file",
        )
    if grid.areas.tables:
        columns = [
            *grid.maps.name_columns(*levels),
            *(a.name for a in grid.attributes),
            name,
            ERROR,
        ]
        if len({column.casefold() for column in columns}) < len(columns):
            raise UsageError(
                "A level of regions has the name of another column; rename it.",
                code="region-level-is-column",
            )
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
    rows_path, columns_path = (stem.parent / f"{stem.name}.{e}" for e in ("csv", "parquet"))
    errors = None if areas.standard_error is None else RowErrors(areas.standard_error)
    if areas.table is not None:
        table = areas.table
        view = View(table, name, errors)
        write_csv(view, rows_path)
        parquet.write_parquet(view, columns_path, metadata=metadata)
        columns = tables.column_names(table.grid, name, names_of(errors))
        return list(columns), has_geometry(table.grid)
    rows = columns_of_regions(areas, name)
    texts = "".join(text for column in areas.texts.values() for text in set(column))
    write_rows([rows], rows.schema, rows_path, texts=texts)
    extra = {"geodp": json.dumps(metadata, ensure_ascii=False)}
    pa.parquet.write_table(rows.replace_schema_metadata(extra), columns_path, compression="zstd")
    return rows.schema.names, False


def columns_of_regions(areas: Areas, name: str) -> Any:
    """Codes, counts and standard errors of an office's regions, as an Arrow table."""
    rows = area_rows(areas, name)
    if areas.standard_error is None:
        return rows
    return rows.append_column(ERROR, pa.array(six_digits(areas.standard_error)))


def area_rows(areas: Areas, name: str) -> Any:
    """Names and counts of areas, as an Arrow table."""
    if areas.table is not None:
        return View(areas.table, name, None).to_arrow()
    arrays = [pa.array(text, pa.string()) for text in areas.texts.values()]
    return pa.table([*arrays, pa.array(areas.count)], names=[*areas.texts, name])


def _word(level: str) -> str:
    """Return a level as a part of a file name."""
    return re.sub(r"[^\w-]+", "_", level.partition(":")[2] or level)


FORMATS = (AreaTables(),)
