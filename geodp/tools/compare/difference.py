"""Hypotheses about a difference, its error, its p-value, and p-values of many tests.

Normal tails would be far too thin where many regions are compared: a single Laplace noise exceeds
four standard errors fifty times as often as a normal error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, inf, log
from statistics import NormalDist
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.accuracy.interval import Interval
from geodp.errors import UsageError
from geodp.reprs import one_line
from geodp.typing import FloatArray

REACH = 60
"""Scales beyond which a tail counts as the one there, which is below 1e-20."""

CUT = 40
"""Scales after which a sum over a noise ends; a bound of the rest is added."""


@dataclass(frozen=True)
class LatticeNoise:
    """Discrete Laplace noise on a lattice.

    Attributes
    ----------
    scale, step : Fraction
        In counts; the noise is ``step`` times an integer of the law of scale ``scale / step``.
    """

    scale: Fraction
    step: Fraction

    @property
    def rate(self) -> float:
        """The logarithm of the ratio of the chances of an integer and the next larger one."""
        return float(self.step / self.scale)

    def mass(self, number: FloatArray) -> FloatArray:
        """Return the chance of each integer: float64[n]."""
        fall = exp(-self.rate)
        return np.asarray(-expm1(-self.rate) / (1 + fall) * np.exp(-self.rate * np.abs(number)))

    def above(self, counts: FloatArray) -> FloatArray:
        """Return the chance of noise of at least so many counts: float64[n]."""
        # Chances of negative values follow by symmetry, without cancellation in either tail.
        number = np.ceil(counts / float(self.step))
        far = np.exp(-self.rate * np.where(number > 0, number, 1 - number))
        far /= 1 + exp(-self.rate)
        return np.where(number > 0, far, 1 - far)


def tail_of_difference(first: LatticeNoise, second: LatticeNoise, counts: FloatArray) -> FloatArray:
    """Return the chance that one noise exceeds the other by at least so many counts.

    Parameters
    ----------
    first, second : LatticeNoise
    counts : float64[n]

    Returns
    -------
    float64[n]
        Exact to the precision of floats; never too small beyond ``REACH`` scales.
    """
    far = REACH * float(first.scale + second.scale)
    limited = np.clip(np.asarray(counts, np.float64), -far, far)
    if first == second:
        return _of_equal(first, limited)
    # The noise with fewer values within reach is summed over, and the other has a closed form.
    pairs = [(first, second), (second, first)]
    few, many = min(pairs, key=lambda pair: (CUT * pair[0].scale + Fraction(far)) / pair[0].step)
    unique, where = np.unique(limited, return_inverse=True)
    return np.array([_summed(few, many, one) for one in unique.tolist()])[where]


def _of_equal(noise: LatticeNoise, counts: FloatArray) -> FloatArray:
    """Compute the closed form: P(d) is proportional to ``q^|d| (|d| + (1 + q^2)/(1 - q^2))``."""
    rate, q = noise.rate, exp(-noise.rate)
    # 1 - q and 1 - q^2 by expm1: q is close to 1 where the noise is large.
    less = -expm1(-rate)
    middle = (1 + q * q) / -expm1(-2 * rate)
    number = np.ceil(counts / float(noise.step))
    far = np.where(number > 0, number, 1 - number)
    tail = np.exp(-rate * far) * ((far + middle) * less + q) / (1 + q) ** 2
    return np.where(number > 0, tail, 1 - tail)


def _summed(listed: LatticeNoise, other: LatticeNoise, counts: float) -> float:
    """Sum the tails of one noise over all values of the other."""
    step = float(listed.step)
    ends = np.ceil(CUT * float(listed.scale) / step)
    last = np.ceil(max(counts, 0.0) / step) + ends
    number = np.arange(-ends, last + 1)
    total = (listed.mass(number) * other.above(counts - number * step)).sum()
    # Larger values of the summed noise exceed the difference nearly always: count them as doing so.
    beyond = listed.above(np.array([(last + 1) * step]))[0]
    return float(min(1.0, total + beyond))


MIN_EXCESS = 1e-3
"""Smallest excess of a tail that is not normal: a smaller one is taken for this one."""

GRID = (-40.0, 7.0)
"""Logarithms of the first and the last variance of the mixture, in units of their mean."""

CHUNK = 1 << 21
"""Numbers of a table that are held at a time."""


def tail_of_sum(z: FloatArray, excess: FloatArray) -> FloatArray:
    """Compute the chance that a sum of independent noises is at least z standard errors.

    The sum is taken for that of ``n = 1 / excess`` equal Laplace noises, which has the same
    variance and fourth cumulant: exact for one noise and for any number of equal ones. Its law is
    normal with a variance of a gamma law of shape n and mean 1, which is summed up on a
    logarithmic scale.

    Parameters
    ----------
    z : float64[n]
    excess : float64[n]
        A third of the excess kurtosis: from 0, where it is the normal law, to 1.

    Returns
    -------
    float64[n]

    Examples
    --------
    >>> tail_of_sum(np.array([1.96, 2.118]), np.array([0.0, 1.0])).round(4).tolist()
    [0.025, 0.025]
    """
    from scipy.special import gammaln, ndtr  # imported late, as it takes long

    tails = np.asarray(ndtr(-z), np.float64)
    chosen = np.flatnonzero((excess > 0) & np.isfinite(z))
    if not chosen.size:
        return tails
    # A smaller excess would need a finer grid; the tail of this one is longer, which is safe.
    shape = 1 / np.clip(excess[chosen], MIN_EXCESS, 1)
    step = min(0.06, 0.4 / float(shape.max()) ** 0.5)
    logs = np.arange(*GRID, step)
    # The table of z by variances is split so that it fits into memory.
    rows = max(1, CHUNK // logs.size)
    for start in range(0, chosen.size, rows):
        some = chosen[start : start + rows]
        n = shape[start : start + rows, None]
        density = np.exp(n * (np.log(n) + logs - np.exp(logs)) - gammaln(n) + log(step))
        far = (density * ndtr(-np.abs(z[some, None]) * np.exp(-logs / 2))).sum(axis=1)
        tails[some] = np.where(z[some] >= 0, far, 1 - far)
    return tails


Alternative = Literal["two-sided", "greater", "less"]
"""Alternative hypotheses: the difference is unequal to that of the null hypothesis, larger, or
smaller."""

ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)

MIN_ALPHA = 1e-15
"""Smallest alpha of an interval."""


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two private numbers, second less first.

    Its interval is two-sided, of confidence ``1 - alpha``.

    Attributes
    ----------
    standard_error : float
        Standard error of the difference. If a clamp may have moved it, an error large enough for
        the p-value to be safe.
    p_value : float
        P-value of the null hypothesis that the true difference is ``null``.
    null : float
        The difference of the null hypothesis.
    alternative : str
        One of ``ALTERNATIVES``.
    basis : str
        ``"exact"``: the law of the errors is known; ``"normal"``; ``"long-tailed"``: that of as
        many Laplace noises as have the same fourth cumulant; ``"conservative"``: from intervals
        that a clamp has widened.
    """

    __repr__ = one_line

    standard_error: float
    p_value: float
    null: float
    alternative: Alternative
    basis: str

    @classmethod
    def of_error(
        cls,
        difference: int | float,
        error: float,
        question: Hypothesis,
        excess: float = 0.0,
        step: float = 0.0,
    ) -> Self:
        """Test a difference whose error is normal, or has longer tails.

        Parameters
        ----------
        difference, error : float
            The difference and its standard error.
        question : Hypothesis
        excess : float
            A third of the excess kurtosis of the error: 0 for a normal one, 1 for Laplace noise.
        step : float
            Distance of the values that the error can have: half of it is a continuity correction.
        """
        away = difference - question.null
        if error:
            # The difference is a multiple of the step: tails begin half a step before a value.
            z = (np.array([away, -away]) - step / 2) / error
            above, below = tail_of_sum(z, np.array([excess, excess])).tolist()
        else:
            above, below = float(away <= 0), float(away >= 0)
        p_value = question.p_value(above, below)
        half = question.quantile(excess) * error
        low, high = difference - half, difference + half
        basis = "long-tailed" if excess else "normal"
        return cls(
            difference, low, high, error, p_value, question.null, question.alternative, basis
        )


