"""How far a level's predictions can be trusted, as a mixture of widths, and the tables of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Self

import numpy as np

from geodp.kernels.learned import mixtures
from geodp.kernels.learned import residuals as kernels
from geodp.mechanisms.learned import densities
from geodp.mechanisms.learned.densities import SCALE, WIDTHS
from geodp.mechanisms.learned.residuals import Residuals
from geodp.typing import FloatArray, IntArray

GUARD = 97, 100
"""Predictions whose residuals add up to more of those of even ones are left alone."""

ROUNDS = 60
"""Of expectation and maximisation."""

WIDEST = 6
"""Widths that get pseudo-counts, ``BROAD`` together: a residual that nobody saw is believed."""

BROAD = 2.0

QUANTILES = 401
"""Of the noise, over which slopes are averaged."""

STEP = 2.0**-20
"""Tables are whole multiples of it, so that processors agree that do not in the last digits."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """What is learned of a level's predictions: it is asked for tables.

    Attributes
    ----------
    laplace : bool
        Whether the noise is Laplace noise.
    sd : float
        Its standard deviation.
    row : int64[42]
        Group of each size class.
    weight : float64[g, 18 or 19]
        Of the changes' widths, 0 and ``2**-4 ... 2**12`` standard deviations of the noise; on the
        cells' level at last that of cells which are empty now.
    middle : float64[g]
        Middle prediction of each group, in standard deviations of the noise.
    """

    laplace: bool
    sd: float
    row: IntArray
    weight: FloatArray
    middle: FloatArray

    @property
    def cells(self) -> bool:
        """Whether the level is that of the cells."""
        return bool(self.weight.shape[1] > WIDTHS.size)

    @classmethod
    def learn(
        cls, residuals: Residuals, *, sd: float, laplace: bool, cells: bool
    ) -> Reliability | None:
        """Fit the mixtures of all groups of size classes; None: the predictions explain too little.

        Parameters
        ----------
        residuals : Residuals
        sd : float
            Standard deviation of the noise.
        laplace : bool
        cells : bool
            Whether it is the level of cells, many of which may be empty now whatever is predicted.
        """
        if not residuals.explain(GUARD):
            return None
        row, bins = residuals.group()
        middle, known = _middles(residuals, row), _likelihood(laplace)
        more = np.zeros(WIDTHS.size + cells)
        more[WIDTHS.size - WIDEST : WIDTHS.size] = BROAD / WIDEST
        weight = np.empty((middle.size, more.size))
        for g, count in enumerate(bins):
            seen = np.flatnonzero(count)
            likelihood = np.empty((more.size, seen.size))
            likelihood[: WIDTHS.size] = known.likelihood[seen].T
            if cells:
                likelihood[-1] = known.of_empty(middle[g])[seen]
            counted = count[seen].astype(np.float64)
            weight[g] = mixtures.fit_weights(counted, likelihood, more, ROUNDS)
        return cls(laplace, sd, row, weight, middle)

    @cached_property
    def tables(self) -> Tables:
        """Return tables for the measurements themselves."""
        return self._tabulate(self.laplace, 1.0)

    def gain(self, residuals: Residuals) -> float:
        """Return which part of the variance the predictions take away, on average: 0 to 1.

        ``residuals``: those that it was learned from.
        """
        return 1 - self._left(residuals) * STEP / 2 / max(residuals.members, 1)

    def gains(self, least: tuple[int, int], residuals: Residuals) -> bool:
        """Whether that is so much at least, compared in whole numbers.

        Parameters
        ----------
        least : int, int
            Numerator and denominator, both small.
        residuals : Residuals
            Those that it was learned from.
        """
        part, whole = least
        most = (whole - part) * round(2 / STEP) * residuals.members
        return self._left(residuals) * whole <= most

    def _left(self, residuals: Residuals) -> int:
        """Sum what is left of the members' variances, in halves of ``STEP``."""
        steps = np.rint(self.tables.factor / STEP).astype(np.int64)
        return int((residuals.bins * (steps[:, 1:] + steps[:, :-1])[self.row]).sum())

    def slope(self, change: float, residuals: Residuals) -> float:
        """Return which part of a change estimates show, on average over noise and those changed.

        Parameters
        ----------
        change : float
            Of a count against its prediction, in standard deviations of the noise; above 0.
        residuals : Residuals
            Those that it was learned from.
        """
        chance = (np.arange(QUANTILES) + 0.5) / QUANTILES
        if self.laplace:
            noise = -SCALE * np.sign(chance - 0.5) * np.log1p(-2 * np.abs(chance - 0.5))
        else:
            noise = np.array([NormalDist().inv_cdf(one) for one in chance.tolist()])
        knots, shown = densities.knots(), change + noise
        at = np.clip(np.searchsorted(knots, shown, "right") - 1, 0, knots.size - 2)
        part = np.clip((shown - knots[at]) / (knots[at + 1] - knots[at]), 0, 1)
        keep = self.tables.keep
        kept = (keep[:, at] * (1 - part) + keep[:, at + 1] * part).mean(axis=1)
        # How many members changed by so much is told by the mixtures: those of the large, mostly.
        width = WIDTHS[1:]
        chances = self.weight[:, 1 : WIDTHS.size] * np.exp(-0.5 * (change / width) ** 2) / width
        many = residuals.bins.sum(axis=1) * np.cumsum(chances, axis=1)[self.row, -1]
        return float((many * kept[self.row]).sum() / many.sum()) / change

    def tabulate(self, variance: float) -> Tables:
        """Return tables for better estimates, with normal errors of some variance."""
        return self._tabulate(False, variance / self.sd**2)

    def _tabulate(self, laplace: bool, own: float) -> Tables:
        """Return tables for Laplace errors of variance 1 or normal ones, in units of ``sd``."""
        known, mean = _of_knots(laplace, own)
        kept = WIDTHS**2 / (WIDTHS**2 + own)
        keep, factor = np.empty((2, self.middle.size, known.value.size))
        share, wide = np.empty((known.value.size, self.weight.shape[1])), np.sqrt(kept * own)
        for g, (weight, middle) in enumerate(zip(self.weight, self.middle.tolist(), strict=True)):
            empty = known.of_empty(middle) if self.cells else keep[g]
            out = keep[g], factor[g]
            mixtures.expect(known.likelihood, mean, kept, weight, (empty, middle), share, out)
            if self.cells:
                mixtures.medians(known.value, share, mean, wide, middle, keep[g])
        return Tables(self.sd, self.row, np.rint(keep / STEP) * STEP, np.rint(factor / STEP) * STEP)


