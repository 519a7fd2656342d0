"""Intervals of single cells, for many cells at once.

They are those of :mod:`geodp.accuracy.region_interval` for regions of one cell. A node hands the
error of its count down to its children in equal parts, so that errors of all nodes follow from
those of their parents, level by level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from geodp.accuracy.closed_form import Variances, cell_errors
from geodp.accuracy.interval import LAPLACE_Z, NodeSums, Tops, Z, round_out
from geodp.accuracy.region_interval import DROPPED, MOVED, Children, RegionErrors, list_levels
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray


class ErrorModel(Protocol):
    """Properties of a method that intervals need: whether it clamps, and its error model."""

    nonnegative: ClassVar[bool]

    def variances_of(
        self, grid: Grid, event: Any, stride: int, block: KeyArray, /
    ) -> FloatArray | None:
        """Return the variances of blocks of ``stride`` keys: float64[n]."""
        ...

    def tree_variance(self, grid: Grid, event: Any, /) -> TreeVariance | None:
        """Return the closed form of the error of any region."""
        ...


def cell_intervals(
    method: ErrorModel, table: ReleasedTable, error: float | None, tops: Tops | None = None
) -> ClampedIntervals | PlainIntervals:
    """Return 95 % intervals of the cells of a release, see :meth:`geodp.Release.estimate`.

    Parameters
    ----------
    method : ErrorModel
        Method with a closed form of the error of a cell.
    table : ReleasedTable
    error : float, optional
        Standard error of a cell, if it is the same for all cells.
    tops : Tops, optional
        See :class:`geodp.accuracy.interval.NodeSums`.
    """
    grid, event = table.grid, table.event
    if not method.nonnegative:
        return PlainIntervals(table, error, partial(method.variances_of, grid, event))
    tree = method.tree_variance(grid, event)
    assert tree is not None  # methods that clamp and have errors of cells work on a tree
    return ClampedIntervals(
        tree,
        NodeSums(table, tops),
        grid if grid.size < prod(tree.fanouts) else None,
        # Cells released as 0 in one lowest node have the same path, and thus one interval.
        1 if not grid.order.follows_map or not tree.fanouts else tree.fanouts[-1],
    )


@dataclass(frozen=True, eq=False)
class PlainIntervals:
    """Intervals of counts that may be negative: 2.12 standard errors of Laplace, 1.96 of Gaussian.

    Attributes
    ----------
    table : ReleasedTable
    error : float or None
        Standard error of a cell, if it is the same for all cells.
    variances : callable
        Closed-form variances of cells otherwise.
    """

    table: ReleasedTable
    error: float | None
    variances: Variances

    alike: ClassVar[int] = 1

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        count = self.table.counts_at(key).astype(np.float64)
        factor = Z if self.table.event.is_normal else LAPLACE_Z
        error = cell_errors(self.variances, key) if self.error is None else self.error
        margin = round_out(factor * error, count)
        return count - margin, count + margin

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the ends of the intervals of cells that are not listed, at most.

        ``error``: the largest standard error of a cell.
        """
        margin = (Z if self.table.event.is_normal else LAPLACE_Z) * error
        return -margin, margin


class Nodes(NamedTuple):
    """The listed nodes of a level, and the errors of their counts.

    Attributes
    ----------
    key : uint64[n]
        Strictly increasing.
    errors : RegionErrors
        Of each node.
    unseen, lost : float64[n]
        Variance and mean of the people in each of its children that was released as 0.
    """

    key: KeyArray
    errors: RegionErrors
    unseen: FloatArray
    lost: FloatArray