@dataclass(frozen=True)
class Hypothesis:
    """A null hypothesis about a difference, its alternative, and the confidence of intervals.

    Attributes
    ----------
    null : float
        The difference of the null hypothesis.
    alternative : str
        One of ``ALTERNATIVES``.
    alpha : float
        One less the confidence of intervals: at least ``MIN_ALPHA``, below 1.
    """

    null: float = 0.0
    alternative: Alternative = "two-sided"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.alternative not in ALTERNATIVES:
            raise UsageError(
                f"alternative is one of {', '.join(ALTERNATIVES)}.", code="alternative-unknown"
            )
        require_chance(self.alpha, "alpha")
        if self.alpha < MIN_ALPHA:
            raise UsageError(f"alpha must be at least {MIN_ALPHA:g}.", code="alpha-too-small")
        if not -inf < self.null < inf:
            raise UsageError("null must be a finite number.", code="null-not-finite")

    def quantile(self, excess: float = 0.0) -> float:
        """Return half the length of an interval in standard errors.

        ``excess``: a third of the excess kurtosis of the error, from 0 to 1.
        """
        if not excess:
            return -NormalDist().inv_cdf(self.alpha / 2)
        # No tail is longer than that of Laplace noise, which ends far below alpha at 100.
        low, high = 0.0, 100.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            is_far = tail_of_sum(np.array([middle]), np.array([excess]))[0] <= self.alpha / 2
            low, high = (low, middle) if is_far else (middle, high)
        return high

    def p_value(self, above: float, below: float) -> float:
        """Return the p-value, from the chances of an error at least as large and as small."""
        if self.alternative == "two-sided":
            # Both tails count, as a difference of either sign would have been reported.
            return min(1.0, 2 * min(above, below))
        return above if self.alternative == "greater" else below


