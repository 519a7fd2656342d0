"""Rounding of real flows to whole trips, with exactly the given margins."""

from __future__ import annotations

import numpy as np

from geodp.features.flows.kernels import rounding
from geodp.typing import FloatArray, IntArray


def round_table(
    ends: tuple[IntArray, IntArray],
    value: FloatArray,
    margins: tuple[IntArray, IntArray],
    state: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Round a sparse table, so that its rows and columns have exactly the given sums.

    Parameters
    ----------
    ends : int64[n], int64[n]
        Rows and columns of the entries.
    value : float64[n]
        Expectations, not negative, whose sums are nearly the margins. What a row or a column lacks
        is filled in, along the order of rows and columns.
    margins : int64[rows], int64[columns]
        Not negative, with equal sums.
    state : int64[1]
        State of the random numbers; continued.

    Returns
    -------
    row, column, count : int64[m]
        Entries above 0; some may be of one row and one column.
    """
    entries, rows, columns = value.size, margins[0].size, margins[1].size
    size = entries + rows + columns
    row, column, part, count = (np.empty(size, np.int64) for _ in range(4))
    row[:entries], column[:entries] = ends
    rests = np.empty(rows, np.int64), np.empty(columns, np.int64)
    sums = np.empty(rows), np.empty(columns)
    rounding.scale_to_margins((row, column), value, entries, margins, rests, sums, part)
    entries = rounding.complete_margins(*rests, (row, column), part, entries)
    rounding.split_whole(part, count, entries)
    following = np.empty(entries, np.int64), np.empty(entries, np.int64)
    links = (np.empty(rows, np.int64), np.empty(columns, np.int64), *following)
    places = np.empty(rows, np.int64), np.empty(columns, np.int64)
    path = np.empty(rows + columns + 1, np.int64)
    rounding.round_entries((row, column), part, count, entries, links, places, path, state)
    some = np.flatnonzero(count[:entries])
    return row[some], column[some], count[some]
