"""The pyramid's two passes over the nodes that it visits, and their dense twin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.mechanisms.frontier import Data, Frontier, Level
from geodp.mechanisms.levels import Chain
from geodp.noise import Law, NodeNoise
from geodp.noise.node import SLOTS
from geodp.randomness import NoiseKey, Stream
from geodp.table import CountTable
from geodp.tree import overlaps

MANY = 1 << 16
"""Children of a level from which on its pieces are worked on side by side."""

LARGEST_DENSE = 1 << 22
"""Most keys of a domain that the dense twin takes."""

LEAST_VARIANCE = 1e-12
"""Noise of less is as good as none; a variance of 0 is that of a child that cannot be."""

T = TypeVar("T")


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

    @classmethod
    def of(cls, chain: Chain, event: Event, prune: float, passes: int) -> Descent:
        """With an event's noise; ``prune`` in noise scales."""
        laws = tuple(event.law(share) for share in chain.shares)
        least = tuple(prune * event.width(share) for share in chain.shares)
        return cls(chain.fanouts, chain.strides, laws, least, passes)


@dataclass(frozen=True)
class Pieces:
    """Into how many runs of nodes the work on every level is cut.

    A node's result depends on the node alone, so the cuts and the threads do not show.

    Attributes
    ----------
    parts : int
        0: as many as there are processors, where a level has many children.
    """

    parts: int = 0

    def of(self, nodes: int, fanout: int) -> list[slice]:
        """Runs of nodes, none empty but a lone one."""
        many = nodes * fanout >= MANY
        parts = self.parts or ((os.cpu_count() or 1) if many else 1)
        ends = [nodes * i // parts for i in range(parts + 1)]
        return [slice(a, b) for a, b in pairwise(ends) if b > a] or [slice(0, nodes)]

    def each(self, work: Callable[[slice], T], nodes: int, fanout: int) -> list[T]:
        """Results of some work on every run, in order."""
        runs = self.of(nodes, fanout)
        if len(runs) == 1 or nodes * fanout < MANY:
            return [work(run) for run in runs]
        with ThreadPoolExecutor(min(len(runs), os.cpu_count() or 1)) as pool:
            return list(pool.map(work, runs))


def refined(
    table: CountTable, descent: Descent, key: NoiseKey, parts: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Runs of nodes that every level is cut into; 0: a run for every processor.
    """
    root = np.zeros(1, np.uint64)
    return descended(table, descent, key, root, Pieces(parts))


def descended(
    table: CountTable,
    descent: Descent,
    key: NoiseKey,
    roots: NDArray[np.uint64],
    pieces: Pieces,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """The same under several roots side by side: each has ``strides[0]`` keys."""
    data = Data.of(table)
    levels = expanded(data, descent, key, data.frontier(roots, descent.strides[0]), pieces)
    if descent.passes == 2:
        combined(levels, descent.laws, pieces)
        levels[0].count = rounded(levels[0])[levels[0].open]
        share_out(levels, descent.least, pieces)
    nodes = sum(level.z.size for level in levels)
    return *cells_of(levels), nodes


def expanded(
    data: Data,
    descent: Descent,
    key: NoiseKey,
    frontier: Frontier,
    pieces: Pieces,
    levels: slice = slice(None),
) -> list[Level]:
    """The first pass: measure level by level, below nodes with a count above 0 only.

    Parameters
    ----------
    frontier : Frontier
        Of the level above the first of ``levels``; of the roots themselves for level 0.
    levels : slice
        Which levels.
    """
    found: list[Level] = []
    for i in range(len(descent.laws))[levels]:
        noise = NodeNoise(key, Stream.PYRAMID + i, descent.laws[i])

        def work(
            run: slice, frontier: Frontier = frontier, noise: NodeNoise = noise, i: int = i
        ) -> tuple[Level, Frontier]:
            return _below(data, descent, i, frontier.piece(run), noise)

        fanout = (1, *descent.fanouts)[i]
        runs = pieces.each(work, frontier.prefix.size, fanout)
        found.append(Level.joined([level for level, _ in runs]))
        frontier = Frontier.joined([below for _, below in runs])
    return found


def combined(levels: list[Level], laws: tuple[Law, ...], pieces: Pieces) -> None:
    """Estimates from below, level by level up to the first; they overwrite z and variance.

    ``laws``: those of ``levels``.
    """
    steps: Iterable[tuple[Level, Level, Law]] = zip(
        levels[-2::-1], levels[:0:-1], laws[-2::-1], strict=True
    )
    for above, level, law in steps:
        fanout, own = level.fanout, variance_of(law)

        def work(run: slice, above: Level = above, level: Level = level, own: float = own) -> None:
            children = slice(run.start * level.fanout, run.stop * level.fanout)
            z, variance = level.z[children], level.variance[children]
            at = above.open[run]
            kernels.combine(z, variance, level.fanout, own, at, above.z, above.variance)

        pieces.each(work, level.uniform.size, fanout)


def rounded(root: Level) -> NDArray[np.int64]:
    """Totals from estimates of the roots."""
    return np.maximum(np.floor(root.z + root.uniform), 0).astype(np.int64)


def share_out(levels: list[Level], least: tuple[float, ...], pieces: Pieces) -> None:
    """The second pass: from the counts of the first level down to those of the last.

    ``least``: that of ``levels``.
    """
    for above, level, few in zip(levels, levels[1:], least[1:], strict=False):
        closed = np.ones(level.z.size, np.bool_)
        closed[level.open] = False
        level.variance = np.where(closed, 0.0, level.variance)

        def work(
            run: slice, above: Level = above, level: Level = level, few: float = few
        ) -> NDArray[np.int64]:
            return level.shared(above.count, few, run)

        shared = pieces.each(work, level.uniform.size, level.fanout)
        level.count = np.concatenate(shared)[level.open]


def cells_of(levels: list[Level]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Prefixes of the last level with a count above 0, and their counts."""
    last = levels[-1]
    some = last.count > 0
    return last.prefix[last.open][some], last.count[some]


def _below(
    data: Data, descent: Descent, i: int, frontier: Frontier, noise: NodeNoise
) -> tuple[Level, Frontier]:
    """Level i, measured under a frontier, and the frontier of its own open nodes.

    A node's result depends on nothing but the node: a frontier may be cut anywhere.
    """
    fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
    child = _numbered(frontier.prefix, fanout)
    z, uniform = _noise(noise, frontier.prefix, child, fanout)
    span = frontier.span
    start = np.empty(child.size + 1, np.int64)
    start[-1] = span[1, -1] if span.size else 0
    kernels.measure(child, np.uint64(stride), fanout, span, data.key, data.cumulative, start, z)
    variance = np.where(overlaps(data.grid, child, stride), variance_of(noise.law), 0.0)
    level = Level(fanout, child, z, variance, uniform)
    if i:
        shared = level.shared(frontier.count, descent.least[i])
    else:
        shared = np.maximum(z, 0).astype(np.int64)
    level.open = np.flatnonzero(shared)
    level.count = shared[level.open]
    # The last child's data end where its node's do; elsewhere where the next child's begin.
    is_last = level.open % fanout == fanout - 1
    stop = np.where(is_last, span[1, level.open // fanout], start[level.open + 1])
    return level, Frontier(child[level.open], np.stack([start[level.open], stop]), level.count)


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
        own = variance_of(descent.laws[i])
        kernels.combine(level.z, level.variance, level.fanout, own, at, z, variance)
        above.z = np.where(opened[i], z, above.z)
        above.variance = np.where(opened[i], variance, above.variance)
    held = np.where(opened[0], rounded(levels[0]), 0)
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
    child = _numbered(above, fanout)
    drawn, uniform = _noise(noise, above, child, fanout)
    z = truth.reshape(-1, stride).sum(axis=1) + drawn
    variance = np.where(overlaps(grid, child, stride), variance_of(noise.law), 0.0)
    return Level(fanout, child, z, variance, uniform)


def _noise(
    noise: NodeNoise, above: NDArray[np.uint64], child: NDArray[np.uint64], fanout: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Noise of all children of nodes, and a number in [0, 1) for each node.

    A node has ceil(fanout / 7) blocks; child j takes word j % 7 of block j // 7, and word 7 of
    the first one is the node's own.
    """
    parts = -(-fanout // SLOTS)
    words = noise.blocks(_numbered(above, parts))
    place = np.arange(fanout)
    group = (np.arange(above.size)[:, None] * parts + place // SLOTS).ravel()
    slot = np.tile(place % SLOTS, above.size)
    drawn, _ = noise.draw(words, group, slot, child)
    uniform = (words[7, ::parts] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn.astype(np.float64), uniform


def _numbered(above: NDArray[np.uint64], fanout: int) -> NDArray[np.uint64]:
    """``above * fanout + j`` for every j below fanout: uint64[n * fanout]."""
    first = above[:, None] * np.uint64(fanout)
    return np.asarray(first + np.arange(fanout, dtype=np.uint64), np.uint64).reshape(-1)
