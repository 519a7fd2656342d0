"""A difference, its error and its p-value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import erfc, inf, sqrt
from statistics import NormalDist
from typing import Any, Literal, Self, get_args

from geodp.errors import UsageError

Alternative = Literal["two-sided", "greater", "less"]
"""What a small p-value speaks for: another difference than that of the null hypothesis, a larger
one, a smaller one."""

ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)

LEAST_ALPHA = 1e-15
"""Smallest alpha of an interval."""


@dataclass(frozen=True)
class Difference:
    """A difference of two private numbers, first less second.

    Attributes
    ----------
    difference : int or float
    standard_error : float
        Of the difference. Where nothing tells how far a clamp moved it: what makes the p-value
        safe.
    p_value : float
        Of the null hypothesis that the true difference is ``null``.
    low, high : float
        An interval of confidence ``1 - alpha``, two-sided.
    null : float
    alternative : str
        One of ``ALTERNATIVES``.
    basis : str
        ``"normal"`` law of the error, its ``"exact"`` law, or ``"conservative"``: from intervals
        that a clamp has widened.
    """

    difference: int | float
    standard_error: float
    p_value: float
    low: float
    high: float
    null: float
    alternative: Alternative
    basis: str

    @classmethod
    def of_normal(cls, difference: int | float, error: float, question: Question) -> Self:
        """Return what normal errors say."""
        away = difference - question.null
        z = away / error if error else (inf if away > 0 else -inf if away < 0 else 0.0)
        half = question.quantile * error
        low, high = difference - half, difference + half
        p_value = question.p_value(tail(z), tail(-z)) if error or away else 1.0
        return cls(
            difference, error, p_value, low, high, question.null, question.alternative, "normal"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Question:
    """What is asked of a difference.

    Attributes
    ----------
    null : float
        The difference that the null hypothesis states.
    alternative : str
        One of ``ALTERNATIVES``.
    alpha : float
        One less the confidence of intervals: at least ``LEAST_ALPHA``, below 1.
    """

    null: float = 0.0
    alternative: Alternative = "two-sided"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.alternative not in ALTERNATIVES:
            raise UsageError(f"alternative is one of {', '.join(ALTERNATIVES)}.")
        require_chance(self.alpha, "alpha")
        if self.alpha < LEAST_ALPHA:
            raise UsageError(f"alpha must be at least {LEAST_ALPHA:g}.")
        if not -inf < self.null < inf:
            raise UsageError("null must be a finite number.")

    @property
    def quantile(self) -> float:
        """Standard errors from the middle to an end of a normal interval."""
        return -NormalDist().inv_cdf(self.alpha / 2)

    def p_value(self, above: float, below: float) -> float:
        """Return the p-value of chances of errors at least as large, and at least as small."""
        if self.alternative == "two-sided":
            return min(1.0, 2 * min(above, below))
        return above if self.alternative == "greater" else below


def tail(z: float) -> float:
    """Return the chance that a standard normal number is at least z.

    Examples
    --------
    >>> round(tail(1.959964), 6)
    0.025
    """
    return erfc(z / sqrt(2)) / 2


def require_chance(value: float, name: str) -> None:
    """Raise UsageError for what is no probability above 0 and below 1."""
    if not 0 < value < 1:
        raise UsageError(f"{name} must be above 0 and below 1.")
