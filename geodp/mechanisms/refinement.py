"""The refinement of Terada et al. (2015): sparse in blocks (T2), dense (T1), and continuous."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.kernels import haar, tree
from geodp.kernels import topdown as kernels
from geodp.mechanisms import subtrees
from geodp.mechanisms.subtrees import runs
from geodp.noise import NodeNoise
from geodp.randomness import NoiseKey, Stream, blocks
from geodp.table import LARGEST_DENSE, Cells, CountTable

ROOT = np.array([1], np.uint64)

BLOCK = 1 << 13
"""Most nodes that are refined together: they and their noise stay in the cache."""

REFUSAL = "topdown needs a grid whose order splits every node in two."


@dataclass(frozen=True)
class Noise:
    """The two noises of one run: of the total, and of every node's detail."""

    total: NodeNoise
    detail: NodeNoise

    @classmethod
    def of(cls, event: Event, key: NoiseKey) -> Noise:
        """Both of the event's scale, in streams of their own."""
        law = event.law()
        return cls(
            NodeNoise(key, Stream.TOPDOWN_TOTAL, law), NodeNoise(key, Stream.TOPDOWN_DETAIL, law)
        )

    def refined_total(self, total: int) -> int:
        """``max(S(root) + noise, 0)``."""
        drawn, _ = self.total.at(ROOT, 0)
        return max(total + int(drawn[0]), 0)


@dataclass(frozen=True, eq=False)
class Block:
    """Nodes of one level that hold somebody, in key order, and their data.

    Attributes
    ----------
    level : int
    prefix, total : int64[n]
    data : three int64[d]
        Of the nodes that hold data: index in ``prefix``; first and one past the last of them.
    """

    level: int
    prefix: NDArray[np.int64]
    total: NDArray[np.int64]
    data: kernels.Three

    def cut(self, run: slice) -> Block:
        """Some neighbouring nodes."""
        a, b = np.searchsorted(self.data[0], [run.start, run.stop])
        at, start, stop = (row[a:b] for row in self.data)
        return Block(self.level, self.prefix[run], self.total[run], (at - run.start, start, stop))


