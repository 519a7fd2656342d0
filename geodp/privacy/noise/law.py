"""Base of the exact noise laws: the table of a law, and the draws that it does not decide.

A draw is the inverse of the law's distribution function at a uniform number U in [0, 1) of as
many binary digits as it takes: ``|Z|`` is the number of ``g >= 1`` with ``U < P(|Z| >= g)``, and
one more bit is the sign. **This is exactly the law**, for these probabilities fall as g grows,
so ``|Z| >= g`` if and only if ``U < P(|Z| >= g)``, which has probability ``P(|Z| >= g)``.

Of U the table sees the first N digits, the integer u with ``u <= 2**N U < u + 1``, and of the
probabilities ``T = floor(2**N P)``. Where ``u < T`` also ``2**N U < u + 1 <= T <= 2**N P``;
where ``u > T`` also ``2**N U >= u >= T + 1 > 2**N P``. Only ``u = T`` leaves the comparison
open, and then N grows: it is 27 at first, then 91, with 64 digits of the same node's own block;
and where these are equal too, or U lies beyond the table's end, further digits are compared with
integer bounds of P that are as close as it takes. No floating-point number decides a draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.kernels import noise as kernels

LARGEST_SCALE = 100_000
"""Largest scale of discrete Laplace, and largest sigma of discrete Gaussian noise."""

DIGITS = 63
"""Binary digits of the uniform numbers that are not noise, such as those of choices."""

FIRST = kernels.FIRST_BITS
"""Binary digits of U in a word of 32 bits."""

TABLE_BITS = FIRST + 64
"""Binary digits of the probabilities that the tables hold."""

RUN = 512
"""Entries of a table that are computed together."""

_TAIL_BITS = 24  # the table ends where P(|Z| >= g) < 2**-24; rarer draws are decided one by one
_GUIDE_BITS = (8, 17)  # at least 8, so that small tables need no search; 17 fits the cache


def exp_interval(x: Fraction, bits: int) -> tuple[int, int]:
    """Bound ``2**bits * exp(-x)`` by close integers low and high, for a rational x >= 0.

    ``exp(-y)`` for ``y = x / 2**h <= 1/2`` is an alternating series whose terms are rounded
    down: ``t[j] = floor(t[j-1] * y / j)`` is short of the true term by less than 2, as each
    inherits at most half of the last one's error. The first term that rounds to 0 and all that
    follow add up to less than 2. Squaring h times, outwards rounded, gives ``exp(-x)``.
    """
    halvings = max(0, x.numerator.bit_length() - x.denominator.bit_length() + 2)
    work = bits + 2 * halvings + 32
    numerator, denominator = x.numerator, x.denominator << halvings
    term = total = 1 << work
    terms = 0
    while term:
        terms += 1
        term = term * numerator // (denominator * terms)
        total += -term if terms % 2 else term
    low, high = max(total - 2 * terms - 2, 0), total + 2 * terms + 2
    for _ in range(halvings):
        low, high = (low * low) >> work, ((high * high) >> work) + 1
    return low >> (work - bits), (high >> (work - bits)) + 1


Interval = Callable[[int], tuple[int, int]]
"""Function from bits to integers ``low <= 2**bits * x <= high``, as close as bits allows."""


def floor_of(bounds: Interval, bits: int, most: int) -> int:
    """Compute ``floor(2**bits * x)`` of a number x from its bounds, or ``most`` if that is less."""
    # More digits until both bounds round to the same integer, which is then the exact floor.
    extra, low, high = 32, 0, 1
    while low != high:
        extra *= 2
        low, high = (min(bound >> extra, most) for bound in bounds(bits + extra))
    return low


def compare(bounds: Interval, uniform: int, bits: int) -> bool | None:
    """Return whether a uniform number of so many digits is below x; None if they leave it open."""
    low, high = bounds(bits + 64)
    if (uniform + 1) << 64 <= low:
        return True
    return False if uniform << 64 >= high else None


def decide(bounds: Interval, uniform: int, bits: int, more: Iterator[int]) -> bool:
    """Decide exactly whether a uniform number is below x.

    Parameters
    ----------
    bounds : callable
        Bounds of x.
    uniform, bits : int
        The number's first binary digits, and how many these are.
    more : iterator of int
        The digits that follow, 64 at a time, taken only as long as the comparison is open.
    """
    while (answer := compare(bounds, uniform, bits)) is None:
        uniform, bits = (uniform << 64) | next(more), bits + 64
    return answer


def check_parameter(value: Fraction, largest: int, name: str) -> Fraction:
    """Return the exact value of a law's parameter; UsageError outside (0, largest]."""
    if not 0 < value <= largest:
        raise UsageError(
            f"The noise would have a {name} outside (0, {largest}]; "
            "choose a larger epsilon (or rho) or a smaller domain.",
            code="noise-too-wide",
        )
    return Fraction(value)


