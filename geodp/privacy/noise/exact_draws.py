"""Exact draws besides noise: with decaying probabilities, geometric, and uniform integers.

A draw at distance d succeeds with probability ``exp(-rate d)``: if a uniform number U in [0, 1) is
below it. The first 63 binary digits of U are compared with ``floor(2**63 exp(-rate d))``; if these
are equal, further digits of the same draw decide, as in :mod:`geodp.privacy.noise.law`. No
floating-point number decides anything.

A geometric number G with ``P(G >= g) = r**g`` has **independent** binary digits: digit j is 1
with probability ``r**(2**j) / (1 + r**(2**j))``, as ``P(G = g)`` is proportional to ``r**g``, a
product over the digits of g. So a table of some dozen thresholds draws from laws whose mean is
anything up to ``2**62``. Every digit compares 63 digits of a uniform number with an integer in the
same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.privacy.key import NoiseKey, blocks, draw_digits
from geodp.privacy.noise.draws import UNIFORM, LawName
from geodp.privacy.noise.law import DIGITS, Interval, bisect, decide, exp_interval, floor_of

DECAY = "coins of chances exp(-rate d)"
"""Name of the law of these draws, and of choices by such weights."""

_WORDS_PER_BLOCK = 8
_MASK = np.uint64((1 << DIGITS) - 1)
_STRIDE = 1 << 10  # distances between two probabilities that are computed from the series
_EXTRA = 64  # digits beyond those that are compared, so that the comparison rarely stays open
_POWERS = 192  # the same for powers, whose squarings double the relative error
_NEVER = 44  # exp(-44) < 2**-63


@dataclass(frozen=True, eq=False)
class Decay:
    """The probabilities ``exp(-rate d)`` of integer distances d >= 0.

    Attributes
    ----------
    rate : Fraction
        Above 0.
    unit : int
        Distances that make one of the units in which the law is named: the name of the law of whole
        distances over a denominator that depends on confidential data must not show it.

    Examples
    --------
    >>> near, far = Decay(Fraction(1, 10)).floors([1, 437])
    >>> round(near / 2**63, 6), far
    (0.904837, 0)
    """

    rate: Fraction
    unit: int = 1
    _powers: dict[tuple[int, int], tuple[int, int]] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def identity(self) -> LawName:
        """The law's name and its exact parameter: the rate of a whole unit."""
        return DECAY, self.rate * self.unit

    def interval(self, distance: int, bits: int) -> tuple[int, int]:
        """Return integers low <= 2**bits * exp(-rate d) <= high, close together."""
        if distance == 0:
            return 1 << bits, 1 << bits
        if distance >= self._end(bits):  # exp(-bits) < 2**-bits: no digit of so many is 1
            return 0, 1
        return exp_interval(self.rate * distance, bits)

    def intervals(self, distances: list[int], bits: int) -> list[tuple[int, int]]:
        """Return the bounds of :meth:`interval` for many distances.

        Each is a product of two powers, of which one is shared by many distances.
        """
        work, bounds = bits + _EXTRA, list[tuple[int, int]]()
        end, shift = self._end(bits), bits + 2 * _EXTRA
        for distance in distances:
            if distance >= end:
                bounds.append((0, 1))
                continue
            rest = distance % _STRIDE
            # exp(-rate (a + b)) = exp(-rate a) exp(-rate b): 1,024 near powers serve all distances,
            # and few far ones occur, so that the series is evaluated rarely.
            far, near = self._power(distance - rest, work), self._power(rest, work)
            bounds.append((far[0] * near[0] >> shift, (far[1] * near[1] >> shift) + 1))
        return bounds

    def _power(self, distance: int, bits: int) -> tuple[int, int]:
        power = self._powers.get((distance, bits))
        if power is None:
            power = self._powers[distance, bits] = self.interval(distance, bits)
        return power

    def _end(self, bits: int) -> int:
        """Return a distance from which on the first ``bits`` digits of every probability are 0."""
        return -(-bits * self.rate.denominator // self.rate.numerator)

    def floors(self, distances: list[int]) -> list[int]:
        """Return ``floor(2**63 exp(-rate d))`` of distances."""
        pairs = zip(distances, self.intervals(distances, DIGITS + _EXTRA), strict=True)
        return [
            low >> _EXTRA
            if low >> _EXTRA == high >> _EXTRA
            else floor_of(partial(self.interval, distance), DIGITS, 1 << DIGITS)
            for distance, (low, high) in pairs
        ]

    def flip(self, distance: NDArray[Any], key: NoiseKey, stream: int) -> NDArray[np.bool_]:
        """Draw one success or failure per distance: bool[n].

        Draw i is a pure function of key, stream, rate, its distance and i.

        Parameters
        ----------
        distance : int64[n], or object[n] of whole numbers of any length
        key : NoiseKey
        stream : int
            At most 31 bits; the top bit marks further digits.
        """
        uniform = _random_words(key, stream, distance.size, self.identity) & _MASK
        # Probabilities below 2**-63 stay 0: only the exact comparison of further digits can succeed
        # there.
        chance = np.zeros(distance.size, np.uint64)
        near = np.flatnonzero(distance < self._end(_NEVER))
        if near.size:
            # Each probability is computed once; distances repeat, as they are integers.
            values, inverse = np.unique(distance[near], return_inverse=True)
            chance[near] = np.array(self.floors(values.tolist()), np.uint64)[inverse]
        falls = uniform < chance
        for i in np.flatnonzero(uniform == chance):
            more = draw_digits(key, stream, int(i), self.identity)
            bounds = partial(self.interval, int(distance[i]))
            falls[i] = decide(bounds, int(uniform[i]), DIGITS, more)
        return falls

    def count_before(self, distance: int, n: int, key: NoiseKey, stream: int) -> int:
        """Count the failures before the first success among n draws at one distance.

        The count is n if all fail. The first j all fail with probability ``r**j``, with r = 1 -
        exp(-rate d), so the count is the largest j up to n with a uniform number below ``r**j``;
        the draws themselves are not made.

        Parameters
        ----------
        distance : int
        n : int
            At most ``2**62``.
        key : NoiseKey
        stream : int
        """
        if distance == 0:
            return 0
        more = draw_digits(key, stream, 0, self.identity)
        uniform, bits = next(more), 64
        while (count := self._search(distance, n, uniform, bits)) is None:
            uniform, bits = (uniform << 64) | next(more), bits + 64
        return count

    def _search(self, distance: int, n: int, uniform: int, bits: int) -> int | None:
        """Return the count by bisection, or None if the digits do not suffice."""
        work = bits + _POWERS
        chance = self.interval(distance, work)
        low_end, high_end = uniform << _POWERS, (uniform + 1) << _POWERS

        def below(j: int) -> bool | None:
            if high_end <= (1 << work) - j * chance[1]:  # (1 - p)**j is at least 1 - j p
                return True
            low, high = _power(chance, j, work)
            return True if high_end <= low else False if low_end >= high else None

        if below(n):
            return n
        return bisect(below, 0, n + 1)


def _power(chance: tuple[int, int], j: int, bits: int) -> tuple[int, int]:
    """Return integers low <= 2**bits * (1 - p)**j <= high, from such bounds of p.

    A squaring doubles the relative error, and j has at most 63 binary digits.
    """
    one = 1 << bits
    low, high = one - chance[1], one - chance[0]
    result = one, one
    while j:
        if j & 1:
            result = result[0] * low >> bits, min((result[1] * high >> bits) + 1, one)
        low, high = low * low >> bits, min((high * high >> bits) + 1, one)
        j >>= 1
    return result


def draw_below(bounds: NDArray[np.uint64], key: NoiseKey, stream: int) -> NDArray[np.uint64]:
    """Draw exactly uniform integers from 0 on, each below its bound: uint64[n].

    Rejection sampling: a number of 64 bits is reduced modulo its bound, and drawn again if it lies
    in the last, incomplete interval, which would favour small results.

    Parameters
    ----------
    bounds : uint64[n]
        1 to ``2**63``.
    key : NoiseKey
    stream : int
    """
    drawn = _random_words(key, stream, bounds.size)
    # 2**64 - 2**64 % b, the end of the last complete interval; 0 if there is no incomplete one.
    end = np.uint64(0) - (np.uint64(0) - bounds) % bounds
    for i in np.flatnonzero((drawn >= end) & (end > 0)):
        more = draw_digits(key, stream, int(i))
        drawn[i] = next(word for word in more if word < end[i])
    return drawn % bounds


def draw_one_below(bound: int, key: NoiseKey, stream: int) -> int:
    """Draw one exactly uniform integer from 0 on, below a bound."""
    return int(draw_below(np.array([bound], np.uint64), key, stream)[0])


def _random_words(key: NoiseKey, stream: int, n: int, law: LawName = UNIFORM) -> NDArray[np.uint64]:
    """Generate n words of 64 bits: item i has word ``i % 8`` of block ``i // 8``."""
    address = np.arange(-(-n // _WORDS_PER_BLOCK), dtype=np.uint64)
    return blocks(key, stream, address, law=law).T.reshape(-1)[:n].copy()


LIMIT = 1 << 62
"""Larger draws are cut down to this."""

_CHUNK = 1 << 16  # draws whose blocks are in memory at the same time
_RARE = 24  # numbers with more digits than are drawn at once have probability 2**-24 at most


@dataclass(frozen=True, eq=False)
class GeometricDraws:
    """The law ``P(G >= g) = ratio**g`` on 0, 1, 2, ..., as a list of draws.

    Draw i is a pure function of key, stream, ratio and i. No floating-point number decides it.

    Attributes
    ----------
    key : NoiseKey
    stream : int
        At most 31 bits; the top bit marks the blocks that hold further digits of a draw.
    ratio : callable
        Interval of a number strictly between 0 and 1.
    law : (str, Fraction)
        Name and exact parameter by which the draws were declared.
    digits : int
        Binary digits of a draw that are drawn together; 1 to 62.
    threshold : uint64[digits + 1], read-only
        ``floor(2**63 * P)`` of every digit, and of the event that ``G >= 2**digits``.

    Examples
    --------
    >>> half = GeometricDraws(NoiseKey(bytes(32)), 7, lambda bits: (1 << bits - 1, 1 << bits - 1))
    >>> half.draws(0, 5).shape
    (5,)
    """

    key: NoiseKey
    stream: int
    ratio: Interval
    law: LawName = UNIFORM
    digits: int = field(init=False)
    threshold: NDArray[np.uint64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        digits = 1
        while digits < LIMIT.bit_length() - 1 and self.power(digits, 64)[1] > 1 << (64 - _RARE):
            digits += 1
        object.__setattr__(self, "digits", digits)
        threshold = np.array([self._floor(slot) for slot in range(digits + 1)], np.uint64)
        threshold.flags.writeable = False
        object.__setattr__(self, "threshold", threshold)

    def power(self, j: int, bits: int) -> tuple[int, int]:
        """Bound ``2**bits * ratio**(2**j)`` by integers low and high, by squaring j times.

        A squaring doubles the relative error, so j further bits keep it where it was.
        """
        work = bits + 2 * j + 32
        low, high = self.ratio(work)
        for _ in range(j):
            low, high = (low * low) >> work, min(((high * high) >> work) + 1, 1 << work)
        return low >> (work - bits), (high >> (work - bits)) + 1

    def probability(self, slot: int, bits: int) -> tuple[int, int]:
        """Bound 2**bits * P(digit ``slot`` is 1), or that of G >= 2**digits for the last slot.

        That is strictly below 1/2, or below 1 for the last: the bound that decides where the
        ratio is closer to 1 than any interval shows.
        """
        low, high = self.power(slot, bits + 8)
        one = 1 << (bits + 8)
        if slot < self.digits:
            low, high = low * one // (one + low), high * one // (one + high) + 1
            one >>= 1
        return low >> 8, min((high >> 8) + 1, one >> 8)

    def _floor(self, slot: int) -> int:
        """Compute the threshold ``floor(2**63 * P)`` of a slot."""
        limit = (1 << (DIGITS - (slot < self.digits))) - 1
        return floor_of(partial(self.probability, slot), DIGITS, limit)

    def draws(self, first: int, n: int) -> NDArray[np.int64]:
        """Return the draws number ``first`` to ``first + n - 1``: int64[n], at most ``LIMIT``."""
        drawn = np.empty(n, np.int64)
        for start in range(0, n, _CHUNK):
            part = drawn[start : start + _CHUNK]
            part[:] = self._draws(first + start, part.size)
        return drawn

    def _draws(self, first: int, n: int) -> NDArray[np.int64]:
        # Every draw has blocks of its own, so that draw i does not depend on how many are drawn.
        each = -(-(self.digits + 1) // _WORDS_PER_BLOCK)
        address = np.arange(first * each, (first + n) * each, dtype=np.uint64)
        words = blocks(self.key, self.stream, address, law=self.law)
        drawn = np.zeros(n, np.int64)
        for slot in range(self.digits):
            uniform = words[slot % _WORDS_PER_BLOCK, slot // _WORDS_PER_BLOCK :: each] & _MASK
            one = uniform < self.threshold[slot]
            for i in np.flatnonzero(uniform == self.threshold[slot]):
                more = self._digits(first + int(i), slot)
                bounds = partial(self.probability, slot)
                one[i] = decide(bounds, int(uniform[i]), DIGITS, more)
            drawn |= one.astype(np.int64) << slot
        row, start = self.digits % _WORDS_PER_BLOCK, self.digits // _WORDS_PER_BLOCK
        uniform = words[row, start::each] & _MASK
        for i in np.flatnonzero(uniform <= self.threshold[-1]):
            more = self._digits(first + int(i), self.digits)
            drawn[i] = self._beyond(int(drawn[i]), int(uniform[i]), more)
        return drawn

    def _beyond(self, lower: int, uniform: int, more: Iterator[int]) -> int:
        """Return a draw whose upper digits may differ from 0.

        These are geometric themselves.
        """
        times, bits = 0, DIGITS
        bounds = partial(self.probability, self.digits)
        while times << self.digits < LIMIT and decide(bounds, uniform, bits, more):
            times, uniform, bits = times + 1, next(more), 64
        return min((times << self.digits) + lower, LIMIT)

    def _digits(self, draw: int, slot: int) -> Iterator[int]:
        """Yield further random digits of one binary digit of a draw, 64 at a time."""
        return draw_digits(self.key, self.stream, draw * (self.digits + 1) + slot, self.law)
