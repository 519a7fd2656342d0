"""Columns of records: texts of digits as numbers, and rows of the same number as one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio as a fraction of ``2**64`` (Knuth 1973, section 6.4)."""

MOST_DIGITS = 18
"""Digits that always fit int64."""


NONE, DIGITS, CANONICAL = 0, 1, 2
"""Of texts: some are no digits; all are; all are, and numbers tell them apart."""


@kernel
def parse_digits(
    start: NDArray[np.int32], text: NDArray[np.uint8], value: NDArray[np.int64]
) -> int:
    """Read texts of one to 18 ASCII digits.

    Parameters
    ----------
    start : int32[n + 1]
        Where each begins in the text, and where the last ends; not falling.
    text : uint8[m]
        All of them, one after the other.
    value : int64[n], written
        Their numbers; of no meaning where one is no such text.

    Returns
    -------
    int
        ``NONE``, ``DIGITS``, or ``CANONICAL``: none is written with zeros before its number.
    """
    found = CANONICAL
    for row in range(value.size):
        first, end = start[row], start[row + 1]
        if end <= first or end - first > MOST_DIGITS:
            return NONE
        number, wrong = np.int64(0), False
        for at in range(first, end):
            digit = np.int64(text[at]) - 48
            wrong |= bool(digit < 0) | bool(digit > 9)
            number = 10 * number + digit
        if wrong:
            return NONE
        if text[first] == 48 and end - first > 1:
            found = DIGITS
        value[row] = number
    return found


@kernel
def group(
    number: NDArray[np.int64],
    count: NDArray[np.int64],
    slot: NDArray[np.int32],
    first: NDArray[np.int64],
    held: NDArray[np.int64],
    total: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> int:
    """Sum the counts of equal numbers, in the order in which these come first: a GROUP BY.

    Parameters
    ----------
    number, count : int64[n]
        Any numbers; the sum of the absolute values of the counts fits int64.
    slot : int32[2**k], changed
        Zeros, more than n of them and at least two; n is below ``2**31``.
    first, held, total, rows : int64[n], written
        Of each number: the first row that has it, itself, the sum of its counts, and its rows, with
        those whose count is not 0 times ``2**32`` on top.

    Returns
    -------
    int
        How many numbers there are.
    """
    bits = 0
    while (1 << bits) < slot.size:
        bits += 1
    shift, last = np.uint64(64 - bits), np.int64(slot.size - 1)
    found = 0
    for row in range(number.size):
        own = number[row]
        at = np.int64((np.uint64(own) * _SPREAD) >> shift)
        while slot[at] != 0 and held[slot[at] - 1] != own:
            at = (at + 1) & last
        if slot[at] == 0:
            first[found] = row
            held[found] = own
            total[found] = 0
            rows[found] = 0
            found += 1
            slot[at] = found
        group = slot[at] - 1
        total[group] += count[row]
        rows[group] += 1 + (np.int64(count[row] != 0) << 32)  # in one place of memory
    return found
