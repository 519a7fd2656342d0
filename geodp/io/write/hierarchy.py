"""The table of an office's regions, as it is released beside the counts."""

from __future__ import annotations

import csv
from pathlib import Path

from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, Regions
from geodp.io.write.csv import encoding_for


def regions_file(name: str) -> str:
    """Name of the file in a release's public folder that holds its table of regions."""
    return f"{name}.regions.csv"


def write_regions(regions: Regions, grid: Grid, path: str | Path) -> None:
    """Write a table of regions as :func:`read_regions` reads it: in key order, UTF-8.

    Parameters
    ----------
    regions : Regions
    grid : Grid
        Of one map, whose cells they hold.
    path : path

    Raises OSError where the file cannot be written.
    """
    levels = regions.levels[::-1]
    columns = [grid.places[0].format(*regions.cell), *(regions.labels(level) for level in levels)]
    texts = "".join([*levels, *(code for codes in regions.codes for code in codes)])
    with open(path, "w", encoding=encoding_for(texts), newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([CELL, *levels])
        rows.writerows(zip(*(column.tolist() for column in columns), strict=True))
