"""Estimate how many cells have how many people from the measurements of all cells.

If a complete level of single cells is published, each value is the cell's count plus noise of a
known law. The counts are then estimated as those whose sums with that noise explain the values best
(maximum likelihood of a mixture; Kiefer, Wolfowitz 1956), without any map and without simulating
the method. Cells are divided into strata by the measurements of the nodes above them; as the noise
of these is independent of the cells', the noise of the cells has the same law in each stratum.

Where a node above was measured as nearly empty, few cells can be inhabited. The counts of these are
taken from the sparsest of the other strata, as noise would hide some of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from geodp.features.statistics.unmixing import SEED, list_edges
from geodp.grid.grid import Grid
from geodp.privacy.noise.laplace import LAPLACE
from geodp.table.measured import COUNT, MeasuredLevel, Measurements, NodeLevel, stride_of
from geodp.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


EMPTY = 2.0
"""Standard deviations of a node above: with a smaller value it may be empty."""

STRATA = (4, 16, 64)
"""Ends of the other strata, as multiples of that value of the lowest node above."""

CERTAIN, SHOWN, BELOW = 24.0, 18.0, 8.0
"""Limits of a fit in noise scales: the largest count, the largest value, and how far values reach
below 0. Cells with larger values have the counts that were measured."""

STEPS, NEAR = 3000, 1e-7
"""Steps of a fit at most, and the change of a share that ends it."""

AGAIN = 16
"""Fits to values drawn from the fit, from which its error and its bias are estimated."""

DOUBT = 0.5
"""Relative uncertainty of the number of inhabited cells in nearly empty nodes."""


@dataclass(frozen=True, eq=False)
class Deconvolved:
    """Numbers of cells by count, and those fitted to values drawn from them.

    Attributes
    ----------
    edges : int64[bins + 1]
        Smallest count of each bin, and the end of the last one.
    cells : float64[strata, bins]
        Numbers of cells, without those of large values. The first stratum is that of nearly empty
        nodes if ``tied``.
    refitted : float64[fits, strata, bins]
        Numbers of cells fitted to values that were drawn from the fit.
    largest : int64[m]
        Measured values of the cells of large values.
    total : int
        Number of all cells.
    scale : float
        Scale of Laplace noise with the standard deviation of a cell's noise.
    tied : bool
        Whether nearly empty nodes have their counts from the next stratum.
    """

    edges: IntArray = field(repr=False)
    cells: FloatArray = field(repr=False)
    refitted: FloatArray = field(repr=False)
    largest: IntArray = field(repr=False)
    total: int
    scale: float
    tied: bool

    def estimate(self, figure: Callable[[FloatArray], float]) -> tuple[float, float]:
        """Estimate a statistic without the bias of the fit, and its standard error.

        Parameters
        ----------
        figure : callable
            Function from the counts of cells, in any order, to a number.
        """
        value, random = figure(self.list_counts(self.cells)), np.random.default_rng(SEED)
        size = self.largest.size
        every = np.array(
            [
                figure(self.list_counts(one, np.rint(random.laplace(0, self.scale, size))))
                for one in self.refitted
            ]
        )
        # Half of the bias counts as uncertain, as the fits are drawn from a fit and not the truth.
        bias = float(every.mean()) - value
        error = hypot(float(every.std(ddof=1)), bias / 2)
        # The number of inhabited cells in nearly empty nodes is uncertain by DOUBT.
        if self.tied:
            without = self.cells.copy()
            without[0] = 0
            without[0, 0] = self.cells[0].sum()
            error = hypot(error, DOUBT * (figure(self.list_counts(without)) - value))
        return value - bias, error

    def list_counts(self, cells: FloatArray, noise: FloatArray | float = 0.0) -> FloatArray:
        """List a count for every cell, in any order: float64[n]; ``noise``: of the largest."""
        widths = np.diff(self.edges)
        each = np.repeat(cells.sum(axis=0) / widths, widths)
        # Rounding the running sum, and not each number, keeps the number of all cells.
        until = np.cumsum(each) * ((self.total - self.largest.size) / max(each.sum(), 1e-300))
        times = np.diff(np.rint(until).astype(np.int64), prepend=0)
        counts = np.repeat(np.arange(each.size), times)
        return np.concatenate([counts, np.maximum(self.largest + noise, 0)])


def deconvolve(
    grid: Grid, measurements: Measurements, classes: Sequence[int]
) -> Deconvolved | None:
    """Estimate how many cells have how many people; None without a complete level of cells.

    Parameters
    ----------
    grid : Grid
    measurements : Measurements
        The release's.
    classes : sequence of int
        Smallest counts of size classes, at which bins end, too.
    """
    counts = [one for one in measurements.levels if one.level.measures == COUNT and one.complete]
    if not counts or stride_of(grid, counts[-1].level.digits) > 1:
        return None
    *above, leaf = counts
    scale = (leaf.level.variance / 2) ** 0.5
    edges = list_edges(scale, classes, CERTAIN)
    stratum = find_strata(grid, above, leaf)
    # Without other strata there is nothing to take the counts of inhabited cells from.
    tied = bool((stratum == 0).any() and stratum.any())
    stratum = np.unique(stratum, return_inverse=True)[1].reshape(-1)
    law, low = tabulate_law(leaf.level, edges, scale)
    # Values beyond either end of the table count in its first and its last column.
    value = np.clip(leaf.value, low, low + law.shape[1] - 1) - low
    seen = np.zeros((int(stratum.max()) + 1, law.shape[1]))
    np.add.at(seen, (stratum, value), 1.0)
    share = fit_shares(law, seen, tied)
    random = np.random.default_rng(SEED)
    chance = share @ law
    chance /= chance.sum(axis=1, keepdims=True)
    total = seen.sum(axis=1).astype(np.int64)
    drawn = np.array([random.multinomial(total, chance) for _ in range(AGAIN)], np.float64)
    # The shares are of all cells; those of large values are listed one by one.
    looked = total[:, None] * (1 - law[:-1, -1])
    refitted = fit_shares(law, drawn, tied)[..., :-1] * looked
    largest = leaf.value[leaf.value >= low + law.shape[1] - 1]
    cells = share[:, :-1] * looked
    return Deconvolved(edges, cells, refitted, largest, leaf.value.size, scale, tied)


def find_strata(grid: Grid, above: Sequence[MeasuredLevel], leaf: MeasuredLevel) -> IntArray:
    """Find the stratum of every cell, 0 in nearly empty nodes: int64[n].

    Parameters
    ----------
    grid : Grid
    above : sequence of MeasuredLevel
        Complete levels, from the root's on.
    leaf : MeasuredLevel
        The level of all cells.
    """
    stratum, empty = np.ones(leaf.node.size, np.int64), np.zeros(leaf.node.size, np.bool_)
    for one in above:
        node = leaf.node // np.uint64(stride_of(grid, one.level.digits))
        value = one.value[np.searchsorted(one.node, node)]
        threshold = EMPTY * one.level.variance**0.5
        # Any node above that may be empty makes its cells doubtful; otherwise the lowest decides.
        empty |= value <= threshold
        stratum = 1 + np.searchsorted(threshold * np.array(STRATA), value)
    return np.where(empty, 0, stratum)


def tabulate_law(level: NodeLevel, edges: IntArray, scale: float) -> tuple[FloatArray, int]:
    """Tabulate the law of a cell's value by its count.

    Parameters
    ----------
    level : NodeLevel
        The level of single cells.
    edges : int64[bins]
        Smallest count of each bin, within which all counts are equally likely.
    scale : float
        Scale of Laplace noise with the level's standard deviation.

    Returns
    -------
    law : float64[bins, values]
        Chances of values; the first and the last one stand for all values beyond.
    low : int
        The first value.
    """
    low, high = -int(BELOW * scale) - 1, int(SHOWN * scale) + 1
    reach = int(edges[-1]) + high - 2 * low
    at = np.arange(-reach, reach + 1)
    law, exact = level.noise
    log = -np.abs(at) / float(exact) if law == LAPLACE else -(at**2) / (2 * float(exact))
    until = np.cumsum(np.exp(log))
    until /= until[-1]
    people = np.arange(edges[-1])
    # Chances of values up to each one, whose differences are those of the values.
    inner = until[np.arange(low, high)[None] - people[:, None] + reach]
    ends = np.zeros((people.size, 1)), np.ones((people.size, 1))
    every = np.diff(np.concatenate([ends[0], inner, ends[1]], axis=1), axis=1)
    chances = np.add.reduceat(every, edges[:-1], axis=0) / np.diff(edges)[:, None]
    last = np.zeros((1, chances.shape[1]))
    last[0, -1] = 1
    return np.concatenate([chances, last]), low


def fit_shares(law: FloatArray, seen: FloatArray, tied: bool) -> FloatArray:
    """Fit the shares of bins that explain values best: float64[..., strata, bins].

    Parameters
    ----------
    law : float64[bins, values]
    seen : float64[..., strata, values]
        Numbers of cells by value.
    tied : bool
        Whether inhabited cells of the first stratum have the counts of those of the second.
    """
    total = np.maximum(seen.sum(axis=-1, keepdims=True), 1.0)
    share = np.full((*seen.shape[:-1], law.shape[0]), 1 / law.shape[0])
    # Expectation and maximisation: each step raises the likelihood, and shares stay above 0.
    for _ in range(STEPS):
        better = share * ((seen / np.maximum(share @ law, 1e-300)) @ law.T) / total
        if tied:
            # The first stratum keeps its share of inhabited cells, with the counts of the second.
            some = better[..., 0, 1:].sum(axis=-1, keepdims=True)
            form = better[..., 1, 1:]
            form = form / np.maximum(form.sum(axis=-1, keepdims=True), 1e-300)
            better[..., 0, 1:] = some * form
        better /= better.sum(axis=-1, keepdims=True)
        change, share = float(np.abs(better - share).max()), better
        if change < NEAR:
            break
    return np.asarray(share, np.float64)
