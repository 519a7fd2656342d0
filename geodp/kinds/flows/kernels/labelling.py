"""Labels of flows: sums of a product of factors, and the rounding of every flow's labels.

Each flow between two blocks has one factor for every label from each measured stream: that of its
origin, of its destination, or of its pair of larger blocks. Products of these, scaled to the flow,
are the trips that are expected of its labels.
"""

from __future__ import annotations

from geodp.kernels.jit import bare
from geodp.kinds.flows.kernels.rounding import begin_rows, draw_rows
from geodp.typing import FloatArray, IntArray


@bare
def expect_labels(
    trips: FloatArray, cells: IntArray, factors: FloatArray, begin: int, out: FloatArray
) -> None:
    """Divide flows among labels by the products of their factors.

    Parameters
    ----------
    trips : float64[n]
        Flows.
    cells : int64[streams, n]
        Row of the factors of every flow in each stream.
    factors : float64[cells, labels]
        Above 0.
    begin : int
        Number of the first flow.
    out : float64[m, labels]
        Overwritten: trips of flows ``begin`` to ``begin + m`` by label.
    """
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(out.shape[1]):
            product = 1.0
            for s in range(cells.shape[0]):
                product *= factors[cells[s, begin + i], k]
            out[i, k] = product
            total += product
        scale = trips[begin + i] / total if total > 0.0 else 0.0
        for k in range(out.shape[1]):
            out[i, k] *= scale


@bare
def add_up_labels(
    trips: FloatArray,
    cells: IntArray,
    factors: FloatArray,
    stream: int,
    row: FloatArray,
    out: FloatArray,
) -> None:
    """Sum the expected trips of every label by the cells of one stream.

    Parameters
    ----------
    trips, cells, factors
        See :func:`expect_labels`.
    stream : int
        Number of the stream.
    row : float64[1, labels]
        Workspace.
    out : float64[cells, labels]
        Overwritten; cells of other streams have 0.
    """
    out[:, :] = 0.0
    for i in range(trips.size):
        expect_labels(trips, cells, factors, i, row)
        cell = cells[stream, i]
        for k in range(out.shape[1]):
            out[cell, k] += row[0, k]


@bare
def divide_groups(
    first: IntArray,
    value: FloatArray,
    rows: IntArray,
    columns: IntArray,
    work: tuple[IntArray, FloatArray, FloatArray],
    state: IntArray,
    count: IntArray,
) -> None:
    """Round tables one after the other, each with exactly its margins.

    Parameters
    ----------
    first : int64[groups + 1]
        Rows of table g are those from ``first[g]`` to ``first[g + 1]``.
    value : float64[n, labels]
        Expectations, not negative, whose sums are nearly the margins.
    rows : int64[n]
    columns : int64[groups, labels]
        Margins of each table, with equal sums.
    work : int64[labels], float64[labels], float64[labels]
        Workspace.
    state : int64[1]
        State of the random numbers; continued.
    count : int64[n, labels]
        Overwritten.
    """
    for g in range(first.size - 1):
        a, b = first[g], first[g + 1]
        begin_rows(value[a:b], columns[g], work[0], work[1])
        draw_rows(value[a:b], rows[a:b], work[0], work[1], work[2], state, count[a:b])
