"""Areas that stand for cells of a map: those of its code system, regions, or squares of cells."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.analysis.audit.classes import Classes
from geodp.analysis.audit.paths import Paths
from geodp.errors import InputError, UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.table.counts import CountTable

Level = tuple[NDArray[np.int64], list[str], list[Fraction]]
"""Area of every occupied cell, from 0 on; names of these areas, and what they blur."""


def areas_above(
    table: CountTable, levels: Sequence[str | int] | None
) -> tuple[Classes, list[Paths]]:
    """Put the cells of a map into classes, and number the areas above them.

    Parameters
    ----------
    table : CountTable
        Of one map without attributes or a mask.
    levels : sequence of str or int, optional
        Names of published areas, or cells on a side, the coarsest first. Default: all of the code
        system. A map in the order of an office's regions takes the names of its levels.

    Raises
    ------
    UsageError
        Another kind of grid, or areas that do not nest.
    InputError
        A table of nobody.
    """
    grid = table.grid
    if len(grid.places) != 1 or grid.attributes or grid.mask is not None:
        raise UsageError("Areas stand for cells of one map, without attributes and without a mask.")
    if not table.count.size:
        raise InputError("The table has no record.")
    index = grid.decode(table.key)
    if grid.hierarchy is not None:
        above = _regions(grid.hierarchy, index, levels)
    else:
        above = _squares(grid, index, levels)
    place = grid.places[0]
    if place.system is None:
        codes = [f"{row} {col}" for row, col in index.T.tolist()]
    else:
        codes = place.system.format(place.row0 + index[0], place.col0 + index[1]).tolist()
    every = np.arange(len(codes))
    cells: Level = (every, codes, [Fraction()] * len(codes))
    classes = Classes({CELL: tuple(codes)}, every[None], table.count)
    return classes, [Paths.of_levels([*above, cells])]


def _regions(
    regions: Hierarchy, index: NDArray[np.int64], levels: Sequence[str | int] | None
) -> list[Level]:
    """Return levels of an office's regions."""
    wanted = [*regions.levels] if levels is None else [*levels]
    if not {*wanted} <= {*regions.levels}:
        raise UsageError(f"Areas of this map are its regions: {', '.join(regions.levels)}.")
    places = [regions.levels.index(str(name)) for name in wanted]
    if places != sorted({*places}):
        raise UsageError("A hierarchy is a tree: name the coarsest areas first, each once.")
    at = np.searchsorted(regions.number, regions.number_of(index))
    found = []
    for level in places:
        cells = np.bincount(regions.region[level])
        area, which = np.unique(regions.region[level, at], return_inverse=True)
        names = [f"{regions.levels[level]} {regions.codes[level][a]}" for a in area.tolist()]
        lost = [Fraction(int(n), regions.cells) for n in cells[area]]
        found.append((which, names, lost))
    return found


def _squares(
    grid: Grid, index: NDArray[np.int64], levels: Sequence[str | int] | None
) -> list[Level]:
    """Return published areas of a code system, or squares of cells."""
    place = grid.places[0]
    if levels is None:
        if place.system is None:
            raise UsageError("This map has no published areas; give cells on a side: [64, 8].")
        levels = [name for name, side in place.system.areas if side > 1]
    found: list[Level] = []
    sides: list[int] = []
    for level in levels:
        coarser = Coarsening.of(grid, level)
        side, onto = coarser.side, coarser.grid.places[0]
        if sides and (side >= sides[-1] or sides[-1] % side):
            raise UsageError(
                "A hierarchy is a tree: name the largest areas first, and let the sides of each be "
                "a multiple of those of the next."
            )
        sides.append(side)
        row, col = coarser.index(index)
        area, which = np.unique(row * onto.cols + col, return_inverse=True)
        at = np.divmod(area, onto.cols)
        first = (0, 0) if place.system is None else (place.row0 % side, place.col0 % side)
        lengths = [
            np.bincount((start + np.arange(size)) // side)[of]
            for start, size, of in zip(first, (place.rows, place.cols), at, strict=True)
        ]
        if onto.system is None:
            names = [f"{side} cells a side, {r} {c}" for r, c in zip(*map(list, at), strict=True)]
        else:
            codes = onto.system.format(onto.row0 + at[0], onto.col0 + at[1]).tolist()
            names = [f"{onto.system.name} {code}" for code in codes]
        lost = [Fraction(int(n), grid.size) for n in lengths[0] * lengths[1]]
        found.append((which, names, lost))
    return found
