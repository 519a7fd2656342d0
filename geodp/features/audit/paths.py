"""Numbered nodes above the values of a table, from trees of values or areas of maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError
from geodp.features.audit.taxonomy import Taxonomy


@dataclass(frozen=True, eq=False)
class Paths:
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
