"""Rounding of real flows to whole trips, with exactly the given margins."""

from __future__ import annotations

import numpy as np

from geodp.features.flows.kernels import rounding
from geodp.features.flows.merging import Collector
from geodp.features.flows.slabs import split_rows
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
    margin, columns = (np.ascontiguousarray(one) for one in margins)
    lacking, work = np.empty(columns.size, np.int64), np.empty((2, columns.size))
    slabs = [*split_rows(value.shape)]
    # Entries above 0 are no more than the trips.
    collected = Collector(min(value.size, int(margin.sum())))
    rounding.begin_rows(value, columns, lacking, work[0])
    for some in slabs:
        count = np.empty(value[some].shape, np.int64)
        rounding.draw_rows(value[some], margin[some], lacking, work[0], work[1], state, count)
        row, column = np.nonzero(count)
        if len(slabs) == 1:
            return row, column, count[row, column]
        # Many small arrays would leave gaps; two large ones do not.
        place = (row + some.start) * columns.size + column
        collected.add(place.view(np.uint64), count[row, column])
    # Most often one part, of which no copy is made.
    (place, count), *more = collected.parts()
    if more:
        place, count = (np.concatenate(one) for one in zip(*collected.parts(), strict=True))
    return *np.divmod(place.view(np.int64), columns.size), count
