"""Sums, products and classes of matrices of flows between blocks, in a fixed order of addition.

A law is a matrix of the flows between blocks that distance alone would make, up to factors of
origins and destinations. Sums are added one after the other, so that they are the same everywhere.
"""

from __future__ import annotations

import math

from geodp.kernels.jit import bare
from geodp.typing import FloatArray, IntArray

CLASSES = 64
"""Number of classes of expected flows: from 2**-14 on, two for each doubling."""


@bare
def fill_law(
    origin: IntArray, row: IntArray, column: IntArray, table: FloatArray, law: FloatArray
) -> None:
    """Look up the law from some blocks of a lattice to all.

    Parameters
    ----------
    origin : int64[m]
        Numbers of blocks.
    row, column : int64[n]
        Places of all blocks.
    table : float64[rows, columns]
        The law by the differences of rows and of columns, without sign.
    law : float64[m, n]
        Overwritten.
    """
    for i in range(origin.size):
        down, across = row[origin[i]], column[origin[i]]
        for j in range(row.size):
            law[i, j] = table[abs(down - row[j]), abs(across - column[j])]


@bare
def multiply(matrix: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Compute the product of a matrix and a vector: float64[n]."""
    rows = matrix.shape[0]
    # An addition waits for the one before it in its row: four rows at a time keep a processor busy.
    for i in range(0, rows - 3, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(matrix.shape[1]):
            a += matrix[i, j] * weight[j]
            b += matrix[i + 1, j] * weight[j]
            c += matrix[i + 2, j] * weight[j]
            d += matrix[i + 3, j] * weight[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
    for i in range(rows - rows % 4, rows):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * weight[j]
        out[i] = total


@bare
def multiply_left(matrix: FloatArray, weight: FloatArray, out: FloatArray) -> None:
    """Compute the product of a vector and a matrix: float64[n]."""
    out[:] = 0.0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j] += weight[i] * matrix[i, j]


@bare
def fit_rows(
    matrix: FloatArray, right: FloatArray, wanted: IntArray, left: FloatArray, out: FloatArray
) -> None:
    """Find the factors of rows that give them their sums, and sum columns with these factors.

    In one pass, as :func:`multiply`, a division and :func:`multiply_left` would in two.

    Parameters
    ----------
    matrix : float64[m, n]
        Not negative.
    right : float64[n]
        Factors of columns.
    wanted : int64[m]
        Sums of rows.
    left : float64[m]
        Overwritten: 0 where a row has nothing to scale.
    out : float64[n]
        Overwritten.
    """
    out[:] = 0.0
    rows = matrix.shape[0]
    for i in range(0, rows - 3, 4):
        multiply(matrix[i : i + 4], right, left[i : i + 4])
        for k in range(i, i + 4):
            left[k] = wanted[k] / left[k] if left[k] > 0.0 else 0.0
        # Added one after the other, as by single rows, and written once.
        for j in range(matrix.shape[1]):
            total = out[j] + left[i] * matrix[i, j]
            total += left[i + 1] * matrix[i + 1, j]
            total += left[i + 2] * matrix[i + 2, j]
            out[j] = total + left[i + 3] * matrix[i + 3, j]
    for i in range(rows - rows % 4, rows):
        multiply(matrix[i : i + 1], right, left[i : i + 1])
        left[i] = wanted[i] / left[i] if left[i] > 0.0 else 0.0
        for j in range(matrix.shape[1]):
            out[j] += left[i] * matrix[i, j]


@bare
def scale(matrix: FloatArray, left: FloatArray, right: FloatArray) -> None:
    """Multiply rows and columns of a matrix by factors."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] *= left[i] * right[j]


@bare
def misfit(expected: FloatArray, noisy: FloatArray, total: float) -> float:
    """Add the squares of what noisy flows differ by from expected ones to a total."""
    for i in range(expected.shape[0]):
        for j in range(expected.shape[1]):
            apart = noisy[i, j] - expected[i, j]
            total += apart * apart
    return total


@bare
def add_up(matrix: FloatArray, row: IntArray, column: IntArray, out: FloatArray) -> None:
    """Add a matrix to the sums by the parents of its rows and columns.

    Parameters
    ----------
    matrix : float64[m, n]
        Some rows of a matrix: with all of them, in their order, sums are those of the whole.
    row, column : int64[m], int64[n]
        Parents of its rows and columns.
    out : float64[parents, parents]
        Sums of the rows before; added to.
    """
    for i in range(matrix.shape[0]):
        above, j = row[i], 0
        # Of a run of one parent the sum stays in a register.
        while j < matrix.shape[1]:
            parent = column[j]
            total = out[above, parent]
            while j < matrix.shape[1] and column[j] == parent:
                total += matrix[i, j]
                j += 1
            out[above, parent] = total


@bare
def spread(matrix: FloatArray, row: IntArray, column: IntArray, factor: FloatArray) -> None:
    """Multiply rows of a matrix by factors of their parents and of those of the columns."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] *= factor[row[i], column[j]]


@bare
def class_of(expected: float) -> int:
    """Return the class of an expected flow: from 0 to ``CLASSES - 1``."""
    if expected <= 2.0**-14:
        return 0
    return min(int(2.0 * (math.log2(expected) + 14.0)), CLASSES - 1)


@bare
def attract(
    zones: tuple[IntArray, IntArray],
    origin: IntArray,
    block: IntArray,
    first: IntArray,
    weight: FloatArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Sum the law from origins to all zones of some blocks, times weights of these.

    Parameters
    ----------
    zones : int64[n], int64[n]
        Rows and columns of all zones.
    origin : int64[a]
    block : int64[b]
    first : int64[blocks + 1]
        Zones of block i are those from ``first[i]`` to ``first[i + 1]``.
    weight : float64[n]
    table
        See :func:`fill_law`.
    out : float64[a, b]
        Overwritten.
    """
    row, column = zones
    for i in range(origin.size):
        for j in range(block.size):
            total = 0.0
            for zone in range(first[block[j]], first[block[j] + 1]):
                down = abs(row[origin[i]] - row[zone])
                total += weight[zone] * table[down, abs(column[origin[i]] - column[zone])]
            out[i, j] = total


@bare
def balance(
    value: FloatArray, margins: tuple[IntArray, IntArray], rounds: int, work: FloatArray
) -> None:
    """Scale rows and columns of a matrix by turns until they add up to the margins, nearly.

    Parameters
    ----------
    value : float64[rows, columns]
        Not negative; overwritten.
    margins : int64[rows], int64[columns]
    rounds : int
    work : float64[rows + 2 * columns]
        Overwritten.
    """
    rows, columns = value.shape
    left = work[:rows]
    right, ones = work[rows : rows + columns], work[rows + columns :]
    ones[:] = 1.0
    for _ in range(rounds):
        fit_rows(value, ones, margins[0], left, right)
        for j in range(columns):
            right[j] = margins[1][j] / right[j] if right[j] > 0.0 else 0.0
        for i in range(rows):
            for j in range(columns):
                value[i, j] = value[i, j] * left[i] * right[j]


@bare
def mix(
    law: FloatArray, prior: FloatArray, weight: float, amounts: tuple[float, float], out: FloatArray
) -> None:
    """Mix a law with what it becomes by a prior: float64[n, n].

    Parameters
    ----------
    law : float64[n, n]
        Expected trips.
    prior : float64[n, n]
        Trips of the prior.
    weight : float
        Of what the law becomes: 0 to 1.
    amounts : float, float
        Trips of the prior for each expected one, and those that the law counts for: with none, it
        becomes the prior.
    out : float64[n, n]
        Overwritten; may be the law itself.
    """
    scale, counted = amounts
    for i in range(law.shape[0]):
        for j in range(law.shape[1]):
            mean = law[i, j]
            known = (counted + prior[i, j]) / (counted + scale * mean)
            out[i, j] = mean * (1.0 + weight * (known - 1.0))
