"""The paper's method: noisy Haar details, refined from the top down."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event, Guarantee
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.kernels import haar, tree
from geodp.kernels import topdown as kernels
from geodp.mechanisms.base import PUBLIC_DOMAIN, PURE, Mechanism
from geodp.mechanisms.frontier import Data, Frontier
from geodp.noise import NodeNoise
from geodp.randomness import NoiseKey, Stream, blocks
from geodp.table import LARGEST_DENSE, CountTable, ReleasedTable
from geodp.tree import worst_paths
from geodp.variance import TreeVariance

ROOT = np.array([1], np.uint64)


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

    def root(self, data: Data) -> Frontier:
        """The root with its refined total; no node where that is 0."""
        total = self.refined_total(int(data.cumulative[-1]))
        prefix = np.zeros(min(total, 1), np.uint64)
        return data.frontier(prefix, 1 << data.grid.bits, np.full(prefix.size, total))


@dataclass(frozen=True)
class TopDown(Mechanism):
    """Terada, Suzuki, Yamaguchi, Hongo (2015): pruned top-down refinement on integers.

    Measured are the total and, at every node of the binary tree over the keys, the difference
    of its two halves; each gets discrete Laplace noise of scale ``(1 + k) / epsilon`` on a
    domain of ``2**k`` cells. From the root down, every noisy difference is clamped to what its
    node holds, so no count is negative, children add up to their parent, and a node with
    nobody is not visited any further.
    """

    name: ClassVar[str] = "topdown"
    title: ClassVar[str] = "top-down refinement of noisy Haar details (Terada et al. 2015)"
    citation: ClassVar[str] = (
        "Terada, Suzuki, Yamaguchi, Hongo: On Publishing Large Tabular Data with Differential "
        "Privacy. IPSJ Journal 56(9), 2015."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Terada et al. (2015), section 4: one person changes the total by 1 and one detail "
        "on each of the k levels by 1, so the L1 sensitivity is 1 + k; everything after the noise "
        "is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: a total below 0 becomes 0, and every detail is clamped to what its node "
        "holds. The clamp is biased: a "
        "lone occupied cell in an empty region is pulled down by about 2 to 3 noise scales, and "
        "what it loses goes to the empty cells around it (isolated-cell shrinkage).",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: an odd sum is split by a random bit of its node; unbiased.",
    )

    def refusal(self, grid: Grid) -> str | None:
        """Any size; but every node must split in two."""
        if not grid.order.is_binary:
            return "topdown needs a grid whose order splits every node in two."
        return None

    def sensitivity(self, grid: Grid) -> int:
        """``1 + k``: the total, and one detail on each of the k levels.

        On a masked domain k is the largest number of branching nodes above a cell: at a node with
        one possible child the detail is the node's sum or its negative, so it is not measured,
        and one person changes only the details of the branching nodes above their cell.
        """
        paths = worst_paths(_binary(grid), 0, lambda count: count + 1, lambda count: count)
        return 1 + int(paths[-1])

    def sensitivity_words(self, grid: Grid, event: Event | None = None) -> str:
        """Why it is that, as one sentence for the release card."""
        b = self.sensitivity(grid) - 1
        return (
            f"a person counted once changes the total by 1, and one difference by 1 on each of the "
            f"{b} levels where both halves of the person's block can hold somebody"
        )

    def isolated_cell(self, grid: Grid, event: Event) -> dict[str, float]:
        """Bias and root-mean-square error of a populous cell in an empty region, in counts.

        With E the error of a block that holds all people of its surroundings, in noise scales:
        E has the noise's law at the root, and becomes ``min(E, (E + N) / 2)`` on every level, N of
        that law too, as the empty half cannot become negative. Evaluated on a grid of 1/20 scale.
        """
        scale, gaussian = event.width(), event.rho is not None
        bias, rmse = _isolated(self.sensitivity(grid) - 1, gaussian)
        return {"bias": float(f"{bias * scale:.4g}"), "rmse": float(f"{rmse * scale:.4g}")}

    def clamp_losses(self, grid: Grid, event: Event) -> list[tuple[float, float]]:
        """What the clamp takes from an occupied half beside an empty one, at one node."""
        width, gaussian, sigma2 = event.width(), event.rho is not None, event.law().variance
        above = [(v / sigma2) ** 0.5 for v in self.tree_variance(grid, event).nodes()[:-1]]
        losses = [_lost(round(error, 3), gaussian) for error in above]
        return [(mean * width, spread * width) for mean, spread in losses]

    def variances(self, grid: Grid, event: Event) -> NDArray[np.float64]:
        """Largest variance of a block of each level where nothing is clamped.

        Halving a node's sum with a noisy detail gives ``(V + sigma**2) / 4``, from ``sigma**2`` at
        the root. On a domain of ``2**k`` cells without a mask a block of ``2**l`` cells has
        ``sigma**2 / 3 * (1 + 2 / q**2)``, ``q = 2**(k - l)``: Terada et al. (2015), Theorem 3,
        read as an equality, which is also the variance of Privelet. A node with one possible
        child passes its variance on. The rounding of odd sums, not counted here, adds less than 1.

        Returns
        -------
        float64[bits + 1]
            From the root to the cells.
        """
        sigma2 = event.law().variance
        return sigma2 * worst_paths(_binary(grid), 1, lambda v: (v + 1) / 4, lambda v: v)

    def tree_variance(self, grid: Grid, event: Event) -> TreeVariance:
        """Halves with the variance ``sigma**2 / 2`` each: a detail's noise, halved, to and fro."""
        sigma2, bits = event.law().variance, grid.bits
        variances = (sigma2, *[sigma2 / 2] * bits)
        # Both halves deviate by the same noise N / 2: as two of fourth cumulant 3 sigma**4 / 2.
        fourths = (3 * sigma2**2, *[1.5 * sigma2**2] * bits) if event.rho is None else ()
        return TreeVariance((2,) * bits, variances, fourths)

    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """T2, the sparse form: ``O(m+ log n)`` visited nodes."""
        keys, counts, _ = refine(table, Noise.of(event, key))
        return ReleasedTable(table.grid, keys, counts, event)

    def visited(self, released: ReleasedTable) -> int:
        """Nodes that were split: all that lie above an output cell."""
        if not released.key.size:
            return 0
        meet = released.key[1:] ^ released.key[:-1]
        low, high = np.frexp(meet & np.uint64(2**32 - 1))[1], np.frexp(meet >> np.uint64(32))[1]
        return released.grid.bits + int(np.where(high > 0, high + 31, low - 1).sum())


