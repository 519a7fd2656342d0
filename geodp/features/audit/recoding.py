"""Generalised tables: every class has k records, and as little as possible is blurred."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.features.audit.areas import areas_above
from geodp.features.audit.classes import Classes, Columns, require_k
from geodp.features.audit.paths import Paths, sum_by
from geodp.table.counts import CountTable

CHOSEN = Rule(
    "recoding-from-data",
    "A recoding that was chosen from the data is outside the model: which one it is tells of the "
    "data, and the choice would need a budget of its own. Fix the areas beforehand.",
)


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """What stands for what, chosen from confidential records; the repr shows none of it.

    It is outside the model of :func:`geodp.audit.sampled_threshold`: the choice was made from the
    data, tells of them, and would need a budget of its own.

    Attributes
    ----------
    k : int
    nodes : dict of str to dict of str to str
        By column: the node that stands for every value that there is.
    count : int64[n]
        Records of the classes that are left, each at least k.
    ncp : Fraction
        Sum of :func:`geodp.audit.ncp` over all records.
    """

    k: int
    nodes: dict[str, dict[str, str]] = field()
    count: NDArray[np.int64]
    ncp: Fraction

    @property
    def smallest(self) -> int:
        """Records of the smallest class."""
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

    At first every column is its root. Then, again and again, the node is replaced by its children
    that lowers the sum of penalties most, unless a class would become smaller than k: such a node
    stays for good, as later steps only make classes smaller.

    Parameters
    ----------
    table : CountTable, mapping or data frame
        Counts of a map, or records.
    hierarchies : mapping of str to Taxonomy, or sequence
        Of the columns of records that others may know. Of a map: names of published areas or
        cells on a side, the coarsest first; None for all areas of its code system, or the regions
        that its order goes by. Of a map with attributes also a mapping: these under ``"cell"``,
        and trees of attributes by their names; an attribute without one keeps its labels, or has
        one node for all. Only cells of a mask count as what an area blurs.
    k : int
        At least 1.
    count : str, optional
        Column of how many records a row stands for.

    Returns
    -------
    Recoding
        Confidential. Of a map, values are codes or numbers of cells, and nodes areas.

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
    >>> found = generalize({"age": [30, 31, 31, 40, 40]}, {"age": ages}, 2)
    >>> found.nodes["age"], found.ncp
    ({'30': '30-39', '31': '30-39', '40': '40'}, Fraction(2, 1))
    """
    k = require_k(k)
    if isinstance(table, CountTable):
        classes, trees = areas_above(table, hierarchies)
    else:
        if not isinstance(hierarchies, Mapping):
            raise UsageError(
                "Records are generalised by a hierarchy for every column.",
                code="hierarchy-for-every-column",
            )
        classes = Classes.of(table, [*hierarchies], count)
        trees = [Paths.of(n, values, hierarchies[n]) for n, values in classes.values.items()]
    if k > classes.total:
        raise UsageError("k is above the number of records in the table.", code="k-above-records")
    return _Descent(classes, trees, k).run()


class _Descent:
    """The state of a generalisation: which node stands for every class in every column.

    Attributes
    ----------
    at : int64[columns, n]
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
        every = np.arange(classes.count.size)
        self.rows = {(column, 0): every for column in range(len(trees))}
        self.records = [
            tree.records(code, classes.count)
            for tree, code in zip(trees, classes.code, strict=True)
        ]

    def run(self) -> Recoding:
        """Replace nodes by their children while classes allow it."""
        waiting = [self.step(column, 0) for column in range(len(self.trees))]
        heapq.heapify(waiting)
        while waiting:
            _, column, node = heapq.heappop(waiting)
            if self.split(column, node):
                below = self.trees[column].below
                for child in below[node]:
                    if below[child]:
                        heapq.heappush(waiting, self.step(column, child))
        return self.found()

    def step(self, column: int, node: int) -> tuple[Fraction, int, int]:
        """Return what the replacement of a node adds to the sum of penalties, and which it is."""
        tree, records = self.trees[column], self.records[column]
        below = tree.below[node]
        after = sum((int(records[child]) * tree.loss[child] for child in below), Fraction())
        return after - int(records[node]) * tree.loss[node], column, node

    def split(self, column: int, node: int) -> bool:
        """Replace a node by its children, if every class keeps its records."""
        tree, rows = self.trees[column], self.rows.pop((column, node))
        child = tree.path[self.classes.code[column, rows], tree.depth[node] + 1]
        key = child * self.groups + self.group[rows]
        order = np.argsort(key, kind="stable")
        rows, child, key = rows[order], child[order], key[order]
        first = _starts(key)
        if np.add.reduceat(self.classes.count[rows], first).min() < self.k:
            return False
        self.at[column, rows] = child
        number = np.zeros(rows.size, np.int64)
        number[first[1:]] = 1
        self.group[rows] = self.groups + np.cumsum(number)
        self.groups += first.size
        starts = _starts(child)
        for start, stop in zip(starts, [*starts[1:], rows.size], strict=True):
            self.rows[column, int(child[start])] = rows[start:stop]
        return True

    def found(self) -> Recoding:
        """Return what stands for what now, and what it costs."""
        nodes, lost = {}, Fraction()
        for column, (name, values) in enumerate(self.classes.values.items()):
            tree, code = self.trees[column], self.classes.code[column]
            stands = np.zeros(len(values), np.int64)
            stands[code] = self.at[column]
            names = (tree.names[node] for node in stands.tolist())
            nodes[name] = dict(zip(map(str, values), names, strict=True))
            records = sum_by(self.at[column], self.classes.count)
            lost += sum(int(records[n]) * tree.loss[n] for n in np.flatnonzero(records).tolist())
        _, which = np.unique(self.group, return_inverse=True)
        return Recoding(self.k, nodes, sum_by(which, self.classes.count), lost)


def _starts(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where runs of equal numbers begin: int64[runs]."""
    found = np.ones(number.size, np.bool_)
    np.not_equal(number[1:], number[:-1], out=found[1:])
    return np.flatnonzero(found)
