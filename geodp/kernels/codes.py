"""Codes of cells, character by character: numbers with letters and words between them.

A spelling is a list of *marks*, int64[m, 9], that are read one after another. Their columns are

0. what it is: ``LITERAL``, ``NUMBER``, ``HEMISPHERE``, ``COUNTRY``, ``PLACE`` or ``SQUARE``;
1. of a literal its character; of a number or a hemisphere its axis, 0 the row and 1 the column;
2. of a number its digits, 0 if it has no fixed width; of a hemisphere the letter of values from 0;
3. of a number without a fixed width its most digits; of a hemisphere the letter of values below 0;
4. 5. of a number a and b, where ``a + b * index`` is written;
6. of a number its sign: ``UNSIGNED``, ``MINUS`` in front, or ``LETTER`` of its hemisphere.

A place is a number that tells a part of an axis, of which other marks tell the rest: 1. to 3. are
those of a number, 4. the index that is counted from, 5. what its digits are multiplied by, 7. the
cells within which it counts, 0 for all, and 8. the cells that it counts by. It writes
``(index - first) % within // by * times``.

A square is a letter of a table of rows and columns: 1. where the table begins among the letters,
row by row from the north; 2. 3. its rows and columns, where one row tells nothing of rows, and one
column nothing of columns; 4. 5. the row and the column that are counted from; 6. 7. the cells
within which they count, 0 for all; 8. the cells that they count by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, inline, kernel
from geodp.typing import IntArray

LITERAL, NUMBER, HEMISPHERE, COUNTRY, PLACE, SQUARE = 0, 1, 2, 3, 4, 5
UNSIGNED, MINUS, LETTER = 0, 1, 2

Marks = IntArray
Mark = IntArray
Cells = IntArray
Characters = NDArray[np.uint32]
Flags = NDArray[np.bool_]

ZERO, NINE, MINUS_SIGN, UNDERSCORE = np.uint32(48), np.uint32(57), np.uint32(45), np.uint32(95)

MOST_DIGITS = 19
"""Of a number of 64 bits with a sign."""


@inline
def _read_digits(text: Characters, at: int, most: int) -> tuple[np.int64, int]:
    """Return the number that stands at a place of a text, and how many digits it has."""
    value, count = np.int64(0), 0
    while count < most and at < text.size and 48 <= text[at] <= 57:
        value = value * 10 + (np.int64(text[at]) - 48)
        count += 1
        at += 1
    return value, count


@inline
def _read_place(mark: Mark, value: np.int64, told: Cells) -> bool:
    """Add the cells that the digits of a place stand for; False for digits that it never has."""
    cells = value // mark[5] * mark[8]
    told[mark[1]] += cells
    return bool(value % mark[5] == 0 and (mark[7] == 0 or cells < mark[7]))


@inline
def _read_square(
    mark: Mark, letters: Characters, letter: np.uint32, told: Cells, values: Cells
) -> bool:
    """Add the cells that the letter of a square stands for; False where its table has it not."""
    for axis in range(2):
        if mark[2 + axis] > 1:
            values[axis] = mark[4 + axis]
    for at in range(mark[2] * mark[3]):
        if letters[mark[1] + at] == letter:
            told[0] += (mark[2] - 1 - at // mark[3]) * mark[8]
            told[1] += at % mark[3] * mark[8]
            return True
    return False


@inline
def _take_numbers(marks: Marks, values: Cells, negative: Flags) -> bool:
    """Turn numbers of both axes into indices; False for numbers of no index."""
    good = True
    for m in range(marks.shape[0]):
        if good and marks[m, 0] == NUMBER:
            axis, value = marks[m, 1], values[marks[m, 1]]
            if negative[axis]:
                good = value != 0  # there is no -0
                value = -value
            value -= marks[m, 4]
            good = good and value % marks[m, 5] == 0
            values[axis] = value // marks[m, 5]
    return good


@inline
def _place_of(mark: Mark, axis: int, side: np.int64) -> np.int64:
    """Return the row from the south, or the column, in the table of a square; -1 outside of it."""
    if mark[2 + axis] == 1:
        return np.int64(0)
    side -= mark[4 + axis]
    if side < 0:
        return np.int64(-1)
    if mark[6 + axis]:
        side %= mark[6 + axis]
    side //= mark[8]
    return np.int64(side) if side < mark[2 + axis] else np.int64(-1)


@inline
def _letter_of(mark: Mark, letters: Characters, row: np.int64, col: np.int64) -> np.uint32:
    """Return the letter of a cell's square; 0 for none."""
    down, right = _place_of(mark, 0, row), _place_of(mark, 1, col)
    if down < 0 or right < 0:
        return np.uint32(0)
    return np.uint32(letters[mark[1] + (mark[2] - 1 - down) * mark[3] + right])


