"""The map of areal units on which points are located: their outlines, or cells of H3 and S2."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import Rule, require_none
from geodp.grid.cells.cell_grid import CellMap
from geodp.grid.cells.system import NO_DEGREES
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period
from geodp.grid.outlines import Outlines
from geodp.typing import FloatArray, IntArray

POINT_OUTSIDE = Rule(
    "point-outside-units",
    "the point lies in no unit; give a table of all units, or leave out such records (--outside "
    "drop, outside='drop').",
)

NOT_FINITE = Rule("coordinate-not-finite", "A coordinate must be a finite number.")

FULL_CIRCLE = 360.0
"""A turn around the Earth, in degrees."""


@dataclass(frozen=True, kw_only=True)
class UnitMap(Lattice):
    """Map of a grid's units with outlines, in the CRS of these.

    Attributes
    ----------
    outlines : Outlines
        Of the units that lie somewhere.
    column : int64[n]
        Column of each in the grid, in increasing order.
    drops : bool
        Whether points in no unit get row and column -1; otherwise they raise CodeError.
    """

    outlines: Outlines = field(repr=False)
    column: IntArray = field(repr=False)
    drops: bool

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north of all outlines."""
        return self.outlines.bounds

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return row and column (int64[n] each) of points; -1 in no unit.

        A point on a border is in the unit that is the first of the grid; outlines may go on across
        180 degrees. CodeError for a coordinate that is no finite number, or none in degrees where
        outlines are in these, and see ``drops``.
        """
        east, north = np.asarray(x, np.float64), np.asarray(y, np.float64)
        require_none(~(np.isfinite(east) & np.isfinite(north)), NOT_FINITE)
        is_periodic = longitude_period(self.outlines.crs) == FULL_CIRCLE
        # What is no place at all is never taken for a place outside.
        nowhere = (np.abs(north) > FULL_CIRCLE / 4) | (np.abs(east) > FULL_CIRCLE)
        if is_periodic:
            require_none(nowhere, NO_DEGREES)
        column = self._find(east, north)
        west, _, far, _ = self.bounds
        for shift, beyond in (
            (-FULL_CIRCLE, west < -FULL_CIRCLE / 2),
            (FULL_CIRCLE, far > FULL_CIRCLE / 2),
        ):
            outside = np.flatnonzero(column < 0)
            if beyond and outside.size and is_periodic:
                column[outside] = self._find(east[outside] + shift, north[outside])
        if not self.drops:
            require_none(column < 0, POINT_OUTSIDE)
        return np.where(column < 0, -1, 0), np.where(column < 0, -1, self.column[column])

    def _find(self, east: FloatArray, north: FloatArray) -> IntArray:
        """Return the columns of points where their coordinates say; -1 in no unit."""
        import shapely

        point, unit = _tree(self.outlines).query(shapely.points(east, north))
        order = np.argsort(unit, kind="stable")
        point, unit = point[order], unit[order]
        column = np.full(east.size, -1)
        if not unit.size:
            return column
        first = np.flatnonzero(np.append(True, unit[1:] != unit[:-1]))
        # Each unit with all points in its box at once: a prepared polygon indexes its edges. The
        # last ones first, so that those of lower numbers stay.
        for start, stop in zip(first[::-1], np.append(first[1:], unit.size)[::-1], strict=True):
            some, shape = point[start:stop], self.outlines.shapes[unit[start]]
            inside = some[shapely.intersects_xy(shape, east[some], north[some])]
            column[inside] = unit[start]
        return column


@lru_cache(maxsize=4)
def _tree(outlines: Outlines) -> Any:
    """Return the index of outlines by their boxes, and prepare these."""
    import shapely

    shapely.prepare(outlines.shapes)
    return shapely.STRtree(outlines.shapes)


def find_land(grid: Grid, *, drops: bool) -> Lattice:
    """Return the map on which points are located; one without CRS on a grid that lies nowhere.

    ``drops``: whether points in no unit, or no cell of H3 or S2, get row and column -1, and are not
    refused at once.
    """
    if grid.known_outlines is not None:
        outlines, column = take_located(grid.known_outlines)
        rows, cols = grid.shape[:2]
        return UnitMap(rows, cols, crs=outlines.crs, outlines=outlines, column=column, drops=drops)
    return CellMap.of(grid, drops) or grid.places[0]


@lru_cache(maxsize=4)
def take_located(outlines: Outlines) -> tuple[Outlines, IntArray]:
    """Take the outlines of units that lie somewhere, and their columns: int64[n]."""
    column = np.flatnonzero(outlines.located)
    return (outlines if column.size == outlines.shapes.size else outlines.take(column)), column
