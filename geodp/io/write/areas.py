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
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.write import csv, parquet
from geodp.io.write.csv import types_entry, write_csv
from geodp.io.write.format import Entry, Format
from geodp.io.write.tables import ERROR
from geodp.io.write.view import View


class AreaTables(Format):
    """A table of every level of official areas or regions, as CSV and as Parquet."""

    name: ClassVar[str] = "areas"
    rank: ClassVar[int] = 30

    def check(self, grid: Grid, name: str) -> None:
        """Check that all levels have different files and columns."""
        file_names(grid, name)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write the levels one by one, the coarsest first."""
        stems = file_names(view.table.grid, view.name)
        for level in map(view.of, view.areas()):
            progress.begin(f"Writing {level.level}", public=True)
            yield from _write_level(level, folder, stems[str(level.level)])


def _write_level(view: View, folder: Path, stem: str) -> Iterator[Entry]:
    """Write a level's CSV file with its types, then its Parquet file."""
    path, card = folder / f"{stem}.parquet", view.card
    write_csv(view, folder / f"{stem}.csv")
    # Levels of a code system are cells of a coarser grid, and have outlines; an office's regions do
    # not.
    if view.regions is None:
        parquet.write_parquet(view, path)
    else:
        about = {"geodp": json.dumps(view.about, ensure_ascii=False)}
        rows = view.all_rows.columns.replace_schema_metadata(about)
        pa.parquet.write_table(rows, path, compression="zstd")
    what = f"counts of {view.level}: exactly the sums of their cells inside the domain"
    details: dict[str, Any] = {
        "level": view.level,
        "unit": view.counted,
        "values": card.mechanism.values,
    }
    if view.errors is not None:
        details["standard_error"] = f"of each area {card.expected_error.holds}"
    yield Entry(f"{stem}.csv", csv.MEDIA_TYPE, what, {"columns": [*view.columns], **details})
    yield types_entry(stem)
    more = ["geometry", "bbox"] if view.located else []
    details["geoparquet"] = "1.1.0" if view.located else None
    what += ", with the areas' outlines" if view.located else ""
    yield Entry(path.name, parquet.MEDIA_TYPE, what, {"columns": [*view.columns, *more], **details})


def file_names(grid: Grid, name: str) -> dict[str, str]:
    """Return the names of every level's files, without their endings: ``population-basic``.

    Raises UsageError if two levels would share a file, or two columns a name.
    """
    levels = [level for level, _ in grid.areas.above_cells]
    stems = {level: f"{name}-{_word(level)}" for level in levels}
    # Names are reduced to letters and digits, so that different levels may become the same.
    if len(set(stems.values())) < len(stems):
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
    return stems


def _word(level: str) -> str:
    """Convert a level to a part of a file name."""
    return re.sub(r"[^\w-]+", "_", level.partition(":")[2] or level)


FORMATS = (AreaTables(),)
