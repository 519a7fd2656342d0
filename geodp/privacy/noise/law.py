"""Exact noise laws: the base, with a law's table and the draws it does not decide; both laws.

:class:`DiscreteLaplace` is for pure differential privacy, :class:`DiscreteGaussian` for
zero-concentrated differential privacy.

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

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import count

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


def floor_of(bounds: Interval, bits: int, limit: int) -> int:
    """Compute ``floor(2**bits * x)`` of a number x from its bounds, at most ``limit``."""
    # More digits until both bounds round to the same integer, which is then the exact floor.
    extra, low, high = 32, 0, 1
    while low != high:
        extra *= 2
        low, high = (min(bound >> extra, limit) for bound in bounds(bits + extra))
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


LAPLACE = "discrete Laplace"
"""Name of the law."""


@dataclass(frozen=True, eq=False)
class DiscreteLaplace(Law):
    """The law P(z) proportional to exp(-|z| / scale) on the integers.

    With ``q = exp(-1 / scale)`` it has ``P(|Z| >= g) = 2 q**g / (1 + q)`` for g >= 1.

    Parameters
    ----------
    scale : Fraction
        Above 0, at most ``LARGEST_SCALE``; otherwise UsageError.

    Examples
    --------
    >>> round(DiscreteLaplace(Fraction(10)).variance, 2)
    199.83
    """

    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_parameter(self.scale, LARGEST_SCALE, "scale"))
        super().__post_init__()

    @classmethod
    @lru_cache(maxsize=64)
    def of_scale(cls, scale: Fraction) -> DiscreteLaplace:
        """Return the law of a scale; its table is built once."""
        return cls(scale)

    @cached_property
    def identity(self) -> tuple[str, Fraction]:
        """Name and scale."""
        return LAPLACE, self.scale

    @cached_property
    def variance(self) -> float:
        """Variance ``2 q / (1 - q)**2``."""
        x = float(1 / self.scale)
        return 2 * math.exp(-x) / math.expm1(-x) ** 2

    def tail(self, g: int, bits: int) -> tuple[int, int]:
        """Bound ``2**bits * P(|Z| >= g)`` for g >= 1 by integers on both sides."""
        low, high = exp_interval(g / self.scale, bits + 8)
        q_low, q_high = exp_interval(1 / self.scale, bits + 8)
        one = 1 << (bits + 8)
        low, high = 2 * low * one // (one + q_high), 2 * high * one // (one + q_low) + 1
        return low >> 8, (high >> 8) + 1

    def runs(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the bounds of the thresholds, run by run, from powers of q = exp(-1 / scale)."""
        bits = TABLE_BITS + 96
        q_low, q_high = exp_interval(1 / self.scale, bits)
        one = 1 << bits
        lows, highs = [one], [one]
        for _ in range(RUN - 1):
            lows.append((lows[-1] * q_low) >> bits)
            highs.append(((highs[-1] * q_high) >> bits) + 1)
        # P(|Z| >= g + j) = P(|Z| >= g) q**j: one exponential a run instead of one a threshold, and
        # 96 spare bits absorb the rounding of up to 511 products.
        shift = 2 * bits - TABLE_BITS
        for start in count(1, RUN):
            low, high = self.tail(start, bits)
            yield [(low * p) >> shift for p in lows], [(high * p) >> shift for p in highs]


_PRECISION = 224  # bits of the sums; doubled when a draw needs more


