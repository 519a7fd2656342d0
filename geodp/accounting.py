"""What a release costs: exact budgets, guarantees in words, and events as frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np

from geodp.errors import UsageError

ADD_REMOVE = "add-remove-one"
REPLACE = "replace-one"
LONGEST = 200
"""Most characters, and largest exponent, of a budget."""

NEIGHBOURS = (ADD_REMOVE, REPLACE)
"""Neighbouring relations: tables that differ by one person more or less, or one replaced."""


def rational(value: str | int | float | Decimal | Rational, name: str = "epsilon") -> Fraction:
    """A positive budget, read exactly.

    A string is a decimal or a ratio; a float is the decimal that it prints as, so ``0.1`` is
    1/10 and not the binary number next to it.

    Examples
    --------
    >>> rational(0.1), rational("1/5"), rational("0.25")
    (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
    """
    if isinstance(value, np.generic):
        value = str(value)  # the shortest decimal of its own precision
    text = repr(value) if isinstance(value, float) else str(value)
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Rational):
            raise ValueError
        exponent = text.lower().partition("e")[2]
        if len(text) > LONGEST or abs(int(exponent or "0")) > LONGEST:
            raise ValueError  # a number of astronomical length
        exact = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(f"{name} must be a decimal such as 0.1 or a ratio such as 1/5.") from None
    if exact <= 0:
        raise UsageError(f"{name} must be above 0.")
    return exact


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a mechanism promises, in words that a release card can quote.

    Attributes
    ----------
    variant : str
        Such as ``"pure epsilon-differential privacy"``.
    precondition : str
        What the caller must make sure of for the promise to hold.
    source : str
        Where it is proved.
    """

    variant: str
    precondition: str
    source: str


@dataclass(frozen=True, slots=True)
class Event:
    """One use of a mechanism on confidential data.

    Attributes
    ----------
    mechanism : str
        Name in ``METHODS``, and settings.
    epsilon : Fraction
    neighbours : str
        One of ``NEIGHBOURS``.
    contribution : int
        The most that one person adds to the table: cells times count in each.
    enforced : bool
        Whether geodp bounded the contribution itself; otherwise the operator vouches for it.
    sensitivity : int
        L1 norm of the largest change of the measured vector between neighbours.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    key_origin : str
        ``"entropy"``: fresh and forgotten; ``"file"``: kept by its owner; ``"fixed"``: given by
        a program in the clear, which protects nobody.
    """

    mechanism: str
    epsilon: Fraction
    neighbours: str
    contribution: int
    enforced: bool
    sensitivity: int
    unit: str
    key_origin: str

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise: sensitivity / epsilon."""
        return self.sensitivity / self.epsilon

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from a key that nobody could know beforehand."""
        return self.key_origin in ("entropy", "file")

    @property
    def words(self) -> str:
        """The guarantee as one sentence."""
        if not self.is_private:
            return "NOT PRIVATE: the noise was made with a fixed key, for tests only."
        most = "once" if self.contribution == 1 else f"at most {self.contribution} times"
        # Beyond that, the factor is no number that anyone could read.
        factor = f" = {math.exp(self.epsilon):.4g}" if self.epsilon < 100 else ""
        change = (
            f"adding or removing any one {self.unit}"
            if self.neighbours == ADD_REMOVE
            else f"replacing any one {self.unit} by another"
        )
        return (
            f"Whatever anyone sees of this release is at most exp({self.epsilon})"
            f"{factor} times as likely, or as unlikely, after {change}, where "
            f"a {self.unit} is counted {most}."
        )

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card."""
        return {
            "mechanism": self.mechanism,
            "epsilon": str(self.epsilon),
            "epsilon_decimal": float(self.epsilon),
            "neighbours": self.neighbours,
            "contribution": self.contribution,
            "contribution_bound": "enforced by geodp on the records"
            if self.enforced
            else "vouched for by the operator",
            "enforced": self.enforced,
            "unit": self.unit,
            "l1_sensitivity": self.sensitivity,
            "noise_scale": str(self.scale),
            "noise_scale_decimal": float(self.scale),
            "key_origin": self.key_origin,
            "noise_key": {
                "entropy": "256 bits from the operating system, forgotten after the run",
                "file": "derived from a 256-bit key kept by its owner and a digest of the input",
                "fixed": "fixed by the calling program: NOT PRIVATE",
            }[self.key_origin],
        }


def event(
    mechanism: str,
    epsilon: Fraction,
    neighbours: str,
    contribution: int,
    enforced: bool,
    sensitivity: int,
    unit: str,
    key_origin: str,
) -> Event:
    """A checked event; ``sensitivity`` is that of one person added or removed once.

    Replacing one person removes one and adds one, which doubles it; a contribution of c
    multiplies it by c.
    """
    if neighbours not in NEIGHBOURS:
        raise UsageError(f"neighbours must be one of: {', '.join(NEIGHBOURS)}.")
    if isinstance(contribution, bool) or not isinstance(contribution, Integral) or contribution < 1:
        raise UsageError("contribution must be a whole number of at least 1.")
    contribution = int(contribution)
    if not isinstance(unit, str) or not unit.strip() or not unit.isprintable():
        raise UsageError("unit must say whom the guarantee protects: person, household, trip ...")
    factor = contribution * (2 if neighbours == REPLACE else 1)
    most = sensitivity * factor
    return Event(
        mechanism, epsilon, neighbours, contribution, enforced, most, unit.strip(), key_origin
    )
