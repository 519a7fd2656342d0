"""Trees of noisy counts: measuring every node, least squares, and the errors of estimates.

All nodes of a level have the same number of children and the same noise, so two linear passes
give the least-squares estimate (Hay et al. 2010, theorem 3; with another variance on every
level Cormode et al. 2012, section 5): from the leaves up, a node's noisy count is averaged with
the sum of its children by inverse variances; from the root down, the difference between a node's
estimate and its children's sum is divided equally among the children.

The error of any sum of leaves is that of :class:`geodp.accuracy.variance.TreeVariance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance, from_below
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism
from geodp.mechanisms.measure import add_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.typing import FloatArray, IntArray

MAX_UNALIGNED = 1 << 20
"""Most keys for which the variances of blocks that cut through nodes are computed."""


@dataclass(frozen=True)
class EvenTree:
    """A tree whose levels split evenly, with the noise of its levels.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of the levels 0 (the root) to h - 1.
    variances : tuple of float
        Noise variance of a node of the levels 0 to h; ``math.inf`` if nothing is measured.

    Examples
    --------
    >>> tree = EvenTree((2,), (2.0, 2.0))
    >>> root, leaves = tree.estimate([np.array([10.0]), np.array([3.0, 4.0])])
    >>> root.tolist(), leaves.tolist()
    ([9.0], [4.0, 5.0])
    """

    fanouts: tuple[int, ...]
    variances: tuple[float, ...]

    def noisy(
        self, leaves: IntArray, scales: Sequence[Fraction], key: NoiseKey
    ) -> list[IntArray | None]:
        """Measure all nodes of all measured levels, with discrete Laplace noise.

        Parameters
        ----------
        leaves : int64[product of the fanouts]
        scales : sequence of Fraction
            Noise scale of every level; not read if nothing is measured.
        key : NoiseKey
            Level j is stage j, and its nodes are numbered in order.
        """
        # Sums are integers, and each level's noise is added to its own sums: exact until then.
        measured_levels: list[IntArray | None] = []
        counts = leaves
        for level in range(len(self.fanouts), -1, -1):
            measured = self.variances[level] < inf
            measured_levels.append(
                add_noise(counts, key, level, scales[level]) if measured else None
            )
            if level:
                counts = sums_of_runs(counts, self.fanouts[level - 1])
        return measured_levels[::-1]

    def estimate(self, noisy: Sequence[Any]) -> list[FloatArray]:
        """Compute consistent least-squares estimates of all nodes, level by level.

        Parameters
        ----------
        noisy : sequence of arrays
            Noisy counts of the levels 0 to h; None if nothing was measured.
        """
        best = self.best().variances
        means = [np.asarray(noisy[-1], np.float64).copy()]
        sums: list[FloatArray] = []
        for level in range(len(self.fanouts) - 1, -1, -1):
            total = sums_of_runs(means[0], self.fanouts[level])
            if (counts := noisy[level]) is None:
                means.insert(0, total.copy())
            else:
                weight = best[level] / self.variances[level]
                means.insert(0, total + weight * (counts - total))
            sums.insert(0, total)
        for level, fanout in enumerate(self.fanouts):
            missing = (means[level] - sums[level]) / fanout
            means[level + 1].reshape(-1, fanout)[:] += missing[:, None]
        return means

    def best(self) -> TreeVariance:
        """Return the tree with the variances of the estimates."""
        return TreeVariance(self.fanouts, from_below(self.fanouts, self.variances))


class TreeMechanism(Mechanism):
    """A method whose errors are those of its tree over the keys: None where that is None."""

    def variances(self, grid: Grid, event: Measurement) -> FloatArray | None:
        """Compute exact variances of blocks, which may be nodes, parts or runs of nodes.

        None on more than 2**20 keys if a node's children are not a power of 2.
        """
        tree = self.tree_variance(grid, event)
        return None if tree is None else block_variances(tree, grid.bits, inside(grid))

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> FloatArray | None:
        """Compute exact variances; None on more than 2**20 keys."""
        tree = self.tree_variance(grid, event)
        return None if tree is None else run_variances(tree, grid, stride, block)


def sums_of_runs(values: Any, length: int) -> Any:
    """Sum consecutive runs of a one-dimensional array, in its type."""
    if length > 16:
        return values.reshape(-1, length).sum(axis=1)
    # Strided additions are much faster than NumPy's sum over a short axis.
    total = values[::length].copy()
    for i in range(1, length):
        total += values[i::length]
    return total


def inside(grid: Grid) -> NDArray[np.bool_] | None:
    """Find which of all ``2**bits`` keys are cells of the domain; None if all are."""
    n = 1 << grid.bits
    return None if grid.size == n else grid.contains_keys(np.arange(n, dtype=np.uint64))


def axis_bits(grid: Grid) -> tuple[int, ...]:
    """Return the number of bits of every axis in the key of a binary order."""
    return tuple(grid.order.axes.count(axis) for axis in range(len(grid.shape)))


def depths(grid: Grid) -> list[tuple[int, ...]]:
    """Return how often each axis has been halved, for every level of a binary order."""
    axes = grid.order.axes
    return [
        tuple(axes[:level].count(axis) for axis in range(len(grid.shape)))
        for level in range(len(axes) + 1)
    ]


def block_variances(
    tree: TreeVariance, bits: int, domain: NDArray[np.bool_] | None
) -> FloatArray | None:
    """Compute the largest variance of a block of ``2**(bits - i)`` keys, at index i.

    Only the cells of the domain are released, so blocks at the domain's edge differ from complete
    ones.

    Parameters
    ----------
    tree : TreeVariance
        Its first leaf is key 0; it may have more leaves than there are keys.
    bits : int
    domain : bool[2**bits], optional
        From :func:`inside`.

    Returns
    -------
    float64[bits + 1], or None
        None if blocks cut through nodes and there are too many of them.
    """
    widths = widths_of(tree.fanouts)
    if any(width & (width - 1) for width in widths):
        if 1 << bits > MAX_UNALIGNED:
            return None
        held = np.ones(1 << bits, np.bool_) if domain is None else domain
        sizes = [(i,) for i in range(bits + 1)]
        return unaligned_variances(tree, [prefix_sums(held)], [widths], sizes)
    if domain is None:
        return tree.blocks()[-bits - 1 :]
    count, below = domain.astype(np.float64), np.zeros(domain.size)
    largest = []
    # From cells upwards: a block's cells are counted once, and each level either lies inside blocks
    # or contains them.
    for shift in range(bits + 1):  # `below` is the part of the levels whose nodes lie in a block
        size = 1 << shift
        if shift:
            count, below = count[::2] + count[1::2], below[::2] + below[1::2]
        above = 0.0
        for width, factor in zip(widths, _factors(tree), strict=True):
            if width == size:
                below = below + factor * (count / size) ** 2
            elif width > size:
                above += factor / width**2
        largest.append(float((below + above * count**2).max()))
    return np.array(largest[::-1])


def widths_of(fanouts: Sequence[int]) -> list[int]:
    """Return the number of leaves under a node of every level."""
    return [prod(fanouts[level:]) for level in range(len(fanouts) + 1)]


def _factors(tree: TreeVariance) -> list[float]:
    """Return each level's factor in the variance of a sum of leaves."""
    # Children share their mean error with the parent, so a set's variance is a sum over levels of
    # factor times sum of (fraction of a node)**2, with V of the level minus fanout times V below.
    above = [f * v for f, v in zip(tree.fanouts, tree.variances[1:], strict=True)]
    return [v - a for v, a in zip(tree.variances, [*above, 0.0], strict=True)]


