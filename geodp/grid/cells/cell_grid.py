"""Grids whose cells are those of H3 or S2 in a public area, as areal units.

A cell of H3 does not lie entirely in its parent, but it has exactly one, so that the cells of an
area form a table of units, whose levels are the coarser ones of the system. :class:`CellMap`
locates points in degrees on such cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.bounds import Box, read_box
from geodp.grid.cells import find_cells
from geodp.grid.cells.area import (
    MAX_CELLS,
    BoxArea,
    CellMask,
    PublicArea,
    box_around,
    radii,
    select_cells,
)
from geodp.grid.cells.system import CellSystem
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice
from geodp.grid.units import add_other, grid_of_units
from geodp.typing import IntArray, KeyArray

FEW = 7
"""Coarser levels are added until one has at most this many cells: a cell has seven children."""

IN_MASK = ", in the mask of "
"""Text before the source of a mask in the source of a table of cells."""


def grid_of_cells(
    spec: str,
    bounds: Sequence[float] | None = None,
    *,
    mask: CellMask | None = None,
    other: str | None = None,
) -> Grid:
    """Create the grid of all cells of a level of H3 or S2 in a public area.

    Codes are H3's indices as texts of 15 digits, or S2's tokens. Levels are named ``h3_7``,
    ``h3_6``, ..., up to the first of at most seven cells. ``grid.names.find`` reads codes.

    Parameters
    ----------
    spec : str
        ``"h3:RESOLUTION"``, 0 to 15, or ``"s2:LEVEL"``, 0 to 30.
    bounds : sequence of float, optional
        West, south, east, north, public, in degrees of WGS 84: cells whose centres lie there. A
        west above the east is a box across 180 degrees.
    mask : CellMask, optional
        Public; see :mod:`geodp.io.read.public.mask`. With bounds, cells are in both.
    other : str, optional
        Name of a unit that is added on every level, for codes that are not cells of the area.

    Raises UsageError if the system's library is not installed, if there are neither bounds nor a
    mask, and if the area has no cell or more than a million.
    """
    system, level = find_cells(spec)
    box = None if bounds is None else read_box(bounds)
    if box is None and mask is None:
        raise UsageError(NO_AREA.format(system.title))
    library = system.require_library()
    # A mask may be far smaller than its bounds, so that only bounds alone give the number of cells
    # in advance.
    if box is not None and mask is None:
        _require_few(system, level, box)
    regions: list[PublicArea] = [] if box is None else [BoxArea(box)]
    regions += [] if mask is None or mask.region is None else [mask.region]
    cells = select_cells(system, level, regions, None if mask is None else mask.start)
    if not cells.size:
        raise UsageError(
            f"The public area holds {'the centre of ' if mask is None else ''}no cell of {spec}; "
            f"choose a wider one (--bounds, --mask; bounds=, mask=) or a finer {system.word}.",
            code="area-without-cell",
        )
    levels, number, coarser = {f"{system.name}_{level}": system.format(cells)}, None, cells
    # Units nest by H3's parents, although their shapes do not: consistency needs one parent for
    # each child, not containment on the map.
    for above in range(level - 1, -1, -1):
        if coarser.size <= FEW:
            break
        coarser, place = np.unique(system.parents(coarser, above), return_inverse=True)
        number = place if number is None else place[number]
        levels[f"{system.name}_{above}"] = system.format(coarser)[number]
    source = _describe(system, level, box, mask, library)
    if other is not None:
        levels, source = add_other(levels, source, other)
    return grid_of_units(levels, source)


def _describe(
    system: CellSystem, level: int, box: Box | None, mask: CellMask | None, library: str
) -> str:
    """Return the source of a table of cells, as text; it is published."""
    text = f"{system.title} cells of {system.word} {level}"
    if box is not None:
        edges = " ".join(f"{edge:.12g}" for edge in box)
        text += f" whose centres lie in {edges} (west, south, east, north in degrees of WGS 84)"
    return f"{text}, by {library}{'' if mask is None else IN_MASK + mask.source.strip()}"


def _require_few(system: CellSystem, level: int, box: Box) -> None:
    """Raise UsageError, with a level that fits, for bounds with too many cells."""
    west, south, east, north = box
    wide = east - west + (360 if west > east else 0)
    # Part of the sphere: (sin north - sin south) / 2 times the width as a part of 360 degrees.
    share = (math.sin(math.radians(north)) - math.sin(math.radians(south))) * wide / 720
    about = share * system.count(level)
    if about > MAX_CELLS:
        fitting = [each for each in range(level) if share * system.count(each) <= MAX_CELLS]
        raise UsageError(
            f"The bounds hold about {about:,.0f} cells of {system.spec(level)}, more than "
            f"{MAX_CELLS:,}; choose smaller bounds (--bounds, bounds=) or a coarser "
            f"{system.word} (--grid {system.spec(max(fitting, default=0))}).",
            code="bounds-have-too-many-cells",
        )


NO_AREA = Rule(
    "cells-need-area",
    "Cells of {} need their public area: bounds in degrees (--bounds WEST SOUTH EAST NORTH, "
    "bounds=), a public area by name (--bounds japan), or a mask (--mask FILE with --mask-source, "
    "--mask land:japan; mask=).",
)


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
