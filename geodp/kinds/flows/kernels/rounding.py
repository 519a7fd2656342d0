"""Rounding of tables of real numbers to whole ones, with exactly the given margins.

Rows are rounded one after the other, systematically: one random number a row, and the cumulative
sum of its entries along the order of columns, so that neighbouring columns together get what is
expected of them. A column that is behind what was expected of the rows before has more of each
following row, and one that has got all of its margin has none.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare, bare_inline
from geodp.typing import FloatArray, IntArray, KeyArray

NEARLY = 1e-3
"""Part of a trip that an entry may lack and be whole: margins are balanced nearly, not exactly."""

NEGLIGIBLE = 1e-12
"""Expected trips below which a column that lacks some is not said to be behind."""


@bare_inline
def next_uniform(state: IntArray) -> float:
    """Return the next number in [0, 1) of SplitMix64 (Steele, Lea and Flood 2014)."""
    # Rounding is post-processing, so that its numbers need no cipher.
    word = np.uint64(state[0]) + np.uint64(0x9E3779B97F4A7C15)
    state[0] = np.int64(word)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((word ^ (word >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@bare_inline
def share_systematically(
    weight: FloatArray, total: float, rest: int, uniform: float, lacking: IntArray, count: IntArray
) -> int:
    """Give what a row lacks to columns by weights; return what is left, as columns are full."""
    reached, given, left = uniform, 0, rest
    factor = rest / total
    for j in range(weight.size):
        reached += weight[j] * factor
        # Rounding of the cumulative sum may not give more than there is.
        upto = min(int(reached), rest)
        amount = min(upto - given, int(lacking[j]))
        given = upto
        count[j] += amount
        lacking[j] -= amount
        left -= amount
    return left


@bare
def begin_rows(
    value: FloatArray, margin: IntArray, lacking: IntArray, expected: FloatArray
) -> None:
    """Begin to draw the rows of a whole table; ``margin``: sums of its columns.

    ``lacking`` and ``expected``, see :func:`draw_rows`, are overwritten.
    """
    for j in range(value.shape[1]):
        expected[j], lacking[j] = 0.0, margin[j]
    for i in range(value.shape[0]):
        for j in range(value.shape[1]):
            expected[j] += value[i, j]


@bare
def draw_rows(
    value: FloatArray,
    margin: IntArray,
    lacking: IntArray,
    expected: FloatArray,
    weight: FloatArray,
    state: IntArray,
    count: IntArray,
) -> None:
    """Draw whole numbers near the entries of rows of a table, with exactly its margins.

    Parameters
    ----------
    value : float64[rows, columns]
        Expectations, not negative, whose sums are nearly the margins: all rows of a table, or some
        that follow on those before.
    margin : int64[rows]
        Sums of the rows, not negative.
    lacking, expected : int64[columns], float64[columns]
        What columns lack, and what is expected of these rows and those after them, from
        :func:`begin_rows`; continued.
    weight : float64[columns]
        Workspace.
    state : int64[1]
        State of the random numbers; continued.
    count : int64[rows, columns]
        Overwritten.
    """
    for i in range(value.shape[0]):
        rest = margin[i]
        # Whole parts first, so that every entry is next to what is expected where it can be.
        for j in range(value.shape[1]):
            whole = np.int64(value[i, j] + NEARLY)
            count[i, j] = min(min(whole, lacking[j]), rest)
            rest -= count[i, j]
            lacking[j] -= count[i, j]
        total = 0.0
        for j in range(value.shape[1]):
            behind = lacking[j] / expected[j] if expected[j] > NEGLIGIBLE else 1.0
            fraction = max(value[i, j] - count[i, j], 0.0)
            weight[j] = fraction * behind if lacking[j] > 0 else 0.0
            total += weight[j]
            expected[j] -= value[i, j]
        if (rest > 0) & (total > 0.0):
            rest = share_systematically(weight, total, rest, next_uniform(state), lacking, count[i])
        # Whatever full columns could not take goes to those that lack some.
        while rest > 0:
            total = 0.0
            for j in range(value.shape[1]):
                weight[j] = lacking[j]
                total += weight[j]
            rest = share_systematically(weight, total, rest, next_uniform(state), lacking, count[i])


@bare
def list_entries(
    count: IntArray, row: IntArray, column: IntArray, key: KeyArray, listed: IntArray
) -> None:
    """List the entries of a table that are not 0, row by row.

    Parameters
    ----------
    count : int64[a, b]
    row, column : int64[a], int64[b]
        What rows and columns add to keys.
    key, listed : uint64[m], int64[m]
        Overwritten: keys and counts of the entries.
    """
    n = 0
    for i in range(count.shape[0]):
        for j in range(count.shape[1]):
            if count[i, j] != 0:
                key[n], listed[n] = np.uint64(row[i] + column[j]), count[i, j]
                n += 1
