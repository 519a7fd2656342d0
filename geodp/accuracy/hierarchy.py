"""Closed-form variance of estimates on a tree whose nodes have different numbers of children.

In official regions no two nodes are equal, so every node has its own variance. Bottom-up, a node
measured with variance s, whose children's best estimates have the variances ``V_c`` with the sum C,
has the variance ``V_v = s C / (s + C)``. Top-down the difference from the node is apportioned to
the children in proportion to ``V_c``, which is generalised least squares. A sum over a set of cells
is then, at a node, the sum of ``a(c) x_c`` over its children, where the errors of the ``x_c`` are

    (V_c / C) (error of the node) + something of covariance  diag(V) - V V' / C

and the two are uncorrelated, so that node v adds ``sum a(c)**2 V_c - (sum a(c) V_c)**2 / C``, and
``a(v) = sum a(c) V_c / C``. With equal variances that is :mod:`geodp.accuracy.variance`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import HierarchyOrder


@dataclass(frozen=True)
class IrregularTree(TreeVariance):
    """Tree with the estimates of two passes; on regions, each node has its own variance.

    Attributes
    ----------
    measured : tuple of float
        Variance of the measurements of every level, the root's first. ``variances`` are those of
        the estimates from below, for nodes with all of their children.
    """

    measured: tuple[float, ...] = ()

    def region(self, key: NDArray[np.uint64], grid: Grid | None = None) -> float:
        """Return the variance of the sum over cells; exact for two passes on official regions.

        Parameters
        ----------
        key : uint64[n]
            Cells, strictly increasing.
        grid : Grid, optional
            See :meth:`TreeVariance.region`.
        """
        nodes = [] if grid is None else self.nodes_of(grid)
        if not nodes:
            return super().region(key, grid)
        node, part, stride, total = key, np.ones(key.size), 1, 0.0
        for level in range(len(self.fanouts), 0, -1):
            fanout = self.fanouts[level - 1]
            variance = nodes[level].variance_of(node, stride)
            node, stride = node // np.uint64(fanout), stride * fanout
            first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
            node = node[first]
            if not node.size:
                return 0.0
            shared = np.add.reduceat(part * variance, first)
            # The module's equation for every node: sum a(c)**2 V_c - (sum a(c) V_c)**2 / C.
            below = nodes[level - 1].below_of(node, stride)
            total += float((np.add.reduceat(part**2 * variance, first) - shared**2 / below).sum())
            part = shared / below
        return total + float(nodes[0].variance[0] * part[0] ** 2)

    def largest(self, grid: Grid) -> NDArray[np.float64]:
        """Return the largest variance of the keys that share their first i digits:
        float64[digits + 1].

        On official regions it is the exact variance of some such block.
        """
        order = grid.order
        nodes = self.nodes_of(grid)
        if not nodes:
            return super().largest(grid)
        above_variance = nodes[0].variance
        largest, digit = [float(above_variance[0])], 0
        for above, level in pairwise(nodes):
            last = order.digits_above(level.keys)
            for at in range(digit + 1, last + 1):
                # Digits of attributes split a node evenly; only digits of regions distinguish
                # children.
                below = [i for i in range(at, last) if order.axes[i] == 0]
                step = prod(order.radices[i] for i in below)
                place = level.place // step
                first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
                alike = prod(order.radices[at:last]) // step
                held = alike * np.add.reduceat(level.variance, first)
                place = place[first] * step * level.stride // above.stride
                node = np.searchsorted(above.place, place)
                part = held / above.below[node]
                variance = held * (1 - part) + part**2 * above_variance[node]
                largest.append(float(variance.max()))
            if last > digit:
                above_variance, digit = variance, last
        return np.array(largest)

    def nodes_of(self, grid: Grid) -> list[_Nodes]:
        """Return the nodes of every level, the root's first, one for all labels of attributes.

        Empty if the grid is not one map in the order of regions: all nodes of a
        level are then equal.
        """
        order, ndim = grid.order, len(grid.shape)
        if not isinstance(order, HierarchyOrder):
            return []

        def place_of(key: NDArray[np.uint64]) -> NDArray[np.int64]:
            return order.numbers(key, ndim).ravel()

        place = order.hierarchy.number
        levels = [
            _Nodes(
                place_of, 1, 1, place, np.full(place.size, self.measured[-1]), np.zeros(place.size)
            )
        ]
        digits = len(order.radices)
        for fanout, noise in zip(reversed(self.fanouts), reversed(self.measured[:-1]), strict=True):
            last, digits = digits, order.digits_above(levels[-1].keys * fanout)
            step = [order.radices[i] for i in range(digits, last) if order.axes[i] == 0]
            place = levels[-1].place // prod(step)
            first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
            below = fanout // prod(step) * np.add.reduceat(levels[-1].variance, first)
            # The module's equation, V_v = s C / (s + C).
            variance = noise * below / (noise + below)
            stride = levels[-1].stride * prod(step)
            keys = levels[-1].keys * fanout
            levels.append(_Nodes(place_of, keys, stride, place[first], variance, below))
        return levels[::-1]


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The nodes of a level that contain a cell.

    Attributes
    ----------
    place_of : callable
        Function from keys to the numbers of their places.
    keys : int
        Number of keys that a node covers.
    stride : int
        Number of places that a node covers.
    place : int64[n]
        First place of each node divided by ``stride``; strictly increasing.
    variance : float64[n]
        Variance of the best estimate from below.
    below : float64[n]
        Sum of the variances of the node's children.
    """

    place_of: Callable[[NDArray[np.uint64]], NDArray[np.int64]]
    keys: int
    stride: int
    place: NDArray[np.int64]
    variance: NDArray[np.float64]
    below: NDArray[np.float64]

    def _at(self, node: NDArray[np.uint64], keys: int) -> NDArray[np.int64]:
        number = self.place_of(node * np.uint64(keys))
        return np.searchsorted(self.place, number // self.stride)

    def variance_of(self, node: NDArray[np.uint64], keys: int) -> NDArray[np.float64]:
        """Return the variance of nodes that cover ``keys`` keys each."""
        return self.variance[self._at(node, keys)]

    def below_of(self, node: NDArray[np.uint64], keys: int) -> NDArray[np.float64]:
        """Return the sum of the variances of the children of nodes."""
        return self.below[self._at(node, keys)]