def prefix_sums(held: FloatArray | NDArray[np.bool_]) -> FloatArray:
    """Count the cells of the domain before every key, and in all: float64[n + 1]."""
    return np.concatenate([np.zeros(1), np.cumsum(held)])


def unaligned_variances(
    tree: TreeVariance,
    prefixes: Sequence[FloatArray],
    widths: Sequence[Sequence[int]],
    depths: Sequence[tuple[int, ...]],
) -> FloatArray:
    """Compute the largest variances of boxes, if blocks and nodes are both products of runs on
    axes.

    Parameters
    ----------
    tree : TreeVariance
    prefixes : sequence of float64[2**bits + 1]
        For every axis, from :func:`prefix_sums`.
    widths : sequence of sequences of int
        For every axis, the length of a node of every level.
    depths : sequence of tuple of int
        For every result, how often every axis has been halved.
    """
    largest = []
    for depth in depths:
        total: Any = 0.0
        for level, factor in enumerate(_factors(tree)):
            squares: Any = np.ones(1)
            for prefix, lengths, halvings in zip(prefixes, widths, depth, strict=True):
                start = np.arange(0, prefix.size - 1, (prefix.size - 1) >> halvings)
                stop = np.append(start[1:], prefix.size - 1)
                squares = np.multiply.outer(squares, _squares(prefix, start, stop, lengths[level]))
            total = total + factor * squares
        largest.append(float(np.max(total)))
    return np.array(largest)


