"""Discrete Laplace noise, for pure differential privacy."""

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
