"""The pyramid's two passes over the nodes that it visits, and their dense twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from math import prod
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels import pyramid as kernels
from geodp.kernels.workspace import Workspace
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.levels import Chain
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import Cells, CountTable

CHILDREN = 1 << 16
"""Most nodes that are measured together: many, for a block has a price of its own."""

KEPT = 1 << 27
"""Occupied cells times levels, up to which the first pass keeps its open nodes: 4 to 8 GB."""

LEAST_VARIANCE = 1e-12
"""Noise of less is as good as none; a variance of 0 is that of a child that cannot be."""


def variance_of(law: Law) -> float:
    """Return the variance of a measurement, above 0 even where so large a budget leaves none."""
    return max(law.variance, LEAST_VARIANCE)


@dataclass(frozen=True)
class Descent:
    """How to descend: the levels, their noise, and what is dropped.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Of a :class:`geodp.mechanisms.trees.levels.Chain`.
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
    def of(cls, chain: Chain, event: Measurement, prune: float, passes: int) -> Descent:
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
    noisy : int64[n * fanout]
        Noise, and then counts with noise, until another level is made in the same workspace.
    z : float64[n * fanout]
        The noisy counts; with two passes later the estimates from below.
    variance : float64[n * fanout]
        Of z; 0 where the domain ends.
    uniform : float64[n]
        The parents' random numbers.
    start, count : int64[n * fanout]
        Where each child's data begin, and what is shared out to it, once they are written.
    """

    fanout: int
    noisy: NDArray[np.int64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    uniform: NDArray[np.float64]
    start: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        grid: Grid | None,
        above: NDArray[np.uint64],
        fanout: int,
        stride: int,
        noise: NodeNoise,
        own: float,
        workspace: Workspace,
    ) -> Level:
        """Not yet counted, below the nodes ``above``; a child covers ``stride`` keys.

        Its arrays lie in the workspace, for one level of each stream of noise. ``grid``: whose
        domain leaves some nodes no cell, see :func:`with_edges`.
        """
        drawn, uniform = noise.children(above, fanout, workspace)
        z, variance, start, count = workspace.arrays(
            (("z", noise.stream), drawn.size, np.float64),
            (("variance", noise.stream), drawn.size, np.float64),
            ("start", drawn.size, np.int64),
            ("count", drawn.size, np.int64),
        )
        variance.fill(own)
        if grid is not None:
            variance[~overlaps(grid, number_children(above, fanout), stride)] = 0
        return cls(fanout, drawn, z, variance, uniform, start, count)

    def share(self, total: NDArray[np.int64], least: float, out: NDArray[np.int64]) -> None:
        """Write the counts of the children, which add up to their parents' totals."""
        members = np.full(self.uniform.size, self.fanout)
        kernels.share(self.z, self.variance, members, total, self.uniform, least, out)


def with_edges(grid: Grid) -> Grid | None:
    """Return the grid if some of its keys are no cells; None if all are."""
    return grid if grid.size < prod(grid.order.radices) else None


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
        """Return some neighbouring nodes."""
        first, stop = self.span
        return Frontier(self.prefix[nodes], (first[nodes], stop[nodes]), self.count[nodes])


