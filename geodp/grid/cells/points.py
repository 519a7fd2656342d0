"""Map of the cells of H3 or S2, on which points in degrees are located."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import CodeError, Rule
from geodp.grid.cells.area import box_around, radii
from geodp.grid.cells.system import CellSystem
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice
from geodp.typing import IntArray, KeyArray

OUTSIDE = Rule(
    "point-outside-area",
    "the point lies in no cell of the grid's public area; give wider bounds or another mask "
    "(--bounds, --mask; bounds=, mask=), or leave such rows out (--outside drop, outside=).",
)


@dataclass(frozen=True, kw_only=True)
class CellMap(Lattice):
    """Map of a grid's units that are cells of H3 or S2, in longitude and latitude of WGS 84.

    Attributes
    ----------
    cells : CellSystem
    level : int
    table : Hierarchy
        The units.
    drops : bool
        Whether points in no unit get row and column -1, outside of every domain; otherwise they
        raise CodeError.
    """

    cells: CellSystem
    level: int
    table: Hierarchy
    drops: bool

    @classmethod
    def of(cls, grid: Grid, drops: bool) -> Self | None:
        """Return the map of a grid's cells; None if they are not cells of H3 or S2."""
        units = grid.names.cells
        if units is None or grid.maps.one is None:
            return None
        table, system, level = units
        system.require_library()
        rows, cols = grid.shape[:2]
        return cls(rows, cols, crs="EPSG:4326", cells=system, level=level, table=table, drops=drops)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of a box around all cells, in degrees."""
        # The few coarsest cells with all their descendants: outlines of a million cells take
        # minutes.
        coarsest = _numbers(self.table, self.cells, 0)[0]
        centre, corners = self.cells.outline(coarsest)
        west, south, east, north = box_around(centre, radii(centre, corners) * self.cells.reach)
        left, right = float(west.min()), float(east.max())
        if left < -180 or right > 180:
            left, right = -180.0, 180.0
        return left, float(south.min()), right, float(north.max())

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return row and column (int64[n] each) of points in degrees.

        Raises CodeError at the first point that is not in degrees, or lies in no unit.
        """
        cells = self.cells.locate(x, y, self.level)
        unit_cells, place = _numbers(self.table, self.cells, -1)
        # Beyond the last cell `searchsorted` returns the length, which is no position.
        near = np.minimum(np.searchsorted(unit_cells, cells), unit_cells.size - 1)
        wrong = unit_cells[near] != cells
        if wrong.any() and not self.drops:
            raise CodeError(int(wrong.argmax()), OUTSIDE)
        row, col = np.where(wrong, -1, self.table.cell[:, place[near]])
        return row, col


@lru_cache(maxsize=8)
def _numbers(table: Hierarchy, system: CellSystem, depth: int) -> tuple[KeyArray, IntArray]:
    """Return the cells of one level of a table in ascending order, and their positions there."""
    cells, good = system.read(np.array(table.codes[depth], np.str_))
    # The unit for other codes is not a cell.
    at = np.flatnonzero(good)
    order = at[np.argsort(cells[at])]
    return cells[order], order
