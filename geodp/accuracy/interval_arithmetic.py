"""Counts with 95 % intervals: of many places, their sums, ratios and differences.

Intervals of a difference need not be symmetric, and are combined by the method of variance
estimates recovery (Zou 2007, "Toward using confidence intervals to compare correlations"): the
margins of a difference are the roots of ``a**2 + b**2 + 2 r a b``, of the margins a and b of both
estimates on the sides that make it smaller, or larger, where r is how far their errors are
opposite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from geodp.accuracy.interval import Estimate, Interval
from geodp.table.display import is_below
from geodp.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Bounds:
    """Counts of one kind at some places, with standard errors and 95 % intervals.

    Attributes
    ----------
    count, error, low, high : float64[n]
    """

    count: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> Self:
        """Collect the estimates of regions."""
        rows = [(one.count, one.standard_error, one.low, one.high) for one in estimates]
        return cls(*np.array(rows, np.float64).reshape(-1, 4).T)

    def add(self, other: Self) -> Self:
        """Add counts with independent errors, by the method of variance estimates recovery.

        The distances of the ends from the counts are added as their squares.
        """
        count = self.count + other.count
        below = np.hypot(self.count - self.low, other.count - other.low)
        above = np.hypot(self.high - self.count, other.high - other.count)
        return type(self)(count, np.hypot(self.error, other.error), count - below, count + above)

    def add_dependent(self, other: Self) -> Self:
        """Add counts whose errors may depend on each other: a bound of errors and intervals."""
        return type(self)(
            self.count + other.count,
            self.error + other.error,
            self.low + other.low,
            self.high + other.high,
        )


def divide(
    first: Bounds, second: Bounds, least: float, most: float, *, dependent: bool = False
) -> Interval:
    """Estimate first / second, whose errors are independent: float64[n].

    The intervals of the two are combined by the method of variance estimates recovery for a ratio
    (Donner and Zou 2012), which takes intervals that are not symmetric. With ``dependent``, errors
    may depend on each other, and the ends are the ratios of opposite ends. NaN where the second may
    be 0, as the ratio then has no upper bound, or where every ratio from ``least`` to ``most``, 0
    or more, is possible. A ratio beyond these ends, which noise may make, is the nearer end.

    Examples
    --------
    >>> one = Bounds.of([Estimate(50, 40, 60, 5, clamped=False)])
    >>> other = Bounds.of([Estimate(100, 90, 110, 5, clamped=False)])
    >>> divide(one, other, 0, 1).high.round(3).tolist()
    [0.618]
    """
    q, h = first.count, second.count
    below, above = h - second.low, second.high - h
    known = (h > 0) & (below < h)
    # Elsewhere the formulas divide by numbers that may be 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        if dependent:
            down, up = first.low / second.high, first.high / second.low
        else:
            down = (q * h - _spread(q, h, q - first.low, above)) / (h**2 - above**2)
            up = (q * h + _spread(q, h, first.high - q, below)) / (h**2 - below**2)
        value = np.clip(q / h, least, most)
    low = np.clip(np.where(above < h, down, 0.0), least, most)
    high = np.clip(up, least, most)
    known &= ~((low <= least) & (high >= most))
    return Interval(*(np.where(known, one, np.nan) for one in (value, low, high)))


def _spread(q: FloatArray, h: FloatArray, of_q: FloatArray, of_h: FloatArray) -> FloatArray:
    """Return the root in the end of a ratio's interval, from how far each sum may be off."""
    # (q h)^2 - (h^2 - of_h^2) (q^2 - of_q^2), multiplied out so that large terms cancel exactly.
    square = h**2 * of_q**2 + q**2 * of_h**2 - of_q**2 * of_h**2
    return np.sqrt(np.maximum(square, 0.0))


def subtract(first: Interval, second: Interval, opposite: float = 0.0) -> Interval:
    """Subtract the first number from the second.

    Parameters
    ----------
    first, second : Interval
    opposite : float
        How far the errors of the two may be opposite, from 0 to 1: the size of a negative
        correlation. At 0 the errors are independent, and at 1 the margins are added up, which is a
        bound whatever the errors are.

    Examples
    --------
    >>> subtract(Interval(10, 7, 14), Interval(20, 16, 25))
    Interval(value=10, low=4.343145750507619, high=15.8309518948453)
    >>> subtract(Interval(10, 7, 14), Interval(20, 16, 25), 1.0).high
    18.0
    """
    start, end = first.value, second.value
    below = end - second.low, first.high - start
    above = second.high - end, start - first.low
    low, high = (sqrt(a * a + b * b + 2 * opposite * a * b) for a, b in (below, above))
    return Interval(end - start, end - start - low, end - start + high)


Figures: TypeAlias = Mapping[str, Interval | None]
"""Numbers of a region by the names of their quantities; None: not estimable."""


class Hidden(NamedTuple):
    """Which of a number is not shown below a limit of display: all of it, or its interval alone."""

    below: bool
    bare: bool


def hide_figures(figures: Figures, limit: int | None) -> dict[str, Hidden]:
    """Return which of a region's quantities are hidden.

    A count is where it is below the limit of display, and every other quantity where a count of the
    region is, as it would reveal that.
    """
    counts = [one for one in figures.values() if isinstance(one, Estimate)]
    few = any(is_below(one.value, limit) for one in counts)
    # The end of a sum would reveal that of the count.
    bare = any(is_below(one.high, limit) for one in counts)
    return {
        # Where counts are fitted to each other, the error of one tells the size of another.
        name: Hidden(bool(is_below(one.value, limit)), few)
        if isinstance(one, Estimate)
        else Hidden(few, bare)
        for name, one in figures.items()
    }


def subtract_all(
    first: Figures, second: Figures, opposite: float = 0.0
) -> dict[str, Interval | None]:
    """Subtract the numbers of one region from those of another; see `subtract`.

    None where one of the two is not estimable.
    """
    return {
        name: None
        if one is None or (other := second[name]) is None
        else subtract(one, other, opposite)
        for name, one in first.items()
    }