@dataclass(frozen=True, eq=False)
class Opened:
    """What the second pass needs of the open children of a block of nodes.

    Attributes
    ----------
    members : uint16[n]
        Open children of each node.
    uniform : float64[.]
        Random numbers of the nodes with several open children. An only child gets all.
    z, variance : float64[.]
        The best estimates of these children; empty with one pass.
    below : list of (slice, function)
        Runs of the children, and what gives the Opened below them.
    prefix, count : uint64[.], int64[.]
        The children, if they are cells, and their counts by the first pass; otherwise empty.
    nodes : int
        That were measured, here and below.
    """

    members: NDArray[np.uint16]
    uniform: NDArray[np.float64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    below: list[tuple[slice, Callable[[], Opened]]]
    prefix: NDArray[np.uint64]
    count: NDArray[np.int64]
    nodes: int

    def __sizeof__(self) -> int:
        """Bytes of the arrays kept here and below, not of those to be measured again."""
        arrays = self.members, self.uniform, self.z, self.variance, self.prefix, self.count
        below = (getsizeof(kept.opened) for _, kept in self.below if isinstance(kept, Kept))
        return sum(array.nbytes for array in arrays) + sum(below)


@dataclass(frozen=True, eq=False)
class Kept:
    """Gives what was found below a run of nodes, and has been kept."""

    opened: Opened

    def __call__(self) -> Opened:
        """Give it."""
        return self.opened


Found = list[tuple[NDArray[np.uint64], NDArray[np.int64]]]

Beneath = Callable[[Frontier, Level, NDArray[np.int64]], None]
"""Given the open nodes of the last level, the level, and where in it they are."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Two passes over the nodes below some roots, block by block depth first.

    A block's noise and measurements stay in the cache, and are forgotten when it is done: kept
    are the open nodes only. Where even they are too many, a run of subtrees forgets them all and
    measures them again for the second pass. A node's result depends on the node alone, so
    neither blocks nor runs nor threads show.
    """

    table: Cells
    edges: Grid | None  # whose domain leaves some nodes no cell, if any
    cumulative: NDArray[np.int64]
    descent: Descent
    noise: tuple[NodeNoise, ...]
    parts: int
    threads: int
    beneath: Beneath | None = None  # what improves the last level's estimates, if anything does
    workspace: Workspace = field(default_factory=Workspace)

    @classmethod
    def of(cls, table: Cells, descent: Descent, key: NoiseKey, parts: int, threads: int) -> Walk:
        """Over counts of cells, or of nodes at the first key of each."""
        cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])
        noise = [NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws)]
        edges = with_edges(table.grid)
        return cls(table, edges, cumulative, descent, tuple(noise), parts, threads)

    @property
    def forgets(self) -> bool:
        """Whether runs of subtrees are measured twice."""
        return self.table.key.size * len(self.descent.fanouts) > KEPT

    def measure(
        self, i: int, frontier: Frontier, above: Level | None, at: NDArray[np.int64], split: bool
    ) -> Opened:
        """Run the first pass: measure level i under a block, and go on below counts above 0.

        With two passes the block's own estimates, at ``at`` of the level above, are improved.
        ``split``: runs of subtrees have still to be made.
        """
        descent = self.descent
        level, members, opened, frontier = self._below(i, frontier)
        last, two = i == len(descent.laws) - 1, descent.passes == 2
        below: list[tuple[slice, Callable[[], Opened]]] = []
        nodes = level.z.size
        if not last and opened.size:
            runs = [slice(0, opened.size)]
            many = split and opened.size >= parallel.MANY
            if many:
                parts = self.parts or parallel.count_runs(opened.size, self.threads)
                runs = parallel.partition(frontier.count, parts)

            def work(run: slice) -> list[tuple[slice, Callable[[], Opened], int]]:
                done: list[tuple[slice, Callable[[], Opened], int]] = []
                for p in self._pieces(i, run):
                    under = frontier.piece(p)
                    found = self.measure(i + 1, under, level, opened[p], split and not many)
                    kept: Callable[[], Opened] = Kept(found)
                    if many and two and self.forgets:
                        kept = partial(self.measure, i + 1, under, None, opened[:0], False)
                    done.append((p, kept, found.nodes))
                return done

            done = parallel.map_items(work, runs, self.threads) if many else [work(runs[0])]
            below = [(p, found) for part in done for p, found, _ in part]
            nodes += sum(count for part in done for _, _, count in part)
        elif last and self.beneath is not None:
            self.beneath(frontier, level, opened)
        if two and above is not None:
            own = descent.variances[i - 1]
            kernels.combine(level.z, level.variance, level.fanout, own, at, above.z, above.variance)
        several = (members > 1) | (i == 0)
        kept = opened[several.repeat(members)] if two else opened[:0]
        cells = slice(None) if last else slice(0)
        return Opened(
            members.astype(np.uint16),
            level.uniform[several],
            level.z[kept],
            level.variance[kept],
            below,
            frontier.prefix[cells],
            frontier.count[cells],
            nodes,
        )

    def _below(
        self, i: int, frontier: Frontier
    ) -> tuple[Level, NDArray[np.int64], NDArray[np.int64], Frontier]:
        """Measure level i under a frontier; its open nodes, by node and all, are the next one."""
        descent, noise, prefix = self.descent, self.noise[i], frontier.prefix
        fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
        own = descent.variances[i]
        level = Level.of(self.edges, prefix, fanout, stride, noise, own, self.workspace)
        data = frontier.span, self.table.key, self.cumulative
        kernels.measure(prefix, np.uint64(stride), fanout, *data, level.start, level.noisy)
        level.z[:] = level.noisy
        if i:
            level.share(frontier.count, descent.least[i], level.count)
        else:
            level.count[:] = np.maximum(level.z, 0)
        members = np.empty(prefix.size, np.int64)
        place, open_, first, after, count = kernels.open_children(
            prefix, fanout, frontier.span[1], level.start, level.count, members
        )
        return level, members, place, Frontier(open_, (first, after), count)

    def _pieces(self, i: int, run: slice) -> list[slice]:
        """Return a run of nodes in blocks of which the children of each fit."""
        blocks = -(-(run.stop - run.start) // max(CHILDREN // self.descent.fanouts[i], 1))
        cuts = [run.start + (run.stop - run.start) * b // blocks for b in range(blocks + 1)]
        return [slice(a, b) for a, b in pairwise(cuts)]

    def share(self, i: int, block: Opened, total: NDArray[np.int64], split: bool) -> Found:
        """Run the second pass: share out totals of a block's nodes among the open children."""
        if self.descent.passes == 1:
            count = block.count
        elif i == 0:
            count = np.maximum(np.floor(block.z + block.uniform[block.members > 0]), 0)
            count = count.astype(np.int64)
        else:
            several, members = block.members > 1, block.members.astype(np.int64)
            child, least = several.repeat(members), self.descent.least[i]
            count, out = total.repeat(members), np.empty(block.z.size, np.int64)
            known = members[several], total[several], block.uniform
            kernels.share(block.z, block.variance, *known, least, out)
            count[child] = out
        if block.prefix.size:
            some = count > 0
            return [(block.prefix[some], count[some])]
        many = split and block.members.sum() >= parallel.MANY

        def work(piece: tuple[slice, Callable[[], Opened]]) -> Found:
            run, below = piece
            return self.share(i + 1, below(), count[run], split and not many)

        done = (
            parallel.map_items(work, block.below, self.threads) if many else map(work, block.below)
        )
        return [cells for part in done for cells in part]

    def cells(self, roots: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
        """Both passes under roots side by side."""
        stride, nobody = np.uint64(self.descent.strides[0]), np.zeros(roots.size, np.int64)
        stop = np.searchsorted(self.table.key, roots * stride + (stride - np.uint64(1)), "right")
        start = Frontier(roots, (np.concatenate([[0], stop[:-1]]), stop), nobody)
        split = self.threads != 1 or self.forgets
        root = self.measure(0, start, None, nobody, split)
        cells = self.share(0, root, nobody, split) or [(root.prefix, root.count)]
        return *parallel.concat(cells), root.nodes


def refine(
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
    return descend(table, descent, key, np.zeros(1, np.uint64), parts, threads)


def descend(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    roots: NDArray[np.uint64],
    parts: int = 0,
    threads: int = 0,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Run both passes under several roots side by side: each has ``strides[0]`` keys."""
    return Walk.of(table, descent, key, parts, threads).cells(roots)
