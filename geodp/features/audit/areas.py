"""Areas that cells of a map are generalised to: published ones, regions, or squares of cells."""

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
"""Area of every occupied cell, numbered from 0; names of these areas, and the loss of each."""


def classes_and_areas(
    table: CountTable, hierarchies: Mapping[str, Any] | Sequence[str | int] | None
) -> tuple[Classes, list[Paths]]:
    """Group the cells of a map into classes, and build the trees of areas above them.

    Parameters
    ----------
    table : CountTable
        Counts of one map, with attributes or without.
    hierarchies : sequence, mapping or None
        Names of published areas, or cells on a side, the coarsest first; None for all areas of the
        code system. A map in the order of an office's regions takes the names of its levels. With
        attributes a mapping: such a sequence under ``"cell"``, and the Taxonomy of an attribute
        under its name. An attribute without one keeps its labels, or has one node for all.

    Raises
    ------
    UsageError
        Another kind of grid, a name that the grid does not have, or areas that do not nest.
    InputError
        A table without people, or a label that its Taxonomy does not have.
    """
    grid = table.grid
    place = grid.raster_map
    if place is None:
        raise UsageError(
            "Cells can be generalised on one map only; pairs and plain axes have no areas.",
            code="audit-needs-one-map",
        )
    by_column: Mapping[str, Any] = {CELL: hierarchies}
    if isinstance(hierarchies, Mapping):
        by_column = hierarchies
    names = [CELL, *(attribute.name for attribute in grid.attributes)]
    if names.count(CELL) > 1:
        raise UsageError(
            f"An attribute is called {CELL}, as the cells are; rename it.",
            code="attribute-named-cell",
        )
    if not {*by_column} <= {*names}:
        raise UsageError(
            f"The hierarchies of this table are for: {', '.join(names)}.",
            code="hierarchies-of-other-columns",
        )
    if not table.count.size:
        raise InputError("The table has no record.", code="table-without-records")
    index = grid.decode(table.key)
    # Records of one cell share its areas whatever their attributes, so cells are numbered alone.
    cell, at = np.unique(index[:2], axis=1, return_inverse=True)
    above = (_regions if grid.areas.tables else _squares)(grid, cell, by_column.get(CELL))
    if place.system is None:
        codes = [f"{row} {col}" for row, col in cell.T.tolist()]
    else:
        codes = place.system.format(place.row0 + cell[0], place.col0 + cell[1]).tolist()
    cells: Level = (np.arange(len(codes)), codes, [Fraction()] * len(codes))
    trees = [Paths.of_levels([*above, cells])]
    for attribute in grid.attributes:
        # Without a hierarchy an attribute has one node above all labels.
        flat = Taxonomy.of(dict.fromkeys(attribute.labels, ROOT))
        trees.append(
            Paths.of(attribute.name, attribute.labels, by_column.get(attribute.name, flat))
        )
    values = dict(
        zip(names, (codes, *(attribute.labels for attribute in grid.attributes)), strict=True)
    )
    classes = Classes(
        {name: tuple(labels) for name, labels in values.items()},
        np.stack([at.ravel(), *index[2:]]),
        table.count,
    )
    return classes, trees


def _regions(
    grid: Grid, index: NDArray[np.int64], levels: Sequence[str | int] | None
) -> list[Level]:
    """List the levels of an office's regions above some cells."""
    (regions,) = grid.areas.tables
    wanted = [*regions.levels] if levels is None else [*levels]
    if not {*wanted} <= {*regions.levels}:
        raise UsageError(
            f"The areas of this map are its regions: {', '.join(regions.levels)}.",
            code="areas-are-regions",
        )
    places = [regions.levels.index(str(name)) for name in wanted]
    # Levels are stored from the coarsest on, so increasing positions are nested areas.
    if places != sorted({*places}):
        raise UsageError(
            "A hierarchy is a tree: name the coarsest areas first, each once.",
            code="areas-are-tree",
        )
    at = np.searchsorted(regions.number, regions.number_of(index))
    result = []
    for level in places:
        cells = np.bincount(regions.region[level])
        area, position = np.unique(regions.region[level, at], return_inverse=True)
        names = [f"{regions.levels[level]} {regions.codes[level][a]}" for a in area.tolist()]
        loss = [Fraction(int(n), regions.cells) for n in cells[area]]
        result.append((position, names, loss))
    return result


def _squares(
    grid: Grid, index: NDArray[np.int64], levels: Sequence[str | int] | None
) -> list[Level]:
    """List the published areas of a code system, or squares of cells, above some cells."""
    place = grid.places[0]
    places = grid.size // prod(len(one.labels) for one in grid.attributes)
    if levels is None:
        if place.system is None:
            raise UsageError(
                "This map has no published areas; give cells on a side: [64, 8].",
                code="areas-unpublished",
            )
        levels = [name for name, side in place.system.areas if side > 1]
    result: list[Level] = []
    sides: list[int] = []
    for level in levels:
        coarser = Coarsening.of(grid, level)
        side, lattice = coarser.side, coarser.grid.places[0]
        # Squares nest only if each side is a multiple of the next; otherwise a cell would lie in
        # two areas of one level.
        if sides and (side >= sides[-1] or sides[-1] % side):
            raise UsageError(
                "A hierarchy is a tree: name the largest areas first, and let the sides of each be "
                "a multiple of those of the next.",
                code="sides-are-tree",
            )
        sides.append(side)
        row, col = coarser.index(index)
        area, position = np.unique(row * lattice.cols + col, return_inverse=True)
        at = np.divmod(area, lattice.cols)
        cells = coarser.count_places(np.stack(at))
        if lattice.system is None:
            names = [f"{side} cells a side, {r} {c}" for r, c in zip(*map(list, at), strict=True)]
        else:
            codes = lattice.system.format(lattice.row0 + at[0], lattice.col0 + at[1]).tolist()
            names = [f"{lattice.system.name} {code}" for code in codes]
        loss = [Fraction(n, places) for n in cells.tolist()]
        result.append((position, names, loss))
    return result
