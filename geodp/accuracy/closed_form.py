"""Closed-form errors of blocks and cells, also where nodes have different numbers of children.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Z
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import HierarchyOrder
from geodp.grid.tree import cells_of_box


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


MAX_PAIRS = 1 << 16
"""Maximal number of pairs of regions of whose errors the median is taken."""

CHUNK = 1 << 18
"""Number of cells whose errors are computed together."""


def block_variances(
    tree: TreeVariance, block: NDArray[np.uint64], stride: int, grid: Grid
) -> NDArray[np.float64] | None:
    """Return the variances of sums over aligned blocks of ``stride`` keys each: float64[n].

    None for blocks of several children of a node of regions, as these differ.

    A child of a node whose children have the total variance C deviates from its share ``V / C`` of
    the node by ``V (1 - V / C)``; m of k equal children have the variance
    ``m V (1 - m/k) + (m/k)**2 Var(node)``.

    Parameters
    ----------
    tree : TreeVariance
        Tree whose nodes are apportioned to the children that overlap the grid's domain.
    block : uint64[n]
        Block b covers ``stride`` keys from ``b * stride`` on.
    stride : int
    grid : Grid
    """
    nodes = accumulate(reversed(tree.fanouts), lambda a, b: a * b, initial=1)
    # Several regions of different variance have no common closed form.
    if not grid.order.follows_map and stride not in nodes:
        return None
    uneven = tree.nodes_of(grid) if isinstance(tree, IrregularTree) else []
    size = prod(tree.fanouts)
    root = float(uneven[0].variance[0]) if uneven else tree.variances[0]
    variances = np.full(block.size, root)
    for level, (fanout, level_variance) in enumerate(
        zip(tree.fanouts, tree.variances[1:], strict=True)
    ):
        if size <= stride:
            break
        below = size // fanout
        node = block * np.uint64(stride) // np.uint64(size)
        if uneven:
            child = block * np.uint64(stride) // np.uint64(below)
            variance = uneven[level + 1].variance_of(child, below)
            # See the equations of `geodp.accuracy.closed_form`.
            part = variance / uneven[level].below_of(node, size)
            variances = variance * (1 - part) + part**2 * variances
        else:
            k = _children(node, fanout, below, grid)
            inside = np.ones(block.size)
            if below < stride:
                inside = _children(block, stride // below, below, grid)
            variances = inside * level_variance * (1 - inside / k) + (inside / k) ** 2 * variances
        size = below
    return variances


@dataclass(frozen=True)
class BlockError:
    """Error of the aligned blocks of one size, or of the areas of one level.

    Attributes
    ----------
    cells : int
        Number of cells of a block; for regions, which differ, the median.
    standard_error : float
        Standard error of a block that lies inside the domain with all of its surroundings; for
        regions, the median.
    largest : float
        Largest standard error of any block, including the edges of the domain; a bound if there is
        a mask.
    """

    cells: int
    standard_error: float
    largest: float

    def describe(self) -> dict[str, Any]:
        """Return plain values with six digits, for cards and plans."""
        return {
            "cells": self.cells,
            "standard_error": float(f"{self.standard_error:.6g}"),
            "margin_95": float(f"{Z * self.standard_error:.6g}"),
            "largest": float(f"{self.largest:.6g}"),
        }


def errors_of_blocks(
    largest: NDArray[np.float64], tree: TreeVariance | None, grid: Grid
) -> tuple[BlockError, ...]:
    """Return the errors of blocks whose keys share their first i digits, at index i.

    Parameters
    ----------
    largest : float64[digits + 1]
        Largest variances.
    tree : TreeVariance, optional
        Tree of a method that skips nodes outside the domain (``Mechanism.skips_outside``).
    grid : Grid
    """
    radices = grid.order.radices
    cells, inside = [min(stride, grid.size) for stride in _strides(grid)], largest.copy()
    if tree is not None and not grid.order.follows_map:
        key = _keys_of_regions(grid)  # all labels of attributes have equal errors
        for digits, stride in enumerate(_strides(grid)):
            block = np.unique(key // np.uint64(stride))
            cells[digits] = int(np.median(cells_of_box(grid, block, stride)))
            variance = block_variances(tree, block, stride, grid)
            inside[digits] = largest[digits] if variance is None else np.median(variance)
    elif tree is not None:
        inside = np.minimum(tree.prefixes(radices), largest)
    rows = zip(cells, np.sqrt(inside).tolist(), np.sqrt(largest).tolist(), strict=True)
    return tuple(BlockError(*row) for row in rows)


def errors_of_every_block(variances: Variances, grid: Grid) -> tuple[BlockError, ...] | None:
    """Return the errors of blocks at index i, for methods without one variance for all blocks.

    None if the method has no variances. The error of a block is the median for regions, which
    differ in size, and otherwise the largest.
    """
    if variances(1, np.empty(0, np.uint64)) is None:
        return None
    key, errors = keys_of_domain(grid), []
    for stride in _strides(grid):
        block = np.unique(key // np.uint64(stride))
        variance = variances(stride, block)
        assert variance is not None  # methods with errors of cells have them of all blocks
        middle = largest = float(np.sqrt(variance.max()))
        cells = min(stride, grid.size)
        if not grid.order.follows_map:
            cells = int(np.median(cells_of_box(grid, block, stride)))
            middle = float(np.sqrt(np.median(variance)))
        errors.append(BlockError(cells, middle, largest))
    return tuple(errors)


def _strides(grid: Grid) -> list[int]:
    """Return the number of keys that share their first i digits, at index i."""
    radices = grid.order.radices
    return [prod(radices[digits:]) for digits in range(len(radices) + 1)]


def _keys_of_regions(grid: Grid) -> NDArray[np.uint64]:
    """Return the keys of all cells of regions, with the first label of every attribute.

    For many pairs, a sample that is spread evenly over origins and destinations.
    """
    if len(grid.places) == 1:
        return grid.domain.keys_of_ranks(np.arange(0, grid.size, prod(grid.shape[2:])))
    # An odd step visits all destinations even if their number is a power of two.
    step = -(-grid.size // MAX_PAIRS) | 1
    return np.sort(grid.domain.keys_of_ranks(np.arange(0, grid.size, step)))


def keys_of_domain(grid: Grid) -> NDArray[np.uint64]:
    """Return the keys of all cells of the domain: uint64[size]."""
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    return grid.order.encode(index[:, grid.contains(index)])


def cell_errors(variances: Variances, key: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the standard errors of cells, anywhere in the domain: float64[n].

    ``key`` is uint64[n].
    """
    errors = np.empty(key.size)
    # Chunks bound the memory for the intermediate arrays.
    for start in range(0, key.size, CHUNK):
        part = slice(start, start + CHUNK)
        variance = variances(1, key[part])
        assert variance is not None  # methods with errors of blocks have them of cells
        errors[part] = np.sqrt(variance)
    return errors