@dataclass(frozen=True, eq=False)
class Tables:
    """What is kept of a residual, by the prediction's size class: exact multiples of 2**-20.

    Attributes
    ----------
    sd : float
        Unit of the residuals.
    row : int64[42]
        Of the tables, for each size class.
    keep, factor : float64[g, 705]
        What is kept of residuals of the sizes :func:`geodp.mechanisms.learned.densities.knots`,
        and which part of an estimate's variance is left.
    """

    sd: float
    row: IntArray
    keep: FloatArray
    factor: FloatArray

    @cached_property
    def both(self) -> FloatArray:
        """Return both side by side, as kernels look them up: float64[g, 705, 2]."""
        return np.stack([self.keep, self.factor], axis=-1)

    def apply(self, measured: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return estimates, not below 0, and the parts of their variances that are left.

        Beyond ``2**11`` standard deviations what is measured is believed.

        Parameters
        ----------
        measured, predicted : float64[n]

        Returns
        -------
        float64[n], float64[n]
        """
        out = np.empty(measured.size), np.empty(measured.size)
        kernels.shrink(measured, predicted, self.sd, self.row, self.both, out)
        return out


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Of residuals under every width, each residual's own in units of its largest.

    Attributes
    ----------
    value : float64[n]
        Residuals, in standard deviations of the noise.
    likelihood : float64[n, 18]
    largest : float64[n]
        Logarithms of the units.
    laplace : bool
    variance : float
        Of the noise.
    """

    value: FloatArray
    likelihood: FloatArray
    largest: FloatArray
    laplace: bool
    variance: float

    @classmethod
    def of(cls, value: FloatArray, laplace: bool, variance: float = 1.0) -> Self:
        """Work them out."""
        density = densities.log_density(value, laplace, variance)
        largest = density.max(axis=1)
        return cls(value, np.exp(density - largest[:, None]), largest, laplace, variance)

    def of_empty(self, middle: float) -> FloatArray:
        """Return those of cells that are empty now, in the same units: float64[n].

        ``middle``: what was predicted of them.
        """
        noise = self.value + middle
        density = -np.abs(noise) / SCALE - np.log(2 * SCALE)
        if not self.laplace:
            variance = self.variance
            density = -0.5 * noise**2 / variance - 0.5 * np.log(2 * np.pi * variance)
        return np.asarray(np.exp(density - self.largest))


@lru_cache(maxsize=2)
def _likelihood(laplace: bool) -> Likelihoods:
    return Likelihoods.of(densities.middles(), laplace)


@lru_cache(maxsize=16)
def _of_knots(laplace: bool, variance: float) -> tuple[Likelihoods, FloatArray]:
    """Return likelihoods, and means of changes, at the knots."""
    knots = densities.knots()
    likelihoods = Likelihoods.of(knots, laplace, variance)
    return likelihoods, densities.posterior_mean(knots, laplace, variance)


def _middles(residuals: Residuals, row: IntArray) -> FloatArray:
    """Mean over a group's members of the middles of their size classes."""
    size = 2.0 ** ((np.arange(row.size) - 14.5) / 2)
    size[0] = 0.0
    held, count = np.zeros((2, int(row.max()) + 1))
    members = residuals.bins.sum(axis=1)
    np.add.at(held, row, members * size)
    np.add.at(count, row, members)
    return np.asarray(held / np.maximum(count, 1))
