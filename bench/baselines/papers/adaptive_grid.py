"""AG: Qardaji, Yang, Li, "Differentially private grids for geospatial data", ICDE 2013, section IV.

As in the authors' code: the number of people is public, and both grids divide the map evenly.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

SHARE = 0.5
"""Share of the budget for the first level: alpha."""

FIRST, SECOND, MIN_BLOCKS = 10.0, 5.0, 10
"""The constants c and c2, and the smallest number of blocks along an axis."""


def count_blocks(people: float, epsilon: float) -> int:
    """Compute m1, the blocks along an axis of the first level.

    Examples
    --------
    >>> count_blocks(1_000_000, 1.0), count_blocks(1_000, 1.0)
    (80, 10)
    """
    return max(MIN_BLOCKS, ceil(ceil(sqrt(people * epsilon / FIRST)) / 4))


def count_parts(noisy: float, epsilon: float) -> int:
    """Compute m2, the parts along an axis of a block with this noisy count; at least 1."""
    return max(1, ceil(sqrt(max(noisy, 0.0) * (1 - SHARE) * epsilon / SECOND)))


def make_consistent(block: float, parts: Real) -> Real:
    """Make the parts' counts add up to the block's, both averaged by their variances."""
    weight = SHARE**2 * parts.size / ((1 - SHARE) ** 2 + SHARE**2 * parts.size)
    total = float(parts.sum())
    return parts + weight * (block - total) / parts.size


def release(counts: NDArray[np.int64], epsilon: float, random: np.random.Generator) -> Real:
    """Release a map: every part's count, spread evenly over its cells: float64[rows, cols].

    Parameters
    ----------
    counts : int64[rows, cols]
    epsilon : float
    random : Generator
        Source of the noise.
    """
    blocks = count_blocks(float(counts.sum()), epsilon)
    below = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
    # Prefix sums make the count of any block four look-ups.
    below[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    rows, cols = (divide(0, size, blocks) for size in counts.shape)
    coarse = sums_between(below, rows, cols)
    coarse += random.laplace(0, 1 / (SHARE * epsilon), coarse.shape)
    released = np.zeros(counts.shape)
    for i, j in np.ndindex(*coarse.shape):
        parts = count_parts(float(coarse[i, j]), epsilon)
        down, across = divide(rows[i], rows[i + 1], parts), divide(cols[j], cols[j + 1], parts)
        fine = sums_between(below, down, across)
        fine += random.laplace(0, 1 / ((1 - SHARE) * epsilon), fine.shape)
        # Section IV-B: inference between the two levels, as the authors do.
        fine = make_consistent(float(coarse[i, j]), fine)
        high, wide = np.diff(down), np.diff(across)
        each = fine / np.multiply.outer(high, wide)
        place = np.ix_(range(rows[i], rows[i + 1]), range(cols[j], cols[j + 1]))
        released[place] = each.repeat(high, axis=0).repeat(wide, axis=1)
    return released


def divide(start: int, end: int, parts: int) -> NDArray[np.int64]:
    """Compute the ends of about equal runs of whole cells, no more runs than cells.

    Examples
    --------
    >>> divide(0, 5, 2), divide(3, 5, 9)
    (array([0, 2, 5]), array([3, 4, 5]))
    """
    return np.unique(np.rint(np.linspace(start, end, min(parts, end - start) + 1)).astype(np.int64))


def sums_between(below: Real, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Real:
    """Sum the blocks between ends of rows and columns, from prefix sums."""
    return np.diff(np.diff(below[np.ix_(rows, cols)], axis=0), axis=1)
