"""The method of Terada et al. (2015): noisy Haar details, refined from the top down.

The refinement is sparse in blocks (T2), or dense (T1). The paper proves that both agree in
distribution; here noise is a function of (key, node), so they agree bit for bit. The loops of T2
are in :mod:`geodp.kernels.topdown`. docs/proofs/paper.md follows the paper equation by equation,
and docs/proofs/errata.md lists its misprints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import worst_paths
from geodp.kernels import topdown as kernels
from geodp.kernels import tree
from geodp.kernels.noise import LEVELS
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.trees import attributes, parallel, shrinkage
from geodp.mechanisms.trees.parallel import concat, partition
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, Stream, expose
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import LARGEST_DENSE, Cells, CountTable, ReleasedTable
from geodp.table.measured import COUNT, DIFFERENCE, NodeLevel
from geodp.typing import KeyedCounts

ROOT = np.array([1], np.uint64)

BLOCK = kernels.BLOCK
"""Most nodes that are refined together: they and their noise fit the cache."""

PIECE = 1 << 16
"""Number of results that are collected at once, in addition to those of one block."""

FEW_SPLIT = 1 << 18
"""Approximate number of split nodes up to which one thread is faster than several."""


@dataclass(frozen=True)
class RefinementNoise:
    """The two noises of one run: of the total, and of every node's detail."""

    total: NodeNoise
    detail: NodeNoise

    @classmethod
    def of(cls, event: Measurement, key: NoiseKey) -> RefinementNoise:
        """Make both noises with the event's scale, in separate streams."""
        law = event.law()
        return cls(
            NodeNoise(key, Stream.TOPDOWN_TOTAL, law), NodeNoise(key, Stream.TOPDOWN_DETAIL, law)
        )

    def refined_total(self, total: int) -> int:
        """Return ``S*(root) = max(S(root) + noise, 0)``."""
        drawn, _ = self.total.at(ROOT, 0, 0)
        return max(total + int(drawn[0]), 0)


