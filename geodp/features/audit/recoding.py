"""Generalise tables so that every class has k records, and as little as possible is lost."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.features.audit.areas import classes_and_areas
from geodp.features.audit.classes import Classes, Columns, require_k
from geodp.features.audit.paths import Paths, sum_by
from geodp.table.counts import CountTable

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
        Sum of :func:`geodp.audit.ncp` over all records.
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
    >>> from geodp.features.audit.api import Taxonomy
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
        trees = [Paths.of(n, values, hierarchies[n]) for n, values in classes.values.items()]
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

    def __init__(self, classes: Classes, trees: Sequence[Paths], k: int) -> None:
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
    is_start = np.ones(number.size, np.bool_)
    np.not_equal(number[1:], number[:-1], out=is_start[1:])
    return np.flatnonzero(is_start)
