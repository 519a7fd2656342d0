"""Whole numbers from fractions, in the rows and the columns of a table at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel, lowest_bit

WORD = 64
"""Entries of a row or a column that one word of marks has."""

WHICH, WITHIN = np.uint64(6), np.uint64(WORD - 1)
"""Which word has an entry: so many bits above; and which bit of it: those of this mask."""


@inline
def _toss(seed: np.uint64, step: np.uint64) -> bool:
    """Toss coin number ``step`` of a seed: the top bit of splitmix64 (Steele et al. 2014)."""
    z = seed + (step + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bool((z ^ (z >> np.uint64(31))) >> np.uint64(63))


@inline
def _mark(
    table: NDArray[np.int64], digit: int, row: NDArray[np.uint64], column: NDArray[np.uint64]
) -> None:
    """Mark the entries that have a digit, in words of their row and of their column."""
    one = np.uint64(1)
    column[:] = np.uint64(0)
    for i in range(np.uint64(table.shape[0])):
        word, at, mark = i >> WHICH, i & WITHIN, np.uint64(0)
        for j in range(np.uint64(table.shape[1])):
            bit = np.uint64(table[i, j] >> digit) & one
            mark |= bit << j
            column[word, j] |= bit << at
        row[i] = mark


@kernel
def round_table(table: NDArray[np.int64], digits: int, seed: np.uint64) -> None:
    """Round a table of binary fractions at random, so that all sums of rows and columns stay.

    Dependent rounding along cycles (Gandhi, Khuller, Parthasarathy, Srinivasan 2006), a binary
    digit at a time, from the last on. Where all sums are whole, every row and every column has an
    even number of entries with a digit that is to go. So these entries, as edges between rows and
    columns, fall apart into closed walks; along each the entries are rounded up and down in turn,
    and a fair coin says which comes first. Every entry is rounded to one of its two whole
    neighbours, with its own value as expectation; a whole entry stays as it is.

    Parameters
    ----------
    table : int64[rows, columns], changed
        Entries times ``2**digits``, not negative; every row and every column adds up to a multiple
        of ``2**digits``. Afterwards every entry is one. At most 64 columns.
    digits : int
    seed : uint64
        Of the coins, one for each digit and row.
    """
    rows, columns = table.shape
    one, words = np.uint64(1), (rows + WORD - 1) // WORD
    row, column = np.empty(rows, np.uint64), np.empty((words, columns), np.uint64)
    word = np.empty(columns, np.uint64)  # the first of each column that may have a mark
    for digit in range(digits):
        _mark(table, digit, row, column)
        word[:] = np.uint64(0)
        size = np.int64(1) << digit
        for start in range(rows):
            i, up = np.uint64(start), size
            own = row[i]
            if own and _toss(seed, np.uint64(digit * rows + start)):
                up = -size
            while own:  # at the first row at last the walk is closed
                j = lowest_bit(own)
                table[i, j] += up
                row[i] = own & (own - one)
                column[i >> WHICH, j] ^= one << (i & WITHIN)
                while not column[word[j], j]:
                    word[j] += one
                mark = column[word[j], j]
                i = lowest_bit(mark) + (word[j] << WHICH)
                column[word[j], j] = mark & (mark - one)
                table[i, j] -= up
                own = row[i] ^ (one << j)
                row[i] = own
