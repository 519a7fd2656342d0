"""Ratios and differences of two sums of parts of the same total, and how their errors go together.

Both sums have the error of the total, each by its share of it, and errors of their own given the
total. Of two sums a and b without common parts, the latter have the covariance
``(V(a + b) - V(a) - V(b)) / 2``: parts of one partition add up to the total, so that what one gets
too many of, others get too few of. Sums of different partitions have independent noise.

A ratio p is in the interval if ``a - p b`` may be the error of this difference (Fieller), which has
three independent parts: the total's error, which is nearly the same share of a and of p b and so
nearly cancels, and those of a and of p b given the total. Their margins need not be symmetric, and
are combined by the method of variance estimates recovery, as in
:mod:`geodp.accuracy.interval_arithmetic`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.accuracy.interval import Interval
from geodp.accuracy.part_errors import PartEstimates, margins_in_map
from geodp.typing import FloatArray


@dataclass(frozen=True, eq=False)
class PartSum:
    """A sum of parts in some areas.

    Attributes
    ----------
    count : float64[n]
        As released.
    share : float64[n]
        By how much the sum is off for every one that the total is off.
    below, above : float64[n]
        How far the true sum may lie below and above, given the total.
    variance : float64[n]
        Given the total.
    """

    count: FloatArray
    share: FloatArray
    below: FloatArray
    above: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, count: FloatArray, estimate: PartEstimates, total: Interval) -> PartSum:
        """Describe a sum by the estimate of its share; ``total``: float64[n] of all parts."""
        below, above = margins_in_map(estimate, total.value, total.high)
        return cls(count, estimate.gain, below, above, estimate.variance)


def correlate(first: PartSum, second: PartSum, apart: FloatArray) -> FloatArray:
    """Return the correlation of two sums, given the total: float64[n].

    ``apart``: variance of their difference, given the total.
    """
    product = np.sqrt(first.variance * second.variance)
    covariance = (first.variance + second.variance - apart) / 2
    found = np.divide(covariance, product, out=np.zeros_like(product), where=product > 0)
    return np.clip(found, -1.0, 1.0)


def subtract_parts(
    first: PartSum, second: PartSum, total: Interval, correlation: FloatArray
) -> Interval:
    """Subtract the second sum from the first: float64[n]."""
    value = first.count - second.count
    # Whoever the total has too many of, the larger share has too many of.
    by, r = first.share - second.share, correlation
    fewer, more = total.value - total.low, total.high - total.value
    down = _combine(first.below, second.above, r, by * np.where(by > 0, fewer, more))
    up = _combine(first.above, second.below, r, by * np.where(by > 0, more, fewer))
    return Interval(value, value - down, value + up)


def _combine(
    first: FloatArray, second: FloatArray, r: FloatArray, of_total: FloatArray
) -> FloatArray:
    """Combine margins of a difference: of both sums given the total, and of the total."""
    given = first**2 + second**2 - 2 * r * first * second
    return np.sqrt(of_total**2 + np.maximum(given, 0.0))


def divide_parts(
    first: PartSum, second: PartSum, total: Interval, correlation: FloatArray, *, inside: bool
) -> Interval:
    """Divide the first sum by the second, or by both together: float64[n].

    Parameters
    ----------
    first, second : PartSum
        Without common parts.
    total : Interval
    correlation : float64[n]
        See :func:`correlate`.
    inside : bool
        Whether the ratio is the share of the first in both together.

    Returns
    -------
    Interval
        NaN where the divisor may be 0, or where nothing is excluded.
    """
    a, c, r = first.count, second.count, correlation
    b, share = (a + c, first.share + second.share) if inside else (c, second.share)
    fewer = total.value - total.low
    ends = []
    for sign, u, d in ((-1, first.below, second.above), (1, first.above, second.below)):
        # The variance of a - p b given the total is q0 - 2 q1 p + q2 p^2.
        q0, cross = u**2, r * u * d
        q1, q2 = (q0 + cross, q0 + d**2 + 2 * cross) if inside else (cross, d**2)
        two = b**2 - (fewer * share) ** 2 - q2
        one = a * b - fewer**2 * first.share * share - q1
        zero = a**2 - (fewer * first.share) ** 2 - q0
        with np.errstate(divide="ignore", invalid="ignore"):
            end = (one + sign * np.sqrt(np.maximum(one**2 - two * zero, 0.0))) / two
        ends.append(np.where(two > 0, end, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = a / b
    most = 1.0 if inside else np.inf
    # Where the divisor may be 0, the ratio may be anything from its lower end on, or anything.
    low = np.clip(np.fmin(np.nan_to_num(ends[0]), value), 0.0, most)
    high = np.clip(np.fmax(ends[1], value), 0.0, most)
    known = (b > 0) & ~np.isnan(ends[1]) & ~((low <= 0) & (high >= most))
    return Interval(*(np.where(known, one, np.nan) for one in (value, low, high)))
