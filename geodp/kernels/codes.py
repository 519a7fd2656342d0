"""Codes of cells, read and written character by character.

The spelling of a code is a list of *tokens*, int64[m, 9], that are read one after another. Their
columns are

0. the kind: ``LITERAL``, ``NUMBER``, ``HEMISPHERE``, ``COUNTRY``, ``PLACE`` or ``SQUARE``;
1. the character of a literal; the axis of a number or a hemisphere: 0 the row, 1 the column;
2. the digits of a number, 0 if its width varies; a hemisphere's letter for values from 0 on;
3. the largest width of such a number; a hemisphere's letter for values below 0;
4. 5. of a number: a and b, if ``a + b * index`` is written;
6. the sign of a number: ``UNSIGNED``, ``MINUS`` in front, or ``LETTER`` of its hemisphere.

A place is a number that encodes a part of an axis, while other tokens encode the rest. Columns 1 to
3 are those of a number; 4 is the first index, 5 a factor of the digits, 7 the period in cells (0:
none), and 8 the unit in cells. It writes ``(index - first) % period // unit * factor``.

A square is a letter from a table of rows and columns. Column 1 is where the table begins among the
letters, row by row from the north; 2 and 3 are its numbers of rows and columns, where a single row
or column encodes nothing of its axis; 4 and 5 are the first row and column, 6 and 7 the periods in
cells (0: none), and 8 is the unit in cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, inline, kernel
from geodp.typing import IntArray

LITERAL, NUMBER, HEMISPHERE, COUNTRY, PLACE, SQUARE = 0, 1, 2, 3, 4, 5
UNSIGNED, MINUS, LETTER = 0, 1, 2

Tokens = IntArray
Token = IntArray
Cells = IntArray
Characters = NDArray[np.uint32]
Flags = NDArray[np.bool_]

ZERO, NINE, MINUS_SIGN, UNDERSCORE = np.uint32(48), np.uint32(57), np.uint32(45), np.uint32(95)

MAX_DIGITS = 19
"""Digits of the largest signed number of 64 bits."""


@inline
def _read_digits(text: Characters, at: int, max_digits: int) -> tuple[np.int64, int]:
    """Read the number at a position of a text; also return how many digits it has."""
    value, count = np.int64(0), 0
    while count < max_digits and at < text.size and 48 <= text[at] <= 57:
        value = value * 10 + (np.int64(text[at]) - 48)
        count += 1
        at += 1
    return value, count


@inline
def _read_place(token: Token, value: np.int64, offsets: Cells) -> bool:
    """Add the cells that a place's digits encode; False for digits that it never has."""
    cells = value // token[5] * token[8]
    offsets[token[1]] += cells
    return bool(value % token[5] == 0 and (token[7] == 0 or cells < token[7]))


