"""Exact geometric draws, one binary digit after the other.

A geometric number G with ``P(G >= g) = r**g`` has **independent** binary digits: digit j is 1
with probability ``r**(2**j) / (1 + r**(2**j))``, as ``P(G = g)`` is proportional to ``r**g``, a
product over the digits of g. So a table of some dozen thresholds draws from laws whose mean is
anything up to ``2**62``. Every digit compares 63 digits of a uniform number with an integer, as
:mod:`geodp.privacy.noise.law` does it, and takes further ones where these leave it open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geodp.privacy.key import NoiseKey, blocks, draw_digits
from geodp.privacy.noise.draws import UNIFORM, LawName
from geodp.privacy.noise.law import DIGITS, Interval, decide, floor_of

LIMIT = 1 << 62
"""Larger draws are cut down to this."""

_WORDS_PER_BLOCK = 8
_CHUNK = 1 << 16  # draws whose blocks are in memory at the same time
_RARE = 24  # numbers with more digits than are drawn at once have probability 2**-24 at most
_MASK = np.uint64((1 << DIGITS) - 1)


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
        most = (1 << (DIGITS - (slot < self.digits))) - 1
        return floor_of(partial(self.probability, slot), DIGITS, most)

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