@dataclass(frozen=True, eq=False)
class Tree:
    """What a refinement looks up, and how it goes on."""

    table: tuple[NDArray[np.uint64], NDArray[np.int64]]
    domain: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
    noise: NodeNoise

    @classmethod
    def of(cls, table: Cells, noise: Noise) -> Tree:
        """The tree over counts of cells, or of nodes at the first key of each."""
        cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])
        return cls((table.key, cumulative), table.grid.domain_tests(), noise.detail)

    def root(self, noise: Noise) -> Block:
        """The root with its refined total; no node where that is 0."""
        key, cumulative = self.table
        total = noise.refined_total(int(cumulative[-1]))
        zero = np.zeros(min(total, 1), np.int64)
        start = zero[: key.size]
        return Block(0, zero, zero + total, (start, start, start + key.size))

    def below(self, block: Block) -> tuple[Block, int]:
        """Children above 0 of the children's children, and the number of nodes split."""
        node = (block.prefix | 1 << block.level).view(np.uint64)
        words, law = self.noise.blocks(node), (self.noise.law.threshold, self.noise.law.guide)
        nodes = block.prefix, block.total, np.arange(node.size)
        known, undecided = np.empty((2, 0), np.int64), -1
        while undecided:
            nodes_below, data, visited, undecided = kernels.descend(
                nodes, block.data, block.level, words, self.table, self.domain, law, known
            )
            if undecided:
                drawn, _ = self.noise.at(
                    np.array([undecided], np.uint64), undecided.bit_length() - 1
                )
                known = np.append(known, [[undecided], drawn], axis=1)
        level = min(block.level + 3, self.domain[0].size)
        return Block(level, nodes_below[0], nodes_below[1], data), visited

    def cells(self, block: Block) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Keys and counts of the cells below nodes, block by block depth first."""
        stack, keys, counts, visited = [block], [], [], 0
        while stack:
            block = stack.pop()
            if block.level == self.domain[0].size:
                keys.append(block.prefix)
                counts.append(block.total)
            elif block.prefix.size > BLOCK:
                even = runs(np.ones_like(block.prefix), -(-block.prefix.size // BLOCK))
                stack += [block.cut(run) for run in reversed(even)]
            else:
                block, split = self.below(block)
                visited += split
                stack.append(block)
        return np.concatenate(keys), np.concatenate(counts), visited


def refine(
    table: CountTable, noise: Noise, parts: int = 0, threads: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """T2: refine from the root down, visiting only nodes that hold somebody.

    The sum of a node is a difference of two prefix sums over the sorted keys, so no Haar
    coefficient is stored. Blocks of nodes are refined depth first, three levels at a time: they
    stay in the cache, and memory is that of the output.

    Parameters
    ----------
    parts : int
        Runs of subtrees that are worked on by themselves, where there are many nodes; 0: some for
        every thread. A node's noise depends on the node alone, so they do not show.
    threads : int
        0: one for every processor.

    Returns
    -------
    key : uint64[m+], count : int64[m+]
        The refined cells above 0, in key order.
    visited : int
        Nodes that were split.
    """
    grid = binary(table.grid)
    tree = Tree.of(table, noise)
    top = tree.root(noise)
    visited = 0
    while top.level < grid.bits and 0 < top.prefix.size < subtrees.MANY:
        top, split = tree.below(top)
        visited += split
    cuts = runs(top.total, parts or subtrees.PARTS * subtrees.processors(threads))
    done = subtrees.each(tree.cells, [top.cut(run) for run in cuts], threads)
    keys, counts, splits = zip(*done, strict=True)
    key = np.concatenate(keys).view(np.uint64)
    return key, np.concatenate(counts), visited + sum(splits)


def refine_dense(table: CountTable, noise: Noise) -> NDArray[np.int64]:
    """T1, the dense form in three passes, ``O(n)``: bit for bit the result of :func:`refine`.

    Returns
    -------
    int64[2**bits]
        Counts in key order. Raises UsageError for more than 2**28 keys.
    """
    grid = binary(table.grid)
    n = _dense_size(grid)
    sums = np.zeros(2 * n, np.int64)
    sums[n + table.key.astype(np.int64)] = table.count
    detail = np.zeros(n, np.int64)
    haar.forward_dense(sums, detail)
    drawn, rounding = np.zeros(n, np.int64), np.zeros(n, np.int64)
    branch = np.zeros(n, np.int64)
    masks, limits, domain = grid.domain_tests()
    for level in range(grid.bits):
        here = slice(1 << level, 2 << level)
        node = np.arange(1 << level, 2 << level, dtype=np.uint64)
        drawn[here], rounding[here] = noise.detail.at(node, level)
        prefix = np.arange(1 << level)
        height = grid.bits - level
        tree.branches(prefix, height, masks[level], limits[level], domain, branch[here])
    sums[1] = noise.refined_total(int(sums[1]))
    kernels.refine_dense(sums[1], detail, drawn, rounding, branch)
    haar.inverse_dense(detail, sums)
    return sums[n:].copy()


def refine_continuous(table: CountTable, scale: float, key: NoiseKey) -> NDArray[np.float64]:
    """The paper's own form on real numbers, dense: for reproducing its figures only.

    Laplace noise by the inverse distribution function in floating point. It is NOT hardened
    against the leak of floating-point noise (Mironov 2012): never publish its result.

    Parameters
    ----------
    table : CountTable
        On a grid that fills its keys: all sizes powers of two, no mask.
    scale : float
    key : NoiseKey

    Returns
    -------
    float64[2**bits]
        Refined counts in key order, not negative.
    """
    grid = binary(table.grid)
    n = _dense_size(grid)
    if grid.size != n:
        raise UsageError("The continuous form needs axes whose sizes are powers of two.")
    leaves = np.zeros(n)
    leaves[table.key.astype(np.int64)] = table.count
    levels = [leaves]
    while levels[-1].size > 1:
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    refined = np.maximum(levels.pop() + _continuous(key, np.array([0]), scale), 0)
    for sums in reversed(levels):
        halves = sums.reshape(-1, 2)
        node = np.arange(refined.size) + refined.size
        detail = halves[:, 0] - halves[:, 1] + _continuous(key, node, scale)
        detail = np.clip(detail, -refined, refined)
        refined = np.stack([refined + detail, refined - detail], axis=1).reshape(-1) / 2
    return refined


def _continuous(key: NoiseKey, node: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Laplace noise of nodes by the inverse distribution function at 52-bit midpoints."""
    word = blocks(key, Stream.CONTINUOUS, node.astype(np.uint64))[0]
    uniform = ((word >> np.uint64(12)).astype(np.float64) + 0.5) / 2.0**52 - 0.5
    noise: NDArray[np.float64] = -scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
    return noise


def binary(grid: Grid) -> Grid:
    """The grid, or UsageError."""
    if not grid.order.is_binary:
        raise UsageError(REFUSAL)
    return grid


def _dense_size(grid: Grid) -> int:
    if 1 << grid.bits > LARGEST_DENSE:
        raise UsageError("The grid is too large for the dense form; use the sparse one.")
    return 1 << grid.bits
