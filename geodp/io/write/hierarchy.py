"""Table of an office's regions, as released beside the counts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.io.write.csv import MEDIA_TYPE, encoding_for
from geodp.io.write.format import Entry, Format
from geodp.io.write.view import View


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
                MEDIA_TYPE,
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
    with open(path, "w", encoding=encoding_for(texts), newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([CELL, *levels])
        rows.writerows(zip(*(column.tolist() for column in columns), strict=True))


FORMATS = (HierarchyTable(),)
