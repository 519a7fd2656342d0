"""The curve of epsilon and delta of a sampled table, exactly and by the bound of Li et al."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geodp.features.audit.binomial import delta_bounds, min_epsilon
from geodp.features.audit.threshold import (
    require_epsilon,
    require_rate,
    require_threshold,
    round_up,
    search_epsilon,
)
from geodp.privacy.budget import Budget
from geodp.reprs import one_line

POINTS = 13
"""Number of points of a curve without given epsilons."""

MIN_DELTA = Fraction(1, 10**200)
"""Smallest delta that the last default epsilon is searched for."""

DIGITS = 10**4
"""Default epsilons are multiples of its inverse."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epsilon, and a delta that holds for it.

    Attributes
    ----------
    epsilon : Fraction
    exact, li : Fraction
        Upper bounds of delta: the tight one, and that of Li, Qardaji and Su 2012.
    """

    epsilon: Fraction
    exact: Fraction
    li: Fraction

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded up."""
        names = ("epsilon", "exact", "li")
        return {name: round_up(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Curve:
    """Delta by epsilon of a sampled table whose counts below a threshold are suppressed.

    Attributes
    ----------
    k : int
    rate : Fraction
    points : tuple of Point
        In the order of epsilon.
    """

    __repr__ = one_line

    k: int
    rate: Fraction
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        points = [point.to_dict() for point in self.points]
        return {"threshold": self.k, "rate": str(self.rate), "points": points}


def curve(k: int, rate: Budget, epsilons: Sequence[Budget] | None = None) -> Curve:
    """Compute delta for many values of epsilon.

    Parameters
    ----------
    k, rate
        As for :func:`geodp.audit.sampled_threshold`.
    epsilons : sequence, optional
        Default: 13, evenly from the smallest one to where both bounds are ``rate**k``, the
        smallest delta of any epsilon.

    Raises
    ------
    UsageError
        As in :func:`geodp.audit.sampled_threshold`.

    Examples
    --------
    >>> result = curve(3, "1/5", ["0.3", "1.5973"])
    >>> [f"{float(point.exact):.4g}" for point in result.points]
    ['0.0212', '0.008']
    """
    exact_rate, k = require_rate(rate), require_threshold(k)
    if epsilons is None:
        low = min_epsilon(exact_rate)
        # Li's bound is larger, so where it reaches rate**k the exact delta has reached it, too.
        high = search_epsilon(k, exact_rate, max(exact_rate**k, MIN_DELTA), "li")
        steps = (low + (high - low) * Fraction(i, POINTS - 1) for i in range(POINTS))
        # Rounded up to few digits, so that a printed epsilon is exactly the one of its delta.
        chosen = [Fraction(math.ceil(step * DIGITS), DIGITS) for step in steps]
    else:
        chosen = sorted({require_epsilon(exact_rate, epsilon) for epsilon in epsilons})
    points = (
        Point(e, *(delta_bounds(k, exact_rate, e, bound)[1] for bound in ("exact", "li")))
        for e in chosen
    )
    return Curve(k, exact_rate, tuple(points))
