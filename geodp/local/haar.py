"""Reports of one bit: in which half of its node on a level of the binary tree a device is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.kernels.pyramid import shares
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import local_tree as kernels
from geodp.local.kernels.oracles import transform
from geodp.local.oracles.base import (
    Oracle,
    State,
    correction,
    field_of,
    make_reports,
    require_fitting,
)
from geodp.local.tree import (
    GUARANTEE,
    Protocol,
    TreeState,
    draw_uniforms,
    is_weak,
    open_nodes,
    parse_weights,
)
from geodp.mechanisms.trees import parallel, shrinkage
from geodp.privacy.event import Guarantee
from geodp.privacy.reports import LocalReports
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, ReportArray

TITLE = "one bit a device: half of its node on a random level (HaarHRR)"

CITATION = (
    "Cormode, Kulkarni, Srivastava: Answering Range Queries Under Local Differential Privacy. "
    "PVLDB 12(10), 2019."
)

TRANSFORM_BITS = 22
"""Deepest level all of whose nodes are transformed together: 32 MiB."""


@dataclass(frozen=True, kw_only=True)
class Halves(Oracle):
    """The oracle of :class:`Haar`; ``cells`` is a power of two.

    Attributes
    ----------
    weights : str
        As in :class:`Haar`.
    """

    weights: str = ""

    name: ClassVar[str] = "haar"
    version: ClassVar[int] = 1
    title: ClassVar[str] = TITLE
    citation: ClassVar[str] = CITATION
    guarantee: ClassVar[Guarantee] = GUARANTEE

    @property
    def bits(self) -> int:
        """Number of levels of the tree."""
        return self.cells.bit_length() - 1

    @property
    def parts(self) -> tuple[int, ...]:
        """Weights of the levels."""
        return parse_weights(self.weights, self.bits, self.name)

    @property
    def report_type(self) -> np.dtype[Any]:
        """Level, row, and 1 for the sign -1."""
        row = "<u4" if self.bits <= 32 else "<u8"
        return np.dtype([("level", "u1"), ("row", row), ("bit", "u1")])

    @property
    def sums(self) -> int:
        """Number of sums: one for each row of each level, at ``2**level + row``; 0 is unused."""
        return self.cells

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that the bit is flipped."""
        return (Chance(1, 1, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> ReportArray:
        """Draw a level, a row and a coin for each value."""
        n, ends = value.size, np.cumsum(np.array(self.parts, np.uint64))
        level, row, bit = np.empty(n, np.uint8), np.empty(n, np.uint64), np.empty(n, np.uint8)
        units = 3 if self.bits <= 33 else 4
        coins.fill(kernels.draw, (value, ends, level, row, bit), n, units, self.flip_chances)
        return make_reports(self.report_type, level=level, row=row, bit=bit)

    def collect(self, reports: ReportArray) -> State:
        """Add up the signs of each row."""
        place, sign = np.empty(reports.size, np.uint64), np.empty(reports.size, np.int64)
        level, bit = (np.ascontiguousarray(reports[name]) for name in ("level", "bit"))
        row = field_of(reports, "row")
        fitting = kernels.place_rows(level, row, bit, self.bits, place, sign)
        allowed = f"a level below {self.bits}, a row of level i below 2**i, a bit of 0 or 1"
        require_fitting(np.arange(reports.size) != fitting, self, "field", f"in range ({allowed})")
        return State.of_keys(self, reports.size, place, sign)

    def count(self, state: State, value: NDArray[np.uint64] | None) -> FloatArray:
        """Estimate each value's count: from the root down, half the total and half the detail."""
        wanted = np.arange(self.cells, dtype=np.uint64) if value is None else value
        estimates = np.full(wanted.size, float(state.reports))
        for level in range(self.bits):
            half = wanted >> np.uint64(self.bits - 1 - level)
            node, back = np.unique(half >> np.uint64(1), return_inverse=True)
            detail = self.details(state, level, node)[back.reshape(-1)]
            right = (half & np.uint64(1)).astype(np.bool_)
            estimates = (estimates + np.where(right, -detail, detail)) / 2
        return np.asarray(estimates, np.float64)

    def details(
        self, state: State, level: int, prefix: NDArray[np.uint64], threads: int = 0
    ) -> FloatArray:
        """Estimate left minus right halves of nodes of a level: float64[n]."""
        # Undoes the flips of the bit and the chance of the level.
        scale = correction(self.epsilon) * sum(self.parts) / self.parts[level]
        return sum_at(state, level, prefix, threads).astype(np.float64) * scale

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n c^2 sum of 4^(i - L) / w_i``; what the true counts take off is left out."""
        below = sum(4.0 ** (i - self.bits) / w for i, w in enumerate(self.parts))
        return n * correction(self.epsilon) ** 2 * below * sum(self.parts)


@dataclass(frozen=True)
class Haar(Protocol):
    """Cormode, Kulkarni, Srivastava (2019): Haar details by randomised Hadamard responses.

    A device draws a level i of the binary tree over the keys and a row r below ``2**i``. With v
    its node on that level, and s = 1 in the node's left half and -1 in its right one, it sends
    ``s (-1)^p(r & v)``, p the parity of bits, flipped with probability ``1 / (1 + e^epsilon)``.
    The difference of the halves of v is estimated by ``c / w_i`` times the sum of
    ``y (-1)^p(r & v)`` over the reports y of the level, ``c = (e^epsilon + 1)/(e^epsilon - 1)``.

    Attributes
    ----------
    weights : str
        Whole numbers, the root's level first, by which levels are drawn: ``"2-1-1"``. Empty: all
        levels are equally likely.
    """

    weights: str = ""

    name: ClassVar[str] = "haar"
    version: ClassVar[int] = 1
    title: ClassVar[str] = TITLE
    citation: ClassVar[str] = CITATION
    noise: ClassVar[str] = (
        "randomised response on the device: one bit, flipped with probability 1/(1 + exp(epsilon)) "
        "by an exact coin"
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Explain why a grid is not supported; None if it is."""
        remedy = "; counts takes others"
        return grid.order.why_no_halves(self.name, remedy) or super().unsupported(grid)

    def levels(self, grid: Grid) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """Compute the fan-outs of the tree and the probability that a device reports each level."""
        weights = parse_weights(self.weights, grid.bits, self.name)
        return (2,) * grid.bits, tuple(Fraction(w, sum(weights)) for w in weights)

    def oracles(self, grid: Grid, epsilon: Fraction) -> tuple[Oracle, ...]:
        """Build the one oracle, which serves all levels."""
        return (self.halves(grid, epsilon),)

    def halves(self, grid: Grid, epsilon: Fraction) -> Halves:
        """Build the oracle as a :class:`Halves`, with its details."""
        cells = 1 << grid.bits
        return Halves(
            cells=cells, epsilon=epsilon, allow_weak=is_weak(epsilon), weights=self.weights
        )

    def report_type(self, oracles: tuple[Oracle, ...]) -> np.dtype[Any]:
        """Build the type of a report: level, row and the bit, 1 for the sign -1."""
        return oracles[0].report_type

    def randomize(
        self, oracles: tuple[Oracle, ...], key: NDArray[np.uint64], coins: Coins
    ) -> ReportArray:
        """Randomise one report for every device."""
        return oracles[0].randomize(key, coins)

    def aggregate(self, oracles: tuple[Oracle, ...], reports: ReportArray) -> TreeState:
        """Aggregate reports; CodeError where one is not of this tree."""
        return TreeState((oracles[0].aggregate(reports),))

    def refine(self, grid: Grid, event: LocalReports, state: TreeState) -> ReleasedTable:
        """Estimate the released cells, from the root down, in nodes above 0 only."""
        halves = self.halves(grid, event.epsilon)
        key, count, _ = descend(grid, halves, state.states[0])
        return ReleasedTable(grid, key, count, event)

    def measured_tree(self, grid: Grid, event: LocalReports) -> TreeVariance:
        """Compute the variances of halves: half the variance ``n c^2 / w`` of their difference.

        The exact variance is smaller by ``D^2`` at a node whose halves truly differ by D, which is
        small.
        """
        halves = [v / 2 for v in self.detail_variances(grid, event)]
        return TreeVariance((2,) * grid.bits, (0.0, *halves))

    def detail_variances(self, grid: Grid, event: LocalReports) -> list[float]:
        """Compute the variance of the difference of a node's halves, level by level."""
        # Each report of the level has variance c^2, and a share w of all reports is on it.
        c, (_, chance) = correction(event.epsilon), self.levels(grid)
        return [event.reports * c * c / float(w) for w in chance]

    def isolated_cell_error(self, grid: Grid, event: LocalReports) -> tuple[float, float]:
        """Compute bias and root-mean-square error of one isolated cell in an empty region.

        With E the error of a block that holds all people of its surroundings: 0 at the root, and
        ``min(E, (E + N) / 2)`` below, N normal with the variance of the level's differences.
        """
        spread = tuple(sqrt(v) for v in self.detail_variances(grid, event))
        scale = max(spread) or 1.0
        bias, rmse = shrinkage.isolate(tuple(round(s / scale, 6) for s in spread))
        return bias * scale, rmse * scale

    def clamp_losses(self, grid: Grid, event: LocalReports) -> list[tuple[float, float]]:
        """Compute what the clamp takes from an occupied half next to an empty one, at one node."""
        spread = [sqrt(v) for v in self.detail_variances(grid, event)]
        nodes = self.measured_tree(grid, event).nodes()[:-1]
        pairs = zip(nodes, spread, strict=True)
        losses = [shrinkage.lose(round(sqrt(v) / s, 3), True) for v, s in pairs]
        return [(mean * s, d * s) for (mean, d), s in zip(losses, spread, strict=True)]


def descend(
    grid: Grid, oracle: Halves, state: State, threads: int = 0
) -> tuple[NDArray[np.uint64], IntArray, int]:
    """Split nodes from the root down; return cells, their counts and the number of splits.

    Cells are in key order, and only those above 0. Memory is that of the reports and of visited
    nodes.
    """
    prefix: NDArray[np.uint64] = np.zeros(1, np.uint64)
    total, visited = np.array([state.reports]), 0
    for level in range(oracle.bits):
        child = np.repeat(prefix << np.uint64(1), 2)
        child[1::2] += np.uint64(1)
        can_hold = open_nodes(grid, child, 1 << (oracle.bits - 1 - level)).astype(np.float64)
        z = np.repeat(oracle.details(state, level, prefix, threads) / 2, 2)
        z[1::2] *= -1
        count, members = np.empty(child.size, np.int64), np.full(prefix.size, 2)
        uniform = draw_uniforms(level, prefix)
        shares.share(z, can_hold, members, total, uniform, 0.0, count)
        visited += prefix.size
        # Nodes without reports are not split further, which bounds the work by the reports.
        prefix, total = child[count > 0], count[count > 0]
    return prefix, total, visited


def sum_at(state: State, level: int, prefix: NDArray[np.uint64], threads: int = 0) -> IntArray:
    """Compute the sums of ``y (-1)^p(r & v)`` at nodes v of a level, in key order: int64[n].

    Either all nodes of the level are transformed, in ``i 2^i`` steps, or only these are looked up,
    in steps of 64 reports: whichever is less. The sums are the same.
    """
    row, total = rows_of(state, level)
    reports = int(np.abs(total).sum())
    words = -(-reports // 64)
    # The cheaper way: i 2^i additions, or one word operation for each node and 64 reports.
    if level <= TRANSFORM_BITS and level << level <= 2 * prefix.size * words:
        sums = np.zeros(1 << level, np.int64)
        sums[row] = total
        transform(sums)
        return sums[prefix]
    planes = np.zeros((level + 1, words), np.uint64)
    kernels.slice_rows(row, total, planes)

    def work(run: slice) -> IntArray:
        out = np.empty(run.stop - run.start, np.int64)
        kernels.look_up(prefix[run], planes, reports, out)
        return out

    count = parallel.count_runs(prefix.size, threads)
    runs = parallel.partition(np.ones(prefix.size, np.int64), count)
    return np.concatenate(parallel.map_items(work, runs, threads))


def rows_of(state: State, level: int) -> tuple[NDArray[np.uint64], IntArray]:
    """List the rows of a level whose sum is not 0, and their sums."""
    first = 1 << level
    # Dense states have no keys: their sums stand one by one (or there is no report).
    if not state.key.size:
        total = state.total[first : 2 * first]
        row = np.flatnonzero(total)
        return row.astype(np.uint64), total[row]
    # Keys are sorted, and those of a level are a run from 2**level on.
    ends = np.array([first, 2 * first], np.uint64)
    run = slice(*np.searchsorted(state.key, ends).tolist())
    return state.key[run] - np.uint64(first), state.total[run]


PROTOCOLS = (Haar(),)
