"""Noise on every cell, filtered by a threshold: the cost is that of the values above it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.domain import skip_ranks
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism, Query, within
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.draws import LawName
from geodp.privacy.noise.exact_draws import GeometricDraws
from geodp.privacy.noise.law import DiscreteLaplace, Interval, exp_interval
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable, ReleasedTable

MAX_PASSING = 1 << 26
"""Most empty cells that may be expected to pass."""

LARGEST_THETA = 1 << 40
"""Largest threshold, so that values fit int64."""

AUTOMATIC_SHARE = 256
MAX_AUTOMATIC = 1 << 16
"""The automatic threshold lets 1 of 256 empty cells pass, and at most 65,536, on average."""

BATCH = 1 << 16
"""Number of gaps that are drawn together."""

GAPS, EXCESS = "geometric, ratio 1 - p", "geometric, ratio q"
"""Names of the laws for empty cells, whose parameter is the noise's scale: see :class:`Filter`."""

OCCUPIED, SKIPS, VALUES = (Stream.STAGE + stage for stage in range(3))


@dataclass(frozen=True)
class Filter(Mechanism):
    """Cormode, Procopiuc, Srivastava, Tran (2012): noisy counts below a threshold are dropped.

    The law is that of geometric noise on every cell of the domain, followed by a filter that keeps
    values of at least theta; but empty cells, nearly all of a sparse domain, are not visited one by
    one. Each of them passes with the same probability p, so the gaps between passing cells are
    geometric with ratio ``1 - p``, and the excess of an empty cell's value over theta is geometric
    with ratio ``q = exp(-1 / scale)``. Both are drawn exactly. The cost is that of the occupied
    cells and of those that pass.

    The release does not reveal which of its cells were occupied. Running time and memory depend on
    the number of occupied cells, as those of reading the input do.

    Attributes
    ----------
    theta : int
        Values below it are dropped. 0: the smallest one at which on average at most 1 of 256 empty
        cells passes, and at most 65,536 of them, by the scale and the size of the domain, which are
        public.
    """

    theta: int = field(default=0, metadata=within(0, LARGEST_THETA))

    name: ClassVar[str] = "filter"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "geometric noise, filtered by a threshold (Cormode et al. 2012)"
    citation: ClassVar[str] = (
        "Cormode, Procopiuc, Srivastava, Tran: Differentially Private Summaries for Sparse Data. "
        "ICDT 2012."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Cormode et al. (2012), high-pass filter: geometric noise on the vector of all "
        "counts, whose L1 sensitivity is 1; the filter is post-processing, and sampling the empty "
        "cells that pass has the same law",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Filter: noisy counts below the threshold become 0. A cell of fewer people than the "
        "threshold mostly vanishes, so sparsely populated areas are biased downwards.",
        "Empty cells whose noise reaches the threshold appear with at least that count, which "
        "lifts empty areas: on average by cells * p * (threshold + q / (1 - q)), "
        "p = q**threshold / (1 + q), q = exp(-1 / noise scale).",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Accept any grid: no domain is enumerated, and skipped ranks are below 2**62."""
        return None

    def threshold(self, grid: Grid, event: Measurement) -> int:
        """Return theta, or the automatic threshold, which depends on public values only."""
        return self.theta or automatic_threshold(event.scale, grid.size)

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of occupied cells, the gaps between passing empty cells, and values."""
        theta = self.threshold(grid, event)
        return (
            Query(OCCUPIED, DiscreteLaplace.of_scale(event.scale).identity, ("cells", theta)),
            Query(SKIPS, _gaps(event.scale, theta)[1], ("empty cells", grid.size, theta)),
            Query(VALUES, _excess(event.scale)[1], ("empty cells", grid.size, theta)),
        )

    def visited(self, released: ReleasedTable) -> int:
        """Count the cells that passed; the number of occupied ones that did not is confidential."""
        return int(released.key.size)

    def explain_noise_limit(self, grid: Grid, event: Measurement) -> str | None:
        """Explain if the noise is too wide, or if too many empty cells would pass."""
        if overload := super().explain_noise_limit(grid, event):
            return overload
        theta = self.threshold(grid, event)
        expected = grid.size * passing_probability(event.scale, theta)
        if expected <= MAX_PASSING:
            return None
        return Rule(
            "filter-passes-too-many",
            f"About {expected:,.0f} empty cells would pass the filter, and at most "
            f"{MAX_PASSING:,} may; raise its threshold from {theta}: filter:theta=N.",
        )

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release the cells whose noisy counts are at least theta."""
        theta, domain = self.threshold(table.grid, event), table.grid.domain
        law = DiscreteLaplace.of_scale(event.scale)
        leaf = table.key | np.uint64(1 << table.grid.bits)
        noise, _ = NodeNoise(key, OCCUPIED, law).at(leaf, table.grid.bits, table.grid.bits)
        noisy = table.count + noise
        passes = noisy >= theta
        # The passing ranks are among empty cells; skipping the occupied ones maps them to cells.
        rank = np.sort(domain.ranks_of_keys(table.key))
        passing = passing_ranks(key, event.scale, theta, domain.cells - rank.size)
        empty = skip_ranks(rank, passing)
        value = theta + GeometricDraws(key, VALUES, *_excess(event.scale)).draws(0, empty.size)
        keys = np.concatenate([table.key[passes], domain.keys_of_ranks(empty)])
        order = np.argsort(keys)
        values = np.concatenate([noisy[passes], value])
        return ReleasedTable(table.grid, keys[order], values[order], event)


def passing_probability(scale: Fraction, theta: int) -> float:
    """Compute P(Z >= theta) for theta >= 1: ``q**theta / (1 + q)``, q = exp(-1 / scale).

    Examples
    --------
    >>> f"{passing_probability(Fraction(10), 50):.3e} {passing_probability(Fraction(1), 5):.3e}"
    '3.537e-03 4.926e-03'
    """
    return math.exp(-theta / scale) / (1 + math.exp(-1 / scale))


def automatic_threshold(scale: Fraction, size: int) -> int:
    """Find the smallest theta >= 1 at which few of ``size`` empty cells pass on average.

    Few means 1 of 256, at most 65,536, and 1 cell of a domain of fewer than 256.

    Examples
    --------
    >>> automatic_threshold(Fraction(10), 1 << 18), automatic_threshold(Fraction(1), 1 << 60)
    (50, 31)
    """
    # Compared with integer bounds of the probability, so that every machine finds the same theta:
    # it is part of the queries, and so of the release's identity.
    few = min(max(size, AUTOMATIC_SHARE), AUTOMATIC_SHARE * MAX_AUTOMATIC)

    def enough(theta: int) -> bool:
        return passing_interval(scale, theta, 192)[1] * size * AUTOMATIC_SHARE <= few << 192

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    return low + 1 + bisect_left(range(low + 1, high), True, key=enough)


def passing_interval(scale: Fraction, theta: int, bits: int) -> tuple[int, int]:
    """Return integers low <= 2**bits * P(Z >= theta) <= high."""
    one = 1 << (bits + 8)
    q_low, q_high = exp_interval(1 / scale, bits + 8)
    low, high = exp_interval(theta / scale, bits + 8)
    return (low * one // (one + q_high)) >> 8, ((high * one // (one + q_low) + 1) >> 8) + 1


def _excess(scale: Fraction) -> tuple[Interval, LawName]:
    """Return ``q``, and the name of the law of an empty cell's excess over theta."""
    return lambda bits: exp_interval(1 / scale, bits), (EXCESS, scale)


def _gaps(scale: Fraction, theta: int) -> tuple[Interval, LawName]:
    """Return ``1 - p``, and the name of the law of gaps between empty cells that pass."""

    def interval(bits: int) -> tuple[int, int]:
        low, high = passing_interval(scale, theta, bits)
        return max((1 << bits) - high, 0), (1 << bits) - low

    return interval, (GAPS, scale)


def passing_ranks(key: NoiseKey, scale: Fraction, theta: int, n: int) -> NDArray[np.int64]:
    """Draw which of n empty cells pass: int64, strictly increasing, below n.

    It draws one geometric gap for each passing cell, and at most one batch more.
    """
    return np.concatenate([np.empty(0, np.int64), *_passing(key, scale, theta, n)])


def _passing(key: NoiseKey, scale: Fraction, theta: int, n: int) -> Iterator[NDArray[np.int64]]:
    gaps = GeometricDraws(key, SKIPS, *_gaps(scale, theta))
    expected = n * passing_probability(scale, theta)
    batch = min(int(expected + 4 * math.sqrt(expected)) + 8, BATCH)
    first, last = 0, -1
    while True:
        # No sum wraps around before it passes n: it grows by at most 2**62 + 1 from below 2**62.
        rank = last + np.cumsum(gaps.draws(first, batch) + 1)
        beyond = np.flatnonzero(rank >= n)
        if beyond.size:
            yield rank[: beyond[0]]
            return
        yield rank
        first, last = first + batch, int(rank[-1])


METHODS = (Filter(),)