@inline
def _value_of(mark: Mark, side: np.int64) -> np.int64:
    """Return the number that stands for an index; below 0 where it is below the first."""
    if mark[0] != PLACE:
        return np.int64(mark[4] + mark[5] * side)
    side -= mark[4]
    if mark[7] and side >= 0:
        side %= mark[7]
    return np.int64(side // mark[8] * mark[5])


@kernel
def read_codes(
    text: Characters, marks: Marks, letters: Characters, index: IntArray, done: Flags
) -> None:
    """Read the codes of one spelling that are not read yet.

    Parameters
    ----------
    text : uint32[n, width]
        Characters, 0 after the end, which every row has.
    marks : int64[m, 9]
    letters : uint32[k]
        Of the tables of squares.
    index : int64[2, n]
        Rows and columns; those of codes of this spelling are set.
    done : bool[n]
        Which codes are read; set likewise.
    """
    values = np.zeros(2, np.int64)
    negative = np.zeros(2, np.bool_)
    told = np.zeros(2, np.int64)
    width = text.shape[1]
    for n in range(text.shape[0]):
        if done[n]:
            continue
        at, good = 0, True
        negative[:] = False
        told[:] = 0
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
            elif kind == PLACE:
                digits, most = marks[m, 2], marks[m, 3]
                value, count = _read_digits(text[n], at, digits if digits else most)
                at += count
                good = _read_place(marks[m], value, told)
                good = good and (count == digits if digits else count > 0)
                values[marks[m, 1]] = marks[m, 4]
            elif kind == SQUARE:
                letter = text[n, at] if at < width else np.uint32(0)
                good = _read_square(marks[m], letters, letter, told, values)
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
        if good and _take_numbers(marks, values, negative):
            index[0, n], index[1, n], done[n] = values[0] + told[0], values[1] + told[1], True


@kernel
def write_codes(
    index: IntArray, marks: Marks, letters: Characters, text: Characters, done: Flags
) -> None:
    """Write the codes of cells in one spelling.

    Parameters
    ----------
    index : int64[2, n]
    marks : int64[m, 9]
        Without a country.
    letters : uint32[k]
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
            if kind == SQUARE:
                letter = _letter_of(marks[m], letters, index[0, n], index[1, n])
                good = letter != 0
                if not good:
                    break
                text[n, at] = letter
                at += 1
                continue
            side = index[axis, n]
            if side > 4294967296 or side < -4294967296:
                good = False
                break
            value = _value_of(marks[m], side)
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


@bare_inline
def _write_number(value: np.int64, text: Characters, at: int) -> int:
    """Write a number from a place on; return the place behind it."""
    rest = np.uint64(value)
    if value < 0:
        text[at] = MINUS_SIGN
        at += 1
        rest = np.uint64(0) - rest
    end, left = at + 1, rest // np.uint64(10)
    while left:
        end += 1
        left //= np.uint64(10)
    for place in range(end - 1, at - 1, -1):
        left = rest // np.uint64(10)
        text[place] = ZERO + np.uint32(rest - left * np.uint64(10))
        rest = left
    return end


@bare
def write_pairs(row: Cells, col: Cells, text: Characters) -> None:
    """Write codes ``row_col``.

    Parameters
    ----------
    row, col : int64[n]
    text : uint32[n, width]
        All 0, and wide enough; set.
    """
    for n in range(row.size):
        at = _write_number(row[n], text[n], 0)
        text[n, at] = UNDERSCORE
        _write_number(col[n], text[n], at + 1)


@bare_inline
def _read_number(text: Characters, at: int) -> tuple[int, np.int64]:
    """Return the place behind a number as it is written, and the number; -1: there is none."""
    is_negative = at < text.size and text[at] == MINUS_SIGN
    at += is_negative
    first, value = at, np.uint64(0)
    while at < text.size and at - first < MOST_DIGITS and ZERO <= text[at] <= NINE:
        value = value * np.uint64(10) + np.uint64(text[at] - ZERO)
        at += 1
    has_zeros = at > first and text[first] == ZERO and (at > first + 1 or is_negative)
    if at == first or has_zeros or value > np.uint64(9223372036854775807):
        return -1, np.int64(0)
    return at, -np.int64(value) if is_negative else np.int64(value)


@bare
def read_pairs(text: Characters, row: Cells, col: Cells) -> int:
    """Read codes ``row_col``; return how many are that, up to the first one that is not.

    Parameters
    ----------
    text : uint32[n, width]
        Characters, 0 after the end.
    row, col : int64[n], written
    """
    width = text.shape[1]
    for n in range(text.shape[0]):
        at, row[n] = _read_number(text[n], 0)
        if at < 0 or at == width or text[n, at] != UNDERSCORE:
            return n
        at, col[n] = _read_number(text[n], at + 1)
        if at < 0 or (at < width and text[n, at] != 0):
            return n
    return int(text.shape[0])


@bare
def write_digits(number: Cells, text: Characters) -> None:
    """Write numbers from 0 on with zeros in front.

    Parameters
    ----------
    number : int64[n]
        Of no more digits than there is room for.
    text : uint32[n, digits], written
    """
    for n in range(number.size):
        rest = np.uint64(number[n])
        for place in range(text.shape[1] - 1, -1, -1):
            left = rest // np.uint64(10)
            text[n, place] = ZERO + np.uint32(rest - left * np.uint64(10))
            rest = left


@bare
def pack(text: Characters, ends: NDArray[np.int32], packed: NDArray[np.uint8]) -> None:
    """Write texts of ASCII one after the other, as Arrow has them.

    Parameters
    ----------
    text : uint32[n, width]
        Characters, 0 after the end.
    ends : int32[n + 1], written
        Where each begins, and where the last one ends.
    packed : uint8[n * width], written
        As far as there are characters.
    """
    at, width = 0, text.shape[1]
    ends[0] = 0
    for n in range(text.shape[0]):
        for place in range(width):
            if text[n, place] == 0:
                break
            packed[at] = text[n, place]
            at += 1
        ends[n + 1] = at
