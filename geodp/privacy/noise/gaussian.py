"""Discrete Gaussian noise, for zero-concentrated differential privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import count

from geodp.privacy.noise.law import (
    LARGEST_SCALE,
    RUN,
    TABLE_BITS,
    Law,
    check_parameter,
    exp_interval,
)

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
