"""Budgets as exact rationals, read from decimals and ratios."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from numbers import Rational

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.privacy.loss import (
    ApproximateDP,
    Loss,
    PureDP,
    ZeroConcentratedDP,
    rho_for,
    to_approximate,
)

LONGEST = 200
"""Most characters, and largest exponent, of a budget."""

DELTA_RANGE = Rule(
    "delta-not-below-1", "delta must be below 1; the inverse of ten times the people is usual."
)


Budget = str | int | float | Decimal | Rational
"""Values that are read exactly: ``0.1``, ``"1/10"``."""


def rational(value: Budget, name: str = "epsilon") -> Fraction:
    """Read a positive budget exactly.

    A string is a decimal or a ratio; a float is the decimal that it prints as, so ``0.1`` is
    1/10 and not the binary number next to it.

    Examples
    --------
    >>> rational(0.1), rational("1/5"), rational("0.25")
    (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
    """
    exact = read_exact(value, name)
    if exact <= 0:
        raise UsageError(f"{name} must be above 0.", code="budget-number-not-positive")
    return exact


def read_exact(value: Budget, name: str) -> Fraction:
    """Return a number of either sign, read as :func:`rational` reads budgets.

    Raises UsageError for what is no decimal and no ratio, and for one of astronomical length.
    """
    if isinstance(value, np.generic):
        value = str(value)  # repr of float32(0.1) is 0.1; as a Python float it is 0.10000000149
    text = repr(value) if isinstance(value, float) else str(value)
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Rational):
            raise ValueError
        exponent = text.lower().partition("e")[2]
        if len(text) > LONGEST or abs(int(exponent or "0")) > LONGEST:
            raise ValueError  # Fraction("1e999999999") would fill the memory
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{name} must be a decimal such as 0.1 or a ratio such as 1/5.",
            code="budget-number-form",
        ) from None


def budget(
    epsilon: Budget | None = None, rho: Budget | None = None, delta: Budget | None = None
) -> Loss:
    """Return the exact loss of a budget that is specified in one of four ways.

    epsilon alone is pure. rho alone is zero-concentrated; with a delta the epsilon that follows
    is stated too. epsilon and delta give the largest rho that implies them (Canonne, Kamath and
    Steinke 2020, Proposition 7, solved for rho and rounded to the safe side).

    Raises
    ------
    UsageError
        Neither or both of epsilon and rho, a delta of 1 or more, or numbers above 1e100.

    Examples
    --------
    >>> budget(rho="1/8")
    ZeroConcentratedDP(rho=Fraction(1, 8))
    """
    if (epsilon is None) == (rho is None):
        raise UsageError("Give either epsilon or rho.", code="epsilon-or-rho")
    chance = None if delta is None else rational(delta, "delta")
    if chance is not None and chance >= 1:
        raise UsageError(DELTA_RANGE)
    if epsilon is not None:
        exact = rational(epsilon)
        if chance is None:
            return PureDP(exact)
        # Rounded down, so that the rho in use never implies more than the requested epsilon.
        largest = rho_for(exact, chance)
        if largest == 0:
            raise UsageError(
                "No rho above 0 gives that epsilon and delta; choose larger ones.",
                code="rho-out-of-reach",
            )
        return ApproximateDP(exact, chance, ZeroConcentratedDP(largest))
    assert rho is not None
    concentrated = ZeroConcentratedDP(rational(rho, "rho"))
    return concentrated if chance is None else to_approximate(concentrated, chance)


def amounts_of(loss: Loss) -> dict[str, Fraction | None]:
    """Return epsilon, rho and delta of what :func:`budget` made; None for those it has not.

    Examples
    --------
    >>> amounts_of(PureDP(Fraction(1, 5)))
    {'epsilon': Fraction(1, 5), 'rho': None, 'delta': None}
    """
    amounts: dict[str, Fraction | None] = dict.fromkeys(("epsilon", "rho", "delta"))
    amounts |= zip(loss.parameters, loss.amounts, strict=True)
    # The noise is made for rho; epsilon and delta only describe it.
    if isinstance(loss, ApproximateDP) and loss.original is not None:
        amounts["rho"] = loss.original.rho
    return amounts
