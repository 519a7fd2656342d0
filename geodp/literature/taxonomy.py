"""Trees of values or areas: what a value is generalised to, and the loss of information."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, UsageError, printable

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

    @classmethod
    def of_prefixes(cls, codes: Iterable[Any], lengths: Sequence[int]) -> Self:
        """Build the tree of codes whose first characters are codes of larger areas.

        Parameters
        ----------
        codes : iterable
            The finest codes.
        lengths : sequence of int
            Lengths of the larger areas' codes, increasing; such as 4, 6, 8 for JIS X 0410.

        Examples
        --------
        >>> Taxonomy.of_prefixes(["533945", "533946", "543910"], [4]).path("533946")
        ('*', '5339', '533946')
        """
        if not all(0 < a < b for a, b in zip(lengths, [*lengths[1:], 1 << 30], strict=True)):
            raise UsageError(
                "Lengths of codes must be whole numbers above 0 that increase.",
                code="code-lengths-increase",
            )
        parent_of: dict[str, str] = {}
        for code in map(str, codes):
            parent = ROOT
            for length in lengths:
                if length < len(code):
                    parent = parent_of.setdefault(code[:length], parent) and code[:length]
            parent_of[code] = parent
        return cls(parent_of)

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
