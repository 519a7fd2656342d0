"""Generalise tables so that every class has k records, and as little as possible is lost.

Values, or areas, are generalised along trees of them, which tell the loss of information."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.table.counts import CountTable
from geodp.tools.audit.classes import Columns, EquivalenceClasses, require_k

MAX_NAME = 80
"""Letters of a name that a message repeats."""

ROOT = "*"
"""Default name of the node above all values."""


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A public tree of values: leaves are the values of a column, nodes generalise them.

    Attributes
    ----------
    parents : dict of str to str
        Parent of every node but the root.

    Examples
    --------
    >>> jobs = Taxonomy.of({"baker": "crafts", "mason": "crafts", "crafts": "*", "nurse": "*"})
    >>> jobs.leaves("crafts"), jobs.path("mason")
    (2, ('*', 'crafts', 'mason'))
    """

    parents: dict[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        roots = {*self.parents.values()} - {*self.parents}
        if len(roots) != 1:
            raise UsageError(
                "A hierarchy must be a tree: one root, which every value leads to.",
                code="hierarchy-one-root",
            )
        # Nodes on a cycle are never reached from the root.
        reached = 0
        waiting = [*roots]
        while waiting:
            below = self.children.get(waiting.pop(), ())
            reached += len(below)
            waiting += below
        if reached != len(self.parents):
            raise UsageError(
                "A hierarchy must be a tree: no value may lead back to itself.",
                code="hierarchy-in-circle",
            )

    @classmethod
    def of(cls, parents: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> Self:
        """Build a tree from pairs: a value or node, and its parent.

        Parameters
        ----------
        parents : mapping, or pairs
            Names are compared as texts.

        Raises
        ------
        UsageError
            Not a tree: several roots, a node with two parents, a cycle.
        """
        pairs = parents.items() if isinstance(parents, Mapping) else parents
        parent_of: dict[str, str] = {}
        for child, parent in pairs:
            if parent_of.setdefault(str(child), str(parent)) != str(parent):
                name = printable(str(child)[:MAX_NAME])
                raise UsageError(
                    f"A hierarchy must be a tree: {name} has two parents.",
                    code="hierarchy-two-parents",
                )
        return cls(parent_of)

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> Self:
        """Build the tree of a table: a value in each row, and its ancestors from the finest up.

        Where the last column has several nodes, they get one root.

        Examples
        --------
        >>> rows = [("30", "30s", "adult"), ("31", "30s", "adult"), ("9", "child")]
        >>> tree = Taxonomy.of_rows(rows)
        >>> tree.path("31")
        ('*', 'adult', '30s', '31')
        """
        pairs: dict[tuple[str, str], None] = {}
        top_nodes: dict[str, None] = {}
        for row in rows:
            # A name that is repeated on several levels is one node.
            path = [*dict.fromkeys(map(str, row))]
            pairs |= dict.fromkeys(pairwise(path))
            top_nodes[path[-1]] = None
        if len(top_nodes) > 1 or not pairs:
            # A hierarchy needs one root, which tables of areas often leave out.
            pairs |= dict.fromkeys((top, ROOT) for top in top_nodes if top != ROOT)
        return cls.of([*pairs])

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """The children of every inner node."""
        nodes: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            nodes.setdefault(parent, []).append(child)
        return {parent: tuple(children) for parent, children in nodes.items()}

    @cached_property
    def root(self) -> str:
        """The node above all values."""
        (top,) = {*self.parents.values()} - {*self.parents}
        return top

    @cached_property
    def _leaves(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        waiting = [self.root]
        while waiting:
            # Children come first, without recursion: a hierarchy may be deeper than Python's stack.
            node = waiting[-1]
            below = self.children.get(node, ())
            if below and below[0] not in counts:
                waiting += below
                continue
            counts[waiting.pop()] = sum(counts[child] for child in below) if below else 1
        return counts

    def leaves(self, node: str) -> int:
        """Count the leaves under a node; 1 for a leaf. UsageError for an unknown node."""
        if node not in self._leaves:
            raise UsageError("A value is not in its hierarchy.", code="value-not-in-hierarchy")
        return self._leaves[node]

    def loss(self, node: str) -> Fraction:
        """Compute the loss of a node: 0 for a leaf, else its share of all leaves."""
        below = self.leaves(node)
        if node not in self.children:
            return Fraction()
        return Fraction(below, self.leaves(self.root))

    def path(self, node: str) -> tuple[str, ...]:
        """List the nodes from the root to one; UsageError for an unknown node."""
        self.leaves(node)
        nodes = [node]
        while nodes[-1] != self.root:
            nodes.append(self.parents[nodes[-1]])
        return tuple(reversed(nodes))


def ncp(values: Mapping[str, Any], hierarchies: Mapping[str, Taxonomy]) -> Fraction:
    """Compute the normalised certainty penalty of one generalised record.

    It is the sum over columns of 0 for a value itself, and of the share of all values that a node
    stands for (Xu et al. 2006, "Utility-based anonymization using local recoding").

    Parameters
    ----------
    values : mapping of str to str
        Nodes that the record's values are generalised to, by column.
    hierarchies : mapping of str to Taxonomy

    Raises
    ------
    UsageError
        A column without a hierarchy, or a value that is not one of its nodes.

    Examples
    --------
    >>> names = {**dict.fromkeys("ab", "two"), **dict.fromkeys("cdef", "four")}
    >>> letters = Taxonomy.of({**names, "two": "*", "four": "*"})
    >>> names = {**dict.fromkeys("123", "low"), **dict.fromkeys("456", "high")}
    >>> digits = Taxonomy.of({**names, "low": "*", "high": "*"})
    >>> ncp({"letter": "two", "digit": "high"}, {"letter": letters, "digit": digits})
    Fraction(5, 6)
    """
    if missing := {*values} - {*hierarchies}:
        raise UsageError(f"The column {min(missing)} has no hierarchy.", code="hierarchy-missing")
    return sum((hierarchies[name].loss(str(value)) for name, value in values.items()), Fraction())


@dataclass(frozen=True, eq=False)
class TaxonomyPaths:
    """Nodes from a root to values; node 0 is the root.

    Attributes
    ----------
    names : sequence of str
    loss : sequence of Fraction
        Loss of a record that is generalised to the node: 0 for a value itself, at most 1.
    below : sequence of list of int
        Children of every node.
    depth : sequence of int
        Steps from the root.
    path : int64[values, depth]
        Nodes from the root to every value, whose last one is repeated on shorter paths.
    """

    names: Sequence[str]
    loss: Sequence[Fraction]
    below: Sequence[list[int]]
    depth: Sequence[int]
    path: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, values: Sequence[Any], tree: Taxonomy) -> Self:
        """Build the nodes above the values of a column; InputError for one that is not a leaf."""
        # Only nodes above occurring values are numbered, not those of a whole public hierarchy.
        number = {tree.root: 0}
        below: list[list[int]] = [[]]
        depth = [0]
        paths = []
        for value in map(str, values):
            if value not in tree.parents or value in tree.children:
                raise InputError(
                    f"A value of the column {name} is not a leaf of its hierarchy.",
                    code="value-no-leaf",
                )
            path = [0]
            for node in tree.path(value)[1:]:
                if node not in number:
                    number[node] = len(number)
                    below[path[-1]].append(number[node])
                    below.append([])
                    depth.append(len(path))
                path.append(number[node])
            paths.append(path)
        deepest = max(map(len, paths))
        # Repeating the last node makes the paths a rectangular array.
        full = np.array([path + path[-1:] * (deepest - len(path)) for path in paths], np.int64)
        return cls([*number], [tree.loss(node) for node in number], below, depth, full)

    @classmethod
    def of_levels(
        cls, levels: Sequence[tuple[NDArray[np.int64], Sequence[str], Sequence[Fraction]]]
    ) -> Self:
        """Build the nodes of nested areas.

        Parameters
        ----------
        levels : sequence
            The coarsest first, the values themselves last: the area of every value, from 0 on
            (int64[values]), and every area's name and loss.
        """
        names, loss, depth = ["*"], [Fraction(1)], [0]
        below: list[list[int]] = [[]]
        columns = [np.zeros(levels[0][0].size, np.int64)]
        for number, (area, area_names, losses) in enumerate(levels):
            at = len(names) + area
            pairs = np.unique(np.stack([columns[-1], at]), axis=1)
            names += area_names
            loss += losses
            depth += [number + 1] * len(area_names)
            below += [[] for _ in area_names]
            for parent, child in pairs.T.tolist():
                below[parent].append(child)
            columns.append(at)
        return cls(names, loss, below, depth, np.stack(columns, axis=1))

    def records(self, code: NDArray[np.int64], count: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the records under every node, of classes given by their values: int64[nodes]."""
        totals = np.zeros(len(self.names), np.int64)
        depth = np.array(self.depth)
        for step, at in enumerate(self.path[code].T):
            # A short path repeats its last node, which must be counted once.
            is_node = depth[at] == step
            totals += sum_by(at[is_node], count[is_node], totals.size)
        return totals


def sum_by(
    number: NDArray[np.int64], count: NDArray[np.int64], size: int | None = None
) -> NDArray[np.int64]:
    """Sum counts by number: int64[size], by default up to the largest number.

    Examples
    --------
    >>> sum_by(np.array([1, 0, 1]), np.array([2, 3, 4])).tolist()
    [3, 6]
    """
    sums = np.zeros(int(number.max(initial=-1)) + 1 if size is None else size, np.int64)
    np.add.at(sums, number, count)
    return sums


Level = tuple[NDArray[np.int64], list[str], list[Fraction]]
"""Area of every occupied cell, numbered from 0; names of these areas, and the loss of each."""


def classes_and_areas(
    table: CountTable, hierarchies: Mapping[str, Any] | Sequence[str | int] | None
) -> tuple[EquivalenceClasses, list[TaxonomyPaths]]:
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
    classes = EquivalenceClasses(
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
    >>> from geodp.literature.recoding import Taxonomy
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
        classes = EquivalenceClasses.of(table, [*hierarchies], count)
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

    def __init__(self, classes: EquivalenceClasses, trees: Sequence[TaxonomyPaths], k: int) -> None:
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
