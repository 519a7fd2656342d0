"""How many cells have how many people, from what was measured of every cell before any clamp.

Where a complete level of single cells is published, each value is the cell's count plus noise of a
known law: the counts are then those whose sums with that noise explain the values best (maximum
likelihood of a mixture; Kiefer, Wolfowitz 1956), without any map and without simulating the method.
Cells are told apart by what was measured of the nodes above them, whose noise is another: within
each stratum, the noise of the cells is what it is everywhere.

Where a node above was measured as all but empty, few cells can be inhabited; how many people these
have is taken from the sparsest of the other strata, as noise would give some of them away.
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
"""Standard deviations of a node above: with fewer people it may hold nobody."""

STRATA = (4, 16, 64)
"""Times as many people in the lowest node above: where strata of the others end."""

CERTAIN, SHOWN, BELOW = 24.0, 18.0, 8.0
"""Scales of the noise: people that a fit looks at, and the values that it looks at, up to so many
and from so many below 0 on. Cells with greater values have the people that were measured."""

STEPS, NEAR = 3000, 1e-7
"""Most steps of a fit, and the change of a share that ends it."""

AGAIN = 16
"""Fits to values drawn from the fit, which tell its error and its bias."""

DOUBT = 0.5
"""Of cells in nodes all but empty: how uncertain it is how many are inhabited."""


@dataclass(frozen=True, eq=False)
class Deconvolved:
    """Numbers of cells by their people, and the same of values drawn from them.

    Attributes
    ----------
    edges : int64[bins + 1]
        Least people of each bin, and the end of the last one.
    cells : float64[strata, bins]
        But for those that have the people that were measured. The first stratum is that of nodes
        all but empty if ``tied``.
    again : float64[fits, strata, bins]
        Of values drawn from the fit.
    largest : int64[m]
        Measured values of the other cells.
    total : int
        Of all cells.
    scale : float
        Of a Laplace noise with a cell's standard deviation.
    tied : bool
    """

    edges: IntArray = field(repr=False)
    cells: FloatArray = field(repr=False)
    again: FloatArray = field(repr=False)
    largest: IntArray = field(repr=False)
    total: int
    scale: float
    tied: bool

    def estimate(self, figure: Callable[[FloatArray], float]) -> tuple[float, float]:
        """Return a statistic without the bias of the fit, and its standard error.

        Parameters
        ----------
        figure : callable
            From the counts of cells, in any order, to a number.
        """
        found, random = figure(self.list_counts(self.cells)), np.random.default_rng(SEED)
        size = self.largest.size
        every = np.array(
            [
                figure(self.list_counts(one, np.rint(random.laplace(0, self.scale, size))))
                for one in self.again
            ]
        )
        bias = float(every.mean()) - found
        error = hypot(float(every.std(ddof=1)), bias / 2)
        if self.tied:
            without = self.cells.copy()
            without[0] = 0
            without[0, 0] = self.cells[0].sum()
            error = hypot(error, DOUBT * (figure(self.list_counts(without)) - found))
        return found - bias, error

    def list_counts(self, cells: FloatArray, noise: FloatArray | float = 0.0) -> FloatArray:
        """Return a count for every cell, in any order: float64[n]; with noise on the largest."""
        widths = np.diff(self.edges)
        each = np.repeat(cells.sum(axis=0) / widths, widths)
        until = np.cumsum(each) * ((self.total - self.largest.size) / max(each.sum(), 1e-300))
        times = np.diff(np.rint(until).astype(np.int64), prepend=0)
        counts = np.repeat(np.arange(each.size), times)
        return np.concatenate([counts, np.maximum(self.largest + noise, 0)])


def deconvolve(
    grid: Grid, measurements: Measurements, classes: Sequence[int]
) -> Deconvolved | None:
    """Return how many cells have how many people; None without a complete level of cells.

    Parameters
    ----------
    grid : Grid
    measurements : Measurements
        Of the release.
    classes : sequence of int
        Least people of size classes: bins end where these do.
    """
    counts = [one for one in measurements.levels if one.level.measures == COUNT and one.complete]
    if not counts or stride_of(grid, counts[-1].level.digits) > 1:
        return None
    *above, leaf = counts
    scale = (leaf.level.variance / 2) ** 0.5
    edges = list_edges(scale, classes, CERTAIN)
    stratum = find_strata(grid, above, leaf)
    tied = bool((stratum == 0).any() and stratum.any())
    stratum = np.unique(stratum, return_inverse=True)[1].reshape(-1)
    law, low = tabulate_law(leaf.level, edges, scale)
    value = np.clip(leaf.value, low, low + law.shape[1] - 1) - low
    seen = np.zeros((int(stratum.max()) + 1, law.shape[1]))
    np.add.at(seen, (stratum, value), 1.0)
    share = fit_shares(law, seen, tied)
    random = np.random.default_rng(SEED)
    chance = share @ law
    chance /= chance.sum(axis=1, keepdims=True)
    total = seen.sum(axis=1).astype(np.int64)
    drawn = np.array([random.multinomial(total, chance) for _ in range(AGAIN)], np.float64)
    looked = total[:, None] * (1 - law[:-1, -1])
    again = fit_shares(law, drawn, tied)[..., :-1] * looked
    largest = leaf.value[leaf.value >= low + law.shape[1] - 1]
    cells = share[:, :-1] * looked
    return Deconvolved(edges, cells, again, largest, leaf.value.size, scale, tied)


def find_strata(grid: Grid, above: Sequence[MeasuredLevel], leaf: MeasuredLevel) -> IntArray:
    """Return the stratum of every cell, 0 in nodes all but empty: int64[n].

    Parameters
    ----------
    grid : Grid
    above : sequence of MeasuredLevel
        Complete, from the root's on.
    leaf : MeasuredLevel
        Of all cells.
    """
    found, empty = np.ones(leaf.node.size, np.int64), np.zeros(leaf.node.size, np.bool_)
    for one in above:
        node = leaf.node // np.uint64(stride_of(grid, one.level.digits))
        value = one.value[np.searchsorted(one.node, node)]
        least = EMPTY * one.level.variance**0.5
        empty |= value <= least
        found = 1 + np.searchsorted(least * np.array(STRATA), value)
    return np.where(empty, 0, found)


def tabulate_law(level: NodeLevel, edges: IntArray, scale: float) -> tuple[FloatArray, int]:
    """Return the law of a cell's value by its people, and the least value.

    Parameters
    ----------
    level : NodeLevel
        Of single cells.
    edges : int64[bins]
        Least people of each bin, within which all counts are as likely.
    scale : float
        Of a Laplace noise with the level's standard deviation.

    Returns
    -------
    law : float64[bins, values]
        The first and the last value stand for all beyond.
    low : int
    """
    low, high = -int(BELOW * scale) - 1, int(SHOWN * scale) + 1
    reach = int(edges[-1]) + high - 2 * low
    at = np.arange(-reach, reach + 1)
    law, exact = level.noise
    log = -np.abs(at) / float(exact) if law == LAPLACE else -(at**2) / (2 * float(exact))
    until = np.cumsum(np.exp(log))
    until /= until[-1]
    people = np.arange(edges[-1])
    inner = until[np.arange(low, high)[None] - people[:, None] + reach]  # at most such a value
    ends = np.zeros((people.size, 1)), np.ones((people.size, 1))
    every = np.diff(np.concatenate([ends[0], inner, ends[1]], axis=1), axis=1)
    found = np.add.reduceat(every, edges[:-1], axis=0) / np.diff(edges)[:, None]
    last = np.zeros((1, found.shape[1]))
    last[0, -1] = 1
    return np.concatenate([found, last]), low


def fit_shares(law: FloatArray, seen: FloatArray, tied: bool) -> FloatArray:
    """Return the shares of people that explain values best: float64[..., strata, bins].

    Parameters
    ----------
    law : float64[bins, values]
    seen : float64[..., strata, values]
        Cells.
    tied : bool
        Whether inhabited cells of the first stratum have people as those of the second.
    """
    total = np.maximum(seen.sum(axis=-1, keepdims=True), 1.0)
    share = np.full((*seen.shape[:-1], law.shape[0]), 1 / law.shape[0])
    for _ in range(STEPS):
        better = share * ((seen / np.maximum(share @ law, 1e-300)) @ law.T) / total
        if tied:
            some = better[..., 0, 1:].sum(axis=-1, keepdims=True)
            form = better[..., 1, 1:]
            form = form / np.maximum(form.sum(axis=-1, keepdims=True), 1e-300)
            better[..., 0, 1:] = some * form
        better /= better.sum(axis=-1, keepdims=True)
        change, share = float(np.abs(better - share).max()), better
        if change < NEAR:
            break
    return np.asarray(share, np.float64)
