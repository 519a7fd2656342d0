"""Reports of local oracles: drawn from random units of 32 bits, added up, and asked for values.

A kernel that draws reports takes its units one after another, those of a report after those of the
one before, and stops before the first report that they do not suffice for; it returns how many
reports there are then, and how many units they took. What :mod:`geodp.features.local.coins` says of
coins and of uniform numbers is done here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.typing import IntArray, WordArray

Digits = NDArray[np.uint64]
Values = NDArray[np.uint64]

SHORT = -1
"""Where the next unit is, if there are too few of them or of a chance's digits."""

TOGETHER = 1 << 11
"""Rows that are compared with every value before the next ones are read."""


@inline
def flip(unit: WordArray, at: int, digit: Digits) -> tuple[int, int]:
    """Whether a chance came true, 1 or 0, and where the next unit is.

    Parameters
    ----------
    unit : uint32[n]
    at : int
        Where the next unit is; ``SHORT`` stays as it is.
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
    """Return a uniform number from 0 on, below a bound, and where the next unit is."""
    zero, one = np.uint64(0), np.uint64(1)
    if at < 0:
        return zero, SHORT
    wide = bound > np.uint64(1 << 32)
    top = np.uint64(0xFFFFFFFFFFFFFFFF) if wide else np.uint64(0xFFFFFFFF)
    step = 2 if wide else 1
    fits = bound & (bound - one) == zero  # a power of two divides the numbers evenly
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
    """1 where an odd number of bits is set."""
    x ^= x >> np.uint64(32)
    x ^= x >> np.uint64(16)
    x ^= x >> np.uint64(8)
    x ^= x >> np.uint64(4)
    return (np.uint64(0x6996) >> (x & np.uint64(15))) & np.uint64(1)


@kernel
def answer(
    first: int, unit: WordArray, digit: Digits, value: Values, cells: int, out: Values
) -> tuple[int, int]:
    """Randomised response: each value, or with chance 0 uniformly another one.

    Parameters
    ----------
    first : int
        Reports that are there already.
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
        told = value[i]
        if lie:
            other, at = below(unit, at, others)
            told = other + np.uint64(other >= told)
        if at < 0:
            return i, used
        out[i] = told
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
    """Draw a row of the Hadamard matrix, and its entry for the value, turned by chance 0.

    Parameters
    ----------
    first : int
        Reports that are there already.
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
        turned, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        row[i] = drawn
        bit[i] = np.uint8(parity(drawn & value[i]) ^ np.uint64(turned))
        used = at
    return value.size, used


@kernel
def tell_mean(
    first: int, unit: WordArray, digit: Digits, value: Values, most: int, bit: NDArray[np.uint8]
) -> tuple[int, int]:
    """Round each value's part of the most to 1 or 0 at random, and turn that with chance 0.

    Parameters
    ----------
    first : int
        Reports that are there already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
        At most ``most``, which is at least 1.
    bit : uint8[n], written from ``first`` on
    """
    used, bound = 0, np.uint64(most)
    for i in range(first, value.size):
        drawn, at = below(unit, used, bound)
        turned, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        bit[i] = np.uint8(drawn < value[i]) ^ np.uint8(turned)
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
    part = min(x.size, 1 << 12)  # which the first-level cache holds
    for start in range(0, x.size, part):
        _butterflies(x[start : start + part], 1)
    _butterflies(x, part)


@inline
def _butterflies(x: IntArray, width: int) -> None:
    """Run the passes from one width on: sums and differences of entries that are so far apart."""
    while width < x.size:
        for start in range(0, x.size, 2 * width):
            for j in range(start, start + width):
                a, b = x[j], x[j + width]
                x[j] = a + b
                x[j + width] = a - b
        width *= 2


@kernel
def correlate(row: Values, count: IntArray, value: Values, found: IntArray) -> None:
    """Entries of that product for listed values, from rows with a sum each.

    Parameters
    ----------
    row : uint64[m], count : int64[m]
        The sum of the absolute values is below 2**63.
    value : uint64[n]
    found : int64[n], written
    """
    found[:] = 0
    for start in range(0, row.size, TOGETHER):
        end = min(row.size, start + TOGETHER)
        for v in range(value.size):
            total = np.int64(0)
            for i in range(start, end):
                sign = -np.int64(parity(row[i] & value[v]))  # 0 or -1: no branch on a random bit
                total += (count[i] ^ sign) - sign
            found[v] += total
