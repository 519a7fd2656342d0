"""Whole numbers from fractions, in the rows and the columns of a table at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

WORD = 64
"""Entries of a row or a column that one word of marks has."""

_BRUIJN = 0x03F79D71B4CB0A89
_PLACES = np.zeros(WORD, np.int64)
_PLACES[[(_BRUIJN << i) % 2**64 >> 58 for i in range(WORD)]] = np.arange(WORD)


@inline
def _lowest(mark: np.uint64) -> np.int64:
    """Place of the lowest 1 of a word that is not 0, by a de Bruijn sequence (Leiserson 1998)."""
    last = mark & (~mark + np.uint64(1))
    place: np.int64 = _PLACES[(last * np.uint64(_BRUIJN)) >> np.uint64(58)]
    return place


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
    for i in range(table.shape[0]):
        own, word, at = table[i], column[i // WORD], np.uint64(i % WORD)
        mark = np.uint64(0)
        for j in range(own.size):
            bit = np.uint64(own[j] >> digit) & one
            mark |= bit << np.uint64(j)
            word[j] |= bit << at
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
    word = np.empty(columns, np.int64)  # the first of each column that may have a mark
    for digit in range(digits):
        _mark(table, digit, row, column)
        word[:] = 0
        size = np.int64(1) << digit
        for start in range(rows):
            i, up = np.int64(start), size
            if row[i] and _toss(seed, np.uint64(digit * rows + start)):
                up = -size
            while row[i]:  # at the first row at last the walk is closed
                j = _lowest(row[i])
                table[i, j] += up
                row[i] ^= one << np.uint64(j)
                column[i // WORD, j] ^= one << np.uint64(i % WORD)
                while not column[word[j], j]:
                    word[j] += 1
                i = _lowest(column[word[j], j])
                column[word[j], j] ^= one << np.uint64(i)
                i += word[j] * WORD
                table[i, j] -= up
                row[i] ^= one << np.uint64(j)
