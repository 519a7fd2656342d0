"""Privelet by its matrices: one row per coefficient, one column per cell."""

import numpy as np


def haar(bits):
    """The total, then left - right of every node from the root down."""
    n = 1 << bits
    rows = [np.ones(n)]
    for level in range(bits):
        width = n >> level
        for start in range(0, n, width):
            row = np.zeros(n)
            row[start : start + width // 2] = 1
            row[start + width // 2 : start + width] = -1
            rows.append(row)
    return np.array(rows)


def standard(bits_of_axes):
    """The standard decomposition: all products of one row per axis, the last axis fastest."""
    matrix = np.ones((1, 1))
    for bits in bits_of_axes:
        matrix = np.kron(matrix, haar(bits))
    return matrix


def estimate(matrix, counts, noise):
    """Cells from noisy coefficients."""
    return np.linalg.solve(matrix, matrix @ counts + noise)


def block_variances(matrix, keys, domain, bits):
    """Largest variance of the blocks of each level for noise of variance 1.

    ``keys`` are the keys of the columns, ``domain`` says whether a key is released.
    """
    inverse = np.linalg.inv(matrix)
    found = []
    for level in range(bits + 1):
        size = 1 << (bits - level)
        worst = 0
        for block in range(1 << level):
            chosen = (keys // size == block) & domain[keys]
            weights = chosen @ inverse
            worst = max(worst, weights @ weights)
        found.append(worst)
    return np.array(found)