Variances = Callable[[int, NDArray[np.uint64]], NDArray[np.float64] | None]
"""Function for the variances of sums over blocks of keys: ``Mechanism.variances_of`` of a release.

Takes the number of keys of a block and numbers of blocks; returns None if there is no closed form.
"""


def _children(
    node: NDArray[np.uint64], fanout: int, stride: int, grid: Grid
) -> NDArray[np.float64]:
    """Count children of nodes that overlap the domain, of ``stride`` keys each: float64[n]."""
    once, back = np.unique(node, return_inverse=True)
    return possible_children(grid, once, fanout, stride)[back]


def resolution_floor(errors: Sequence[BlockError], people: float, cells: int) -> int | None:
    """Return the cells of the smallest block whose standard error is at most its expected people.

    Below that size a release carries no more signal than zeros would. The expectation is the mean
    density: where people live f times as densely, the limit is f times smaller.

    Parameters
    ----------
    errors : sequence of BlockError
        Errors of blocks, from all cells down to one.
    people : float
        A public guess of the sum of all counts; never taken from the data.
    cells : int
        Number of cells of the domain.

    Returns
    -------
    int or None
        None if not even the total is large enough.

    Examples
    --------
    >>> blocks = [BlockError(n, e, e) for n, e in [(16, 66.0), (4, 120.0), (1, 70.0)]]
    >>> resolution_floor(blocks, people=160, cells=16)
    16
    """
    each = people / cells
    fine = (e.cells for e in reversed(errors) if e.standard_error <= each * e.cells)
    return next(fine, None)
