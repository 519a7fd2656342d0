"""Coins of a device: random bits of the operating system, and chances that are decided exactly.

A device has no key. Its bits come from the operating system, as units of 32 bits, and none is
used twice. A chance p is decided by a uniform number U in [0, 1): it is so where ``U < p``. The
first unit holds the first 32 binary digits of U and is compared with the first 32 of p. Where they
are the same, once in ``2**32`` times, the next unit is compared with the next 32, as far as it
takes. So 63 digits and more decide a coin, though few are drawn for most, and **its probability is
exactly p**, also for numbers such as ``1 / (1 + exp(epsilon))`` whose digits never end: they are
worked out from integer bounds of ``exp``, see :func:`geodp.privacy.noise.law.exp_interval`. No
floating-point number decides a coin.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.privacy.noise.law import exp_interval
from geodp.typing import WordArray

UNIT = 32
"""Bits of a unit."""

FEWEST_UNITS, MOST_UNITS = 64, 1 << 17
"""Units that are asked for together: at most half a MiB, which the second-level cache holds."""

CERTAIN = 64
"""Units that no coin ties on, but of bits that were made for it."""

Step = Callable[[int, WordArray, NDArray[np.uint64]], tuple[int, int]]
"""From how many reports there are, units and digits of chances: how many there are then, and units
that were used up. It stops before a report that the units or digits do not suffice for."""


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
        """Return a rational chance, strictly between 0 and 1."""
        return cls(value.numerator, value.denominator - value.numerator)

    def __float__(self) -> float:
        r = math.exp(-self.epsilon)
        return self.one * r / (self.one * r + self.other)

    def digits(self, units: int) -> list[int]:
        """Return the first binary digits, 32 in each number."""
        whole = self.floor(UNIT * units)
        return [whole >> UNIT * place & (1 << UNIT) - 1 for place in reversed(range(units))]

    def floor(self, bits: int) -> int:
        """Return ``floor(2**bits * p)``."""
        if not self.epsilon:
            return (self.one << bits) // (self.one + self.other)
        extra, low, high = 32, 0, 1
        while low != high:
            extra *= 2
            scale = bits + extra
            # p increases with r = exp(-epsilon): bounds of the one give bounds of the other.
            least, most = exp_interval(self.epsilon, scale)
            bounds = (
                ((self.one * r) << bits) // (self.one * r + (self.other << scale))
                for r in (least, most)
            )
            low, high = bounds
        return low


@lru_cache(maxsize=256)
def _table(chances: tuple[Chance, ...], units: int) -> NDArray[np.uint64]:
    """Return the digits of some chances for a kernel: uint64[chances, units], read-only."""
    table = np.array([one.digits(units) for one in chances], np.uint64).reshape(-1, units)
    table.flags.writeable = False
    return table


class Coins:
    """Bits of the operating system's entropy, for one device or for many, one after another.

    They are used by one thread, and are neither pickled nor copied: no bit is used twice. A fork
    has bits of its own.
    """

    def __init__(self) -> None:
        self._held: WordArray = np.empty(0, np.uint32)
        self._process = os.getpid()

    def ahead(self, units: int) -> WordArray:
        """Return the units that come next, at least so many, without using them up: uint32[n]."""
        if self._process != os.getpid():  # a fork has the same bits in hand
            self._held, self._process = self._held[:0], os.getpid()
        if self._held.size < units:
            fresh = os.urandom(4 * max(units - self._held.size, FEWEST_UNITS))
            self._held = np.concatenate([self._held, np.frombuffer(fresh, "<u4")])
        return self._held

    def use(self, units: int) -> None:
        """Use up units: they never come again."""
        self._held = self._held[units:]

    def flip(self, chance: Chance) -> bool:
        """Return whether a chance came true."""
        units = 1
        while True:
            mine = chance.digits(units)[-1]
            unit = self._unit()
            if unit != mine:
                return unit < mine
            units += 1

    def below(self, bound: int) -> int:
        """Return a uniform whole number from 0 on, below a bound of at most ``2**64``.

        A number of 32 bits, or for larger bounds of two units, the first of which is the lower; it
        is drawn again where it lies in the last part of the numbers, which is shorter than the
        bound. Otherwise it is what is left of it when it is divided by the bound.
        """
        wide = bound > 1 << UNIT
        limit = 1 << (2 * UNIT if wide else UNIT)
        while True:
            drawn = self._unit() | (self._unit() << UNIT if wide else 0)
            if drawn < limit - limit % bound:
                return drawn % bound

    def _unit(self) -> int:
        held = self.ahead(1)
        if not held.size:
            raise UsageError("The fixed bits are used up; give more of them.", code="bits-used-up")
        unit = int(held[0])
        self.use(1)
        return unit

    def fill(self, step: Step, count: int, units: int, chances: Sequence[Chance] = ()) -> None:
        """Have a kernel draw reports, each with the units that follow those of the one before.

        Parameters
        ----------
        step : callable
        count : int
            Reports.
        units : int
            That most of them take.
        chances : sequence of Chance
            Whose digits the kernel goes by.

        Raises
        ------
        UsageError
            Fixed bits that do not suffice.
        """
        done, digits, most = 0, 2, max(MOST_UNITS, units + 16)
        while done < count:
            wanted = min((count - done) * units + 16, most)
            unit = self.ahead(wanted)
            reached, used = step(done, unit, _table(tuple(chances), digits))
            self.use(used)
            if reached == done:  # one tie after the other, or very many numbers drawn again
                if unit.size < wanted and digits >= CERTAIN:
                    raise UsageError(
                        "The fixed bits are used up; give more of them.", code="bits-used-up"
                    )
                digits, units, most = 2 * digits, 2 * units, 2 * most
            done = reached

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Coins are neither pickled nor copied: their bits would be used twice.")


class FixedCoins(Coins):
    """Bits that somebody else knows: for tests, and for a device's code to be held against.

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
        """Return all units that are left."""
        return self._held