@lru_cache(maxsize=256)
def _lost(above: float, gaussian: bool) -> tuple[float, float]:
    """Mean and standard deviation of ``-min(E, (E + N) / 2)``, E with ``above`` times N's law."""
    noise = np.arange(-10, 10.05, 0.1)
    weight = np.exp(-(noise**2) / 2 if gaussian else -np.abs(noise))
    weight /= weight.sum()
    error = above * noise[:, None]
    lost = -np.minimum(error, (error + noise) / 2)
    mean = weight @ lost @ weight
    return float(mean), float((weight @ lost**2 @ weight - mean**2) ** 0.5)


@lru_cache(maxsize=128)
def _isolated(levels: int, gaussian: bool) -> tuple[float, float]:
    """Bias and root-mean-square error of :meth:`TopDown.isolated_cell`, in noise scales."""
    step, reach = 1 / 20, 25.0
    value = np.arange(-reach, reach + step / 2, step)
    noise = np.exp(-(value**2) / 2 if gaussian else -np.abs(value))
    noise /= noise.sum()
    error = noise.copy()
    above = noise[::-1].cumsum()[::-1]  # P(N >= value)
    for _ in range(levels):
        # (E + N) / 2 with N < E has twice the resolution; every second point is shared out.
        half = np.zeros(2 * value.size - 1)
        for i in np.flatnonzero(error > 1e-12):
            half[i : 2 * i] += error[i] * noise[:i]
        moved = half[::2].copy()
        moved[1:] += half[1::2] / 2
        moved[:-1] += half[1::2] / 2
        error = error * above + moved
    return float(error @ value), float(np.sqrt(error @ value**2))


def refine(table: CountTable, noise: Noise) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """T2: refine level by level from the root, visiting only nodes that hold somebody.

    The sum of a node is a difference of two prefix sums over the sorted keys, so no Haar
    coefficient is stored.

    Returns
    -------
    key : uint64[m+], count : int64[m+]
        The refined cells above 0, in key order.
    visited : int
        Nodes that were split.
    """
    grid = _binary(table.grid)
    data = Data.of(table)
    return split(data, noise, noise.root(data), 0, grid.bits)


def split(
    data: Data, noise: Noise, start: Frontier, first: int, last: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """T2 from nodes of level ``first``, a multiple of three, down to those of level ``last``.

    Returns
    -------
    prefix : uint64[n], count : int64[n]
        The nodes above 0 of level ``last``, in key order.
    visited : int
        Nodes that were split.
    """
    grid = data.grid
    masks, limits, domain = grid.domain_tests()
    group = np.zeros(start.prefix.size, np.int64)
    frontier = np.stack([start.prefix.astype(np.int64), start.count, *start.span, group])
    visited = 0
    words = np.empty((8, 0), np.uint64)
    for level in range(first, last):
        n = frontier.shape[1]
        visited += n
        node = (np.uint64(1) << np.uint64(level)) | frontier[0].astype(np.uint64)
        if level % 3 == 0:  # three levels share the blocks of the uppermost
            words = noise.detail.blocks(node)
            frontier[4] = np.arange(n)
        depth = level % 3
        slot = (1 << depth) - 1 + (frontier[0] & ((1 << depth) - 1))
        drawn, rounding = noise.detail.draw(words, frontier[4], slot, node)
        branch = np.empty(n, np.int64)
        height = grid.bits - level
        tree.branches(frontier[0], height, masks[level], limits[level], domain, branch)
        children = np.empty((5, 2 * n), np.int64)
        written = kernels.expand(
            frontier, height, branch, drawn, rounding, data.key, data.cumulative, children
        )
        frontier = children[:, :written]
    return frontier[0].astype(np.uint64), frontier[1].copy(), visited


def refine_dense(table: CountTable, noise: Noise) -> NDArray[np.int64]:
    """T1, the dense form in three passes, ``O(n)``: bit for bit the result of :func:`refine`.

    Returns
    -------
    int64[2**bits]
        Counts in key order. Raises UsageError for more than 2**28 keys.
    """
    grid = _binary(table.grid)
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
    grid = _binary(table.grid)
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


def _binary(grid: Grid) -> Grid:
    if refusal := TopDown().refusal(grid):
        raise UsageError(refusal)
    return grid


def _dense_size(grid: Grid) -> int:
    if 1 << grid.bits > LARGEST_DENSE:
        raise UsageError("The grid is too large for the dense form; use the sparse one.")
    return 1 << grid.bits


METHODS = (TopDown(),)
