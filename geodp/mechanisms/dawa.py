"""A private partition into even stretches, then noisy counts of its buckets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event, Guarantee
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.mechanisms.base import (
    PUBLIC_DOMAIN,
    PURE,
    Mechanism,
    Query,
    add_noise,
    released_vector,
    stage_query,
)
from geodp.randomness import NoiseKey
from geodp.table import CountTable, ReleasedTable

MOST_KEYS = 1 << 20
"""Most keys of a domain that the method takes."""

COST_SENSITIVITY = 2
"""The most that one person changes the cost of the intervals that hold them."""


@dataclass(frozen=True)
class Dawa(Mechanism):
    """Li, Hay, Miklau, Wang (2014), DAWA: a data-aware partition, then a hierarchy over it.

    **Stage 1** chooses a partition of the keys into intervals, the buckets, with the share
    ``rho`` of the budget. The cost of an interval b is how far its counts are from even,
    ``dev(b) = sum |x - mean|`` over its cells in the domain, rounded to a whole number, plus a
    public constant. Every cost gets noise, and the partition of the least sum of noisy costs is
    taken, by dynamic programming.

    *Sensitivity.* One more person in cell i moves ``|x[i] - mean|`` by at most ``1 - 1/L`` in an
    interval of L cells, and each of the other L - 1 terms by at most ``1/L``: together at most
    ``2 (1 - 1/L) < 2``. Values that differ by at most 2 differ by at most 2 when rounded.
    Intervals without the person do not change.

    *Privacy.* Every partition has exactly one interval that holds the person, so its cost moves
    by at most D = 2. Let B be the partition chosen on x, b its interval with the person, and all
    noise but that of b be fixed. On a neighbouring table the same B is chosen if the noise of b
    is lower by 2 D: partitions that contain b move as B does, and of the others none gets closer.
    Ties go by a fixed order of partitions. So the partition is rho-epsilon private with noise of
    scale ``2 D / (rho epsilon)`` on every interval, however many there are: report-noisy-min with
    exact discrete Laplace noise. The argument needs noise on *every* interval, single cells too,
    and no cutting of noisy costs at 0.

    *Deviations.* The paper's efficient form takes intervals of a power-of-two length at any
    start, in the order of the Hilbert curve. Here they are the aligned ones in the grid's own
    order, which are blocks of the map where that is Morton's; an interval of which only one half
    lies in the domain is not taken beside that half. The paper's constant is the expected error
    of a bucket's count, ``1 / epsilon2``. The minimum over many noisy costs prefers partitions of
    many buckets, whose negative noise adds up, so ``penalty`` times the scale of the costs' noise
    is added; 0 gives the paper's cost. Of 0, 1, 2, 3, 4 and 6 the default had the least error of
    cells on the public census of 2020 around Tokyo (500 m), about half of that of 0 at epsilon
    0.1.

    **Stage 2** counts the buckets with the rest of the budget: noisy counts of all nodes of a
    tree with ``fanout`` children over the list of buckets, made consistent by least squares. The
    paper weights such a tree for a given workload (GREEDY_H); here all levels weigh the same. A
    bucket's count is spread evenly over its cells in the domain.

    Parameters
    ----------
    rho : Fraction
        Share of the budget for the partition: above 0, below 1; otherwise UsageError.
    penalty : Fraction
        Not negative.
    fanout : int
        At least 2; as many as there are buckets means no hierarchy but their total.
    """

    rho: Fraction = Fraction(1, 4)
    penalty: Fraction = Fraction(2)
    fanout: int = 16

    name: ClassVar[str] = "dawa"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "data-aware buckets, then noisy counts of a hierarchy (Li et al. 2014)"
    citation: ClassVar[str] = (
        "Li, Hay, Miklau, Wang: A Data- and Workload-Aware Algorithm for Range Queries Under "
        "Differential Privacy. PVLDB 7(5), 2014."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Li et al. (2014), section 4: one person changes the cost of every partition by at "
        "most 2, and report-noisy-min with noise of scale 4 / (rho epsilon) per interval chooses "
        "one; given the buckets, one person changes one count on each level of the tree over them",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Uniformity: the cells of a bucket share its count evenly, which evens out what differs "
        "inside; unbiased for whole buckets given the partition, biased within them.",
        "Consistency: the counts of the buckets' tree are combined by least squares; unbiased.",
        "Negative counts stay as they are.",
    )

    def __post_init__(self) -> None:
        if not 0 < self.rho < 1 or self.penalty < 0 or self.fanout < 2:
            raise UsageError(
                "dawa: rho lies above 0 and below 1, penalty is not negative, fanout at least 2."
            )

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Of the budget: for the partition, for the counts."""
        return self.rho, 1 - self.rho

    def refusal(self, grid: Grid) -> str | None:
        """Any order of at most 2**20 keys."""
        if 1 << grid.bits > MOST_KEYS:
            return (
                f"dawa takes at most {MOST_KEYS:,} cells (padded to powers of two); "
                f"this grid has {grid.size:,}."
            )
        return None

    def least_share(self, grid: Grid, event: Event) -> Fraction:
        """That of a level of the tree over all cells, or of the costs."""
        first, second = self.shares
        levels, width = 1, 1
        while width < grid.size:
            levels, width = levels + 1, width * self.fanout
        return min(first / (2 * COST_SENSITIVITY), second / levels)

    def sensitivity_words(self, grid: Grid, event: Event | None = None) -> str:
        """Why it is that, as one sentence for the release card."""
        return (
            "a person counted once changes the cost of every partition by at most 2 and, on each "
            "level of the tree over the buckets, one count by 1; each stage has its share"
        )

    def costs(self, event: Event) -> tuple[Fraction, int]:
        """Scale of the noise of the intervals' costs, and what is added to each deviation."""
        first, second = self.shares
        scale = 2 * COST_SENSITIVITY * event.scale / first
        return scale, round(event.scale / second + self.penalty * scale)

    def counts_scale(self, event: Event, levels: int) -> Fraction:
        """Scale of the noise of the counts of a tree of so many levels."""
        return levels * event.scale / self.shares[1]

    def queries(self, grid: Grid, event: Event) -> tuple[Query, ...]:
        """Costs of all intervals, and the trees of all heights over the buckets chosen by them."""
        scale, more = self.costs(event)
        buckets, levels = grid.size, 1
        while buckets > 1:
            buckets, levels = -(-buckets // self.fanout), levels + 1
        trees = (
            stage_query(1, self.counts_scale(event, n), "buckets in a tree", self.fanout, n)
            for n in range(1, levels + 1)
        )
        return stage_query(0, scale, "deviations of intervals", 1 << grid.bits, more), *trees

    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """All cells of the domain, evenly within each bucket."""
        grid = table.grid
        x = table.to_vector()
        cells, candidate = nodes(grid)
        scale, more = self.costs(event)
        start = partition(add_noise(deviations(x, cells) + more, key, 0, scale), candidate)
        counts = hierarchy(np.add.reduceat(x, start), self.fanout)
        second = self.counts_scale(event, len(counts))
        noisy = add_noise(np.concatenate(counts), key, 1, second)
        levels = np.split(noisy, np.cumsum([level.size for level in counts])[:-1])
        inside = cells[x.size :]
        each = consistent(levels, self.fanout) / np.add.reduceat(inside, start)
        values = np.zeros(x.size)
        values[start[0] :] = np.repeat(each, np.diff(np.append(start, x.size)))
        return released_vector(values * inside, grid, event)


def nodes(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The binary tree over the keys: node i has the children 2 i and 2 i + 1, the root is 1.

    Returns
    -------
    cells : int64[2 n]
        Cells of the domain under every node; entry 0 is not used.
    candidate : bool[2 n]
        Cells of the domain, and nodes of which both halves have any: every set of cells once.
    """
    n = 1 << grid.bits
    cells = np.zeros(2 * n, np.int64)
    cells[n:] = 1 if grid.size == n else grid.contains_keys(np.arange(n, dtype=np.uint64))
    candidate = cells > 0
    for level in range(grid.bits - 1, -1, -1):
        children = cells[2 << level : 4 << level].reshape(-1, 2)
        cells[1 << level : 2 << level] = children.sum(axis=1)
        candidate[1 << level : 2 << level] = (children > 0).all(axis=1)
    return cells, candidate


def deviations(x: NDArray[np.int64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """``sum |x - mean|`` over the domain's cells of every node, rounded half up: int64[2 n].

    Computed as ``2 sum (x - mean)`` over the cells above the mean, in whole numbers below 2**62:
    with the sum ``S = q L + r`` of L cells, c of which are above the mean with the sum A, it is
    ``2 (A - c q) - 2 c r / L``.
    """
    dev = np.zeros(2 * x.size, np.int64)
    width = 2
    while width <= x.size:
        here = slice(x.size // width, 2 * x.size // width)
        rows = x.reshape(-1, width)
        size = np.maximum(cells[here], 1)
        q, r = np.divmod(rows.sum(axis=1), size)
        above = rows > q[:, None]
        c = above.sum(axis=1)
        held = (rows * above).sum(axis=1)
        dev[here] = 2 * (held - c * q) + (size - 4 * c * r) // (2 * size)
        width *= 2
    return dev


def partition(cost: NDArray[np.int64], candidate: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Aligned intervals of the least total cost that hold every candidate leaf once.

    Among equals the partition that keeps a node whole wins, at the earliest node from the root
    down and from the left where two differ: a fixed order.

    Parameters
    ----------
    cost : int64[2 n]
        Of every node, as :func:`nodes` numbers them.
    candidate : bool[2 n]
        Which may be buckets.

    Returns
    -------
    int64[buckets]
        First keys, increasing.
    """
    n = cost.size // 2
    best = np.where(candidate, cost, 0)
    whole = candidate.copy()
    width = n // 2
    while width:
        here = slice(width, 2 * width)
        parts = best[2 * width : 4 * width].reshape(-1, 2).sum(axis=1)
        whole[here] &= cost[here] <= parts
        best[here] = np.where(whole[here], cost[here], parts)
        width //= 2
    start = np.zeros(n, np.bool_)
    open_ = np.ones(1, np.bool_)
    width = 1
    while width <= n:
        chosen = open_ & whole[width : 2 * width]
        start[np.flatnonzero(chosen) * (n // width)] = True
        open_ = np.repeat(open_ & ~chosen, 2)
        width *= 2
    return np.flatnonzero(start)


def hierarchy(counts: NDArray[np.int64], fanout: int) -> list[NDArray[np.int64]]:
    """Sums over groups of ``fanout``, level by level up to the total; the last may be smaller."""
    levels = [counts]
    while levels[-1].size > 1:
        levels.append(np.add.reduceat(levels[-1], np.arange(0, levels[-1].size, fanout)))
    return levels


def consistent(noisy: list[NDArray[np.int64]], fanout: int) -> NDArray[np.float64]:
    """Least-squares estimates of a hierarchy's first level: float64[buckets].

    All nodes were measured with the same variance. From below, a node's estimate is the average
    of its own count and its children's sum, weighted by their variances; from above, what a node
    differs from its children's sum is shared out by their variances (Hay et al. 2010, section
    4.1, for groups of any size).
    """
    estimate = [noisy[0].astype(np.float64)]
    variance = [np.ones(noisy[0].size)]
    below = []
    for own in noisy[1:]:
        group = np.arange(0, estimate[-1].size, fanout)
        sums = np.add.reduceat(estimate[-1], group)
        spread = np.add.reduceat(variance[-1], group)
        below.append((sums, spread))
        estimate.append((own * spread + sums) / (spread + 1))
        variance.append(spread / (spread + 1))
    final = estimate[-1]
    for level in range(len(below) - 1, -1, -1):
        sums, spread = below[level]
        group = np.arange(estimate[level].size) // fanout
        final = estimate[level] + variance[level] * ((final - sums) / spread)[group]
    return final


METHODS = (Dawa(),)
