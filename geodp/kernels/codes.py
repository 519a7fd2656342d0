"""Codes of cells, character by character: numbers with letters and words between them.

A spelling is a list of *marks*, int64[m, 7], that are read one after another. Their columns are

0. what it is: ``LITERAL``, ``NUMBER``, ``HEMISPHERE`` or ``COUNTRY``;
1. of a literal its character; of a number or a hemisphere its axis, 0 the row and 1 the column;
2. of a number its digits, 0 if it has no fixed width; of a hemisphere the letter of values from 0;
3. of a number without a fixed width its most digits; of a hemisphere the letter of values below 0;
4. 5. of a number a and b, where ``a + b * index`` is written;
6. of a number its sign: ``UNSIGNED``, ``MINUS`` in front, or ``LETTER`` of its hemisphere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.typing import IntArray

LITERAL, NUMBER, HEMISPHERE, COUNTRY = 0, 1, 2, 3
UNSIGNED, MINUS, LETTER = 0, 1, 2

Marks = IntArray
Characters = NDArray[np.uint32]
Flags = NDArray[np.bool_]


@inline
def _read_digits(text: Characters, at: int, most: int) -> tuple[np.int64, int]:
    """Return the number that stands at a place of a text, and how many digits it has."""
    value, count = np.int64(0), 0
    while count < most and at < text.size and 48 <= text[at] <= 57:
        value = value * 10 + (np.int64(text[at]) - 48)
        count += 1
        at += 1
    return value, count


@kernel
def read_codes(text: Characters, marks: Marks, index: IntArray, done: Flags) -> None:
    """Read the codes of one spelling that are not read yet.

    Parameters
    ----------
    text : uint32[n, width]
        Characters, 0 after the end, which every row has.
    marks : int64[m, 7]
    index : int64[2, n]
        Rows and columns; those of codes of this spelling are set.
    done : bool[n]
        Which codes are read; set likewise.
    """
    values = np.zeros(2, np.int64)
    negative = np.zeros(2, np.bool_)
    width = text.shape[1]
    for n in range(text.shape[0]):
        if done[n]:
            continue
        at, good = 0, True
        negative[:] = False
        for m in range(marks.shape[0]):
            kind = marks[m, 0]
            if kind == LITERAL:
                good = at < width and text[n, at] == marks[m, 1]
                at += 1
            elif kind == NUMBER:
                axis, digits, most = marks[m, 1], marks[m, 2], marks[m, 3]
                if marks[m, 6] == MINUS and at < width and text[n, at] == 45:
                    negative[axis] = True
                    at += 1
                values[axis], count = _read_digits(text[n], at, digits if digits else most)
                at += count
                good = count == digits if digits else count > 0
            elif kind == HEMISPHERE:
                letter = text[n, at] if at < width else np.uint32(0)
                negative[marks[m, 1]] = letter == marks[m, 3]
                good = letter == marks[m, 2] or letter == marks[m, 3]
                at += 1
            else:
                good = at + 1 < width and 65 <= text[n, at] <= 90 and 65 <= text[n, at + 1] <= 90
                at += 2
            if not good:
                break
        if not good:
            continue
        while at < width and good:
            good = text[n, at] == 0
            at += 1
        for m in range(marks.shape[0]):
            if good and marks[m, 0] == NUMBER:
                axis, value = marks[m, 1], values[marks[m, 1]]
                if negative[axis]:
                    good = value != 0  # there is no -0
                    value = -value
                value -= marks[m, 4]
                good = good and value % marks[m, 5] == 0
                values[axis] = value // marks[m, 5]
        if good:
            index[0, n], index[1, n], done[n] = values[0], values[1], True


@kernel
def write_codes(index: IntArray, marks: Marks, text: Characters, done: Flags) -> None:
    """Write the codes of cells in one spelling.

    Parameters
    ----------
    index : int64[2, n]
    marks : int64[m, 7]
        Without a country.
    text : uint32[n, width]
        All 0, and as wide as the longest code; set.
    done : bool[n]
        Set: whether the cell has a code, whose numbers have no more digits than they may.
    """
    for n in range(text.shape[0]):
        at, good = 0, True
        for m in range(marks.shape[0]):
            kind, axis = marks[m, 0], marks[m, 1]
            if kind == LITERAL:
                text[n, at] = np.uint32(marks[m, 1])
                at += 1
                continue
            a, b, side = marks[m, 4], marks[m, 5], index[axis, n]
            if side > 4294967296 or side < -4294967296:
                good = False
                break
            value = a + b * side
            if kind == HEMISPHERE:
                text[n, at] = np.uint32(marks[m, 2] if value >= 0 else marks[m, 3])
                at += 1
                continue
            if value < 0:
                if marks[m, 6] == UNSIGNED:
                    good = False
                    break
                if marks[m, 6] == MINUS:
                    text[n, at] = np.uint32(45)
                    at += 1
                value = -value
            digits, rest = 1, value // 10
            while rest > 0:
                digits += 1
                rest //= 10
            most = marks[m, 2] if marks[m, 2] else marks[m, 3]
            if digits > most:
                good = False
                break
            if marks[m, 2]:
                digits = most
            for place in range(digits - 1, -1, -1):
                text[n, at + place] = np.uint32(48 + value % 10)
                value //= 10
            at += digits
        done[n] = good
