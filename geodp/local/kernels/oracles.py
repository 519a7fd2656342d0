"""Reports of local oracles: drawn from random units of 32 bits, and aggregated.

A kernel that draws reports takes its units one after another, those of a report after those of the
one before, and stops before the first report for which they do not suffice; it returns the number
of reports so far, and the number of units that they took. The draws of coins and uniform numbers
that :mod:`geodp.local.coins` specifies are implemented here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.typing import IntArray, WordArray

Digits = NDArray[np.uint64]
Values = NDArray[np.uint64]

SHORT = -1
"""Place of the next unit where there are too few units, or digits of a chance."""

BLOCK = 1 << 11
"""Rows that are compared with every value before the next ones are read."""


@inline
def flip(unit: WordArray, at: int, digit: Digits) -> tuple[int, int]:
    """Draw whether a chance comes true, 1 or 0; return it with the place of the next unit.

    Parameters
    ----------
    unit : uint32[n]
    at : int
        Place of the next unit; ``SHORT`` is passed on.
    digit : uint64[k]
        Binary digits of the chance, 32 in each.
    """
    if at < 0:
        return 0, SHORT
    for j in range(digit.size):
        if at >= unit.size:
            return 0, SHORT
        u = np.uint64(unit[at])
        at += 1
        if u != digit[j]:
            return (1 if u < digit[j] else 0), at
    return 0, SHORT


@inline
def below(unit: WordArray, at: int, bound: np.uint64) -> tuple[np.uint64, int]:
    """Draw a uniform number from 0 to a bound, exclusive; return the next unit's place too."""
    zero, one = np.uint64(0), np.uint64(1)
    if at < 0:
        return zero, SHORT
    wide = bound > np.uint64(1 << 32)
    top = np.uint64(0xFFFFFFFFFFFFFFFF) if wide else np.uint64(0xFFFFFFFF)
    step = 2 if wide else 1
    # A power of two divides the numbers evenly, so that no draw has to be repeated.
    fits = bound & (bound - one) == zero
    # The largest number whose run of `bound` numbers is complete.
    last = top if fits else top - (top % bound + one) % bound
    while at + step <= unit.size:
        drawn = np.uint64(unit[at])
        if wide:
            drawn |= np.uint64(unit[at + 1]) << np.uint64(32)
        at += step
        if drawn <= last:
            return drawn & (bound - one) if fits else drawn % bound, at
    return zero, SHORT


@inline
def parity(x: np.uint64) -> np.uint64:
    """Return 1 where an odd number of bits is set."""
    # The constant is a table of the parities of 0 to 15.
    x ^= x >> np.uint64(32)
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    return (np.uint64(0x6996) >> (x & np.uint64(15))) & np.uint64(1)


@kernel
def answer(
    first: int, unit: WordArray, digit: Digits, value: Values, cells: int, out: Values
) -> tuple[int, int]:
    """Draw a randomised response: each value, or with chance 0 uniformly another one.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
        Below cells.
    cells : int
        At least 2.
    out : uint64[n], written from ``first`` on
    """
    used = 0
    others = np.uint64(cells - 1)
    for i in range(first, value.size):
        lie, at = flip(unit, used, digit[0])
        reported = value[i]
        if lie:
            other, at = below(unit, at, others)
            reported = other + np.uint64(other >= reported)
        if at < 0:
            return i, used
        out[i] = reported
        used = at
    return value.size, used


@kernel
def project(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    rows: int,
    row: Values,
    bit: NDArray[np.uint8],
) -> tuple[int, int]:
    """Draw a row of the Hadamard matrix, and its entry for the value, flipped with chance 0.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
        Below rows.
    rows : int
        A power of two.
    row : uint64[n], bit : uint8[n], written from ``first`` on
        The bit is 1 where the entry is -1, that is where row and value have an odd number of ones
        in common.
    """
    used = 0
    bound = np.uint64(rows)
    for i in range(first, value.size):
        drawn, at = below(unit, used, bound)
        flipped, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        row[i] = drawn
        bit[i] = np.uint8(parity(drawn & value[i]) ^ np.uint64(flipped))
        used = at
    return value.size, used


@kernel
def report_bit(
    first: int, unit: WordArray, digit: Digits, value: Values, maximum: int, bit: NDArray[np.uint8]
) -> tuple[int, int]:
    """Round each value's part of the maximum to 1 or 0 at random, and flip it with chance 0.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
        At most ``maximum``, which is at least 1.
    bit : uint8[n], written from ``first`` on
    """
    used, bound = 0, np.uint64(maximum)
    for i in range(first, value.size):
        drawn, at = below(unit, used, bound)
        flipped, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        bit[i] = np.uint8(drawn < value[i]) ^ np.uint8(flipped)
        used = at
    return value.size, used


@kernel
def add(key: Values, count: IntArray, total: IntArray) -> None:
    """Add counts (int64[n]) to totals (int64[m], changed) at keys (uint64[n]) below m."""
    for i in range(key.size):
        total[key[i]] += count[i]


@kernel
def transform(x: IntArray) -> None:
    """Multiply a vector by the Hadamard matrix, in place, in whole numbers.

    Parameters
    ----------
    x : int64[2**b], changed
        The sum of their absolute values is below 2**63.
    """
    # A part that the first-level cache holds: its passes need no other memory.
    part = min(x.size, 1 << 12)
    for start in range(0, x.size, part):
        _butterflies(x[start : start + part], 1)
    _butterflies(x, part)


@inline
def _butterflies(x: IntArray, width: int) -> None:
    """Run the passes from one width on: sums and differences of entries that are a width apart."""
    while width < x.size:
        for start in range(0, x.size, 2 * width):
            for j in range(start, start + width):
                a, b = x[j], x[j + width]
                x[j] = a + b
                x[j + width] = a - b
        width *= 2


@kernel
def correlate(row: Values, count: IntArray, value: Values, products: IntArray) -> None:
    """Compute entries of the Hadamard product for listed values, from rows with a sum each.

    Parameters
    ----------
    row : uint64[m], count : int64[m]
        The sum of the absolute values is below 2**63.
    value : uint64[n]
    products : int64[n], written
    """
    products[:] = 0
    for start in range(0, row.size, BLOCK):
        end = min(row.size, start + BLOCK)
        for v in range(value.size):
            total = np.int64(0)
            for i in range(start, end):
                # 0 or -1, as a branch on a random bit would be mispredicted half of the time.
                sign = -np.int64(parity(row[i] & value[v]))
                total += (count[i] ^ sign) - sign
            products[v] += total
