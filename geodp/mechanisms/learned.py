"""The reliability of a level's predictions: their residuals, a mixture of widths, and shrinkage.

The residuals of a level's noisy counts (:class:`Residuals`, integers, so that their sums do not
depend on the order) determine the weights (:class:`Reliability`); :class:`Tables` are what kernels
look up. All of it is post-processing of noisy counts.

The densities are those of noise on top of a normal change, in closed form, in units of the noise's
deviation. Functions of the normal law are accurate to the last digits of float64. SciPy has them,
too, but takes long to import.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import residuals as kernels
from geodp.kernels.learned.residuals import OCTAVES, SIDE, STEPS
from geodp.typing import FloatArray, IntArray

FEWEST = 60
"""Fewest members of a group of size classes; from fewer children nothing is learned."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """A histogram of the residuals of a level's predictions: post-processing of noisy counts.

    Attributes
    ----------
    bins : int64[42, 704]
        Numbers of residuals by the prediction's size class and by residual, in units of the noise's
        standard deviation: 32 bins per octave of 1 + |residual| on each side of 0.
    sums : int64[2, 2]
        Sizes of the residuals of this prediction and of equal shares, see :meth:`sizes`.
    """

    bins: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def none(cls) -> Self:
        """Make an empty histogram."""
        shape = kernels.CLASSES, 2 * kernels.SIDE
        return cls(np.zeros(shape, np.int64), np.zeros((2, 2), np.int64))

    @classmethod
    def of(
        cls,
        measured: NDArray[np.float64],
        predicted: NDArray[np.float64],
        even: NDArray[np.float64],
        sd: float,
    ) -> Self:
        """Gather the residuals of children.

        Parameters
        ----------
        measured, predicted, even : float64[n]
            Noisy counts, their predictions, not below 0, and the equal shares used without these.
        sd : float
            Standard deviation of the noise, above 0.
        """
        residuals = cls.none()
        kernels.gather(measured, predicted, even, sd, residuals.bins, residuals.sums)
        return residuals

    def __add__(self, other: Residuals) -> Residuals:
        """Add two histograms; the order of several does not matter."""
        return Residuals(self.bins + other.bins, self.sums + other.sums)

    @property
    def members(self) -> int:
        """Number of children."""
        return int(self.bins.sum())

    @property
    def sizes(self) -> tuple[int, int]:
        """Sums of the residuals' sizes, for predictions and equal shares, in 1/256 deviations."""
        # As Python integers, which do not overflow.
        high, low = self.sums[:, 0].tolist(), self.sums[:, 1].tolist()
        return (high[0] << kernels.LOW_BITS) + low[0], (high[1] << kernels.LOW_BITS) + low[1]

    def explain(self, ratio: tuple[int, int]) -> bool:
        """Test whether predictions are closer than equal shares; compared in integers.

        Parameters
        ----------
        ratio : int, int
            Numerator and denominator of the largest accepted ratio of their residuals.
        """
        predicted, even = self.sizes
        return self.members >= FEWEST and predicted * ratio[1] <= even * ratio[0]

    def improve_on_even(self, ratio: tuple[int, int], noise: int) -> bool:
        """Test whether predictions are closer than equal shares, beyond the noise in both.

        Parameters
        ----------
        ratio : int, int
            Numerator and denominator of the largest accepted ratio of the excesses.
        noise : int
            Mean size of the noise, in 1/256 deviations.
        """
        predicted, even = (size - noise * self.members for size in self.sizes)
        return even > 0 and predicted * ratio[1] <= even * ratio[0]

    def group(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Merge neighbouring size classes until each group has 60 members.

        It starts with the largest class; a remainder at the lower end joins the last group.

        Returns
        -------
        row, bins : int64[42], int64[g, 704]
            Group of each class, and the residuals of each group; g is at least 1.
        """
        row, count = np.zeros(kernels.CLASSES, np.int64), self.bins.sum(axis=1)
        groups, held = 0, 0
        for k in range(kernels.CLASSES - 1, -1, -1):
            # A group is closed only if the remaining classes can fill another one.
            if held >= FEWEST and int(count[: k + 1].sum()) >= FEWEST:
                groups, held = groups + 1, 0
            row[k] = groups
            held += int(count[k])
        bins = np.zeros((groups + 1, self.bins.shape[1]), np.int64)
        np.add.at(bins, row, self.bins)
        return row, bins


FAR, FARTHEST = 2.0, 50.0
"""Sizes from which the scaled complement is computed as a continued fraction, and as one of five
terms."""

TERMS = 60
"""Terms of that fraction: from ``FAR`` on the remainder is below the precision of float64."""


def erfc(x: FloatArray) -> FloatArray:
    """Compute the complementary error function of every number with :func:`math.erfc`.

    Parameters
    ----------
    x : float64[...]

    Returns
    -------
    float64[...]
    """
    values = [math.erfc(one) for one in x.ravel().tolist()]
    return np.array(values, np.float64).reshape(x.shape)


def erfcx(x: FloatArray) -> FloatArray:
    """Compute ``exp(x**2) * erfc(x)``, which does not underflow where ``erfc(x)`` does.

    Parameters
    ----------
    x : float64[...]
        Below -26 the value is beyond float64, and infinite.

    Returns
    -------
    float64[...]

    Examples
    --------
    >>> erfcx(np.array([-30.0, 0.0, 1.0, 1e6])).round(12).tolist()
    [inf, 1.0, 0.427583576156, 5.6419e-07]
    """
    size, root = np.abs(x), 1 / math.sqrt(math.pi)
    near, far = np.minimum(size, FAR), np.maximum(size, FAR)
    rest = far.copy()
    for k in range(TERMS, 0, -1):
        rest = far + k / 2 / rest
    # Multiplied out in this order, as in SciPy: callers subtract nearly equal numbers from it.
    square = far * far
    five = root * (square * (square + 4.5) + 2) / (far * (square * (square + 5) + 3.75))
    result = np.where(size > FARTHEST, five, root / rest)
    result = np.where(size < FAR, np.exp(near**2) * erfc(near), result)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(x < 0, 2 * np.exp(np.minimum(x, 0) ** 2) - result, result))


def log_normal(x: FloatArray) -> FloatArray:
    """Compute logarithms of the standard normal distribution function at non-negative x.

    Parameters
    ----------
    x : float64[...]
        Not below 0.

    Returns
    -------
    float64[...]

    Examples
    --------
    >>> log_normal(np.array([0.0, 1.959963984540054])).round(6).tolist()
    [-0.693147, -0.025318]
    """
    return np.asarray(np.log1p(-0.5 * erfc(x / math.sqrt(2))))


SCALE = 1 / math.sqrt(2)
"""Scale of Laplace noise with standard deviation 1."""

WIDTHS = np.concatenate([[0.0], 2.0 ** np.arange(-4, 13)])
"""Standard deviations of the mixture's components: of changes since the prediction was made."""


@lru_cache(maxsize=1)
def knots() -> FloatArray:
    """Compute the ends of the bins of residuals, increasing: float64[705], read-only."""
    # The bins of geodp.kernels.learned.residuals: their ends are exact floats.
    step = np.arange(SIDE + 1)
    size = 2.0 ** (step // STEPS) * (1 + step % STEPS / STEPS) - 1
    size[-1] = 2.0**OCTAVES - 1
    ends = np.concatenate([-size[:0:-1], size])
    ends.flags.writeable = False
    return ends


@lru_cache(maxsize=1)
def middles() -> FloatArray:
    """Compute the middles of the bins: float64[704], read-only."""
    centres = (knots()[1:] + knots()[:-1]) / 2
    centres.flags.writeable = False
    return centres


def log_density(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Compute log densities of a change of every width plus noise.

    Parameters
    ----------
    value : float64[n]
    laplace : bool
        Laplace noise, whose variance is 1; otherwise normal noise.
    variance : float
        Variance of normal noise.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        spread = variance + WIDTHS**2
        return np.asarray(-0.5 * value[:, None] ** 2 / spread - 0.5 * np.log(2 * np.pi * spread))
    densities = np.empty((value.size, WIDTHS.size))
    densities[:, 0] = -np.abs(value) / SCALE - math.log(2 * SCALE)
    upper, lower = _log_parts(value)
    densities[:, 1:] = np.logaddexp(upper, lower) - math.log(2 * SCALE)
    return densities


def posterior_mean(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Compute the expected change for every width, given the sum of change and noise.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        return np.asarray(value[:, None] * (WIDTHS**2 / (WIDTHS**2 + variance)))
    means, width = np.zeros((value.size, WIDTHS.size)), WIDTHS[1:]
    upper, lower = _log_parts(value)
    # The change is normal around +drift below the size and around -drift above it, cut off there.
    above, below = _ends(value)
    drift, factor = width**2 / SCALE, width * math.sqrt(2 / math.pi)
    first = drift - factor / erfcx(-above / math.sqrt(2))
    second = factor / erfcx(-below / math.sqrt(2)) - drift
    share = np.exp(upper - np.logaddexp(upper, lower))
    means[:, 1:] = np.sign(value)[:, None] * (share * first + (1 - share) * second)
    return means


def _ends(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where the two normal pieces of such a density are cut off, in their own units."""
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    return size / width - width / SCALE, -size / width - width / SCALE


def _log_parts(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the logarithms of both pieces of a Laplace density convolved with normal ones."""
    # By the scaled complementary error function: otherwise large numbers would cancel.
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    above, below = _ends(value)
    rest, tilt = -0.5 * (size / width) ** 2 - math.log(2), (width / SCALE) ** 2 / 2 - size / SCALE
    near = rest + np.log(erfcx(-np.minimum(above, 0) / math.sqrt(2)))
    upper = np.where(above > 0, tilt + log_normal(np.maximum(above, 0)), near)
    return upper, rest + np.log(erfcx(-below / math.sqrt(2)))


GUARD = 97, 100
"""Largest ratio of the residuals of predictions to those of equal shares; above it the predictions
are not used."""

ROUNDS = 60
"""Rounds of expectation maximisation."""

WIDEST = 6
"""Number of the widest components, which share ``BROAD`` pseudo-counts: an unusually large residual
is then taken for a real change."""

BROAD = 2.0

QUANTILES = 401
"""Number of quantiles of the noise over which slopes are averaged."""

STEP = 2.0**-20
"""Unit of table entries: rounded to it, tables are the same on processors whose mathematical
functions differ in the last digits."""


@dataclass(frozen=True, eq=False)
class Reliability:
    """The learned reliability of a level's predictions.

    Attributes
    ----------
    laplace : bool
        Whether the noise is Laplace noise.
    sd : float
        Its standard deviation.
    row : int64[42]
        Group of each size class.
    weight : float64[g, 18 or 19]
        Weights of the widths of changes, 0 and ``2**-4 ... 2**12`` standard deviations of the
        noise; on the level of cells, the last one is that of cells that have become empty.
    middle : float64[g]
        Mean prediction of each group, in standard deviations of the noise.
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
        """Fit the mixtures of all groups of size classes; None if predictions explain too little.

        Parameters
        ----------
        residuals : Residuals
        sd : float
            Standard deviation of the noise.
        laplace : bool
        cells : bool
            Whether it is the level of cells, which may have become empty whatever was predicted.
        """
        if not residuals.explain(GUARD):
            return None
        row, bins = residuals.group()
        middle, likelihoods = _middles(residuals, row), _likelihood(laplace)
        more = np.zeros(WIDTHS.size + cells)
        # Without pseudo-counts a width that no residual needed would get weight 0, and a large
        # change would be shrunk away.
        more[WIDTHS.size - WIDEST : WIDTHS.size] = BROAD / WIDEST
        weight = np.empty((middle.size, more.size))
        for g, count in enumerate(bins):
            seen = np.flatnonzero(count)
            likelihood = np.empty((more.size, seen.size))
            likelihood[: WIDTHS.size] = likelihoods.likelihood[seen].T
            if cells:
                likelihood[-1] = likelihoods.of_empty(middle[g])[seen]
            counted = count[seen].astype(np.float64)
            weight[g] = kernels.fit_weights(counted, likelihood, more, ROUNDS)
        return cls(laplace, sd, row, weight, middle)

    @cached_property
    def tables(self) -> Tables:
        """Tables for the measurements themselves."""
        return self._tabulate(self.laplace, 1.0)

    def gain(self, residuals: Residuals) -> float:
        """Return the average fraction of the variance that predictions remove, 0 to 1.

        ``residuals``: those from which this was learned.
        """
        return 1 - self._left(residuals) * STEP / 2 / max(residuals.members, 1)

    def gains(self, fraction: tuple[int, int], residuals: Residuals) -> bool:
        """Test whether :meth:`gain` is at least a fraction.

        Parameters
        ----------
        fraction : int, int
            Numerator and denominator, both small.
        residuals : Residuals
            Those from which this was learned.
        """
        # In integers: the decision must not depend on the last digit of a float.
        part, denominator = fraction
        limit = (denominator - part) * round(2 / STEP) * residuals.members
        return self._left(residuals) * denominator <= limit

    def _left(self, residuals: Residuals) -> int:
        """Sum the remaining variances of all members, in halves of ``STEP``."""
        steps = np.rint(self.tables.factor / STEP).astype(np.int64)
        return int((residuals.bins * (steps[:, 1:] + steps[:, :-1])[self.row]).sum())

    def slope(self, change: float, residuals: Residuals) -> float:
        """Return the fraction of a change that estimates show, averaged over noise and counts.

        Parameters
        ----------
        change : float
            Difference of a count from its prediction, in standard deviations of the noise; above
            0.
        residuals : Residuals
            Those from which this was learned.
        """
        chance = (np.arange(QUANTILES) + 0.5) / QUANTILES
        if self.laplace:
            # Quantiles of the Laplace law by inversion.
            noise = -SCALE * np.sign(chance - 0.5) * np.log1p(-2 * np.abs(chance - 0.5))
        else:
            noise = np.array([NormalDist().inv_cdf(one) for one in chance.tolist()])
        ends, shown = knots(), change + noise
        at = np.clip(np.searchsorted(ends, shown, "right") - 1, 0, ends.size - 2)
        part = np.clip((shown - ends[at]) / (ends[at + 1] - ends[at]), 0, 1)
        keep = self.tables.keep
        shown_part = (keep[:, at] * (1 - part) + keep[:, at + 1] * part).mean(axis=1)
        # The mixtures estimate how many members of each size class changed by this much.
        width = WIDTHS[1:]
        chances = self.weight[:, 1 : WIDTHS.size] * np.exp(-0.5 * (change / width) ** 2) / width
        many = residuals.bins.sum(axis=1) * np.cumsum(chances, axis=1)[self.row, -1]
        return float((many * shown_part[self.row]).sum() / many.sum()) / change

    def tabulate(self, variance: float) -> Tables:
        """Make tables for improved estimates, whose errors are nearly normal, of some variance."""
        return self._tabulate(False, variance / self.sd**2)

    def _tabulate(self, laplace: bool, variance: float) -> Tables:
        """Make tables for Laplace errors of variance 1 or for normal ones, in units of ``sd``."""
        likelihoods, mean = _of_knots(laplace, variance)
        remaining = WIDTHS**2 / (WIDTHS**2 + variance)
        keep, factor = np.empty((2, self.middle.size, likelihoods.value.size))
        share, wide = (
            np.empty((likelihoods.value.size, self.weight.shape[1])),
            np.sqrt(remaining * variance),
        )
        for g, (weight, middle) in enumerate(zip(self.weight, self.middle.tolist(), strict=True)):
            empty = likelihoods.of_empty(middle) if self.cells else keep[g]
            out = keep[g], factor[g]
            kernels.expect(
                likelihoods.likelihood, mean, remaining, weight, (empty, middle), share, out
            )
            # For cells, the median and not the mean: the law has a large mass at "unchanged" and at
            # "became empty".
            if self.cells:
                kernels.medians(likelihoods.value, share, mean, wide, middle, keep[g])
        return Tables(self.sd, self.row, np.rint(keep / STEP) * STEP, np.rint(factor / STEP) * STEP)


@dataclass(frozen=True, eq=False)
class Tables:
    """Shrinkage of residuals by the prediction's size class, in exact multiples of 2**-20.

    Attributes
    ----------
    sd : float
        Unit of the residuals.
    row : int64[42]
        Row of the tables for each size class.
    keep, factor : float64[g, 705]
        Shrunk residuals and factors of the variance, at the residuals of
        :func:`knots`.
    """

    sd: float
    row: IntArray
    keep: FloatArray
    factor: FloatArray

    @cached_property
    def both(self) -> FloatArray:
        """Both tables in one array, as kernels use them: float64[g, 705, 2]."""
        return np.stack([self.keep, self.factor], axis=-1)

    def apply(self, measured: FloatArray, predicted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute estimates, not below 0, and the factors of their variances.

        Beyond ``2**11`` standard deviations measurements are taken as they are.

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
    """Likelihoods of residuals under every width, relative to each residual's largest one.

    Attributes
    ----------
    value : float64[n]
        Residuals, in standard deviations of the noise.
    likelihood : float64[n, 18]
    largest : float64[n]
        Logarithms of the largest likelihoods.
    laplace : bool
    variance : float
        Variance of the noise.
    """

    value: FloatArray
    likelihood: FloatArray
    largest: FloatArray
    laplace: bool
    variance: float

    @classmethod
    def of(cls, value: FloatArray, laplace: bool, variance: float = 1.0) -> Self:
        """Compute the likelihoods of some residuals."""
        # Relative to the largest one, so that no residual's likelihoods all underflow.
        density = log_density(value, laplace, variance)
        largest = density.max(axis=1)
        return cls(value, np.exp(density - largest[:, None]), largest, laplace, variance)

    def of_empty(self, middle: float) -> FloatArray:
        """Compute the likelihoods for cells that have become empty, in the same units: float64[n].

        ``middle``: their prediction.
        """
        noise = self.value + middle
        density = -np.abs(noise) / SCALE - np.log(2 * SCALE)
        if not self.laplace:
            variance = self.variance
            density = -0.5 * noise**2 / variance - 0.5 * np.log(2 * np.pi * variance)
        return np.asarray(np.exp(density - self.largest))


@lru_cache(maxsize=2)
def _likelihood(laplace: bool) -> Likelihoods:
    return Likelihoods.of(middles(), laplace)


@lru_cache(maxsize=16)
def _of_knots(laplace: bool, variance: float) -> tuple[Likelihoods, FloatArray]:
    """Compute likelihoods and expected changes at the knots."""
    ends = knots()
    likelihoods = Likelihoods.of(ends, laplace, variance)
    return likelihoods, posterior_mean(ends, laplace, variance)


def _middles(residuals: Residuals, row: IntArray) -> FloatArray:
    """Average the middles of size classes over the members of each group."""
    size = 2.0 ** ((np.arange(row.size) - 14.5) / 2)
    size[0] = 0.0
    held, count = np.zeros((2, int(row.max()) + 1))
    members = residuals.bins.sum(axis=1)
    np.add.at(held, row, members * size)
    np.add.at(count, row, members)
    return np.asarray(held / np.maximum(count, 1))
