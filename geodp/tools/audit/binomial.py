"""Two adjacent binomial laws: the delta of one person more in a cell, by its sample.

Each of the n people of a cell is drawn with probability b, and a count of at least k is published.
With one person fewer, a count s is ``n (1 - b) / (n - s)`` times less likely, which is above
``exp(epsilon)`` exactly where ``s > g n``, with ``g = 1 - (1 - b) exp(-epsilon)``. So

    delta(n) = P(S(n) >= t) - exp(epsilon) P(S(n - 1) >= t)
             = b P(S(n - 1) = t - 1) - (exp(epsilon) - 1) P(S(n - 1) >= t)

with ``t`` the smallest whole number that is at least k and above ``g n``. While t stays the same,
delta grows from n to n + 1 exactly where ``t - 1 > g n``, so the largest of these n is ``m + 1``
with ``m = floor((t - 1) / g)``, and of all n there is one for every t = k, k + 1, ...: the terms
of :func:`iterate_terms`. The bound of Li, Qardaji and Su 2012 leaves out what is subtracted:
``P(S(n) > g n)``, whose largest for every t is that of ``n = floor(t / g)``.

Both are at most ``exp(-n d)`` with ``d = g ln(g / b) - epsilon (1 - g)`` (Chernoff), which ends
the iteration. All terms are whole numbers of ``2**-bits``, rounded down and up.
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
"""Bits of a term beyond those that its magnitude takes."""

MIN_DELTA_BITS = 1100
"""Deltas below ``2**-1100``, which no float represents, are reported as that."""

MAX_PEOPLE = 1 << 20
"""Largest number of people of a cell that is evaluated."""

TOO_MANY_PEOPLE = Rule(
    "cells-of-too-many-people",
    f"Cells of more than {MAX_PEOPLE:,} people would have to be evaluated; choose a larger "
    "epsilon or delta, or a smaller threshold.",
)

_WORK = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
# Far above the rounding of a dozen operations with 60 digits.
_SLACK = Decimal("1e-40")

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DeltaTerm:
    """The largest delta of all cells that counts from a threshold on distinguish.

    Attributes
    ----------
    threshold : int
        t: counts of at least t distinguish the neighbours.
    people : int
        n, of the cell with one person more.
    low, high : int
        Bounds of the delta, times ``2**bits``.
    certain : bool
        The delta is ``rate**threshold``: all people are drawn, which one fewer could not reach.
    """

    threshold: int
    people: int
    low: int
    high: int
    certain: bool


class SampleRatio:
    """The ratio g of a rate and an epsilon, which is irrational, to any precision."""

    def __init__(self, rate: Fraction, epsilon: Fraction, bits: int) -> None:
        self._rate, self._epsilon, self._bits = rate, epsilon, bits
        self._low, self._high = self._bounds()

    def _bounds(self) -> Interval:
        one, complement = 1 << self._bits, 1 - self._rate
        low, high = exp_interval(self._epsilon, self._bits)
        return one - _up(high * complement.numerator, complement.denominator), one - (
            low * complement.numerator // complement.denominator
        )

    def divide(self, number: int) -> int:
        """Compute ``floor(number / g)``, by refining the bounds of g until both agree."""
        # g is irrational, so the quotient is never an integer and the bounds agree in the end.
        while (quotient := (number << self._bits) // self._high) != (
            (number << self._bits) // self._low
        ):
            self._bits *= 2
            self._low, self._high = self._bounds()
        return quotient


def iterate_terms(
    rate: Fraction, epsilon: Fraction, bits: int, bound: Bound
) -> Iterator[DeltaTerm]:
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
        Cells of more than ``MAX_PEOPLE`` would have to be evaluated.
    """
    p, q = rate.numerator, rate.denominator
    unit = 1 << bits
    low_exp, high_exp = exp_interval(epsilon, bits)
    growth = ((unit << bits) // high_exp - unit, _up(unit << bits, low_exp) - unit)
    ratio = SampleRatio(rate, epsilon, bits)
    people, threshold = 0, 1
    # Without people the sample is 0 with certainty.
    equal, above = (unit, unit), (0, 0)
    while True:
        end = ratio.divide(threshold - (bound == "exact"))
        if end > MAX_PEOPLE:
            raise UsageError(TOO_MANY_PEOPLE)
        while people < end:
            above = (above[0] + equal[0] * p // q, above[1] + _up(equal[1] * p, q))
            equal = _times(equal, (people + 1) * (q - p), (people + 2 - threshold) * q)
            people += 1
        if bound == "li":
            low, high = above
            yield DeltaTerm(threshold, people, low, high, people == threshold)
        else:
            low = equal[0] * p // q - _up(growth[1] * above[1], unit)
            high = _up(equal[1] * p, q) - growth[0] * above[0] // unit
            yield DeltaTerm(threshold, people + 1, low, high, people + 1 == threshold)
        # As many people as the threshold are all drawn already: the next needs one more.
        if people < threshold:
            above = (above[0] + equal[0] * p // q, above[1] + _up(equal[1] * p, q))
            equal = _times(equal, (people + 1) * (q - p), (people + 2 - threshold) * q)
            people += 1
        # From threshold t to t + 1 with as many people, by the ratio of binomial probabilities.
        equal = _times(equal, (people - threshold + 1) * p, threshold * (q - p))
        above = (max(above[0] - equal[1], 0), above[1] - equal[0])
        threshold += 1


def delta_bounds(
    k: int, rate: Fraction, epsilon: Fraction, bound: Bound
) -> tuple[Fraction, Fraction]:
    """Bound delta at an epsilon, closely.

    Parameters
    ----------
    k : int
        At least 1.
    rate, epsilon : Fraction
    bound : {"exact", "li"}
    """
    decline = exponent(rate, epsilon)
    size = min(float(decline) * (_inverse(rate, epsilon) * k + 2), k * _bits_of(1 / rate))
    bits = GUARD + min(int(1.5 * size) + 64, MIN_DELTA_BITS)
    certain, lowest, highest = Fraction(), 0, 0
    stop = negative_log(Fraction(1, 1 << MIN_DELTA_BITS))
    for term in iterate_terms(rate, epsilon, bits, bound):
        if term.threshold < k:
            continue
        before = certain, lowest
        if term.certain:
            # Later certain terms have a higher threshold, hence a smaller delta.
            certain = rate**k
        else:
            # Delta is the largest over all cells, so the largest bounds on either side bound it.
            lowest, highest = max(lowest, term.low), max(highest, term.high)
        if before != (certain, lowest):
            stop = min(stop, negative_log(max(certain, Fraction(lowest, 1 << bits))))
        # The Chernoff bound of all later terms is below the largest one so far.
        if term.people * decline >= stop:
            break
    low, high = (max(certain, Fraction(end, 1 << bits)) for end in (lowest, highest))
    return low, max(high, Fraction(1, 1 << MIN_DELTA_BITS))


def thresholds_above(
    rate: Fraction, epsilon: Fraction, delta: Fraction, bound: Bound
) -> Iterator[int]:
    """Yield the thresholds whose term may be above a delta, in order.

    A threshold k has at most that delta exactly where none of them is k or more.
    """
    decline, stop = exponent(rate, epsilon), negative_log(delta)
    bits = GUARD + _bits_of(1 / delta)
    limit = (delta.numerator << bits) // delta.denominator
    certain_threshold = min_certain(rate, delta)
    # Refused now, as the iteration would run that long before it ended.
    if certain_threshold > MAX_PEOPLE:
        raise UsageError(TOO_MANY_PEOPLE)
    for term in iterate_terms(rate, epsilon, bits, bound):
        if term.people * decline >= stop:
            return
        if term.threshold < certain_threshold if term.certain else term.high > limit:
            yield term.threshold


def min_certain(rate: Fraction, delta: Fraction) -> int:
    """Compute the smallest t with ``rate**t`` at most delta.

    Examples
    --------
    >>> [min_certain(Fraction(1, 5), Fraction(1, n)) for n in (124, 125, 126)]
    [3, 3, 4]
    """
    # The power itself is only computed where the logarithms leave two candidates.
    with localcontext(_WORK):
        ratio = to_decimal(delta).ln() / to_decimal(rate).ln()
        near = ratio.to_integral_value()
        above = int(ratio.to_integral_value(ROUND_CEILING))
        if abs(ratio - near) > Decimal("1e-30") or near > MAX_PEOPLE:
            return above
    return int(near) + (rate ** int(near) > delta)


def min_epsilon(rate: Fraction) -> Fraction:
    """Compute ``-ln(1 - rate)``, rounded up to 12 digits.

    With a smaller epsilon, delta is at least the one that the suppressed outcome alone gives.

    Examples
    --------
    >>> float(min_epsilon(Fraction(1, 5)))
    0.223143551315
    """
    with localcontext(_WORK):
        exact = -to_decimal(1 - rate).ln() + _SLACK
    return Fraction(Context(prec=12, rounding=ROUND_CEILING).plus(exact))


def epsilon_suffices(rate: Fraction, epsilon: Fraction) -> bool:
    """Decide exactly whether an epsilon is at least ``-ln(1 - rate)``."""
    bits, complement = 64, 1 - rate
    while True:
        low, high = exp_interval(epsilon, bits)
        if high * complement.denominator <= complement.numerator << bits:
            return True
        if low * complement.denominator > complement.numerator << bits:
            return False
        bits *= 2


def exponent(rate: Fraction, epsilon: Fraction) -> Decimal:
    """Compute d of the bound ``exp(-n d)``, rounded down."""
    with localcontext(_WORK):
        b, e = to_decimal(rate), to_decimal(epsilon)
        g = 1 - (1 - b) * (-e).exp()
        first, second = g * (g / b).ln(), e * (1 - g)
        return first - second - _SLACK * (first + second)


def negative_log(chance: Fraction) -> Decimal:
    """Compute ``-ln(chance)``, rounded up."""
    with localcontext(_WORK):
        exact = -to_decimal(chance).ln()
        return exact + _SLACK * (1 + exact)


def _inverse(rate: Fraction, epsilon: Fraction) -> float:
    """Compute 1 / g to the precision of a float: for sizes, never for a decision."""
    with localcontext(_WORK):
        return float(1 / (1 - (1 - to_decimal(rate)) * (-to_decimal(epsilon)).exp()))


def _bits_of(value: Fraction) -> int:
    """Count the binary digits of a number of at least 1, plus one."""
    return value.numerator.bit_length() - value.denominator.bit_length() + 1


def _times(bounds: Interval, numerator: int, denominator: int) -> Interval:
    return bounds[0] * numerator // denominator, _up(bounds[1] * numerator, denominator)


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