Nodes = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Prefixes of nodes of one level, in key order, and their refined sums, all above 0."""


Scratch = tuple[kernels.Stack, kernels.RefinementWorkspace, NDArray[np.int64]]
"""Arrays of one thread; the last one is for results."""


@dataclass(frozen=True, eq=False)
class RefinementRun:
    """Sums, noise and steps of a refinement; scratch arrays of finished descents are used again."""

    table: Cells
    noise: NodeNoise
    scratches: list[Scratch] = field(default_factory=list)

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
        """Refine nodes to a lower level: its nodes above 0, and the number of nodes split.

        Parameters
        ----------
        level, last : int
            Levels of the nodes and of the result; blocks of noise start on both.
        """
        if level == last:
            return nodes, 0
        with expose(self.noise.key, self.noise.source) as words:
            parts, visited = self._below(nodes, level, last, words)
        return concat(parts or [nodes]), visited

    def _below(
        self, nodes: Nodes, level: int, last: int, words: NDArray[np.uint32]
    ) -> tuple[list[Nodes], int]:
        stack, workspace, out = self._make_scratch(level, last)
        tree, noise = self._tables, kernels.NoiseStreams(words, np.uint32(self.noise.stream))
        done: list[Nodes] = []
        visited, capacity = 0, stack.nodes.shape[2]
        for first in range(0, nodes[0].size, capacity):
            self._push(stack, *(row[first : first + capacity] for row in nodes))
            while stack.fill[:, kernels.NODE].tolist() != stack.fill[:, kernels.NODES].tolist():
                written, split, _, undecided = kernels.descend(
                    stack, BLOCK, workspace, tree, noise, out
                )
                visited += split
                done.append((out[0, 0, :written].copy(), out[0, 1, :written].copy()))
                # One draw in many millions: it is decided exactly, in Python, and the kernel
                # continues with its value.
                if undecided:
                    node = np.array([undecided], np.uint64)
                    drawn, _ = self.noise.at(node, undecided.bit_length() - 1, self.bits)
                    resolved = np.append(tree.resolved, [[undecided], drawn], axis=1)
                    tree = tree._replace(resolved=resolved)
        self.scratches.append((stack, workspace, out))
        return done, visited

    @cached_property
    def _tables(self) -> kernels.RefinementTables:
        domain, none = self.table.grid.domain_tests(), np.empty((2, 0), np.int64)
        law = self.noise.law
        return kernels.RefinementTables(self.table.key, self.cumulative, *domain, law.table, none)

    def _make_scratch(self, level: int, last: int) -> Scratch:
        """Return the arrays of one thread: free ones, or new ones."""
        levels = [level]
        while levels[-1] < last:
            levels.append(self.next(levels[-1]))
        rows = len(levels) - 1
        try:
            stack, workspace, out = self.scratches.pop()
        except IndexError:
            capacity = kernels.MAX_OPEN + 1
            every = -(-self.bits // LEVELS)
            nodes, data = (np.empty((every, n, capacity), np.int64) for n in (2, 3))
            fill = np.zeros((0, 4), np.int64)
            stack = kernels.Stack(np.zeros(1, np.int64), nodes, data, fill)
            workspace, out = _make_workspace(), np.empty((1, 2, PIECE + capacity), np.int64)
        fill = np.zeros((rows, 4), np.int64)
        return kernels.Stack(np.array(levels), stack.nodes, stack.data, fill), workspace, out

    def _push(
        self, stack: kernels.Stack, prefix: NDArray[np.int64], total: NDArray[np.int64]
    ) -> None:
        """Put nodes, and the data below them, into the first row of a stack."""
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


def _make_workspace() -> kernels.RefinementWorkspace:
    size = kernels.MAX_OPEN // 2 + 1
    return kernels.RefinementWorkspace(
        np.empty(kernels.BLOCK, np.int64),
        np.empty(16 * kernels.BLOCK, np.uint32),
        np.empty((2, size), np.int64),
        np.empty((2, size), np.uint32),
        np.empty((2, 3, size), np.int64),
        np.empty(size, np.uint32),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        *np.empty((3, size), np.int64),
    )


def refine(
    table: CountTable, noise: RefinementNoise, parts: int = 0, threads: int = 0
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Run T2: refine from the root down, visiting only nodes with a refined sum above 0.

    Parameters
    ----------
    parts : int
        Number of chunks of subtrees that are processed in parallel, if there are many nodes; 0:
        some for every thread. It does not affect the result.
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
    # A node's sum is a difference of two prefix sums over the sorted keys, so no Haar coefficient
    # is stored. Blocks of nodes are refined depth first, four levels at a time: memory is that of
    # the output.
    tree = RefinementRun(table, noise.detail)
    top, level, visited = tree.root(noise), 0, 0
    few = min(1 << grid.bits, table.key.size * grid.bits) <= FEW_SPLIT
    single_run = not parts and (few or parallel.processors(threads) == 1)
    if single_run:
        top, visited = tree.below(top, 0, grid.bits)
        level = grid.bits
    while level < grid.bits and 0 < top[0].size < parallel.MANY:
        last = tree.next(level)
        # On levels above this there are not enough nodes for several threads.
        while last < min(grid.bits, parallel.MANY.bit_length()):
            last = tree.next(last)
        top, split = tree.below(top, level, last)
        level, visited = last, visited + split

    splits: list[int] = []

    def finished(run: slice) -> Nodes:
        cells, split = tree.below((top[0][run], top[1][run]), level, grid.bits)
        splits.append(split)
        return cells

    runs = 1 if single_run else parallel.count_runs(top[1].size, threads)
    cuts = partition(top[1], parts or runs)
    key, count = concat(parallel.map_items(finished, cuts, threads))
    return key.view(np.uint64), count, visited + sum(splits)


@dataclass(frozen=True)
class Halving:
    """Some levels of ``topdown``, for simulations with synthetic people."""

    law: Law

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of several trees, whose upper levels are refined too."""
        streams = (Stream.TOPDOWN_TOTAL, Stream.TOPDOWN_DETAIL)
        noise = RefinementNoise(*(NodeNoise(key, stream, self.law) for stream in streams))
        cells, counts, _ = refine(table, noise, threads=1)
        return cells, counts


