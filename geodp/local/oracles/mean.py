"""Reports of one bit about an amount, which :func:`geodp.literature.means` compares.

A device with a value x from 0 to ``maximum`` sends 1 with probability
``1/(e + 1) + x/maximum (e - 1)/(e + 1)``, where e is exp(epsilon), and 0 otherwise: it rounds
``x/maximum`` to 1 or 0 at random, and flips that with probability ``1/(e + 1)``.

Source
------
Ding, Kulkarni, Yekhanin 2017, "Collecting telemetry data privately", section 3: the bits of two
values differ in probability by a factor of at most exp(epsilon), reached by 0 and ``maximum``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import oracles
from geodp.local.oracles.base import MAX_CELLS, require_epsilon, require_integer
from geodp.privacy.loss import Budget


def report_bits(
    values: ArrayLike,
    maximum: int,
    epsilon: Budget,
    coins: Coins | None = None,
    *,
    allow_weak: bool = False,
) -> NDArray[np.uint8]:
    """Randomise one bit for each value, as its device would do it; exactly, in whole numbers.

    Parameters
    ----------
    values : int array, [n]
        0 to ``maximum``, in a unit so small that they are whole numbers.
    maximum : int
        The largest value of any device, known to all; at most ``2**62``.
    epsilon : str, int, float, Decimal or Fraction
        Epsilon of one bit. A device sends one: k bits have k times the epsilon.
    coins : Coins, optional
        By default the operating system's entropy; others are for tests.
    allow_weak : bool
        Accept an epsilon above 16.

    Returns
    -------
    uint8[n]

    Raises
    ------
    CodeError
        A value outside its range, by position: refused, as clipping would reveal it.
    UsageError
        Values that are not whole numbers, or another maximum or epsilon out of range.

    Examples
    --------
    >>> bits = report_bits([0] * 10_000 + [15_000] * 10_000, 15_000, 1)
    >>> bool(bits[:10_000].mean() < 1 / 2 < bits[10_000:].mean())
    True
    """
    exact = require_epsilon(epsilon, allow_weak)
    largest = require_integer(maximum, "maximum", 1, MAX_CELLS, "a value")
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise UsageError(
            "Give values as a list of whole numbers; use a smaller unit for fractions.",
            code="values-need-smaller-unit",
        )
    # Compared before the conversion to unsigned, in which a negative number would be huge.
    outside = (array < 0) | (array > largest)
    if outside.any():
        raise CodeError(
            int(outside.argmax()),
            f"A value is not from 0 to {largest}; it is refused, as moving it into the range would "
            "reveal something about its device.",
            code="value-above-most",
        )
    value, bit = np.ascontiguousarray(array, np.uint64), np.empty(array.size, np.uint8)
    source, units = Coins() if coins is None else coins, 2 if largest <= 1 << 32 else 3
    chances = (Chance(1, 1, exact),)
    source.fill(oracles.report_bit, (value, largest, bit), value.size, units, chances)
    return bit
