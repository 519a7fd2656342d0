"""One bit a device: in which half of its node on a level of the binary tree it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kernels import local_tree as kernels
from geodp.kernels import pyramid
from geodp.mechanisms.local.coins import Coins, flip_chance
from geodp.mechanisms.local.tree import (
    Protocol,
    Reports,
    TreeState,
    chances,
    draw_levels,
    draw_uniforms,
    factor,
    open_nodes,
    parse_weights,
)
from geodp.mechanisms.trees import halving, parallel
from geodp.privacy.reports import LocalReports
from geodp.table.released import ReleasedTable

DENSE_BITS = 20
"""Up to so many levels a state has a sum for every row, and above for those that came."""

TRANSFORM_BITS = 22
"""Deepest level of which all nodes are looked at together: 32 MiB."""


@dataclass(frozen=True, eq=False)
class HaarState(TreeState):
    """Sums of signs by level and row.

    Attributes
    ----------
    bits : int
        Levels of the tree.
    epsilon : Fraction
    weights : tuple of int
        Of the levels.
    reports : int
    node : uint64[m]
        ``2**level + row``, increasing; empty where the sums are dense.
    total : int64[m] or int64[2**bits]
        Sums of signs, none of them 0 in the sparse form. By node in the dense one.
    """

    bits: int
    epsilon: Fraction
    weights: tuple[int, ...]
    reports: int
    node: NDArray[np.uint64]
    total: NDArray[np.int64]

    def __add__(self, other: HaarState) -> HaarState:
        """Return the state of both; UsageError for reports about something else."""
        mine = (self.bits, self.epsilon, self.weights)
        if mine != (other.bits, other.epsilon, other.weights):
            raise UsageError("States of different settings do not add up.")
        reports = self.reports + other.reports
        if self.bits <= DENSE_BITS:
            return HaarState(*mine, reports, self.node, self.total + other.total)
        node = np.concatenate([self.node, other.node])
        return HaarState(*mine, reports, *_sum_rows(node, np.append(self.total, other.total)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HaarState) and (
            (self.bits, self.epsilon, self.weights, self.reports)
            == (other.bits, other.epsilon, other.weights, other.reports)
            and np.array_equal(self.node, other.node)
            and np.array_equal(self.total, other.total)
        )

    __hash__ = None  # type: ignore[assignment]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of it as plain arrays by name, to be stored."""
        return {"node": self.node, "total": self.total}

    def level(self, i: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the rows of a level that have a sum, and their sums."""
        first, last = np.uint64(1) << np.uint64(i), np.uint64(2) << np.uint64(i)
        if self.bits <= DENSE_BITS:
            total = self.total[first:last]
            row = np.flatnonzero(total)
            return row.astype(np.uint64), total[row]
        run = slice(*np.searchsorted(self.node, [first, last]).tolist())
        return self.node[run] - first, self.total[run]


def _sum_rows(
    node: NDArray[np.uint64], total: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return nodes in order with the sums of their totals, those of 0 left out."""
    rank = np.argsort(node, kind="stable")
    node, total = node[rank], total[rank]
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
    total = np.add.reduceat(total, first) if first.size else total
    some = total != 0
    return node[first[some]], total[some]


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
    title: ClassVar[str] = "one bit a device: half of its node on a random level (HaarHRR)"
    citation: ClassVar[str] = (
        "Cormode, Kulkarni, Srivastava: Answering Range Queries Under Local Differential Privacy. "
        "PVLDB 12(10), 2019."
    )
    noise: ClassVar[str] = (
        "randomised response on the device: one bit, flipped with probability 1/(1 + exp(epsilon)) "
        "by an exact coin"
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Return why a grid cannot be asked about, as one sentence."""
        if not grid.order.is_binary:
            return "haar needs a grid whose order splits every node in two; counts takes others."
        return super().unsupported(grid)

    def levels(self, grid: Grid) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """Return the fan-outs of the tree and the chances that a device is asked about each."""
        return (2,) * grid.bits, chances(self.weights_of(grid))

    def weights_of(self, grid: Grid) -> tuple[int, ...]:
        """Return the weights of the levels of a grid's tree."""
        return parse_weights(self.weights, grid.bits, self.name)

    def report_type(self, grid: Grid, epsilon: Fraction) -> np.dtype[np.void]:
        """Return the type of a report: level, row and the bit, 1 for the sign -1."""
        return np.dtype([("level", np.uint8), ("row", np.uint64), ("bit", np.uint8)])

    def randomize(
        self, grid: Grid, epsilon: Fraction, key: NDArray[np.uint64], coins: Coins | None = None
    ) -> Reports:
        """Return one report of every device, see :meth:`Protocol.randomize`."""
        source = Coins() if coins is None else coins
        found = np.empty(key.size, self.report_type(grid, epsilon))
        level = draw_levels(self.weights_of(grid), key.size, source)
        row = source.words(key.size) & ((np.uint64(1) << level.astype(np.uint64)) - np.uint64(1))
        flip = source.flips(flip_chance(epsilon), key.size)
        bit = np.empty(key.size, np.uint8)
        kernels.write_bits(key, grid.bits, level, row, flip, bit)
        found["level"], found["row"], found["bit"] = level, row, bit
        return found

    def aggregate(self, grid: Grid, epsilon: Fraction, reports: Reports) -> HaarState:
        """Return the state of reports; UsageError where one is none of this tree."""
        if reports.dtype != self.report_type(grid, epsilon):
            raise UsageError("Reports of haar have a level, a row and a bit; these are others.")
        level, row, bit = (np.ascontiguousarray(reports[name]) for name in ("level", "row", "bit"))
        dense = grid.bits <= DENSE_BITS
        sums = np.zeros(1 << grid.bits if dense else 0, np.int64)
        if kernels.add_signs(level, row, bit, grid.bits, sums) < reports.size:
            raise UsageError(
                f"A report has a level, row or bit out of range: levels are below {grid.bits}, a "
                "row of level i is below 2**i and a bit is 0 or 1; the file is none of this "
                "round's, or was damaged."
            )
        node = np.empty(0, np.uint64)
        if not dense:
            place = (np.uint64(1) << level.astype(np.uint64)) | row
            node, sums = _sum_rows(place, 1 - 2 * bit.astype(np.int64))
        settings = (grid.bits, epsilon, self.weights_of(grid))
        return HaarState(*settings, reports.size, node, sums)

    def restore(
        self, grid: Grid, epsilon: Fraction, reports: int, arrays: Mapping[str, NDArray[Any]]
    ) -> HaarState:
        """Return a state of its arrays; UsageError where these are none of the protocol's."""
        node, total = arrays["node"], arrays["total"]
        dense = grid.bits <= DENSE_BITS
        good = (node.size, total.size) == (0, 1 << grid.bits) if dense else (
            node.size == total.size
            and bool((node[1:] > node[:-1]).all())
            and (not node.size or (node[0] >= 1 and node[-1] >> np.uint64(grid.bits) == 0))
        )
        if not good or (node.dtype, total.dtype) != (np.uint64, np.int64):
            raise UsageError("The state is none of this round's; aggregate the reports again.")
        return HaarState(grid.bits, epsilon, self.weights_of(grid), reports, node, total)

    def refine(self, grid: Grid, event: LocalReports, state: HaarState) -> ReleasedTable:
        """Return the released cells, from the root down, nodes above 0 only."""
        key, count, _ = descend(grid, self.weights_of(grid), event.epsilon, state)
        return ReleasedTable(grid, key, count, event)

    def tree_variance(self, grid: Grid, event: LocalReports) -> TreeVariance:
        """Halves with half the variance ``n c^2 / w`` of their difference; the total is known.

        It leaves out ``D^2`` less at a node whose halves truly differ by D, which is small.
        """
        halves = [v / 2 for v in self.detail_variances(grid, event)]
        return TreeVariance((2,) * grid.bits, (0.0, *halves))

    def variances(self, grid: Grid, event: LocalReports) -> NDArray[np.float64]:
        """Largest variance of an aligned block of each level, where nothing is clamped."""
        return self.tree_variance(grid, event).largest(grid)

    def detail_variances(self, grid: Grid, event: LocalReports) -> list[float]:
        """Return the variance of the difference of a node's halves, level by level."""
        c, (_, chance) = factor(event.epsilon), self.levels(grid)
        return [event.reports * c * c / float(w) for w in chance]

    def isolated_cell(self, grid: Grid, event: LocalReports) -> dict[str, float]:
        """Bias and root-mean-square error of one lone cell in an empty region, in counts.

        With E the error of a block that holds all people of its surroundings: 0 at the root, and
        ``min(E, (E + N) / 2)`` below, N normal with the variance of the level's differences.
        """
        spread = tuple(sqrt(v) for v in self.detail_variances(grid, event))
        scale = max(spread) or 1.0
        bias, rmse = halving.isolate(tuple(round(s / scale, 6) for s in spread))
        return {"bias": float(f"{bias * scale:.4g}"), "rmse": float(f"{rmse * scale:.4g}")}

    def clamp_losses(self, grid: Grid, event: LocalReports) -> list[tuple[float, float]]:
        """What the clamp takes from an occupied half beside an empty one, at one node."""
        spread = [sqrt(v) for v in self.detail_variances(grid, event)]
        nodes = self.tree_variance(grid, event).nodes()[:-1]
        pairs = zip(nodes, spread, strict=True)
        losses = [halving.lose(round(sqrt(v) / s, 3), True) for v, s in pairs]
        return [(mean * s, d * s) for (mean, d), s in zip(losses, spread, strict=True)]


def descend(
    grid: Grid, weights: tuple[int, ...], epsilon: Fraction, state: HaarState
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Return cells above 0, their counts in key order, and how many nodes were split.

    Memory is that of the reports and of visited nodes; of a level either all nodes are looked at,
    in ``i 2^i`` steps, or the visited ones, in steps of 64 reports: whatever is less.
    """
    prefix, total = np.zeros(1, np.uint64), np.array([state.reports])
    c, visited = factor(epsilon), 0
    for level, weight in enumerate(weights):
        detail = look_up(state, level, prefix) * (c * sum(weights) / weight)
        child = (prefix[:, None] * np.uint64(2) + np.arange(2, dtype=np.uint64)).reshape(-1)
        open_ = open_nodes(grid, child, 1 << (grid.bits - 1 - level))
        z = np.repeat(detail / 2, 2)
        z[1::2] *= -1
        count, members = np.empty(child.size, np.int64), np.full(prefix.size, 2)
        uniform = draw_uniforms(level, prefix)
        pyramid.share(z, open_.astype(np.float64), members, total, uniform, 0.0, count)
        visited += prefix.size
        prefix, total = child[count > 0], count[count > 0]
    return prefix, total, visited


def look_up(state: HaarState, level: int, prefix: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the sums of ``y (-1)^p(r & v)`` at nodes v of a level: int64[n]."""
    row, total = state.level(level)
    reports = int(np.abs(total).sum())
    words = -(-reports // 64)
    if level <= TRANSFORM_BITS and level << level <= 2 * prefix.size * words:
        sums = np.zeros(1 << level, np.int64)
        sums[row] = total
        kernels.transform(sums)
        return sums[prefix]
    planes = np.zeros((level + 1, words), np.uint64)
    kernels.slice_rows(row, total, planes)

    def work(run: slice) -> NDArray[np.int64]:
        out = np.empty(run.stop - run.start, np.int64)
        kernels.look_up(prefix[run], planes, reports, out)
        return out

    runs = parallel.partition(np.ones(prefix.size, np.int64), parallel.count_runs(prefix.size, 0))
    return np.concatenate(parallel.map_items(work, runs, 0))


PROTOCOLS = (Haar(),)
