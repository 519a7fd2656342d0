"""Generalise tables so that every class has k records, and as little as possible is lost."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.literature.taxonomy import ROOT, Taxonomy, TaxonomyPaths, sum_by
from geodp.table.counts import CountTable
from geodp.tools.audit.classes import Classes, Columns, require_k

Level = tuple[NDArray[np.int64], list[str], list[Fraction]]
"""Area of every occupied cell, numbered from 0; names of these areas, and the loss of each."""


def classes_and_areas(
    table: CountTable, hierarchies: Mapping[str, Any] | Sequence[str | int] | None
) -> tuple[Classes, list[TaxonomyPaths]]:
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
    trees = [TaxonomyPaths.of_levels([*above, cells])]
    for attribute in grid.attributes:
        # Without a hierarchy an attribute has one node above all labels.
        flat = Taxonomy.of(dict.fromkeys(attribute.labels, ROOT))
        trees.append(
            TaxonomyPaths.of(attribute.name, attribute.labels, by_column.get(attribute.name, flat))
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


RECODED_FROM_DATA = Rule(
    "recoding-from-data",
    "A recoding that was chosen from the data is outside the model: the choice reveals something "
    "about the data, and would need a budget of its own. Fix the areas beforehand.",
)


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """The node that each value is generalised to, chosen from confidential records.

    Its repr shows none of it. It is outside the model of :func:`geodp.audit.sampled_threshold`: the
    choice was made from the data, reveals something about them, and would need its own budget.

    Attributes
    ----------
    k : int
    nodes : dict of str to dict of str to str
        By column: the node that every occurring value is generalised to.
    count : int64[n]
        Records of the resulting classes, each at least k.
    ncp : Fraction
        Sum of :func:`geodp.literature.ncp` over all records.
    """

    k: int
    nodes: dict[str, dict[str, str]] = field()
    count: NDArray[np.int64]
    ncp: Fraction

    @property
    def smallest(self) -> int:
        """The number of records of the smallest class."""
        return int(self.count.min())

    def __repr__(self) -> str:
        return f"Recoding(CONFIDENTIAL, k={self.k}, columns={[*self.nodes]})"


def generalize(
    table: CountTable | Columns,
    hierarchies: Mapping[str, Any] | Sequence[str | int] | None,
    k: int,
    *,
    count: str | None = None,
) -> Recoding:
    """Generalise a table from the top down, as long as every class keeps k records.

    At first every column is its root. Then, step by step, the node whose replacement by its
    children lowers the sum of penalties most is replaced, unless a class would become smaller than
    k: such a node stays for good, as later steps only make classes smaller.

    Parameters
    ----------
    table : CountTable, mapping or data frame
        Counts of a map, or records.
    hierarchies : mapping of str to Taxonomy, or sequence
        For records: the tree of every column that others may know. For a map: names of published
        areas or cells on a side, the coarsest first; None for all areas of its code system, or the
        regions of its order. For a map with attributes also a mapping: these under ``"cell"``, and
        trees of attributes by their names; an attribute without one keeps its labels, or has one
        node for all. The loss of an area counts cells of the mask only.
    k : int
        At least 1.
    count : str, optional
        Column with the number of records that a row stands for.

    Returns
    -------
    Recoding
        Confidential. For a map, values are codes or numbers of cells, and nodes are areas.

    Raises
    ------
    UsageError
        k above the records of the table, a column without a hierarchy, areas that do not nest.
    InputError
        Missing values, or a value that its hierarchy does not have.

    Examples
    --------
    >>> from geodp.literature.api import Taxonomy
    >>> ages = Taxonomy.of({30: "30-39", 31: "30-39", 40: "40-49", "30-39": "*", "40-49": "*"})
    >>> recoding = generalize({"age": [30, 31, 31, 40, 40]}, {"age": ages}, 2)
    >>> recoding.nodes["age"], recoding.ncp
    ({'30': '30-39', '31': '30-39', '40': '40'}, Fraction(2, 1))
    """
    k = require_k(k)
    if isinstance(table, CountTable):
        classes, trees = classes_and_areas(table, hierarchies)
    else:
        if not isinstance(hierarchies, Mapping):
            raise UsageError(
                "Records need a hierarchy for every column.",
                code="hierarchy-for-every-column",
            )
        classes = Classes.of(table, [*hierarchies], count)
        trees = [
            TaxonomyPaths.of(n, values, hierarchies[n]) for n, values in classes.values.items()
        ]
    if k > classes.total:
        raise UsageError("k is above the number of records in the table.", code="k-above-records")
    return _Descent(classes, trees, k).run()


class _Descent:
    """The state of a generalisation: the node of every class in every column.

    Attributes
    ----------
    at : int64[columns, n]
        Current node.
    group : int64[n]
        Number of the generalised class that holds every class.
    rows : dict
        Classes that a node stands for, by column and node.
    """

    def __init__(self, classes: Classes, trees: Sequence[TaxonomyPaths], k: int) -> None:
        self.classes, self.trees, self.k = classes, trees, k
        self.at = np.zeros_like(classes.code)
        self.group = np.zeros(classes.count.size, np.int64)
        self.groups = 1
        all_rows = np.arange(classes.count.size)
        self.rows = {(column, 0): all_rows for column in range(len(trees))}
        self.records = [
            tree.records(code, classes.count)
            for tree, code in zip(trees, classes.code, strict=True)
        ]

    def run(self) -> Recoding:
        """Replace nodes by their children as long as all classes keep k records."""
        waiting = [self.step(column, 0) for column in range(len(self.trees))]
        # Ties are broken by column and node, so that the result is reproducible.
        heapq.heapify(waiting)
        while waiting:
            _, column, node = heapq.heappop(waiting)
            if self.split(column, node):
                below = self.trees[column].below
                for child in below[node]:
                    if below[child]:
                        heapq.heappush(waiting, self.step(column, child))
        return self.recoding()

    def step(self, column: int, node: int) -> tuple[Fraction, int, int]:
        """Compute by how much splitting a node changes the sum of penalties, as a heap entry."""
        tree, records = self.trees[column], self.records[column]
        below = tree.below[node]
        after = sum((int(records[child]) * tree.loss[child] for child in below), Fraction())
        # Negative, so the heap yields the largest decrease first.
        return after - int(records[node]) * tree.loss[node], column, node

    def split(self, column: int, node: int) -> bool:
        """Replace a node by its children, if every class keeps its k records."""
        tree, rows = self.trees[column], self.rows.pop((column, node))
        child = tree.path[self.classes.code[column, rows], tree.depth[node] + 1]
        key = child * self.groups + self.group[rows]
        # Sorted by child and group, so that each new group is one run.
        order = np.argsort(key, kind="stable")
        rows, child, key = rows[order], child[order], key[order]
        first = _starts(key)
        if np.add.reduceat(self.classes.count[rows], first).min() < self.k:
            return False
        self.at[column, rows] = child
        # New groups are numbered after the old ones, so that no group has to be renumbered.
        number = np.zeros(rows.size, np.int64)
        number[first[1:]] = 1
        self.group[rows] = self.groups + np.cumsum(number)
        self.groups += first.size
        starts = _starts(child)
        for start, stop in zip(starts, [*starts[1:], rows.size], strict=True):
            self.rows[column, int(child[start])] = rows[start:stop]
        return True

    def recoding(self) -> Recoding:
        """Build the recoding of the current nodes, with its loss."""
        nodes, loss = {}, Fraction()
        for column, (name, values) in enumerate(self.classes.values.items()):
            tree, code = self.trees[column], self.classes.code[column]
            node_of = np.zeros(len(values), np.int64)
            node_of[code] = self.at[column]
            names = (tree.names[node] for node in node_of.tolist())
            nodes[name] = dict(zip(map(str, values), names, strict=True))
            records = sum_by(self.at[column], self.classes.count)
            loss += sum(int(records[n]) * tree.loss[n] for n in np.flatnonzero(records).tolist())
        _, position = np.unique(self.group, return_inverse=True)
        return Recoding(self.k, nodes, sum_by(position, self.classes.count), loss)


def _starts(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find where runs of equal numbers begin: int64[runs]."""
    return np.flatnonzero(np.append(True, number[1:] != number[:-1])[: number.size])
