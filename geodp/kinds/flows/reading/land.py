"""Where coordinates of trips, stays and pings are located: on a map of cells, or in areal units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, require_none
from geodp.grid.cells.cell_grid import OUTSIDE, CellMap
from geodp.grid.cells.system import NO_DEGREES
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period
from geodp.grid.names import UNKNOWN
from geodp.grid.outlines import Outlines
from geodp.io.read.rows.forms.geometry import NOT_POINT
from geodp.io.read.rows.locators import Locator
from geodp.kinds.flows.units import take_located
from geodp.typing import FloatArray, IntArray

OUTSIDE_UNITS = Rule(
    "flows-point-outside-units",
    "the point lies in no unit; give a table of all units, leave out trips from and to such "
    "places (--outside drop, outside='drop'), or count them in a zone of their own (--other, "
    "other=).",
)

OUTSIDE_CELLS = Rule(
    "flows-point-outside-cells",
    "the point lies in no cell of the grid's public area; give wider bounds or another mask "
    "(--bounds, --mask; bounds=, mask=), leave out trips from and to such places (--outside drop, "
    "outside='drop'), or count them in a zone of their own (--other, other=).",
)

UNKNOWN_UNIT = Rule(
    "flows-code-unknown",
    "the code is not in the table of units; check leading zeros, a prefix such as 1400000US and "
    "the table's year, give a table that lists every unit, leave out trips from and to such "
    "places (--outside drop, outside='drop'), or count them in a zone of their own (--other, "
    "other=).",
)

NOT_A_POINT = Rule(
    "flows-geometry-not-a-point",
    "a place must be one point; of a line, or of several points, give both ends of the trip as "
    "columns of their own.",
)

NOT_FINITE = Rule("coordinate-not-finite", "A coordinate must be a finite number.")
IN_FLOWS = {NOT_POINT.code: NOT_A_POINT, OUTSIDE.code: OUTSIDE_CELLS, UNKNOWN.code: UNKNOWN_UNIT}
"""Rules of other readers, which know no trips, by code, and those that say what flows take."""

TURN = 360.0
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
        turns = longitude_period(self.outlines.crs) == TURN
        # What is no place at all is never taken for a place outside.
        nowhere = (np.abs(north) > TURN / 4) | (np.abs(east) > TURN)
        if turns:
            require_none(nowhere, NO_DEGREES)
        column = self._find(east, north)
        west, _, far, _ = self.bounds
        for turn, beyond in ((-TURN, west < -TURN / 2), (TURN, far > TURN / 2)):
            outside = np.flatnonzero(column < 0)
            if beyond and outside.size and turns:
                column[outside] = self._find(east[outside] + turn, north[outside])
        if not self.drops:
            require_none(column < 0, OUTSIDE_UNITS)
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


@contextmanager
def in_words_of_flows() -> Iterator[None]:
    """Raise errors of places outside with the rules of :data:`IN_FLOWS`."""
    try:
        yield
    except CodeError as error:
        raise CodeError(error.position, IN_FLOWS.get(error.code, error.rule)) from None


def advise(locators: Sequence[Locator]) -> list[Locator]:
    """Return locators that refuse places outside in the words of flows."""

    def advised(locator: Locator) -> Locator:
        def read(*columns: Any) -> Sequence[NDArray[np.int64]]:
            with in_words_of_flows():
                return locator.read(*columns)

        return replace(locator, read=read)

    return [advised(one) for one in locators]


def count_as_other(index: IntArray, other: IntArray) -> IntArray:
    """Return indices with places outside in place of which another zone counts.

    Parameters
    ----------
    index : int64[d, n]
        Of which the first axes are rows and columns of one place or of two; -1: outside.
    other : int64[2]
        Row and column of the zone of all other places.
    """
    index = index.copy()
    for at in range(0, min(len(index), 4), 2):
        outside = index[at] < 0
        index[at, outside], index[at + 1, outside] = other
    return index
