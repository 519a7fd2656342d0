"""Ends of the intervals of a raster's cells, where empty cells share those of their block.

Most cells of a raster are empty, and their intervals are the same throughout a block of cells: one
of them is computed for all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare


@bare
def find_empty(
    counts: NDArray[np.float64],
    down: NDArray[np.int64],
    right: NDArray[np.int64],
    place: NDArray[np.int64],
) -> None:
    """Find the last empty cell in each block.

    Parameters
    ----------
    counts : float64[rows, cols]
        0 of an empty cell, NaN outside the domain.
    down : int64[rows]
    right : int64[cols]
        The rows' and the columns' blocks.
    place : int64[down, right]
        -1 at first, which stays if no cell is empty; otherwise set to ``row * cols + col``.
    """
    cols = counts.shape[1]
    for row in range(counts.shape[0]):
        for col in range(cols):
            # NaN, outside the domain, equals nothing: such cells are never chosen.
            if counts[row, col] == 0:
                place[down[row], right[col]] = row * cols + col


@bare
def spread(
    counts: NDArray[np.float64],
    down: NDArray[np.int64],
    right: NDArray[np.int64],
    shared: NDArray[np.float64],
    listed: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Write the values of all cells: empty ones get their block's value, others their own.

    Parameters
    ----------
    counts, down, right
        As for :func:`find_empty`.
    shared : float64[down, right]
        Values of empty cells.
    listed : float64[m]
        Values of the other cells in the domain, row by row.
    values : float64[rows, cols], written
        NaN outside the domain.
    """
    at = 0
    for row in range(counts.shape[0]):
        for col in range(counts.shape[1]):
            count = counts[row, col]
            if count == 0:
                values[row, col] = shared[down[row], right[col]]
            elif np.isnan(count):
                values[row, col] = np.nan
            else:
                values[row, col] = listed[at]
                at += 1
