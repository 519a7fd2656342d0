"""An office's display rule: small released counts stay in the files, but are shown as ``<k``.

The rule concerns presentation only and protects nobody: the files contain the counts, and
differences between shown sums reveal them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

LARGEST = 1 << 31
"""Largest display limit."""


def is_below(count: Any, limit: int | None) -> Any:
    """Return whether released counts are above 0 and below the limit, and so shown as ``<limit``.

    Parameters
    ----------
    count : number or int64[n] or float64[n]
    limit : int or None
        None: every count is shown.

    Returns
    -------
    bool or bool[n]

    Examples
    --------
    >>> [is_below(count, 10) for count in (-3, 0, 1, 9, 10)]
    [False, False, True, True, False]
    """
    # Zeros and negative counts are shown: they do not suggest a small true count.
    return (count > 0) & (count < (0 if limit is None else limit))


def show_limit(limit: int) -> str:
    """Format a count below the limit."""
    return f"<{limit:,}"


def show_estimate(number: float, sign: str = "") -> str:
    """Format an estimated number: a large one without decimals; ``sign``: "+" shows it always.

    Examples
    --------
    >>> show_estimate(303.14159), show_estimate(1234567.8), show_estimate(0.25, "+")
    ('303.142', '1,234,568', '+0.25')
    """
    return f"{number:{sign},.0f}" if abs(number) >= 1e5 else f"{number:{sign},.6g}"


def show_count(count: float, limit: int | None, form: str = ",") -> str:
    """Format a released count; ``form`` applies to counts that are not below the limit.

    Examples
    --------
    >>> [show_count(count, 10) for count in (0, 7, 1234)]
    ['0', '<10', '1,234']
    """
    if limit is not None and is_below(count, limit):
        return show_limit(limit)
    return format(count, form)


def shorten_amount(amount: Fraction) -> str:
    """Format a budget as an exact decimal or, for a long ratio, an approximate one."""
    decimal = f"{float(amount):.6g}"
    return decimal if Fraction(decimal) == amount or len(str(amount)) > 12 else str(amount)