def require_chance(value: float, name: str) -> None:
    """Require a probability above 0 and below 1, or raise UsageError."""
    if not 0 < value < 1:
        raise UsageError(f"{name} must be above 0 and below 1.", code="chance-out-of-range")


Correction = Literal["holm", "benjamini-hochberg"]


def adjust(
    p_values: ArrayLike, correction: Correction = "holm", *, tests: int | None = None
) -> NDArray[np.float64]:
    """Adjust p-values for the number of tests, so that each can be compared with alpha.

    Parameters
    ----------
    p_values : float64[n]
        Each from 0 to 1.
    correction : str
        ``"holm"``: the chance of any false finding is at most alpha, however the tests depend on
        one another. ``"benjamini-hochberg"``: of the findings a share of alpha is false on
        average, for independent tests and some dependent ones.
    tests : int, optional
        The number of tests, if some with a p-value of 1 are left out. Default: all are given.

    Returns
    -------
    float64[n]
        In the order of ``p_values``, each at least the p-value and at most 1.

    Source
    ------
    Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("p-values are a list of numbers from 0 to 1.", code="p-values-form")
    # A stable sort gives equal p-values one order on all platforms.
    n, order = values.size if tests is None else tests, np.argsort(values, kind="stable")
    if n < values.size:
        raise UsageError(
            "There are at least as many tests as p-values.", code="tests-fewer-than-p-values"
        )
    rank = np.arange(values.size)
    # A larger p-value must not be adjusted to a smaller one, hence the running extremes.
    if correction == "holm":
        ordered = np.maximum.accumulate(values[order] * (n - rank))
    elif correction == "benjamini-hochberg":
        ordered = np.minimum.accumulate((values[order] * n / (rank + 1))[::-1])[::-1]
    else:
        raise UsageError("correction is holm or benjamini-hochberg.", code="correction-unknown")
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(ordered, 1.0)
    return adjusted
