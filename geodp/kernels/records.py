"""Records of delimited text: line breaks inside quoted fields, digits, and grouping by a number.

The reader of :mod:`geodp.io.read.rows.quotes` handles records with line breaks separately.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio as a fraction of ``2**64``, for Fibonacci hashing (Knuth 1973, section 6.4)."""

MAX_DIGITS = 18
"""Number of digits that always fits int64."""


NONE, DIGITS, CANONICAL = 0, 1, 2
"""Kinds of a column of texts: some are not digits; all are digits; all are digits without leading
zeros, so that different texts are different numbers."""


@kernel
def parse_digits(
    start: NDArray[np.int32], text: NDArray[np.uint8], value: NDArray[np.int64]
) -> int:
    """Parse texts of 1 to 18 ASCII digits.

    Parameters
    ----------
    start : int32[n + 1]
        Where each text begins, and where the last one ends; non-decreasing.
    text : uint8[m]
        The concatenated texts.
    value : int64[n], written
        Their numbers; undefined if the result is ``NONE``.

    Returns
    -------
    int
        ``NONE``, ``DIGITS``, or ``CANONICAL``: none has leading zeros.
    """
    form = CANONICAL
    for row in range(value.size):
        first, end = start[row], start[row + 1]
        if end <= first or end - first > MAX_DIGITS:
            return NONE
        number, wrong = np.int64(0), False
        for at in range(first, end):
            digit = np.int64(text[at]) - 48
            wrong |= bool(digit < 0) | bool(digit > 9)
            number = 10 * number + digit
        if wrong:
            return NONE
        if text[first] == 48 and end - first > 1:
            form = DIGITS
        value[row] = number
    return form


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
    """Sum the counts of equal numbers, in order of first occurrence: a GROUP BY.

    Parameters
    ----------
    number, count : int64[n]
        Any numbers; the sum of the absolute values of the counts fits int64.
    slot : int32[2**k], changed
        Zeros, more than n of them and at least two; n is below ``2**31``.
    first, held, total, rows : int64[n], written
        For each number: the first row that has it, the number itself, the sum of its counts, and
        its number of rows plus ``2**32`` times its number of rows with a count other than 0.

    Returns
    -------
    int
        Number of distinct numbers.
    """
    bits = 0
    while (1 << bits) < slot.size:
        bits += 1
    shift, last = np.uint64(64 - bits), np.int64(slot.size - 1)
    groups = 0
    for row in range(number.size):
        key = number[row]
        # Linear probing: the table has more slots than there are rows, so an empty one is always
        # met.
        at = np.int64((np.uint64(key) * _SPREAD) >> shift)
        while slot[at] != 0 and held[slot[at] - 1] != key:
            at = (at + 1) & last
        if slot[at] == 0:
            first[groups] = row
            held[groups] = key
            total[groups] = 0
            rows[groups] = 0
            groups += 1
            slot[at] = groups
        group = slot[at] - 1
        total[group] += count[row]
        # Two counters in one entry: a second array would cost another cache miss for each row.
        rows[group] += 1 + (np.int64(count[row] != 0) << 32)
    return groups


_QUOTE, _LF, _CR = 34, 10, 13
_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3


@kernel
def find_broken(
    text: NDArray[np.uint8], first: int, delimiter: int, span: NDArray[np.int64]
) -> int:
    """Find the next record that has a line break in a quoted field.

    A quote opens a field only as its first character, as in pyarrow (RFC 4180).

    Parameters
    ----------
    text : uint8[n]
        In an encoding that contains ASCII.
    first : int
        Where a record begins.
    delimiter : int
        A byte.
    span : int64[3], written
        Where the record begins; where it ends, after its line break; and 1 if more text follows
        the closing quote of a field with a line break. If there is no such record: where the last
        record begins, which may be incomplete; n; and 1 if a quote is open at the end.

    Returns
    -------
    int
        1, or 0 if no complete record has a line break in a quoted field.
    """
    state, broken, ragged, here = _START, False, False, False
    record = first
    for at in range(first, text.size):
        byte = text[at]
        if state == _QUOTED:
            if byte == _QUOTE:
                state = _CLOSED
            elif byte in (_LF, _CR):
                broken = here = True
        elif byte in (_LF, _CR):
            if broken:
                span[0], span[1], span[2] = record, at + 1, np.int64(ragged)
                return 1
            record, state, here = at + 1, _START, False
        elif byte == delimiter:
            state, here = _START, False
        # A quote in the middle of an unquoted field is an ordinary character, as in pyarrow.
        elif byte == _QUOTE and state != _PLAIN:  # the first one, or one of a pair
            state = _QUOTED
        else:
            ragged |= here and state == _CLOSED
            state = _PLAIN
    span[0], span[1], span[2] = record, text.size, np.int64(state == _QUOTED)
    return 0
