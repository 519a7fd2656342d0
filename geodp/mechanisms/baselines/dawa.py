"""DAWA: a private partition into intervals of similar counts, then noisy counts of its buckets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.kernels import baselines
from geodp.mechanisms.base import Mechanism, Query, within
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable

COST_SENSITIVITY = 1
"""The most that one person changes the cost of the intervals that hold them."""


@dataclass(frozen=True)
class Dawa(Mechanism):
    """After Li, Hay, Miklau, Wang (2014), DAWA: data-aware buckets, then a hierarchy over them.

    **Stage 1** chooses a partition of the domain's cells, in the order of their keys, into
    intervals of a power-of-two length at any start, the buckets, with the share ``rho`` of the
    budget. The cost of an interval b is how far its counts are from even,
    ``dev(b) = sum |x - median|``, plus a public constant. Every cost gets noise, and the
    partition of the least sum of noisy costs is taken, by dynamic programming.

    *Sensitivity.* ``dev(b)`` is the least of ``sum |x - m|`` over all m, and one person changes
    each of these sums by at most 1: so it changes by at most 1. It is a whole number, the upper
    half of the counts less the lower half. Intervals without the person do not change.

    *Privacy.* Every partition has exactly one interval that holds the person, so its cost moves
    by at most D = 1. Let B be the partition chosen on x, b its interval with the person, and all
    noise but that of b be fixed. On a neighbouring table the same B is chosen if the noise of b
    is lower by 2 D: partitions that contain b move as B does, and of the others none gets closer.
    Ties go by a fixed order of partitions. So the partition is rho-epsilon private with noise of
    scale ``2 D / (rho epsilon)`` on every interval, however many there are: report-noisy-min with
    exact discrete Laplace noise. The argument needs noise on *every* interval, single cells too,
    and no cutting of noisy costs at 0. The authors' code, as DPBench has it, has half as much
    noise, none on single cells, and cuts: on three cells it spends 1.7 times its share.

    *Deviations.* The paper's deviation is from the mean, of sensitivity 2; that from the median
    is between half of it and all of it, and the noise is half. The order of cells is the grid's
    own, the paper's a Hilbert curve. The paper's constant is the expected error of a bucket's
    count, ``1 / epsilon2``. The minimum over many noisy costs prefers partitions of many buckets,
    whose negative noise adds up, so ``penalty`` times the scale of the costs' noise is added.
    A larger one is better where few people live, and worse where many do; with 1 the errors are
    at most 1.1 of those of the paper's costs, with noise on every interval, on all maps that were
    tried: see docs/measured/benchmark.md.

    **Stage 2** counts the buckets with the rest of the budget: noisy counts of all nodes of a
    tree with ``fanout`` children over the list of buckets, made consistent by least squares. The
    paper fits the shares of the nodes to a given workload (GREEDY_H). For random ranges of a line
    that gives four fifths to the buckets and one to runs of 64, and for rectangles of a map
    nearly the same; here the buckets have the share ``leaves`` of it, and the levels above share
    out the rest evenly, for any workload. A bucket's count is spread evenly over its cells.

    Parameters
    ----------
    rho : Fraction
        Share of the budget for the partition: above 0, below 1; otherwise UsageError.
    penalty : Fraction
        Not negative.
    fanout : int
        At least 2.
    leaves : Fraction
        Share of the second budget for the buckets, where there are several: above 0, below 1.
    """

    rho: Fraction = field(default=Fraction(1, 4), metadata=within(0, 1, strictly=True))
    penalty: Fraction = field(default=Fraction(1), metadata=within(0))
    fanout: int = field(default=64, metadata=within(2))
    leaves: Fraction = field(default=Fraction(4, 5), metadata=within(0, 1, strictly=True))

    # The costs of its intervals have 176 MB then.
    max_cells: ClassVar[int] = 1 << 20

    name: ClassVar[str] = "dawa"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "data-aware buckets, then noisy counts, after DAWA (Li et al. 2014)"
    citation: ClassVar[str] = (
        "After Li, Hay, Miklau, Wang: A Data- and Workload-Aware Algorithm for Range Queries Under "
        "Differential Privacy. PVLDB 7(5), 2014."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "after Li et al. (2014), section 4: one person changes the cost of every partition "
        "by at most 1, and report-noisy-min with noise of scale 2 / (rho epsilon) on every "
        "interval chooses one; given the buckets, one person changes one count on each level of "
        "the tree over them, and the levels' shares add up",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Uniformity: the cells of a bucket share its count evenly, which evens out what differs "
        "inside; unbiased for whole buckets given the partition, biased within them.",
        "Consistency: the counts of the buckets' tree are combined by least squares; unbiased.",
        "Negative counts stay as they are.",
    )

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Shares of the budget for the partition and for the counts."""
        return self.rho, 1 - self.rho

    def level_shares(self, height: int) -> tuple[Fraction, Fraction]:
        """Return the budget shares of the buckets and of each level above, by the tree's height."""
        second = self.shares[1]
        if height == 1:
            return second, Fraction(0)
        return second * self.leaves, second * (1 - self.leaves) / (height - 1)

    def height(self, buckets: int) -> int:
        """Return the number of levels of the tree over some buckets."""
        levels = 1
        while buckets > 1:
            buckets, levels = -(-buckets // self.fanout), levels + 1
        return levels

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share, of a level of the tree over all cells or of the costs."""
        buckets, above = self.level_shares(self.height(grid.size))
        return min(self.shares[0] / (2 * COST_SENSITIVITY), buckets, above or buckets)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the cost of every partition by at most 1 and, on each "
            "level of the tree over the buckets, one count by 1; each stage and level has its share"
        )

    def costs(self, event: Measurement) -> tuple[Fraction, int]:
        """Return the scale of the noise of the intervals' costs, and the constant of each cost."""
        first, second = self.shares
        scale = 2 * COST_SENSITIVITY * event.scale / first
        return scale, round(event.scale / second + self.penalty * scale)

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the costs of all intervals, and trees of all possible heights over the buckets."""
        scale, more = self.costs(event)
        stage = grid.size.bit_length()
        queries = [
            stage_query(level, scale, "deviations of intervals", grid.size, 1 << level, more)
            for level in range(stage)
        ]
        for height in range(1, self.height(grid.size) + 1):
            share, above = self.level_shares(height)
            queries.append(stage_query(stage, event.scale / share, "buckets", height))
            if above:
                scale = event.scale / above
                queries.append(stage_query(stage + 1, scale, "runs of them", self.fanout, height))
        return tuple(queries)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release all cells of the domain, with equal values within each bucket."""
        grid = table.grid
        inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
        x = table.to_vector()[inside]
        start = np.flatnonzero(self.partition(x, event, key))
        noisy, variance = self.measure(np.add.reduceat(x, start), x.size, event, key)
        size = np.diff(np.append(start, x.size))
        values = np.zeros(inside.size)
        values[inside] = np.repeat(consistent(noisy, variance, self.fanout) / size, size)
        return release_vector(values, grid, event)

    def partition(
        self, x: NDArray[np.int64], event: Measurement, key: NoiseKey
    ) -> NDArray[np.bool_]:
        """Choose where the buckets of a list of counts start: bool[n]."""
        # Every interval gets noise, single cells too, and noisy costs are not cut at 0: without
        # either the proof of report-noisy-min fails.
        scale, more = self.costs(event)
        cost = np.empty((x.size.bit_length(), x.size), np.int64)
        for level, even in enumerate(deviations(x)):
            cost[level, : even.size] = add_noise(even + more, key, level, scale)
        start = np.empty(x.size, np.bool_)
        baselines.cheapest(cost, start)
        return start

    def measure(
        self, counts: NDArray[np.int64], cells: int, event: Measurement, key: NoiseKey
    ) -> tuple[list[NDArray[np.int64]], list[float]]:
        """Measure all levels of the tree over the buckets; also return relative variances."""
        levels = hierarchy(counts, self.fanout)
        share, above = self.level_shares(len(levels))
        stage = cells.bit_length()
        noisy = [add_noise(counts, key, stage, event.scale / share)]
        if above:
            runs = add_noise(np.concatenate(levels[1:]), key, stage + 1, event.scale / above)
            noisy += np.split(runs, np.cumsum([level.size for level in levels[1:-1]]))
        return noisy, [float(above**2), *[float(share**2)] * (len(levels) - 1)]


def deviations(x: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Compute ``sum |x - median|`` of all intervals of 1, 2, 4 ... entries, by their start.

    All are integers below 2**62 if the sum of the counts is.
    """
    yield np.zeros(x.size, np.int64)
    level, rank = np.unique(x, return_inverse=True)
    width = 2
    while width <= x.size:
        deviation = np.empty(x.size - width + 1, np.int64)
        baselines.deviations(x, rank, level, width, deviation)
        yield deviation
        width *= 2


def hierarchy(counts: NDArray[np.int64], fanout: int) -> list[NDArray[np.int64]]:
    """Return sums over groups of ``fanout``, level by level up to the total.

    The last may be smaller.
    """
    levels = [counts]
    while levels[-1].size > 1:
        levels.append(np.add.reduceat(levels[-1], np.arange(0, levels[-1].size, fanout)))
    return levels


def consistent(
    noisy: list[NDArray[np.int64]], variance: list[float], fanout: int
) -> NDArray[np.float64]:
    """Compute least-squares estimates of a hierarchy's first level: float64[buckets].

    Parameters
    ----------
    noisy : list of int64[...]
        Levels, as :func:`hierarchy` makes them, with noise.
    variance : list of float
        Variance of the noise of each level, in any unit.
    fanout : int
    """
    # Hay et al. (2010), section 4.1, for groups of any size and levels of any variance: upwards, a
    # node's count is averaged with its children's sum by inverse variances; downwards, the rest of
    # its estimate is divided among the children in proportion to their variances.
    estimate = [noisy[0].astype(np.float64)]
    spreads = [np.full(noisy[0].size, variance[0])]
    below = []
    for counts, exact in zip(noisy[1:], variance[1:], strict=True):
        group = np.arange(0, estimate[-1].size, fanout)
        sums = np.add.reduceat(estimate[-1], group)
        spread = np.add.reduceat(spreads[-1], group)
        below.append((sums, spread))
        estimate.append((counts * spread + sums * exact) / (spread + exact))
        spreads.append(spread * exact / (spread + exact))
    final = estimate[-1]
    for level in range(len(below) - 1, -1, -1):
        sums, spread = below[level]
        group = np.arange(estimate[level].size) // fanout
        final = estimate[level] + spreads[level] * ((final - sums) / spread)[group]
    return final


METHODS = (Dawa(),)