@dataclass(frozen=True, eq=False)
class Law(ABC):
    """A symmetric law on the integers, in the form from which the kernel draws.

    Attributes
    ----------
    table : Table, read-only
        See :func:`geodp.kernels.noise.look_up`: ``P(|Z| >= g)`` down to the
        first below ``2**-24``.
    bucket : int32[2**12], read-only
        For each value of the first 12 digits of U: the number of thresholds above all such U,
        times ``2**16``, plus the next 15 digits of the one threshold among them; if there is none
        among them, one less, and ``2**15``. ``-2**31`` if there are several, or the last one.
    """

    table: kernels.NoiseTable = field(init=False, repr=False)
    bucket: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first, rest = self._digits()
        # The guide table narrows the search to a few thresholds, four times as fine as there are
        # thresholds.
        bits = min(max(_GUIDE_BITS[0], first.size.bit_length() + 2), _GUIDE_BITS[1])
        table = kernels.NoiseTable(_values(first), first, rest, _count_above(first, bits))
        bucket = _buckets(first)
        # Laws are cached and shared, so a write to their tables would change the noise of other
        # releases.
        for array in (*table, bucket):
            array.flags.writeable = False
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "bucket", bucket)

    @property
    @abstractmethod
    def identity(self) -> tuple[str, Fraction]:
        """The law's name and its exact parameter: equal exactly for equal laws."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance, to the precision of a float; for descriptions, never for a draw."""

    @abstractmethod
    def tail(self, g: int, bits: int) -> tuple[int, int]:
        """Bound ``2**bits * P(|Z| >= g)`` for g >= 1 by integers, as close as bits allows."""

    @abstractmethod
    def runs(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield bounds of ``2**91 * P(|Z| >= g)`` for g = 1, 2, ..., in runs of ``RUN`` values.

        A run is the lower bounds and the upper bounds, both rounded down: where they agree, that
        is the threshold.
        """

    def _digits(self) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """Compute ``floor(2**91 * P(|Z| >= j + 1))``: the first 27 digits and the other 64."""
        end = 1 << (TABLE_BITS - _TAIL_BITS)
        done: list[int] = []
        for low, high in self.runs():
            if low != high:  # some bounds differ even when rounded: look closer at those
                pairs = enumerate(zip(low, high, strict=True), 1 + len(done))
                low = [
                    a if a == b else floor_of(partial(self.tail, g), TABLE_BITS, 1 << TABLE_BITS)
                    for g, (a, b) in pairs
                ]
            done += low
            if low[-1] < end:
                break
        size = next(j for j in range(max(len(done) - RUN, 0), len(done)) if done[j] < end) + 1
        first = np.array([one >> 64 for one in done[:size]], np.uint32)
        return first, np.array([one & ((1 << 64) - 1) for one in done[:size]], np.uint64)

    def magnitude(self, uniform: int, bits: int, more: Iterator[int]) -> int:
        """Compute ``|Z|`` of a uniform number exactly.

        Parameters
        ----------
        uniform : int
            The number's first ``bits`` binary digits.
        more : iterator of int
            The digits that follow, 64 at a time, taken only as long as a comparison is open.
        """
        while (decided := self._search(uniform, bits)) is None:
            uniform, bits = (uniform << 64) | next(more), bits + 64
        return decided

    def _search(self, uniform: int, bits: int) -> int | None:
        """Count the g >= 1 with ``U < P(|Z| >= g)``; None if the digits do not suffice."""

        def below(g: int) -> bool | None:
            return compare(partial(self.tail, g), uniform, bits)

        # Doubling first: draws beyond the table are rare, but have no largest value.
        reached, beyond = 0, 1
        while (answer := below(beyond)) is not False:
            if answer is None:
                return None
            reached, beyond = beyond, 2 * beyond
        return bisect(below, reached, beyond)


def _count_above(first: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    """Count the thresholds whose first digits are at least ``i << (27 - bits)``, for every i."""
    edges = np.arange((1 << bits) + 1, dtype=np.uint64) << np.uint64(FIRST - bits)
    return (first.size - np.searchsorted(first[::-1], edges, "left")).astype(np.uint32)


def _values(first: NDArray[np.uint32]) -> NDArray[np.int16]:
    """Return the draws that sign and ``BUCKET_BITS`` digits decide, see ``kernels.NoiseTable``."""
    above = _count_above(first, kernels.BUCKET_BITS)
    magnitude = above[1:].astype(np.int64)  # a threshold that equals the digits is a tie
    limit = min(first.size, -int(kernels.UNRESOLVED))  # below the last threshold nothing is decided
    decided = (above[:-1] == above[1:]) & (magnitude < limit)
    halves = [np.where(decided, sign * magnitude, kernels.UNRESOLVED) for sign in (1, -1)]
    return np.concatenate(halves).astype(np.int16)


def _buckets(first: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Compute :attr:`Law.bucket`."""
    digits = FIRST - kernels.BUCKET_BITS
    above = _count_above(first, kernels.BUCKET_BITS).astype(np.int64)
    inside = above[:-1] - above[1:]
    among = first[np.minimum(above[1:], first.size - 1)].astype(np.int64) & ((1 << digits) - 1)
    none = (above[1:] - 1 << 16) | 1 << digits
    packed = np.where(inside == 0, none, above[1:] << 16 | among)
    decided = (inside <= 1) & (above[:-1] < min(first.size, 1 << 14))
    return np.where(decided, packed, -(1 << 31)).astype(np.int32)


def bisect(below: Callable[[int], bool | None], reached: int, beyond: int) -> int | None:
    """Return the largest number that is ``below``, or None if the digits do not decide.

    ``reached`` is below, ``beyond`` is not.
    """
    while beyond - reached > 1:
        middle = (reached + beyond) // 2
        answer = below(middle)
        if answer is None:
            return None
        reached, beyond = (middle, beyond) if answer else (reached, middle)
    return reached
