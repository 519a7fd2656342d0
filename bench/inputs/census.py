"""The thirteen variables of Europe's census grid of 2021, from the tiles of the project's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import geodp
from geodp.errors import UsageError
from geodp.kinds.census.inputs import CensusTables
from geodp.typing import IntArray

TILE, SIDE = 256, 512
"""Cells of a side of a tile, and of the window of four tiles."""

WINDOW = ((16, 11), (17, 11), (16, 12), (17, 12))
"""Tiles of western and southern Germany and its neighbours, whose counts were perturbed."""

HIDDEN = (20, 13)
"""A tile of eastern Poland and its neighbours, of whose counts many are hidden."""

MARGINS = {
    "sex": ("M", "F"),
    "age": ("Y_LT15", "Y_1564", "Y_GE65"),
    "work": ("EMP",),
    "birth": ("NAT", "EU_OTH", "OTH"),
    "move": ("SAME", "CHG_IN", "CHG_OUT"),
}
"""Columns by margin; the employed alone leave a rest."""

REST = {"work": "not employed"}

VARIABLES = ("T", *(one for some in MARGINS.values() for one in some))
"""The thirteen variables."""


@dataclass(frozen=True)
class CensusGrid:
    """Cells of some tiles.

    Attributes
    ----------
    grid : Grid
    key : uint64[n]
        In order.
    columns : mapping of str to int64[n]
        As published.
    """

    grid: geodp.Grid
    key: Any
    columns: dict[str, IntArray]

    def table(self, name: str) -> geodp.CountTable:
        """Return one column as it was published."""
        return geodp.CountTable.from_keys(self.grid, self.key, self.columns[name])

    def table_of(self, margin: str) -> geodp.CountTable:
        """Return the columns of a margin."""
        labels = MARGINS[margin]
        index = np.repeat(np.array(self.grid.decode(self.key)), len(labels), axis=1)
        part = np.tile(np.arange(len(labels)), self.key.size)
        counts = np.stack([self.columns[one] for one in labels], axis=1).reshape(-1)
        grid = self.grid.with_attribute(margin, list(labels))
        return geodp.CountTable.from_index(grid, np.vstack([index, part]), counts)

    def complete(self) -> CensusTables:
        """Make all margins add up, by the nearest whole numbers."""
        margins = {name: self.table_of(name) for name in MARGINS}
        return CensusTables.of(self.table("T"), margins, rest=REST, contradictions="fit")


def load_census(folder: Path | None, tiles: Sequence[tuple[int, int]] = WINDOW) -> CensusGrid:
    """Load tiles side by side; UsageError where they are missing."""
    if folder is None or not (folder / "eurostat-census2021-1km").is_dir():
        raise UsageError(
            "This benchmark reads public statistics that are no part of the project: --data DIR "
            "names a directory with eurostat-census2021-1km."
        )
    read, names = [], (*VARIABLES, *(f"{one}_CI" for one in VARIABLES))
    west, south = (min(each) for each in zip(*tiles, strict=True))
    for east, north in tiles:
        rows = pq.read_table(folder / "eurostat-census2021-1km" / str(east) / f"{north}.parquet")
        x = rows["x"].to_numpy() + TILE * (east - west)
        y = rows["y"].to_numpy() + TILE * (north - south)
        read.append(np.stack([y, x, *(rows[name].to_numpy() for name in names)]))
    every = np.concatenate(read, axis=1).astype(np.int64)
    every = every[:, every[2] > 0]
    grid = geodp.Grid.regular((SIDE, SIDE))
    key = grid.encode(every[:2])
    order = np.argsort(key)
    columns = dict(zip(names, every[2:, order], strict=True))
    return CensusGrid(grid, key[order], columns)
