"""Rounding of real flows to whole trips, with exactly the given margins."""

from __future__ import annotations

import numpy as np

from geodp.features.flows.kernels import rounding
from geodp.typing import FloatArray, IntArray


def round_table(
    value: FloatArray, margins: tuple[IntArray, IntArray], state: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Round a table, so that its rows and columns have exactly the given sums.

    Parameters
    ----------
    value : float64[rows, columns]
        Expectations, not negative, whose sums are nearly the margins.
    margins : int64[rows], int64[columns]
        Not negative, with equal sums.
    state : int64[1]
        State of the random numbers; continued.

    Returns
    -------
    row, column, count : int64[m]
        Entries above 0, by row and column.
    """
    rows, columns = (np.ascontiguousarray(margin) for margin in margins)
    count, work = np.empty(value.shape, np.int64), np.empty((2, columns.size))
    lacking = np.empty(columns.size, np.int64)
    rounding.draw_rows(value, (rows, columns), lacking, work[0], work[1], state, count)
    row, column = np.nonzero(count)
    return row, column, count[row, column]
