"""Random bits of a device from the operating system, and chances that are decided exactly.

A device has no key. Its bits come from the operating system, in units of 32 bits, and none is used
twice. A chance p comes true where a uniform number U in [0, 1) is below p. The first unit holds the
first 32 binary digits of U and is compared with the first 32 of p. Where they are equal, once in
``2**32`` times, the next unit is compared with the next 32, and so on. So the digits that decide a
coin are not limited, though few are drawn for most, and **its probability is exactly p**, also for
numbers such as ``1 / (1 + exp(epsilon))`` whose digits never end: they are computed from integer
bounds of ``exp``, see :func:`geodp.privacy.noise.law.exp_interval`. No floating-point number
decides a coin.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.privacy.noise.law import exp_interval
from geodp.typing import WordArray

UNIT = 32
"""Number of bits of a unit."""

MIN_UNITS, MAX_UNITS = 64, 1 << 17
"""Units that are requested together: at most half a MiB, which the second-level cache holds."""

CERTAIN = 64
"""Units after which a tie of a coin can only mean that the bits were made to tie."""

USED_UP = Rule("bits-used-up", "The fixed bits are used up; give more of them.")

Step = Callable[..., tuple[int, int]]
"""A step of a kernel that draws reports. From the number of reports so far, units (uint32[n]),
digits of chances (uint64[chances, units]) and its own arguments it makes the number of reports
afterwards and of units that were used. It stops before a report for which the units or digits do
not suffice."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The probability ``one / (one + other * exp(epsilon))``, exactly.

    Attributes
    ----------
    one, other : int
        Above 0; their ratio is that of the probabilities at epsilon 0.
    epsilon : Fraction
        At least 0.

    Examples
    --------
    >>> round(float(Chance(1, 1, Fraction(1))), 6), float(Chance(1, 3))
    (0.268941, 0.25)
    >>> Chance(1, 3).digits(2)
    [1073741824, 0]
    """

    one: int
    other: int
    epsilon: Fraction = Fraction(0)

    @classmethod
    def of(cls, value: Fraction) -> Chance:
        """Convert a rational chance, strictly between 0 and 1."""
        return cls(value.numerator, value.denominator - value.numerator)

    def __float__(self) -> float:
        r = math.exp(-self.epsilon)
        return self.one * r / (self.one * r + self.other)

    def digits(self, units: int) -> list[int]:
        """Compute the first binary digits, 32 in each number."""
        number = self.floor(UNIT * units)
        return [number >> UNIT * place & (1 << UNIT) - 1 for place in reversed(range(units))]

    def floor(self, bits: int) -> int:
        """Compute ``floor(2**bits * p)``."""
        if not self.epsilon:
            return (self.one << bits) // (self.one + self.other)
        # The bounds are tightened until both have the same floor, which then is the true one. This
        # ends, as p is irrational where epsilon is rational and not 0.
        extra, low, high = 32, 0, 1
        while low != high:
            extra *= 2
            scale = bits + extra
            # p increases with r = exp(-epsilon): bounds of the one give bounds of the other.
            lowest, highest = exp_interval(self.epsilon, scale)
            bounds = (
                ((self.one * r) << bits) // (self.one * r + (self.other << scale))
                for r in (lowest, highest)
            )
            low, high = bounds
        return low


@lru_cache(maxsize=256)
def _table(chances: tuple[Chance, ...], units: int) -> NDArray[np.uint64]:
    """Tabulate the digits of some chances for a kernel: uint64[chances, units], read-only."""
    table = np.array([one.digits(units) for one in chances], np.uint64).reshape(-1, units)
    # The cache hands the same array to every caller.
    table.flags.writeable = False
    return table


class Coins:
    """Bits of the operating system's entropy, for one device or for many, one after another.

    They are used by one thread, and are neither pickled nor copied: no bit is used twice. A fork
    draws bits of its own.
    """

    def __init__(self) -> None:
        self._held: WordArray = np.empty(0, np.uint32)
        self._process = os.getpid()

    def ahead(self, units: int) -> WordArray:
        """Return the next units, at least this many, without using them up: uint32[n]."""
        # A forked process inherits the buffer: using it would give two processes the same bits.
        if self._process != os.getpid():
            self._held, self._process = self._held[:0], os.getpid()
        if self._held.size < units:
            # Fetched in larger pieces, since a system call for each coin would dominate the time.
            fresh = os.urandom(4 * max(units - self._held.size, MIN_UNITS))
            self._held = np.concatenate([self._held, np.frombuffer(fresh, "<u4")])
        return self._held

    def use(self, units: int) -> None:
        """Use up units: they never come again."""
        self._held = self._held[units:]

    def flip(self, chance: Chance) -> bool:
        """Draw whether an event of this chance occurs."""
        units = 1
        while True:
            digit = chance.digits(units)[-1]
            unit = self._unit()
            if unit != digit:
                return unit < digit
            units += 1

    def below(self, bound: int) -> int:
        """Draw a uniform whole number from 0 to a bound of at most ``2**64``, exclusive.

        The source is a number of 32 bits, or of two units for larger bounds, the lower unit first;
        it is drawn again where it lies in the last, incomplete run of ``bound`` numbers. The result
        is its remainder modulo the bound.
        """
        wide = bound > 1 << UNIT
        limit = 1 << (2 * UNIT if wide else UNIT)
        while True:
            # The lower unit first, as the round's file specifies for every device.
            drawn = self._unit() | (self._unit() << UNIT if wide else 0)
            if drawn < limit - limit % bound:
                return drawn % bound

    def _unit(self) -> int:
        held = self.ahead(1)
        if not held.size:
            raise UsageError(USED_UP)
        unit = int(held[0])
        self.use(1)
        return unit

    def fill(
        self,
        step: Step,
        arguments: Sequence[Any],
        count: int,
        units: int,
        chances: Sequence[Chance] = (),
    ) -> None:
        """Let a kernel draw reports, each with the units that follow those of the one before.

        Parameters
        ----------
        step : callable
        arguments : sequence
            The kernel's own, among them the arrays that it fills.
        count : int
            Number of reports.
        units : int
            Number of units that most reports take.
        chances : sequence of Chance
            Chances whose digits the kernel uses.

        Raises
        ------
        UsageError
            Fixed bits that do not suffice.
        """
        done, digits, limit = 0, 2, max(MAX_UNITS, units + 16)
        while done < count:
            # Somewhat more than most reports take, so that repeated draws seldom need another call.
            wanted = min((count - done) * units + 16, limit)
            unit = self.ahead(wanted)
            reached, used = step(done, unit, _table(tuple(chances), digits), *arguments)
            self.use(used)
            # No progress: one tie after the other, or very many numbers that were drawn again.
            if reached == done:
                if unit.size < wanted and digits >= CERTAIN:
                    raise UsageError(USED_UP)
                # More digits decide ties, and more units serve reports that repeat draws.
                digits, units, limit = 2 * digits, 2 * units, 2 * limit
            done = reached

    # A copy would hand out the same bits again, and equal coins reveal differences of values.
    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Coins are neither pickled nor copied: their bits would be used twice.")


class FixedCoins(Coins):
    """Fixed bits: for tests, and for comparing the code of a device with this one.

    Parameters
    ----------
    units : iterable of int, or uint32[n]
        Each below ``2**32``.

    Examples
    --------
    >>> FixedCoins([5, 7]).below(4)
    1
    """

    def __init__(self, units: Iterable[int] | WordArray) -> None:
        super().__init__()
        self._held = np.array(units if isinstance(units, np.ndarray) else [*units], np.uint32)

    def ahead(self, units: int) -> WordArray:
        """Return all remaining units."""
        return self._held
