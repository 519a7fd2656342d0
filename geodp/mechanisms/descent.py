"""The pyramid's two passes over the nodes that it visits, and their dense twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.mechanisms import subtrees
from geodp.mechanisms.levels import Chain
from geodp.noise import Law, NodeNoise
from geodp.noise.node import numbered
from geodp.randomness import NoiseKey, Stream
from geodp.table import Cells, CountTable
from geodp.tree import overlaps

CHILDREN = 1 << 15
"""Most nodes that are measured together: they and their noise stay in the cache."""

LARGEST_DENSE = 1 << 22
"""Most keys of a domain that the dense twin takes."""

LEAST_VARIANCE = 1e-12
"""Noise of less is as good as none; a variance of 0 is that of a child that cannot be."""


def variance_of(law: Law) -> float:
    """The variance of a measurement, above 0 even where the budget is so large that it is none."""
    return max(law.variance, LEAST_VARIANCE)


@dataclass(frozen=True, eq=False)
class Descent:
    """How to descend: the levels, their noise, and what is dropped.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Of a :class:`geodp.mechanisms.levels.Chain`.
    laws : tuple of Law
        Noise of every level.
    least : tuple of float
        Children below it are dropped.
    passes : int
        1 or 2.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    laws: tuple[Law, ...]
    least: tuple[float, ...]
    passes: int

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """Of the measurements of every level."""
        return tuple(variance_of(law) for law in self.laws)

    @classmethod
    def of(cls, chain: Chain, event: Event, prune: float, passes: int) -> Descent:
        """With an event's noise; ``prune`` in noise scales."""
        laws = tuple(event.law(share) for share in chain.shares)
        least = tuple(prune * event.width(share) for share in chain.shares)
        return cls(chain.fanouts, chain.strides, laws, least, passes)


@dataclass(eq=False)
class Level:
    """The children of some nodes, each node's side by side.

    Attributes
    ----------
    fanout : int
    z : float64[n * fanout]
        Noisy counts; with two passes later the estimates from below.
    variance : float64[n * fanout]
        Of z; 0 where the domain ends.
    uniform : float64[n]
        The parents' random numbers.
    """

    fanout: int
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    uniform: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        grid: Grid,
        above: NDArray[np.uint64],
        fanout: int,
        stride: int,
        noise: NodeNoise,
        own: float,
    ) -> Level:
        """Noise alone, below the nodes ``above``; a child covers ``stride`` keys."""
        z, uniform = noise.children(above, fanout)
        variance = np.full(z.size, own)
        if grid.size < prod(grid.order.radices):
            variance[~overlaps(grid, numbered(above, fanout), stride)] = 0
        return cls(fanout, z, variance, uniform)

    def shared(self, total: NDArray[np.int64], least: float) -> NDArray[np.int64]:
        """Counts of the children, which add up to their parents' totals."""
        members = np.full(self.uniform.size, self.fanout)
        return _shared(self.z, self.variance, members, total, self.uniform, least)


def _shared(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    members: NDArray[np.int64],
    total: NDArray[np.int64],
    uniform: NDArray[np.float64],
    least: float,
) -> NDArray[np.int64]:
    out = np.empty(z.size, np.int64)
    kernels.share(z, variance, members, total, uniform, least, out)
    return out


@dataclass(frozen=True, eq=False)
class Frontier:
    """Open nodes of a level, in key order.

    Attributes
    ----------
    prefix : uint64[n]
    span : int64[n], int64[n]
        First and one past the last of each node's data.
    count : int64[n]
        What is shared out below; empty above the root.
    """

    prefix: NDArray[np.uint64]
    span: tuple[NDArray[np.int64], NDArray[np.int64]]
    count: NDArray[np.int64]

    def piece(self, nodes: slice) -> Frontier:
        """Some neighbouring nodes."""
        first, stop = self.span
        return Frontier(self.prefix[nodes], (first[nodes], stop[nodes]), self.count[nodes])