@inline
def _read_square(
    token: Token, letters: Characters, letter: np.uint32, offsets: Cells, values: Cells
) -> bool:
    """Add the cells that a square's letter encodes; False if its table has no such letter."""
    for axis in range(2):
        if token[2 + axis] > 1:
            values[axis] = token[4 + axis]
    for at in range(token[2] * token[3]):
        if letters[token[1] + at] == letter:
            offsets[0] += (token[2] - 1 - at // token[3]) * token[8]
            offsets[1] += at % token[3] * token[8]
            return True
    return False


@inline
def _take_numbers(tokens: Tokens, values: Cells, negative: Flags) -> bool:
    """Convert the numbers of both axes to indices; False for numbers that are no index."""
    good = True
    for m in range(tokens.shape[0]):
        if good and tokens[m, 0] == NUMBER:
            axis, value = tokens[m, 1], values[tokens[m, 1]]
            if negative[axis]:
                # A code has one spelling: neither -0 nor 0 in the other hemisphere is one.
                good = value != 0
                value = -value
            value -= tokens[m, 4]
            good = good and value % tokens[m, 5] == 0
            values[axis] = value // tokens[m, 5]
    return good


@inline
def _place_of(token: Token, axis: int, side: np.int64) -> np.int64:
    """Return the row from the south, or the column, in a square's table; -1 if outside."""
    if token[2 + axis] == 1:
        return np.int64(0)
    side -= token[4 + axis]
    if side < 0:
        return np.int64(-1)
    if token[6 + axis]:
        side %= token[6 + axis]
    side //= token[8]
    return np.int64(side) if side < token[2 + axis] else np.int64(-1)


@inline
def _letter_of(token: Token, letters: Characters, row: np.int64, col: np.int64) -> np.uint32:
    """Return the letter of a cell's square; 0 if it has none."""
    down, right = _place_of(token, 0, row), _place_of(token, 1, col)
    if down < 0 or right < 0:
        return np.uint32(0)
    return np.uint32(letters[token[1] + (token[2] - 1 - down) * token[3] + right])


@inline
def _value_of(token: Token, side: np.int64) -> np.int64:
    """Return the number that encodes an index; below 0 if it is below the first index."""
    if token[0] != PLACE:
        return np.int64(token[4] + token[5] * side)
    side -= token[4]
    if token[7] and side >= 0:
        side %= token[7]
    return np.int64(side // token[8] * token[5])


@kernel
def read_codes(
    text: Characters, tokens: Tokens, letters: Characters, index: IntArray, done: Flags
) -> None:
    """Read the codes of one spelling that have not been read yet.

    Parameters
    ----------
    text : uint32[n, width]
        Characters; every row ends with 0.
    tokens : int64[m, 9]
    letters : uint32[k]
        Letters of all tables of squares.
    index : int64[2, n], changed
        Rows and columns; set for codes of this spelling.
    done : bool[n], changed
        Which codes have been read; set likewise.
    """
    values = np.zeros(2, np.int64)
    negative = np.zeros(2, np.bool_)
    offsets = np.zeros(2, np.int64)
    width = text.shape[1]
    for n in range(text.shape[0]):
        if done[n]:
            continue
        at, good = 0, True
        negative[:] = False
        offsets[:] = 0
        for m in range(tokens.shape[0]):
            kind = tokens[m, 0]
            if kind == LITERAL:
                good = at < width and text[n, at] == tokens[m, 1]
                at += 1
            elif kind == NUMBER:
                axis, digits, max_digits = tokens[m, 1], tokens[m, 2], tokens[m, 3]
                if tokens[m, 6] == MINUS and at < width and text[n, at] == 45:
                    negative[axis] = True
                    at += 1
                values[axis], count = _read_digits(text[n], at, digits if digits else max_digits)
                at += count
                good = count == digits if digits else count > 0
            elif kind == HEMISPHERE:
                letter = text[n, at] if at < width else np.uint32(0)
                negative[tokens[m, 1]] = letter == tokens[m, 3]
                good = letter == tokens[m, 2] or letter == tokens[m, 3]
                at += 1
            elif kind == PLACE:
                digits, max_digits = tokens[m, 2], tokens[m, 3]
                value, count = _read_digits(text[n], at, digits if digits else max_digits)
                at += count
                good = _read_place(tokens[m], value, offsets)
                good = good and (count == digits if digits else count > 0)
                values[tokens[m, 1]] = tokens[m, 4]
            elif kind == SQUARE:
                letter = text[n, at] if at < width else np.uint32(0)
                good = _read_square(tokens[m], letters, letter, offsets, values)
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
        # Spellings are tried one after the other, and the first that fits wins: what was read
        # already is not tried again.
        if good and _take_numbers(tokens, values, negative):
            index[0, n], index[1, n], done[n] = values[0] + offsets[0], values[1] + offsets[1], True


@kernel
def write_codes(
    index: IntArray, tokens: Tokens, letters: Characters, text: Characters, done: Flags
) -> None:
    """Write the codes of cells in one spelling.

    Parameters
    ----------
    index : int64[2, n]
    tokens : int64[m, 9]
        Without a country.
    letters : uint32[k]
    text : uint32[n, width], written
        All 0 at first, and as wide as the longest code.
    done : bool[n], written
        Whether the cell has a code: none of its numbers has too many digits.
    """
    for n in range(text.shape[0]):
        at, good = 0, True
        for m in range(tokens.shape[0]):
            kind, axis = tokens[m, 0], tokens[m, 1]
            if kind == LITERAL:
                text[n, at] = np.uint32(tokens[m, 1])
                at += 1
                continue
            if kind == SQUARE:
                letter = _letter_of(tokens[m], letters, index[0, n], index[1, n])
                good = letter != 0
                if not good:
                    break
                text[n, at] = letter
                at += 1
                continue
            side = index[axis, n]
            # Beyond 2**32 no code system has cells, and a factor of the index could overflow.
            if side > 4294967296 or side < -4294967296:
                good = False
                break
            value = _value_of(tokens[m], side)
            if kind == HEMISPHERE:
                text[n, at] = np.uint32(tokens[m, 2] if value >= 0 else tokens[m, 3])
                at += 1
                continue
            # A hemisphere letter stands for the sign, so the digits are those of the absolute
            # value.
            if value < 0:
                if tokens[m, 6] == UNSIGNED:
                    good = False
                    break
                if tokens[m, 6] == MINUS:
                    text[n, at] = np.uint32(45)
                    at += 1
                value = -value
            digits, rest = 1, value // 10
            while rest > 0:
                digits += 1
                rest //= 10
            max_digits = tokens[m, 2] if tokens[m, 2] else tokens[m, 3]
            if digits > max_digits:
                good = False
                break
            if tokens[m, 2]:
                digits = max_digits
            for place in range(digits - 1, -1, -1):
                text[n, at + place] = np.uint32(48 + value % 10)
                value //= 10
            at += digits
        done[n] = good


@bare_inline
def _write_number(value: np.int64, text: Characters, at: int) -> int:
    """Write a number from a position on; return the position after it."""
    rest = np.uint64(value)
    if value < 0:
        text[at] = MINUS_SIGN
        at += 1
        # Negated as unsigned, as -2**63 has no positive int64.
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
    text : uint32[n, width], written
        All 0 at first, and wide enough.
    """
    for n in range(row.size):
        at = _write_number(row[n], text[n], 0)
        text[n, at] = UNDERSCORE
        _write_number(col[n], text[n], at + 1)


@bare_inline
def _read_number(text: Characters, at: int) -> tuple[int, np.int64]:
    """Read a number in canonical form; return the position after it (-1: none) and the number."""
    is_negative = at < text.size and text[at] == MINUS_SIGN
    at += is_negative
    first, value = at, np.uint64(0)
    while at < text.size and at - first < MAX_DIGITS and ZERO <= text[at] <= NINE:
        value = value * np.uint64(10) + np.uint64(text[at] - ZERO)
        at += 1
    # Only what `_write_number` writes is read: no leading zeros, and no -0.
    has_zeros = at > first and text[first] == ZERO and (at > first + 1 or is_negative)
    if at == first or has_zeros or value > np.uint64(9223372036854775807):
        return -1, np.int64(0)
    return at, -np.int64(value) if is_negative else np.int64(value)


@bare
def read_pairs(text: Characters, row: Cells, col: Cells) -> int:
    """Read codes ``row_col`` up to the first one of another form; return how many were read.

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
    """Write non-negative numbers with leading zeros.

    Parameters
    ----------
    number : int64[n]
        With at most ``digits`` digits.
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
    """Concatenate ASCII texts in the layout of an Arrow string array.

    Parameters
    ----------
    text : uint32[n, width]
        Characters, 0 after the end.
    ends : int32[n + 1], written
        Where each text begins, and where the last one ends.
    packed : uint8[n * width], written
        The first ``ends[n]`` entries are used.
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
