"""The curve of epsilon and delta of a sampled table, exactly and by a bound, and its figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import IO, Any

from geodp.accuracy.style import COLOURS, MARKERS, draw_figure, quiet_axes
from geodp.privacy.loss import Budget
from geodp.reprs import one_line
from geodp.tools.audit.binomial import delta_bounds, min_epsilon
from geodp.tools.audit.threshold import (
    require_epsilon,
    require_rate,
    require_threshold,
    round_up,
    search_epsilon,
)

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


def plot_curve(curve: Curve, file: str | PathLike[str] | IO[bytes], form: str = "png") -> None:
    """Draw delta against epsilon on a logarithmic axis: the exact one, and the bound of Li et al.

    A dotted line is ``rate**k``, which no epsilon can go below.

    Parameters
    ----------
    curve : Curve
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError where Matplotlib is not installed.
    """
    epsilons = [float(point.epsilon) for point in curve.points]
    lowest = float(curve.rate) ** curve.k
    with draw_figure((7.2, 4.4), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.11, right=0.96, top=0.84, bottom=0.13)
        rows = (("exact", "exact"), ("li", "bound of Li, Qardaji and Su"))
        for number, (name, label) in enumerate(rows):
            axes.plot(
                epsilons,
                [float(getattr(point, name)) for point in curve.points],
                color=COLOURS[number],
                marker=MARKERS[number],
                markersize=4.6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                linewidth=1.5,
                label=label,
                zorder=3,
            )
        axes.axhline(
            lowest, linestyle=":", color="#777777", label="all of k people drawn", zorder=2
        )
        axes.set_yscale("log")
        quiet_axes(axes, "delta", "epsilon")
        axes.legend(loc="upper right", frameon=False, fontsize=8.5)
        title = f"Sampled with rate {float(curve.rate):.6g}, counts below {curve.k} suppressed"
        figure.text(0.11, 0.93, title, fontsize=12, fontweight="bold")
