"""The refinement of Terada et al. (2015): sparse in blocks (T2), and dense (T1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kernels import haar, tree
from geodp.kernels import topdown as kernels
from geodp.kernels.noise import LEVELS
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.parallel import concat, partition
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, expose
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import LARGEST_DENSE, Cells, CountTable
from geodp.typing import KeyedCounts

ROOT = np.array([1], np.uint64)

BLOCK = kernels.BLOCK
"""Most nodes that are refined together: they and their noise stay in the cache."""

PIECE = 1 << 16
"""Cells that are put out at once, beside those of one block."""

FEW_SPLIT = 1 << 18
"""Nodes, about, up to which one thread has split them before several have begun."""


@dataclass(frozen=True)
class RefinementNoise:
    """The two noises of one run: of the total, and of every node's detail."""

    total: NodeNoise
    detail: NodeNoise

    @classmethod
    def of(cls, event: Measurement, key: NoiseKey) -> RefinementNoise:
        """Both of the event's scale, in streams of their own."""
        law = event.law()
        return cls(
            NodeNoise(key, Stream.TOPDOWN_TOTAL, law), NodeNoise(key, Stream.TOPDOWN_DETAIL, law)
        )

    def refined_total(self, total: int) -> int:
        """``max(S(root) + noise, 0)``."""
        drawn, _ = self.total.at(ROOT, 0, 0)
        return max(total + int(drawn[0]), 0)


Nodes = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Prefixes of nodes of one level, in key order, and their refined sums, all above 0."""


Desk = tuple[kernels.Stack, kernels.RefinementWorkspace, NDArray[np.int64]]
"""What one thread works on; the last is for nodes that are put out."""


@dataclass(frozen=True, eq=False)
class RefinementRun:
    """What a refinement looks up, and how it goes on; it keeps the desks of finished descents."""

    table: Cells
    noise: NodeNoise
    desks: list[Desk] = field(default_factory=list)

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Prefix sums of the counts."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.table.count)])

    @property
    def bits(self) -> int:
        """The level of the cells."""
        return self.table.grid.bits

    def next(self, level: int) -> int:
        """Return the level below on which blocks of noise start."""
        return level + ((self.bits - level) % LEVELS or LEVELS)

    def root(self, noise: RefinementNoise) -> Nodes:
        """Return the root with its refined total; no node where that is 0."""
        total = np.array([noise.refined_total(int(self.cumulative[-1]))])
        return np.zeros(1, np.int64)[total > 0], total[total > 0]

    def below(self, nodes: Nodes, level: int, last: int) -> tuple[Nodes, int]:
        """Nodes above 0 of a lower level, and the number of nodes split on the way.

        Parameters
        ----------
        level, last : int
            Of the nodes and of the result; blocks of noise start at both.
        """
        if level == last:
            return nodes, 0
        with expose(self.noise.key, self.noise.source) as words:
            parts, visited = self._below(nodes, level, last, words)
        return concat(parts or [nodes]), visited

    def _below(
        self, nodes: Nodes, level: int, last: int, words: NDArray[np.uint32]
    ) -> tuple[list[Nodes], int]:
        stack, room, out = self._desk(level, last)
        tree, noise = self._looked_up, kernels.NoiseStreams(words, np.uint32(self.noise.stream))
        done: list[Nodes] = []
        visited, most = 0, stack.nodes.shape[2]
        for first in range(0, nodes[0].size, most):
            self._push(stack, *(row[first : first + most] for row in nodes))
            while stack.fill[:, kernels.NODE].tolist() != stack.fill[:, kernels.NODES].tolist():
                written, split, _, undecided = kernels.descend(stack, BLOCK, room, tree, noise, out)
                visited += split
                done.append((out[0, 0, :written].copy(), out[0, 1, :written].copy()))
                if undecided:
                    node = np.array([undecided], np.uint64)
                    drawn, _ = self.noise.at(node, undecided.bit_length() - 1, self.bits)
                    known = np.append(tree.known, [[undecided], drawn], axis=1)
                    tree = tree._replace(known=known)
        self.desks.append((stack, room, out))
        return done, visited

    @cached_property
    def _looked_up(self) -> kernels.RefinementTables:
        domain, nobody = self.table.grid.domain_tests(), np.empty((2, 0), np.int64)
        law = self.noise.law
        return kernels.RefinementTables(self.table.key, self.cumulative, *domain, law.table, nobody)

    def _desk(self, level: int, last: int) -> Desk:
        """Return what a descent works on: one that is free, or a new one."""
        levels = [level]
        while levels[-1] < last:
            levels.append(self.next(levels[-1]))
        rows = len(levels) - 1
        try:
            stack, room, out = self.desks.pop()
        except IndexError:
            most = kernels.MOST + 1
            every = -(-self.bits // LEVELS)
            nodes, data = (np.empty((every, n, most), np.int64) for n in (2, 3))
            fill = np.zeros((0, 4), np.int64)
            stack = kernels.Stack(np.zeros(1, np.int64), nodes, data, fill)
            room, out = _room(), np.empty((1, 2, PIECE + most), np.int64)
        fill = np.zeros((rows, 4), np.int64)
        return kernels.Stack(np.array(levels), stack.nodes, stack.data, fill), room, out

    def _push(
        self, stack: kernels.Stack, prefix: NDArray[np.int64], total: NDArray[np.int64]
    ) -> None:
        """Nodes, and those of them that hold data, into the first row of a stack."""
        height = np.uint64(self.bits - int(stack.level[0]))
        first = prefix.view(np.uint64) << height
        start = np.searchsorted(self.table.key, first)
        after = first + ((np.uint64(1) << height) - np.uint64(1))
        stop = np.searchsorted(self.table.key, after, "right")
        at = np.flatnonzero(start < stop)
        for row, values in enumerate((prefix, total)):
            stack.nodes[0, row, : values.size] = values
        for row, values in enumerate((at, start[at], stop[at])):
            stack.data[0, row, : values.size] = values
        stack.fill[0] = prefix.size, at.size, 0, 0


def _room() -> kernels.RefinementWorkspace:
    most = kernels.MOST // 2 + 1
    return kernels.RefinementWorkspace(
        np.empty(kernels.BLOCK, np.int64),
        np.empty(16 * kernels.BLOCK, np.uint32),
        np.empty((2, most), np.int64),
        np.empty((2, most), np.uint32),
        np.empty((2, 3, most), np.int64),
        np.empty(most, np.uint32),
        np.empty(most, np.int64),
        np.empty(most, np.int32),
        *np.empty((3, most), np.int64),
    )


def refine(
    table: CountTable, noise: RefinementNoise, parts: int = 0, threads: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """T2: refine from the root down, visiting only nodes that hold somebody.

    The sum of a node is a difference of two prefix sums over the sorted keys, so no Haar
    coefficient is stored. Blocks of nodes are refined depth first, four levels at a time: they
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
    tree = RefinementRun(table, noise.detail)
    top, level, visited = tree.root(noise), 0, 0
    few = min(1 << grid.bits, table.key.size * grid.bits) <= FEW_SPLIT
    alone = not parts and (few or parallel.processors(threads) == 1)
    if alone:
        top, visited = tree.below(top, 0, grid.bits)
        level = grid.bits
    while level < grid.bits and 0 < top[0].size < parallel.MANY:
        last = tree.next(level)
        while last < min(grid.bits, parallel.MANY.bit_length()):  # above, there cannot be many
            last = tree.next(last)
        top, split = tree.below(top, level, last)
        level, visited = last, visited + split

    found: list[int] = []

    def finished(run: slice) -> Nodes:
        cells, split = tree.below((top[0][run], top[1][run]), level, grid.bits)
        found.append(split)
        return cells

    runs = 1 if alone else parallel.count_runs(top[1].size, threads)
    cuts = partition(top[1], parts or runs)
    key, count = concat(parallel.map_items(finished, cuts, threads))
    return key.view(np.uint64), count, visited + sum(found)