def refine_dense(table: CountTable, noise: RefinementNoise) -> NDArray[np.int64]:
    """Run T1, the dense form in three passes, ``O(n)``: bit for bit the result of :func:`refine`.

    The passes are noise on every coefficient, the refinement, and the inverse transform.

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
    tree.forward_dense(sums, detail)
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
    tree.refine_dense(sums[1], detail, drawn, rounding, branch)
    tree.inverse_dense(detail, sums)
    return sums[n:].copy()


def binary(grid: Grid) -> Grid:
    """Return the grid if every node splits in two; otherwise raise UsageError."""
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


@dataclass(frozen=True)
class TopDown(Mechanism):
    """Terada, Suzuki, Yamaguchi, Hongo (2015): pruned top-down refinement on integers.

    Measured are the total and, at every node of the binary tree over the keys, the difference
    of its two halves; each gets discrete Laplace noise of scale ``(1 + k) / epsilon`` on a
    domain of ``2**k`` cells. From the root down, every noisy difference is clamped to what its
    node holds, so no count is negative, children add up to their parent, and an empty node is not
    visited any further.
    """

    name: ClassVar[str] = "topdown"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "top-down refinement of noisy Haar details (Terada et al. 2015)"
    citation: ClassVar[str] = (
        "Terada, Suzuki, Yamaguchi, Hongo: On Publishing Large Tabular Data with Differential "
        "Privacy. IPSJ Journal 56(9), 2015."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Terada et al. (2015), section 4: one person changes the total by 1 and one detail "
        "on each of the k levels by 1, so the L1 sensitivity is 1 + k; everything after the noise "
        "is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: a total below 0 becomes 0, and every detail is clamped to what its node "
        "holds. The clamp is biased: an isolated occupied cell is lowered by about 2 to 3 noise "
        "scales, and what it loses goes to the empty cells around it (isolated-cell shrinkage).",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: an odd sum is split by a random bit of its node; unbiased.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Reject orders in which a node does not split in two; any size is supported."""
        return grid.order.why_no_halves(self.name)

    def sensitivity(self, grid: Grid) -> int:
        """Return ``1 + k``: the total, and one detail on each of the k levels.

        On a masked domain k is the largest number of branching nodes above a cell: at a node with
        one possible child the detail is the node's sum or its negative, so it is not measured,
        and one person changes only the details of the branching nodes above their cell.
        """
        paths = worst_paths(binary(grid), 0, lambda count: count + 1, lambda count: count)
        return 1 + int(paths[-1])

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        b = self.sensitivity(grid) - 1
        return (
            f"a person counted once changes the total by 1, and one difference by 1 on each of the "
            f"{b} levels where both halves of the person's block can hold somebody"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, and the differences of the halves of all nodes."""
        noise = event.law().identity
        return (
            Query(Stream.TOPDOWN_TOTAL, noise, ("total",)),
            Query(Stream.TOPDOWN_DETAIL, noise, ("differences of halves", grid.bits)),
        )

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """List the total, and the differences of the halves of the nodes of every level."""
        noise, variance = event.law().identity, event.law().variance
        total = NodeLevel(0, 0, COUNT, noise, variance)
        halves = [NodeLevel(i, i, DIFFERENCE, noise, variance) for i in range(grid.bits)]
        return (total, *halves)

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Draw the noise of the total, or of differences."""
        noise = RefinementNoise.of(event, key)
        if not level:
            return noise.total.at(ROOT, 0, 0)[0]
        height = level - 1
        return noise.detail.at(node | np.uint64(1 << height), height, grid.bits)[0]

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Compute bias and root-mean-square error of an isolated cell, in counts."""
        # Let E be the error of the block that contains the cell, in noise scales. At the root it
        # has the law of the noise; on every level it becomes min(E, (E + N) / 2) with N of that
        # law, as the empty half cannot become negative. The paper's Theorem 3, an upper bound
        # everywhere, does not hold here: see docs/proofs/errata.md.
        scale, gaussian = event.width(), event.rho is not None
        bias, rmse = _isolated_errors(self.sensitivity(grid) - 1, gaussian)
        return {"bias": float(f"{bias * scale:.4g}"), "rmse": float(f"{rmse * scale:.4g}")}

    def isolated_block(self, grid: Grid, event: Measurement) -> dict[str, Any] | None:
        """Compute bias and root-mean-square error of an isolated settlement's sum.

        They are accurate to about 5 % for trees of up to 2**40 cells.
        """
        return shrinkage.block(Halving(event.law()), grid)

    def label_totals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> attributes.Rows | None:
        """Compute what the clamp adds to the total of a small label of every attribute."""
        run = Halving(event.law())
        tree = self.tree_variance(grid, event)
        return attributes.totals(grid, tree, lambda top, last: run, people)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Compute the clamp's loss of an occupied half whose sibling is empty, at one node."""
        width, gaussian, sigma2 = event.width(), event.rho is not None, event.law().variance
        above = [(v / sigma2) ** 0.5 for v in self.tree_variance(grid, event).nodes()[:-1]]
        losses = [shrinkage.lose(round(error, 3), gaussian) for error in above]
        return [(mean * width, spread * width) for mean, spread in losses]

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64]:
        """Compute the largest variance of a block of each level, where nothing is clamped.

        Halving a node's sum with a noisy detail gives ``(V + sigma**2) / 4``, starting with
        ``sigma**2`` at the root. On a domain of ``2**k`` cells without a mask a block of ``2**l``
        cells has ``sigma**2 / 3 * (1 + 2 / q**2)``, ``q = 2**(k - l)``: Terada et al. (2015),
        Theorem 3, read as an equality, which is also the variance of Privelet. A node with one
        possible child passes its variance on. The rounding of odd sums, not counted here, adds less
        than 1.

        Returns
        -------
        float64[bits + 1]
            From the root to the cells.
        """
        sigma2 = event.law().variance
        return sigma2 * worst_paths(binary(grid), 1, lambda v: (v + 1) / 4, lambda v: v)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return a tree of halves, each with variance ``sigma**2 / 2`` from half a detail."""
        sigma2, bits = event.law().variance, grid.bits
        variances = (sigma2, *[sigma2 / 2] * bits)
        # Both halves deviate by the same noise N / 2, in opposite directions: together they have
        # the cumulants of two independent halves with the fourth cumulant 3 sigma**4 / 2.
        fourths = (3 * sigma2**2, *[1.5 * sigma2**2] * bits) if event.rho is None else ()
        return TreeVariance((2,) * bits, variances, fourths)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release by T2, the sparse form, which visits ``O(m+ log n)`` nodes."""
        keys, counts, _ = refine(table, RefinementNoise.of(event, key))
        return ReleasedTable(table.grid, keys, counts, event)

    def visited(self, released: ReleasedTable) -> int:
        """Count the nodes that were split: all that lie above a released cell."""
        if not released.key.size:
            return 0
        # The highest bit in which neighbouring keys differ is the level where their paths part.
        # frexp finds it exactly only below 2**53, hence the two halves.
        meet = released.key[1:] ^ released.key[:-1]
        low, high = np.frexp(meet & np.uint64(2**32 - 1))[1], np.frexp(meet >> np.uint64(32))[1]
        return released.grid.bits + int(np.where(high > 0, high + 31, low - 1).sum())


@lru_cache(maxsize=128)
def _isolated_errors(levels: int, gaussian: bool) -> tuple[float, float]:
    """Compute bias and root-mean-square error of an isolated cell, in noise scales."""
    # The recursion of TopDown.isolated_cell for the law's density on a grid of 1/20 scale.
    step, reach = 1 / 20, 25.0
    value = np.arange(-reach, reach + step / 2, step)
    noise = np.exp(-(value**2) / 2 if gaussian else -np.abs(value))
    noise /= noise.sum()
    error = noise.copy()
    above = noise[::-1].cumsum()[::-1]  # P(N >= value)
    for _ in range(levels):
        error = error * above + shrinkage.halve_sums(error, noise)
    return float(error @ value), float(np.sqrt(error @ value**2))


METHODS = (TopDown(),)
