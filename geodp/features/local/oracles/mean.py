"""One bit of a device whose value is an amount: what :func:`geodp.compare.means` compares.

A device with a value x from 0 to ``maximum`` sends 1 with probability
``1/(e + 1) + x/maximum (e - 1)/(e + 1)``, where e is exp(epsilon), and 0 otherwise: it rounds
``x/maximum`` to 1 or 0 at random, and turns that with probability ``1/(e + 1)``.

Source
------
Ding, Kulkarni, Yekhanin 2017, "Collecting telemetry data privately", section 3: the bits of two
values differ in probability by a factor of at most exp(epsilon), reached by 0 and ``maximum``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.features.local.coins import Chance, Coins
from geodp.features.local.kernels import oracles
from geodp.features.local.oracles.base import MOST_CELLS, require_epsilon, whole
from geodp.privacy.budget import Budget


def report_bits(
    values: ArrayLike,
    maximum: int,
    epsilon: Budget,
    coins: Coins | None = None,
    *,
    allow_weak: bool = False,
) -> NDArray[np.uint8]:
    """Return one bit for each value, as its device would send it; in whole numbers and exact.

    Parameters
    ----------
    values : int array, [n]
        0 to ``maximum``, in a unit so small that they are whole numbers.
    maximum : int
        The largest value of any device, known to all; at most ``2**62``.
    epsilon : str, int, float, Decimal or Fraction
        Of a bit. A device sends one: k bits have k times the epsilon.
    coins : Coins, optional
        The operating system's entropy, if none are given; others are for tests.
    allow_weak : bool
        Take an epsilon above 16.

    Returns
    -------
    uint8[n]

    Raises
    ------
    CodeError
        A value outside its range, by position: refused and not clipped, which would tell.
    UsageError
        Values that are no whole numbers, another maximum or epsilon.

    Examples
    --------
    >>> bits = report_bits([0] * 10_000 + [15_000] * 10_000, 15_000, 1)
    >>> bool(bits[:10_000].mean() < 1 / 2 < bits[10_000:].mean())
    True
    """
    exact = require_epsilon(epsilon, allow_weak)
    most = whole(maximum, "maximum", 1, MOST_CELLS, "a value")
    given = np.asarray(values)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise UsageError(
            "Values are a list of whole numbers; take a smaller unit for others.",
            code="values-need-smaller-unit",
        )
    outside = (given < 0) | (given > most)
    if outside.any():
        raise CodeError(
            int(outside.argmax()),
            f"A value is not from 0 to {most}; it is refused, for one that is moved would tell.",
            code="value-above-most",
        )
    value, bit = np.ascontiguousarray(given, np.uint64), np.empty(given.size, np.uint8)
    source = Coins() if coins is None else coins
    source.fill(
        lambda first, unit, digit: oracles.tell_mean(first, unit, digit, value, most, bit),
        value.size,
        2 if most <= 1 << 32 else 3,
        (Chance(1, 1, exact),),
    )
    return bit