@dataclass(frozen=True)
class Halving:
    """Some levels of ``topdown``, for made-up people; the trees stand under more of its levels."""

    law: Law

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of so many trees."""
        streams = (Stream.TOPDOWN_TOTAL, Stream.TOPDOWN_DETAIL)
        noise = RefinementNoise(*(NodeNoise(key, stream, self.law) for stream in streams))
        cells, counts, _ = refine(table, noise, threads=1)
        return cells, counts


def refine_dense(table: CountTable, noise: RefinementNoise) -> NDArray[np.int64]:
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
        drawn[here], rounding[here] = noise.detail.at(node, level, grid.bits)
        prefix = np.arange(1 << level)
        height = grid.bits - level
        tree.branches(prefix, height, masks[level], limits[level], domain, branch[here])
    sums[1] = noise.refined_total(int(sums[1]))
    haar.refine_dense(sums[1], detail, drawn, rounding, branch)
    haar.inverse_dense(detail, sums)
    return sums[n:].copy()


def binary(grid: Grid) -> Grid:
    """Return the grid, or raise UsageError."""
    if (refusal := grid.order.why_no_halves("topdown")) is not None:
        raise UsageError(refusal)
    return grid


def _dense_size(grid: Grid) -> int:
    if 1 << grid.bits > LARGEST_DENSE:
        raise UsageError(
            "The grid is too large for the dense form; use the sparse one.",
            code="dense-form-too-large",
        )
    return 1 << grid.bits