@dataclass(frozen=True, eq=False)
class ClampedIntervals:
    """Intervals of a method that clamps at 0.

    Attributes
    ----------
    tree : TreeVariance
    sums : NodeSums
        Sums of the release.
    grid : Grid or None
        Grid whose domain excludes children of nodes; None: all keys are cells.
    alike : int
        Size, in keys, of aligned blocks in which all cells released as 0 have one interval.
    """

    __repr__ = one_line

    tree: TreeVariance
    sums: NodeSums
    grid: Grid | None
    alike: int

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        return self.errors(key).interval(self.sums.of(key, 1))

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the ends of the intervals of cells that are not listed, at most.

        ``error``: the largest standard error of a cell.
        """
        # A child that was released as 0 hides the more, the more of its siblings were not.
        worst = [
            (level.unseen(fanout - 1, fanout), DROPPED * level.dropped(fanout - 1, fanout))
            for fanout, level in zip(self.tree.fanouts[::-1], list_levels(self.tree), strict=True)
            if fanout > 1
        ]
        unseen, lost = np.array(worst).reshape(-1, 2).max(axis=0, initial=0.0)
        # If nobody was released, all cells share the error of the root, which is part of theirs.
        moments = np.array([[0.0], [0.0], [0.0], [max(unseen, error**2)], [-lost]])
        _, high = RegionErrors(moments, np.ones(1, np.bool_)).interval(np.zeros(1))
        return 0.0, float(high[0])

    def errors(self, key: KeyArray) -> RegionErrors:
        """Find the errors of cells, listed or not: n regions."""
        found, clamped = np.zeros((5, key.size)), np.ones(key.size, np.bool_)
        # Of a cell whose nodes were released as 0: its part of the lowest of them.
        part, left = np.ones(key.size), np.arange(key.size)
        for number, (stride, nodes) in enumerate(zip(self._strides, self._levels, strict=True)):
            node = key[left] // np.uint64(stride)
            at = np.searchsorted(nodes.key, node)
            listed = np.append(nodes.key, np.uint64(0))[at] == node
            listed &= at < nodes.key.size
            some, at = left[listed], at[listed]
            if number == 0:
                found[:, some] = nodes.errors.moments[:, at]
                clamped[some] = nodes.errors.clamped[at]
            else:
                found[3, some] = nodes.unseen[at] * part[some] ** 2
                found[4, some] = -nodes.lost[at] * part[some]
            left, node = left[~listed], node[~listed]
            if number:
                once, back = np.unique(node, return_inverse=True)
                part[left] /= self._possible(once, number)[back]
        # Nobody was released: all cells share the error of the root.
        found[1, left] = self.tree.variances[0] * part[left] ** 2
        found[2, left] = self.tree.cumulants[0] * part[left] ** 4
        return RegionErrors(found, clamped)

    @cached_property
    def _strides(self) -> list[int]:
        """Keys of a node of each level, from the cells up."""
        return [*accumulate(self.tree.fanouts[::-1], mul, initial=1)]

    def _possible(self, node: KeyArray, number: int) -> FloatArray:
        """Count the children of nodes, so many levels above the cells, that overlap the domain."""
        fanout = self.tree.fanouts[-number]
        if self.grid is None:
            return np.full(node.size, float(fanout))
        return possible_children(self.grid, node, fanout, self._strides[number - 1])

    @cached_property
    def _levels(self) -> list[Nodes]:
        """The listed nodes of all levels, from the cells up."""
        key = self.sums.list_nodes(self._strides[-1])
        moments = np.zeros((5, key.size))
        moments[1], moments[2] = self.tree.variances[0], self.tree.cumulants[0]
        above = RegionErrors(moments, np.zeros(key.size, np.bool_))
        found: list[Nodes] = []
        for number, level in zip(
            range(len(self.tree.fanouts), 0, -1), list_levels(self.tree)[::-1], strict=True
        ):
            possible, stride = self._possible(key, number), self._strides[number - 1]
            below = self.sums.list_nodes(stride)
            parent = np.searchsorted(key, below // np.uint64(self.tree.fanouts[-number]))
            listed = np.bincount(parent, minlength=key.size).astype(np.float64)
            lost = DROPPED * level.dropped(listed, possible) + np.zeros(key.size)
            nodes = Nodes(key, above, np.asarray(level.unseen(listed, possible)), lost)
            found.insert(0, nodes)
            above = _hand_down(nodes, level, self.sums.of(below, stride), parent, possible)
            key = below
        none = np.zeros(key.size)
        return [Nodes(key, above, none, none), *found]


def _hand_down(
    nodes: Nodes, level: Children, count: FloatArray, parent: IntArray, possible: FloatArray
) -> RegionErrors:
    """Find the errors of the listed children of nodes.

    Parameters
    ----------
    nodes : Nodes
    level : Children
    count : float64[m]
        People released in each child.
    parent : int64[m]
        Its node.
    possible : float64[n]
        Children of each node that overlap the domain.
    """
    n = nodes.key.size
    number = np.bincount(parent, minlength=n).astype(np.float64)
    weak = count < level.weak
    people = np.bincount(parent, count * weak, n)
    firm = number - np.bincount(parent, weak, n)
    # A child has all of its own error, and each of those that were listed an equal part of it.
    mean = (1 / np.maximum(number, 1))[parent]
    apart, some = 1 - mean, number[parent]
    squares, powers = apart**2 + (some - 1) * mean**2, apart**4 + (some - 1) * mean**4
    zeros = (possible - number)[parent]
    alone = firm[parent] == 0
    middle = np.where(alone, mean, np.where(weak, 0.0, 1 / np.maximum(firm[parent], 1)))
    moved = MOVED * (weak * count - middle * people[parent]) + nodes.lost[parent] * mean * zeros
    inherited = nodes.errors.moments[:, parent]
    moments = np.stack(
        [
            np.zeros(count.size),
            level.variance * squares + inherited[1] * mean**2,
            level.fourth * powers + inherited[2] * mean**4,
            nodes.unseen[parent] * zeros * mean**2 + inherited[3] * mean**2,
            moved + inherited[4] * mean,
        ]
    )
    return RegionErrors(moments, nodes.errors.clamped[parent] | (zeros > 0))
