"""Closed-form variance of estimates on a tree whose nodes have different numbers of children.

In an office's regions no two nodes are alike, so every node has a variance of its own. Bottom-up,
a node measured with variance s, whose children's best estimates have the variances ``V_c`` with
the sum C, is known with ``V_v = s C / (s + C)``. Top-down its children share out what is missing
in proportion to ``V_c``, which is generalised least squares. A sum over a set of cells is then, at
a node, the sum of ``a(c) x_c`` over its children, where the errors of the ``x_c`` are

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
    """The estimates of two passes over a tree; on regions with each node's own variance.

    Attributes
    ----------
    own : tuple of float
        Variance of the measurements of every level, the root's first. ``variances`` holds what is
        left of it from below where nodes have all of their children.
    """

    own: tuple[float, ...] = ()

    def region(self, key: NDArray[np.uint64], grid: Grid | None = None) -> float:
        """Variance of the sum over cells; exact for two passes on an office's regions.

        Parameters
        ----------
        key : uint64[n]
            Of the cells, strictly increasing.
        grid : Grid, optional
            As for :meth:`TreeVariance.region`.
        """
        nodes = [] if grid is None else self.nodes_of(grid)
        if not nodes:
            return super().region(key, grid)
        node, part, stride, found = key, np.ones(key.size), 1, 0.0
        for level in range(len(self.fanouts), 0, -1):
            fanout = self.fanouts[level - 1]
            own = nodes[level].variance_of(node, stride)
            node, stride = node // np.uint64(fanout), stride * fanout
            first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
            node = node[first]
            if not node.size:
                return 0.0
            shared = np.add.reduceat(part * own, first)
            below = nodes[level - 1].below_of(node, stride)
            found += float((np.add.reduceat(part**2 * own, first) - shared**2 / below).sum())
            part = shared / below
        return found + float(nodes[0].variance[0] * part[0] ** 2)

    def largest(self, grid: Grid) -> NDArray[np.float64]:
        """Largest variance of the keys that share their first i digits: float64[digits + 1].

        On an office's regions it is the variance of some such block.
        """
        order = grid.order
        nodes = self.nodes_of(grid)
        if not nodes:
            return super().largest(grid)
        whole = nodes[0].variance
        found, digit = [float(whole[0])], 0
        for above, level in pairwise(nodes):
            last = digit
            while prod(order.radices[last:]) > level.keys:
                last += 1
            for at in range(digit + 1, last + 1):
                below = [i for i in range(at, last) if order.axes[i] == 0]
                step = prod(order.radices[i] for i in below)
                place = level.place // step
                first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
                alike = prod(order.radices[at:last]) // step
                held = alike * np.add.reduceat(level.variance, first)
                place = place[first] * step * level.stride // above.stride
                node = np.searchsorted(above.place, place)
                part = held / above.below[node]
                variance = held * (1 - part) + part**2 * whole[node]
                found.append(float(variance.max()))
            if last > digit:
                whole, digit = variance, last
        return np.array(found)

    def nodes_of(self, grid: Grid) -> list[_Nodes]:
        """Return all nodes of every level, the root's first, but for attributes: they are alike.

        Empty on a grid that is not one map in the order of regions, where all are alike.
        """
        order, ndim = grid.order, len(grid.shape)
        if not isinstance(order, HierarchyOrder):
            return []

        def place_of(key: NDArray[np.uint64]) -> NDArray[np.int64]:
            return order.numbers(key, ndim)

        place = order.hierarchy.number
        found = [
            _Nodes(place_of, 1, 1, place, np.full(place.size, self.own[-1]), np.zeros(place.size))
        ]
        digits = len(order.radices)
        for fanout, noise in zip(reversed(self.fanouts), reversed(self.own[:-1]), strict=True):
            last, digits = digits, _digits_above(order.radices, digits, fanout)
            step = [order.radices[i] for i in range(digits, last) if order.axes[i] == 0]
            place = found[-1].place // prod(step)
            first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
            below = fanout // prod(step) * np.add.reduceat(found[-1].variance, first)
            variance = noise * below / (noise + below)
            stride = found[-1].stride * prod(step)
            keys = found[-1].keys * fanout
            found.append(_Nodes(place_of, keys, stride, place[first], variance, below))
        return found[::-1]


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The nodes of a level that hold a cell.

    Attributes
    ----------
    place_of : callable
        Numbers of the places of keys.
    keys : int
        That a node covers.
    stride : int
        Numbers of places that it covers.
    place : int64[n]
        First of them, by ``stride``; strictly increasing.
    variance : float64[n]
        Of its best estimate from below.
    below : float64[n]
        Sum of its children's.
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
        """Return the variance of nodes that cover so many keys each."""
        return self.variance[self._at(node, keys)]

    def below_of(self, node: NDArray[np.uint64], keys: int) -> NDArray[np.float64]:
        """Return the variance of their children's sum."""
        return self.below[self._at(node, keys)]


def _digits_above(radices: tuple[int, ...], last: int, fanout: int) -> int:
    """How many digits are left above the last ones that number so many children."""
    while fanout > 1:
        last -= 1
        fanout //= radices[last]
    return last