def run_variances(
    tree: TreeVariance, grid: Grid, stride: int, block: NDArray[np.uint64]
) -> FloatArray | None:
    """Compute the variances of sums over the domain's cells in blocks of ``stride`` keys:
    float64[n].

    Blocks may cut through nodes and contain parts of several; None on more than 2**20 keys.

    Parameters
    ----------
    tree : TreeVariance
        See :func:`block_variances`.
    grid : Grid
        In any order.
    stride : int
    block : uint64[n]
        Block b covers the keys from ``b * stride`` on.
    """
    keys = 1 << grid.bits
    if keys > MAX_UNALIGNED:
        return None
    domain = inside(grid)
    prefix = prefix_sums(np.ones(keys, np.bool_) if domain is None else domain)
    start = block.astype(np.int64) * stride
    stop = np.minimum(start + stride, keys)
    variances = np.zeros(block.size)
    for width, factor in zip(widths_of(tree.fanouts), _factors(tree), strict=True):
        variances += factor * _squares(prefix, start, stop, width)
    return variances


def box_variances(
    tree: TreeVariance,
    splits: Sequence[Sequence[int]],
    grid: Grid,
    stride: int,
    block: NDArray[np.uint64],
) -> FloatArray | None:
    """Compute the variances of blocks if the tree's nodes are boxes of cells, for any order of
    keys.

    Parameters
    ----------
    tree : TreeVariance
    splits : sequence of sequences of int
        Parts of a node along every axis, level by level.
    grid, stride, block
        See :func:`run_variances`.
    """
    if prod(grid.shape) > MAX_UNALIGNED:
        return None
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    index = index[:, grid.contains(index)]
    key_block = grid.order.encode(index) // np.uint64(stride)
    which = np.minimum(np.searchsorted(block, key_block), max(block.size - 1, 0))
    wanted = block[which] == key_block if block.size else np.zeros(key_block.size, np.bool_)
    index, which = index[:, wanted], which[wanted]
    widths = [widths_of([level[axis] for level in splits]) for axis in range(len(grid.shape))]
    variances = np.zeros(block.size)
    for level, factor in enumerate(_factors(tree)):
        sides = [lengths[level] for lengths in widths]
        parts = [lengths[0] // side for lengths, side in zip(widths, sides, strict=True)]
        node = np.ravel_multi_index([i // s for i, s in zip(index, sides, strict=True)], parts)
        # How many cells of each block lie in each node, counted as pairs.
        pair, held = np.unique(which * prod(parts) + node, return_counts=True)
        squares = (held / prod(sides)) ** 2
        variances += factor * np.bincount(pair // prod(parts), squares, block.size)
    return variances


def _squares(prefix: FloatArray, start: IntArray, stop: IntArray, width: int) -> FloatArray:
    """Compute, for every run of keys, the sum over nodes of (its cells there / width)**2."""
    first, last = -(-start // width), stop // width  # nodes first to last - 1 lie inside
    within = first > last  # the run lies inside one node
    inside_squares = prefix_sums(np.diff(prefix[::width]) ** 2)
    middle = inside_squares[last] - inside_squares[np.minimum(first, last)]
    head = prefix[np.minimum(first * width, stop)] - prefix[start]
    tail = np.where(within, 0.0, prefix[stop] - prefix[last * width])
    return np.asarray((head**2 + middle + tail**2) / width**2, np.float64)


CONSISTENT = (
    "Consistency: noisy counts of all nodes are averaged by least squares; unbiased, and every "
    "node's count is the sum of its children."
)


def without_negatives(levels: list[FloatArray], fanouts: tuple[int, ...]) -> FloatArray:
    """Return the leaves, set to 0 if the leaf or a node above it is estimated at 0 or below."""
    positive = levels[0] > 0
    for level, fanout in zip(levels[1:], fanouts, strict=True):
        positive = np.repeat(positive, fanout) & (level > 0)
    return np.where(positive, levels[-1], 0.0)