@dataclass(frozen=True, eq=False)
class DiscreteGaussian(Law):
    """The law P(z) proportional to exp(-z**2 / (2 sigma2)) on the integers.

    Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy (2020): noise of
    ``sigma2 = sensitivity**2 / (2 rho)``, the sensitivity in the L2 norm, gives rho-zCDP.

    Parameters
    ----------
    sigma2 : Fraction
        Above 0, at most ``LARGEST_SCALE**2``; otherwise UsageError. The variance is sigma2 to a
        float's precision from sigma = 1.5 on, and smaller below.

    Examples
    --------
    >>> round(DiscreteGaussian(Fraction(9, 4)).variance, 12)
    2.25
    """

    sigma2: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "sigma2", check_parameter(self.sigma2, LARGEST_SCALE**2, "sigma**2")
        )
        super().__post_init__()

    @classmethod
    @lru_cache(maxsize=32)
    def of_sigma2(cls, sigma2: Fraction) -> DiscreteGaussian:
        """Return the law of a squared sigma; its table is built once."""
        return cls(sigma2)

    @cached_property
    def identity(self) -> tuple[str, Fraction]:
        """Name and sigma2."""
        return "discrete Gaussian", self.sigma2

    @property
    def variance(self) -> float:
        """Sum of ``z**2 P(z)``; equal to sigma2 up to ``8 pi**2 sigma**4 exp(-2 pi**2 sigma2)``."""
        sigma2 = float(self.sigma2)
        if sigma2 >= 4:
            return sigma2
        weights = [math.exp(-z * z / (2 * sigma2)) for z in range(1, 80)]
        squares = math.fsum(z * z * w for z, w in enumerate(weights, 1))
        return 2 * squares / (1 + 2 * math.fsum(weights))

    def tail(self, g: int, bits: int) -> tuple[int, int]:
        """Bound ``2**bits * P(|Z| >= g)`` for g >= 1 by integers on both sides."""
        precision = _PRECISION
        while precision < bits + 96:
            precision *= 2
        low, high = _gaussian_sums(self.sigma2, precision).tail(g)
        return low >> (precision - bits), (high >> (precision - bits)) + 1

    def runs(self) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the bounds of the thresholds from the sums, run by run."""
        sums = _gaussian_sums(self.sigma2, _PRECISION)
        # The sums carry more bits than the table stores; where rounding them off still leaves two
        # different values, the caller computes the tail again with more digits.
        shift = _PRECISION - TABLE_BITS
        for place in count():
            run = sums.run(place)
            yield [low >> shift for low, _ in run], [high >> shift for _, high in run]


class _GaussianSums:
    """Sums of ``w[z] = exp(-z**2 / (2 sigma2))`` in units of ``2**-bits``, and their errors.

    A state holds lower bounds of ``w[z]``, of the ratio ``r[z] = w[z + 1] / w[z]`` and of
    ``c[z] = w[1] + ... + w[z]``, by ``w[z + 1] = w[z] r[z]`` and ``r[z + 1] = r[z] s`` with
    ``s = exp(-1 / sigma2)``, every product rounded down. As no factor passes 1, a product falls
    short by at most what its factors do and 1 more. With D = 1 + the larger width of the
    intervals of r[0] and s, so by induction r[z] by at most ``D (z + 1)``, w[z] by
    ``D (z + 1)**2`` and c[z] by ``D (z + 1)**3``.

    The sum ends at a z whose bound of w is 0; as the ratios fall, what follows adds at most
    ``w[z] r[z] / (1 - r[z])``. Every 512th state is kept, and any tail within 512 steps of one.
    """

    def __init__(self, sigma2: Fraction, bits: int) -> None:
        one = 1 << bits
        self.bits = bits
        ratio, ratio_high = exp_interval(1 / (2 * sigma2), bits)
        self._fall, fall_high = exp_interval(1 / sigma2, bits)
        self._short = 1 + max(ratio_high - ratio, fall_high - self._fall)
        state = (one, ratio, 0)
        self._checkpoints = [state]
        while state[0]:
            *_, state = self._states(len(self._checkpoints) - 1, RUN + 1)
            self._checkpoints.append(state)
        z = RUN * (len(self._checkpoints) - 1)
        error = self._short * (z + 1) ** 2
        ratio_high = state[1] + self._short * (z + 1)
        # Lower bounds are exact sums of the stored values; upper bounds add the accumulated
        # shortfall and the geometric bound of all that follows the end.
        self._low = state[2]
        self._high = self._low + error * (z + 1) + error * ratio_high // (one - ratio_high) + 1
        self._share = one * one // (one + 2 * self._high), one * one // (one + 2 * self._low) + 1

    def _states(self, place: int, number: int) -> Iterator[tuple[int, int, int]]:
        """Yield the states at z = 512 place, 512 place + 1, ..."""
        bits, fall = self.bits, self._fall
        w, r, c = self._checkpoints[place]
        for _ in range(number):
            yield w, r, c
            w, r = (w * r) >> bits, (r * fall) >> bits
            c += w

    def run(self, place: int) -> list[tuple[int, int]]:
        """Bound ``2**bits * P(|Z| > z)`` at z = 512 place and the 511 that follow."""
        states = enumerate(self._states(place, RUN), RUN * place)
        return [self._bounds(z, c) for z, (_, _, c) in states]

    def tail(self, g: int) -> tuple[int, int]:
        """Bound ``2**bits * P(|Z| >= g)``; beyond the end, by the tail at the end."""
        place, steps = divmod(g - 1, RUN)
        end = len(self._checkpoints) - 1
        if place >= end:
            return 0, self._bounds(RUN * end, self._checkpoints[end][2])[1]
        *_, (_, _, c) = self._states(place, steps + 1)
        return self._bounds(g - 1, c)

    def _bounds(self, z: int, c: int) -> tuple[int, int]:
        """Bound ``2**bits * P(|Z| > z)`` from the bound of c[z]."""
        low = 2 * max(self._low - c - self._short * (z + 1) ** 3, 0)
        high = 2 * (self._high - c)
        return (low * self._share[0]) >> self.bits, ((high * self._share[1]) >> self.bits) + 1


_gaussian_sums = lru_cache(maxsize=4)(_GaussianSums)
