"""Counts with 95 % intervals: of many places, their sums, ratios and differences.

Intervals of a difference need not be symmetric, and are combined by the method of variance
estimates recovery (Zou 2007, "Toward using confidence intervals to compare correlations"): the
margins of a difference are the roots of ``a**2 + b**2 + 2 r a b``, of the margins a and b of both
estimates on the sides that make it smaller, or larger, where r is how far their errors are
opposite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple, Self, TypeAlias

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


@dataclass(frozen=True)
class Derived(Interval):
    """A number that follows from some counts of its region alone.

    Attributes
    ----------
    of : tuple of str
        The names of these counts.
    """

    of: tuple[str, ...] = field(default=(), kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = super().to_dict()
        del plain["of"]
        return plain


Figures: TypeAlias = Mapping[str, Interval | None]
"""Numbers of a region by the names of their quantities; None: not estimable."""


class Hidden(NamedTuple):
    """Which of a number is not shown below a limit of display: all of it, or its interval alone."""

    below: bool
    bare: bool


def hide_figures(figures: Figures, limit: int | None) -> dict[str, Hidden]:
    """Return which of a region's quantities are hidden.

    A count is where it is below the limit of display, and every other quantity where a count of the
    region is, or one that it follows from, as it would reveal that.
    """
    counts = {name: one for name, one in figures.items() if isinstance(one, Estimate)}

    def test(names: Sequence[str]) -> Hidden:
        few = any(is_below(counts[name].value, limit) for name in names)
        # The end of a sum would reveal that of the count.
        return Hidden(few, any(is_below(counts[name].high, limit) for name in names))

    every = test([*counts])
    return {
        # Where counts are fitted to each other, the error of one tells the size of another.
        name: Hidden(bool(is_below(one.value, limit)), every.below)
        if isinstance(one, Estimate)
        else test(one.of)
        if isinstance(one, Derived)
        else every
        for name, one in figures.items()
    }


def factor_together(number: int, *, heavy: bool) -> float:
    """Return how much wider 95 % intervals of several numbers are, if all hold together in 95 %.

    Parameters
    ----------
    number : int
        Of numbers with errors of their own (Bonferroni).
    heavy : bool
        Whether errors may have tails as heavy as those of Laplace noise, not of normal laws.

    Examples
    --------
    >>> round(factor_together(10, heavy=False), 3), round(factor_together(10, heavy=True), 3)
    (1.432, 1.769)
    """
    if heavy:
        return 1 + log(max(number, 1)) / log(1 / 0.05)
    normal = NormalDist()
    return normal.inv_cdf(1 - 0.025 / max(number, 1)) / normal.inv_cdf(0.975)


def widen(one: Interval, factor: float) -> Interval:
    """Widen an interval around its number; what could not be negative still is not."""
    low, high = one.value - factor * (one.value - one.low), factor * (one.high - one.value)
    return replace(one, low=max(low, 0.0) if one.low >= 0 else low, high=one.value + high)


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