@dataclass(frozen=True, eq=False)
class Opened:
    """What the second pass needs of the open children of a block of nodes.

    Attributes
    ----------
    members : int64[n]
        Open children of each node.
    uniform : float64[n]
        The nodes' random numbers.
    z, variance : float64[.]
        The children's best estimates; empty with one pass.
    below : list of (slice, Opened)
        Runs of the children, and what is below them.
    prefix, count : uint64[.], int64[.]
        The children, if they are cells, and their counts by the first pass; otherwise empty.
    nodes : int
        That were measured, here and below.
    """

    members: NDArray[np.int64]
    uniform: NDArray[np.float64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    below: list[tuple[slice, Opened]]
    prefix: NDArray[np.uint64]
    count: NDArray[np.int64]
    nodes: int


Found = list[tuple[NDArray[np.uint64], NDArray[np.int64]]]

Beneath = Callable[[Frontier, Level, NDArray[np.int64]], None]
"""Given the open nodes of the last level, the level, and where in it they are."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Two passes over the nodes below some roots, block by block depth first.

    A block's noise and measurements stay in the cache, and are forgotten when it is done: kept
    are the open nodes only. A node's result depends on the node alone, so neither blocks nor
    threads show.
    """

    table: Cells
    cumulative: NDArray[np.int64]
    descent: Descent
    noise: tuple[NodeNoise, ...]
    parts: int
    threads: int
    beneath: Beneath | None = None  # what improves the last level's estimates, if anything does

    @classmethod
    def of(cls, table: Cells, descent: Descent, key: NoiseKey, parts: int, threads: int) -> Walk:
        """Over counts of cells, or of nodes at the first key of each."""
        cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])
        noise = [NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws)]
        return cls(table, cumulative, descent, tuple(noise), parts, threads)

    def measured(
        self, i: int, frontier: Frontier, above: Level | None, at: NDArray[np.int64], threads: int
    ) -> Opened:
        """The first pass: measure level i under a block, and go on below counts above 0.

        With two passes the block's own estimates, at ``at`` of the level above, are improved.
        """
        descent = self.descent
        noise = self.noise[i]
        level, members, opened, frontier = _below(
            self.table, descent, i, self.cumulative, frontier, noise
        )
        last, two = i == len(descent.laws) - 1, descent.passes == 2
        below: list[tuple[slice, Opened]] = []
        if not last:

            def work(run: slice, threads: int = 1) -> list[tuple[slice, Opened]]:
                most = max(CHILDREN // descent.fanouts[i], 1)
                blocks = -(-(run.stop - run.start) // most)
                cuts = [run.start + (run.stop - run.start) * b // blocks for b in range(blocks + 1)]
                pieces = [slice(a, b) for a, b in pairwise(cuts)]
                return [
                    (p, self.measured(i + 1, frontier.piece(p), level, opened[p], threads))
                    for p in pieces
                ]

            if threads != 1 and opened.size >= subtrees.MANY:
                parts = self.parts or subtrees.PARTS * subtrees.processors(threads)
                done = subtrees.each(work, subtrees.runs(frontier.count, parts), threads)
                below = [found for part in done for found in part]
            elif opened.size:
                below = work(slice(0, opened.size), threads)
        elif self.beneath is not None:
            self.beneath(frontier, level, opened)
        if two and above is not None:
            own = descent.variances[i - 1]
            kernels.combine(level.z, level.variance, level.fanout, own, at, above.z, above.variance)
        kept, cells = opened if two else opened[:0], slice(None) if last else slice(0)
        return Opened(
            members,
            level.uniform,
            level.z[kept],
            level.variance[kept],
            below,
            frontier.prefix[cells],
            frontier.count[cells],
            level.z.size + sum(found.nodes for _, found in below),
        )

    def shared(self, i: int, block: Opened, total: NDArray[np.int64], threads: int) -> Found:
        """The second pass: share out totals of a block's nodes among the open children."""
        if self.descent.passes == 1:
            count = block.count
        elif i == 0:
            count = np.maximum(np.floor(block.z + block.uniform[block.members > 0]), 0)
            count = count.astype(np.int64)
        else:
            least = self.descent.least[i]
            count = _shared(block.z, block.variance, block.members, total, block.uniform, least)
        if block.prefix.size:
            some = count > 0
            return [(block.prefix[some], count[some])]
        many = threads != 1 and block.members.sum() >= subtrees.MANY

        def work(piece: tuple[slice, Opened]) -> Found:
            run, below = piece
            return self.shared(i + 1, below, count[run], 1 if many else threads)

        done = subtrees.each(work, block.below, threads if many else 1)
        return [cells for part in done for cells in part]

    def cells(self, roots: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
        """Both passes under roots side by side."""
        stride, nobody = np.uint64(self.descent.strides[0]), np.zeros(roots.size, np.int64)
        stop = np.searchsorted(self.table.key, roots * stride + (stride - np.uint64(1)), "right")
        start = Frontier(roots, (np.concatenate([[0], stop[:-1]]), stop), nobody)
        root = self.measured(0, start, None, nobody, self.threads)
        cells = self.shared(0, root, nobody, self.threads) or [(root.prefix, root.count)]
        keys, counts = zip(*cells, strict=True)
        return np.concatenate(keys), np.concatenate(counts), root.nodes


def refined(
    table: CountTable, descent: Descent, key: NoiseKey, parts: int = 0, threads: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Runs of subtrees that are worked on side by side, where there are many nodes; 0: some for
        every thread.
    threads : int
        0: one for every processor.
    """
    return descended(table, descent, key, np.zeros(1, np.uint64), parts, threads)


def descended(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    roots: NDArray[np.uint64],
    parts: int = 0,
    threads: int = 0,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """The same under several roots side by side: each has ``strides[0]`` keys."""
    return Walk.of(table, descent, key, parts, threads).cells(roots)


def _below(
    table: Cells,
    descent: Descent,
    i: int,
    cumulative: NDArray[np.int64],
    frontier: Frontier,
    noise: NodeNoise,
) -> tuple[Level, NDArray[np.int64], NDArray[np.int64], Frontier]:
    """Level i, measured under a frontier; its open nodes, by node and all, as the next frontier."""
    fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
    level = Level.of(table.grid, frontier.prefix, fanout, stride, noise, descent.variances[i])
    start = np.empty(level.z.size, np.int64)
    span, step = frontier.span, np.uint64(stride)
    kernels.measure(frontier.prefix, step, fanout, span, table.key, cumulative, start, level.z)
    if i:
        shared = level.shared(frontier.count, descent.least[i])
    else:
        shared = np.maximum(level.z, 0).astype(np.int64)
    members = np.empty(frontier.prefix.size, np.int64)
    place, prefix, first, after, count = kernels.opened(
        frontier.prefix, fanout, span[1], start, shared, members
    )
    return level, members, place, Frontier(prefix, (first, after), count)


def dense(table: CountTable, descent: Descent, key: NoiseKey) -> NDArray[np.int64]:
    """All nodes of all levels: bit for bit the counts of :func:`refined`.

    Returns
    -------
    int64[keys]
        In key order. Raises UsageError for more than 2**22 keys.
    """
    n = descent.strides[0]
    if n > LARGEST_DENSE:
        raise UsageError("The grid is too large for the dense form; use the sparse one.")
    truth = np.zeros(n, np.int64)
    truth[table.key.astype(np.int64)] = table.count
    levels = [
        _every(table.grid, truth, descent, i, NodeNoise(key, Stream.PYRAMID + i, law))
        for i, law in enumerate(descent.laws)
    ]
    held = np.maximum(levels[0].z, 0).astype(np.int64)
    opened = [held > 0]
    for level, few in zip(levels[1:], descent.least[1:], strict=True):
        held = level.shared(held, few)
        opened.append(held > 0)
    if descent.passes == 1:
        return held
    for i in range(len(levels) - 2, -1, -1):
        above, level = levels[i], levels[i + 1]
        at = np.arange(above.z.size)
        z, variance = above.z.copy(), above.variance.copy()
        own = descent.variances[i]
        kernels.combine(level.z, level.variance, level.fanout, own, at, z, variance)
        above.z = np.where(opened[i], z, above.z)
        above.variance = np.where(opened[i], variance, above.variance)
    held = np.where(
        opened[0], np.maximum(np.floor(levels[0].z + levels[0].uniform), 0).astype(np.int64), 0
    )
    for level, some, few in zip(levels[1:], opened[1:], descent.least[1:], strict=True):
        level.variance = np.where(some, level.variance, 0.0)
        held = level.shared(held, few)
    return held


def _every(
    grid: Grid, truth: NDArray[np.int64], descent: Descent, i: int, noise: NodeNoise
) -> Level:
    """All nodes of level i."""
    fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
    above = np.arange(truth.size // (stride * fanout), dtype=np.uint64)
    level = Level.of(grid, above, fanout, stride, noise, descent.variances[i])
    level.z += truth.reshape(-1, stride).sum(axis=1)
    return level
