"""Two binomial laws side by side: how well one person more in a cell can be told by its sample.

Of a cell of n people every one is drawn with the chance b, and a count of at least k is published.
With one person fewer, a count s is ``n (1 - b) / (n - s)`` times less likely, which is above
``exp(epsilon)`` exactly where ``s > g n``, with ``g = 1 - (1 - b) exp(-epsilon)``. So

    delta(n) = P(S(n) >= t) - exp(epsilon) P(S(n - 1) >= t)
             = b P(S(n - 1) = t - 1) - (exp(epsilon) - 1) P(S(n - 1) >= t)

with ``t`` the least whole number that is at least k and above ``g n``. While t stays the same,
delta grows from n to n + 1 exactly where ``t - 1 > g n``, so the largest of these n is ``m + 1``
with ``m = floor((t - 1) / g)``, and of all n there is one for every t = k, k + 1, ...: the terms
of the walk below. The bound of Li, Qardaji and Su 2012 leaves out what is subtracted:
``P(S(n) > g n)``, whose largest for every t is that of ``n = floor(t / g)``.

Both are at most ``exp(-n d)`` with ``d = g ln(g / b) - epsilon (1 - g)`` (Chernoff), which ends
the walk. All terms are whole numbers of ``2**-bits``, rounded down and up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Literal

from geodp.errors import Rule, UsageError
from geodp.privacy.loss import to_decimal
from geodp.privacy.noise.law import exp_interval

Bound = Literal["exact", "li"]

GUARD = 256
"""Bits of a term beyond those that its size takes."""

SMALLEST = 1100
"""Deltas below ``2**-1100``, which no float holds, are stated as that."""

MAX_PEOPLE = 1 << 20
"""Most people of a cell that a walk goes up to."""

TOO_MANY = Rule(
    "cells-of-too-many-people",
    f"Cells of more than {MAX_PEOPLE:,} people would have to be looked at; choose a larger "
    "epsilon or delta, or a smaller threshold.",
)

_WORK = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
_SLACK = Decimal("1e-40")  # far above the rounding of a dozen operations with 60 digits

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DeltaTerm:
    """The largest delta of all cells that are told by counts from a threshold on.

    Attributes
    ----------
    threshold : int
        t: counts of at least t are those that tell.
    people : int
        n, of the cell with one person more.
    low, high : int
        Bounds of it, times ``2**bits``.
    certain : bool
        It is ``rate**threshold``: everybody is drawn, and nobody else could have been.
    """

    threshold: int
    people: int
    low: int
    high: int
    certain: bool


class SampleRatio:
    """g of a rate and an epsilon, as closely as it takes: for rational ones it is irrational."""

    def __init__(self, rate: Fraction, epsilon: Fraction, bits: int) -> None:
        self._rate, self._epsilon, self._bits = rate, epsilon, bits
        self._low, self._high = self._bounds()

    def _bounds(self) -> Interval:
        one, kept = 1 << self._bits, 1 - self._rate
        low, high = exp_interval(self._epsilon, self._bits)
        return one - _up(high * kept.numerator, kept.denominator), one - (
            low * kept.numerator // kept.denominator
        )

    def divide(self, number: int) -> int:
        """Return ``floor(number / g)``."""
        while (least := (number << self._bits) // self._high) != (
            (number << self._bits) // self._low
        ):
            self._bits *= 2
            self._low, self._high = self._bounds()
        return least


def walk(rate: Fraction, epsilon: Fraction, bits: int, bound: Bound) -> Iterator[DeltaTerm]:
    """Yield the terms of all thresholds from 1 on, without end.

    The state is m, t, ``P(S(m) = t - 1)`` and ``P(S(m) >= t)``; one person more, or a threshold of
    one more, takes a multiplication and a division of each.

    Parameters
    ----------
    rate : Fraction
        In (0, 1).
    epsilon : Fraction
        Above 0.
    bits : int
    bound : {"exact", "li"}

    Raises
    ------
    UsageError
        Cells of more than ``MAX_PEOPLE`` would have to be looked at.
    """
    p, q = rate.numerator, rate.denominator
    one = 1 << bits
    least, most = exp_interval(epsilon, bits)
    growth = ((one << bits) // most - one, _up(one << bits, least) - one)
    ratio = SampleRatio(rate, epsilon, bits)
    people, threshold = 0, 1
    equal, above = (one, one), (0, 0)  # of 0 people all have a sample of 0
    while True:
        end = ratio.divide(threshold - (bound == "exact"))
        if end > MAX_PEOPLE:
            raise UsageError(TOO_MANY)
        while people < end:
            above = (above[0] + equal[0] * p // q, above[1] + _up(equal[1] * p, q))
            equal = _times(equal, (people + 1) * (q - p), (people + 2 - threshold) * q)
            people += 1
        if bound == "li":
            low, high = above
            yield DeltaTerm(threshold, people, low, high, people == threshold)
        else:
            low = equal[0] * p // q - _up(growth[1] * above[1], one)
            high = _up(equal[1] * p, q) - growth[0] * above[0] // one
            yield DeltaTerm(threshold, people + 1, low, high, people + 1 == threshold)
        if people < threshold:  # one person more, as all are drawn already
            above = (above[0] + equal[0] * p // q, above[1] + _up(equal[1] * p, q))
            equal = _times(equal, (people + 1) * (q - p), (people + 2 - threshold) * q)
            people += 1
        equal = _times(equal, (people - threshold + 1) * p, threshold * (q - p))
        above = (max(above[0] - equal[1], 0), above[1] - equal[0])
        threshold += 1


def delta_bounds(
    k: int, rate: Fraction, epsilon: Fraction, bound: Bound
) -> tuple[Fraction, Fraction]:
    """Return bounds of delta at an epsilon, close together.

    Parameters
    ----------
    k : int
        At least 1.
    rate, epsilon : Fraction
    bound : {"exact", "li"}
    """
    decline = exponent(rate, epsilon)
    size = min(float(decline) * (_inverse(rate, epsilon) * k + 2), k * _bits_of(1 / rate))
    bits = GUARD + min(int(1.5 * size) + 64, SMALLEST)
    certain, least, most = Fraction(), 0, 0
    wait = surprise(Fraction(1, 1 << SMALLEST))
    for term in walk(rate, epsilon, bits, bound):
        if term.threshold < k:
            continue
        before = certain, least
        if term.certain:
            certain = rate**k  # the largest of these is the first
        else:
            least, most = max(least, term.low), max(most, term.high)
        if before != (certain, least):
            wait = min(wait, surprise(max(certain, Fraction(least, 1 << bits))))
        if term.people * decline >= wait:
            break
    low, high = (max(certain, Fraction(end, 1 << bits)) for end in (least, most))
    return low, max(high, Fraction(1, 1 << SMALLEST))


def exceed(rate: Fraction, epsilon: Fraction, delta: Fraction, bound: Bound) -> Iterator[int]:
    """Yield the thresholds whose term may be above a delta, in order.

    A threshold k has at most that delta exactly where none of them is k or more.
    """
    decline, wait = exponent(rate, epsilon), surprise(delta)
    bits = GUARD + _bits_of(1 / delta)
    most, enough = (delta.numerator << bits) // delta.denominator, least_certain(rate, delta)
    if enough > MAX_PEOPLE:
        raise UsageError(TOO_MANY)
    for term in walk(rate, epsilon, bits, bound):
        if term.people * decline >= wait:
            return
        if term.threshold < enough if term.certain else term.high > most:
            yield term.threshold


def least_certain(rate: Fraction, delta: Fraction) -> int:
    """Return the least t with ``rate**t`` at most delta, without such powers where none is near.

    Examples
    --------
    >>> [least_certain(Fraction(1, 5), Fraction(1, n)) for n in (124, 125, 126)]
    [3, 3, 4]
    """
    with localcontext(_WORK):
        ratio = to_decimal(delta).ln() / to_decimal(rate).ln()
        near = ratio.to_integral_value()
        above = int(ratio.to_integral_value(ROUND_CEILING))
        if abs(ratio - near) > Decimal("1e-30") or near > MAX_PEOPLE:
            return above
    return int(near) + (rate ** int(near) > delta)


def least_epsilon(rate: Fraction) -> Fraction:
    """Return ``-ln(1 - rate)``, rounded up to 12 digits.

    With a smaller epsilon, delta is at least what the suppressed outcome alone gives.

    Examples
    --------
    >>> float(least_epsilon(Fraction(1, 5)))
    0.223143551315
    """
    with localcontext(_WORK):
        exact = -to_decimal(1 - rate).ln() + _SLACK
    return Fraction(Context(prec=12, rounding=ROUND_CEILING).plus(exact))


def is_enough(rate: Fraction, epsilon: Fraction) -> bool:
    """Whether an epsilon is at least ``-ln(1 - rate)``, decided exactly."""
    bits, kept = 64, 1 - rate
    while True:
        low, high = exp_interval(epsilon, bits)
        if high * kept.denominator <= kept.numerator << bits:
            return True
        if low * kept.denominator > kept.numerator << bits:
            return False
        bits *= 2


def exponent(rate: Fraction, epsilon: Fraction) -> Decimal:
    """Return d of the bound ``exp(-n d)``, rounded down."""
    with localcontext(_WORK):
        b, e = to_decimal(rate), to_decimal(epsilon)
        g = 1 - (1 - b) * (-e).exp()
        first, second = g * (g / b).ln(), e * (1 - g)
        return first - second - _SLACK * (first + second)


def surprise(chance: Fraction) -> Decimal:
    """Return ``-ln(chance)``, rounded up."""
    with localcontext(_WORK):
        exact = -to_decimal(chance).ln()
        return exact + _SLACK * (1 + exact)


def _inverse(rate: Fraction, epsilon: Fraction) -> float:
    """1 / g, to the precision of a float: for sizes, never for a decision."""
    with localcontext(_WORK):
        return float(1 / (1 - (1 - to_decimal(rate)) * (-to_decimal(epsilon)).exp()))


def _bits_of(value: Fraction) -> int:
    """Binary digits of a number of at least 1, and one more."""
    return value.numerator.bit_length() - value.denominator.bit_length() + 1


def _times(bounds: Interval, numerator: int, denominator: int) -> Interval:
    return bounds[0] * numerator // denominator, _up(bounds[1] * numerator, denominator)


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
