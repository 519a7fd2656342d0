"""Areas that stand for cells of a map: those of its code system, regions, or squares of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, UsageError
from geodp.features.audit.classes import Classes
from geodp.features.audit.paths import Paths
from geodp.features.audit.taxonomy import ROOT, Taxonomy
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.table.counts import CountTable

Level = tuple[NDArray[np.int64], list[str], list[Fraction]]
"""Area of every occupied cell, from 0 on; names of these areas, and what they blur."""


def areas_above(
    table: CountTable, hierarchies: Mapping[str, Any] | Sequence[str | int] | None
) -> tuple[Classes, list[Paths]]:
    """Put the cells of a map into classes, and number what may stand for them.

    Parameters
    ----------
    table : CountTable
        Of one map, with attributes or without.
    hierarchies : sequence, mapping or None
        Names of published areas, or cells on a side, the coarsest first; None for all of the code
        system. A map in the order of an office's regions takes the names of its levels. With
        attributes a mapping: the same under ``"cell"``, and the Taxonomy of an attribute under its
        name. An attribute without one keeps its labels, or has one node for all.

    Raises
    ------
    UsageError
        Another kind of grid, a name that the grid does not have, or areas that do not nest.
    InputError
        A table of nobody, or a label that its Taxonomy does not have.
    """
    grid = table.grid
    place = grid.raster_map
    if place is None:
        raise UsageError(
            "Areas stand for cells of one map; pairs and plain axes have none.",
            code="audit-needs-one-map",
        )
    given: Mapping[str, Any] = {CELL: hierarchies}
    if isinstance(hierarchies, Mapping):
        given = hierarchies
    names = [CELL, *(one.name for one in grid.attributes)]
    if names.count(CELL) > 1:
        raise UsageError(
            f"An attribute is called {CELL}, as the cells are; call it otherwise.",
            code="attribute-named-cell",
        )
    if not {*given} <= {*names}:
        raise UsageError(
            f"The hierarchies of this table are of: {', '.join(names)}.",
            code="hierarchies-of-other-columns",
        )
    if not table.count.size:
        raise InputError("The table has no record.", code="table-without-records")
    index = grid.decode(table.key)
    cell, at = np.unique(index[:2], axis=1, return_inverse=True)
    above = (_regions if grid.areas.tables else _squares)(grid, cell, given.get(CELL))
    if place.system is None:
        codes = [f"{row} {col}" for row, col in cell.T.tolist()]
    else:
        codes = place.system.format(place.row0 + cell[0], place.col0 + cell[1]).tolist()
    own: Level = (np.arange(len(codes)), codes, [Fraction()] * len(codes))
    trees = [Paths.of_levels([*above, own])]
    for one in grid.attributes:
        flat = Taxonomy.of(dict.fromkeys(one.labels, ROOT))
        trees.append(Paths.of(one.name, one.labels, given.get(one.name, flat)))
    values = dict(zip(names, (codes, *(one.labels for one in grid.attributes)), strict=True))
    classes = Classes(
        {name: tuple(those) for name, those in values.items()},
        np.stack([at.ravel(), *index[2:]]),
        table.count,
    )
    return classes, trees


def _regions(
    grid: Grid, index: NDArray[np.int64], levels: Sequence[str | int] | None
) -> list[Level]:
    """Return levels of an office's regions."""
    (regions,) = grid.areas.tables
    wanted = [*regions.levels] if levels is None else [*levels]
    if not {*wanted} <= {*regions.levels}:
        raise UsageError(
            f"Areas of this map are its regions: {', '.join(regions.levels)}.",
            code="areas-are-regions",
        )
    places = [regions.levels.index(str(name)) for name in wanted]
    if places != sorted({*places}):
        raise UsageError(
            "A hierarchy is a tree: name the coarsest areas first, each once.",
            code="areas-are-tree",
        )
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
    places = grid.size // prod(len(one.labels) for one in grid.attributes)
    if levels is None:
        if place.system is None:
            raise UsageError(
                "This map has no published areas; give cells on a side: [64, 8].",
                code="areas-unpublished",
            )
        levels = [name for name, side in place.system.areas if side > 1]
    found: list[Level] = []
    sides: list[int] = []
    for level in levels:
        coarser = Coarsening.of(grid, level)
        side, onto = coarser.side, coarser.grid.places[0]
        if sides and (side >= sides[-1] or sides[-1] % side):
            raise UsageError(
                "A hierarchy is a tree: name the largest areas first, and let the sides of each be "
                "a multiple of those of the next.",
                code="sides-are-tree",
            )
        sides.append(side)
        row, col = coarser.index(index)
        area, which = np.unique(row * onto.cols + col, return_inverse=True)
        at = np.divmod(area, onto.cols)
        cells = coarser.count_places(np.stack(at))
        if onto.system is None:
            names = [f"{side} cells a side, {r} {c}" for r, c in zip(*map(list, at), strict=True)]
        else:
            codes = onto.system.format(onto.row0 + at[0], onto.col0 + at[1]).tolist()
            names = [f"{onto.system.name} {code}" for code in codes]
        lost = [Fraction(n, places) for n in cells.tolist()]
        found.append((which, names, lost))
    return found
