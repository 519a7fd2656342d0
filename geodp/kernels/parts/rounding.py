"""Random rounding of a table that keeps the sums of all rows and columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel, lowest_bit

WORD = 64
"""Number of entries of a row or a column whose bits fit one word."""

WHICH, WITHIN = np.uint64(6), np.uint64(WORD - 1)
"""An index shifted right by ``WHICH`` is its word; masked with ``WITHIN`` it is its bit there."""


@inline
def _toss(seed: np.uint64, step: np.uint64) -> bool:
    """Return random bit number ``step`` of a seed: the top bit of splitmix64.

    Steele, Lea, Flood (2014): Fast splittable pseudorandom number generators.
    """
    # Rounding is post-processing of noisy values, so a fast generator is enough: only its seed is
    # drawn from the key.
    z = seed + (step + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bool((z ^ (z >> np.uint64(31))) >> np.uint64(63))


@inline
def _set_bits(
    table: NDArray[np.int64], digit: int, row: NDArray[np.uint64], column: NDArray[np.uint64]
) -> None:
    """Set the bits of the entries with a binary digit of 1, by row and by column."""
    one = np.uint64(1)
    column[:] = np.uint64(0)
    for i in range(np.uint64(table.shape[0])):
        word, at, bits = i >> WHICH, i & WITHIN, np.uint64(0)
        for j in range(np.uint64(table.shape[1])):
            bit = np.uint64(table[i, j] >> digit) & one
            bits |= bit << j
            column[word, j] |= bit << at
        row[i] = bits


@kernel
def round_table(table: NDArray[np.int64], digits: int, seed: np.uint64) -> None:
    """Round a table of binary fractions at random, keeping the sums of all rows and columns.

    This is dependent rounding along cycles (Gandhi, Khuller, Parthasarathy, Srinivasan 2006), one
    binary digit at a time, from the last on. Every entry is rounded to one of its two neighbouring
    integers, with its own value as expectation; an integer stays as it is.

    Parameters
    ----------
    table : int64[rows, columns], changed
        Entries times ``2**digits``, not negative; every row and every column adds up to a multiple
        of ``2**digits``. Afterwards every entry is such a multiple. At most 64 columns.
    digits : int
    seed : uint64
        Seed of the random bits, one for each digit and row.
    """
    # As all sums are integers, every row and every column has an even number of entries whose last
    # remaining digit is 1. As edges between rows and columns these entries form closed walks; along
    # each walk they are rounded up and down alternately, which keeps all sums, and a fair bit
    # decides which comes first, which makes it unbiased.
    rows, columns = table.shape
    one, words = np.uint64(1), (rows + WORD - 1) // WORD
    row, column = np.empty(rows, np.uint64), np.empty((words, columns), np.uint64)
    word = np.empty(columns, np.uint64)  # the first of each column that may have a mark
    for digit in range(digits):
        _set_bits(table, digit, row, column)
        word[:] = np.uint64(0)
        size = np.int64(1) << digit
        for start in range(rows):
            i, up = np.uint64(start), size
            pending = row[i]
            if pending and _toss(seed, np.uint64(digit * rows + start)):
                up = -size
            while pending:  # at the first row at last the walk is closed
                j = lowest_bit(pending)
                table[i, j] += up
                row[i] = pending & (pending - one)
                column[i >> WHICH, j] ^= one << (i & WITHIN)
                while not column[word[j], j]:
                    word[j] += one
                bits = column[word[j], j]
                i = lowest_bit(bits) + (word[j] << WHICH)
                column[word[j], j] = bits & (bits - one)
                table[i, j] -= up
                pending = row[i] ^ (one << j)
                row[i] = pending
