"""Closed-form errors of blocks and cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.hierarchy import IrregularTree
from geodp.accuracy.interval import Z
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.grid.tree import cells_of_box

MAX_PAIRS = 1 << 16
"""Most pairs of regions whose errors the median is of."""

CHUNK = 1 << 18
"""Cells whose errors are worked out together."""


def block_variances(
    tree: TreeVariance, block: NDArray[np.uint64], stride: int, grid: Grid
) -> NDArray[np.float64] | None:
    """Variances of sums over aligned blocks of ``stride`` keys each: float64[n].

    None for some children of a node of regions: these are not alike.

    A child of a node whose children have together the variance C deviates from its part ``V / C``
    of the node by ``V (1 - V / C)``; m of k children that are alike have the variance
    ``m V (1 - m/k) + (m/k)**2 Var(node)``.

    Parameters
    ----------
    tree : TreeVariance
        Whose nodes share out among children that overlap the grid's domain.
    block : uint64[n]
        Number b covers the keys from ``b * stride`` on.
    stride : int
    grid : Grid
    """
    nodes = accumulate(reversed(tree.fanouts), lambda a, b: a * b, initial=1)
    if not grid.order.follows_map and stride not in nodes:
        return None
    uneven = tree.nodes_of(grid) if isinstance(tree, IrregularTree) else []
    size = prod(tree.fanouts)
    root = float(uneven[0].variance[0]) if uneven else tree.variances[0]
    found = np.full(block.size, root)
    for level, (fanout, own) in enumerate(zip(tree.fanouts, tree.variances[1:], strict=True)):
        if size <= stride:
            break
        below = size // fanout
        node = block * np.uint64(stride) // np.uint64(size)
        if uneven:
            child = block * np.uint64(stride) // np.uint64(below)
            variance = uneven[level + 1].variance_of(child, below)
            part = variance / uneven[level].below_of(node, size)
            found = variance * (1 - part) + part**2 * found
        else:
            k = _children(node, fanout, below, grid)
            inside = np.ones(block.size)
            if below < stride:
                inside = _children(block, stride // below, below, grid)
            found = inside * own * (1 - inside / k) + (inside / k) ** 2 * found
        size = below
    return found


@dataclass(frozen=True)
class BlockError:
    """Error of the aligned blocks of one size, or of the areas of one level.

    Attributes
    ----------
    cells : int
        Of a block; of regions, which differ, the median's.
    standard_error : float
        Of a block that lies inside the domain with all of its surroundings; of regions the median.
    largest : float
        Of any block, at the edges of the domain too; with a mask a bound.
    """

    cells: int
    standard_error: float
    largest: float

    def describe(self) -> dict[str, Any]:
        """Plain values with six digits, for cards and plans."""
        return {
            "cells": self.cells,
            "standard_error": float(f"{self.standard_error:.6g}"),
            "margin_95": float(f"{Z * self.standard_error:.6g}"),
            "largest": float(f"{self.largest:.6g}"),
        }


def errors_of_blocks(
    largest: NDArray[np.float64], tree: TreeVariance | None, grid: Grid
) -> tuple[BlockError, ...]:
    """Errors of blocks whose keys share their first i digits, at index i.

    Parameters
    ----------
    largest : float64[digits + 1]
        Variances.
    tree : TreeVariance, optional
        Of a method that leaves out what lies outside the domain (``Mechanism.skips_outside``).
    grid : Grid
    """
    radices = grid.order.radices
    cells, inside = [min(stride, grid.size) for stride in _strides(grid)], largest.copy()
    if tree is not None and not grid.order.follows_map:
        key = _keys_of_regions(grid)  # labels of attributes are alike
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
    """Return the same of methods whose blocks are looked at one by one.

    It is None where they have no figures.

    Of regions it is the median, as these differ; elsewhere the largest.
    """
    if variances(1, np.empty(0, np.uint64)) is None:
        return None
    key, found = keys_of_domain(grid), []
    for stride in _strides(grid):
        block = np.unique(key // np.uint64(stride))
        variance = variances(stride, block)
        assert variance is not None  # as of single cells
        middle = largest = float(np.sqrt(variance.max()))
        cells = min(stride, grid.size)
        if not grid.order.follows_map:
            cells = int(np.median(cells_of_box(grid, block, stride)))
            middle = float(np.sqrt(np.median(variance)))
        found.append(BlockError(cells, middle, largest))
    return tuple(found)


def _strides(grid: Grid) -> list[int]:
    """Keys that share their first i digits, at index i."""
    radices = grid.order.radices
    return [prod(radices[digits:]) for digits in range(len(radices) + 1)]


def _keys_of_regions(grid: Grid) -> NDArray[np.uint64]:
    """Keys of all cells of the regions, with the first label of every attribute.

    Of many pairs a part of them, evenly spread over origins and destinations.
    """
    if len(grid.places) == 1:
        return grid.domain.keys_of_ranks(np.arange(0, grid.size, prod(grid.shape[2:])))
    step = -(-grid.size // MAX_PAIRS) | 1
    return np.sort(grid.domain.keys_of_ranks(np.arange(0, grid.size, step)))


def keys_of_domain(grid: Grid) -> NDArray[np.uint64]:
    """Keys of all cells of the domain: uint64[size]."""
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    return grid.order.encode(index[:, grid.contains(index)])


def cell_errors(variances: Variances, key: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return standard error of cells, wherever they lie in the domain: float64[n].

    ``key`` is uint64[n].
    """
    found = np.empty(key.size)
    for start in range(0, key.size, CHUNK):
        part = slice(start, start + CHUNK)
        own = variances(1, key[part])
        assert own is not None  # whoever has errors of blocks has them of cells
        found[part] = np.sqrt(own)
    return found


Variances = Callable[[int, NDArray[np.uint64]], NDArray[np.float64] | None]
"""Variances of sums over the cells of blocks of keys: ``Mechanism.variances_of`` of a release.

Takes the keys that a block covers and numbers of blocks, and tells None where there is no closed
form for them.
"""


def _children(
    node: NDArray[np.uint64], fanout: int, stride: int, grid: Grid
) -> NDArray[np.float64]:
    """Children of nodes that overlap the domain, of ``stride`` keys each: float64[n]."""
    once, back = np.unique(node, return_inverse=True)
    return possible_children(grid, once, fanout, stride)[back]
