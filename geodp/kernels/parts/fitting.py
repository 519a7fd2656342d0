"""Parts of children: what is measured, and tables that meet the counts of both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.kernels.parts.rounding import round_table

ROUNDS = 12
"""Of proportional fitting."""

FLOOR = 1e-6
"""Of a child's people, in every part before it is fitted, so that every table can be."""

DIGITS = 10
"""Binary digits of the fractions that are rounded; fewer where counts are too large for them."""

LARGEST = 61
"""Bits of a count with its fraction."""


@kernel
def tally(
    node: NDArray[np.uint64],
    stride: np.uint64,
    cell: NDArray[np.uint64],
    part: NDArray[np.int64],
    count: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add the counts of cells to the sums of their nodes by part, as integers.

    Parameters
    ----------
    node : uint64[n]
        Strictly increasing; each has ``stride`` cells.
    stride : uint64
    cell : uint64[m]
        In order; some may be in none of these nodes.
    part, count : int64[m]
    sums : int64[n, parts], changed
    """
    at, own, beyond = 0, np.uint64(0), np.uint64(0)
    for i in range(cell.size):
        if cell[i] >= beyond:
            own = cell[i] // stride
            beyond = (own + np.uint64(1)) * stride
            while at < node.size and node[at] < own:
                at += 1
            if at == node.size:
                return
        if node[at] == own:
            sums[at, part[i]] += count[i]


@kernel
def list_some(
    table: NDArray[np.int64],
    cell: NDArray[np.uint64],
    some: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """Write cell, part and count of all counts of a table that are above 0, row by row.

    Parameters
    ----------
    table : int64[n, parts]
    cell : uint64[n]
    some : uint64[k], int64[k], int64[k], written
        For as many as there are.
    """
    cells, parts, counts = some
    at = 0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            if table[i, j] > 0:
                cells[at], parts[at], counts[at] = cell[i], j, table[i, j]
                at += 1


@inline
def _fit(u: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
    """Fit a table to both margins in proportion; the rows come last."""
    for i in range(rows.size):
        for j in range(columns.size):
            u[i, j] += FLOOR * float(rows[i])
    for _ in range(ROUNDS):
        for j in range(columns.size):
            held = 0.0
            for i in range(rows.size):
                held += u[i, j]
            by = float(columns[j]) / held
            for i in range(rows.size):
                u[i, j] *= by
        for i in range(rows.size):
            held = 0.0
            for j in range(columns.size):
                held += u[i, j]
            by = float(rows[i]) / held
            for j in range(columns.size):
                u[i, j] *= by


@inline
def _take_excess(u: NDArray[np.float64], columns: NDArray[np.int64]) -> None:
    """Scale the columns that hold too much down to their sums."""
    for j in range(columns.size):
        held = 0.0
        for i in range(u.shape[0]):
            held += u[i, j]
        if held > columns[j]:
            by = float(columns[j]) / held
            for i in range(u.shape[0]):
                u[i, j] *= by


@inline
def _lower(
    table: NDArray[np.int64],
    left: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> np.int64:
    """Take from entries until nothing is held too often; return what is missing altogether.

    ``left``: what rows and columns should hold; afterwards what they lack.
    """
    row, column = left
    missing = np.int64(0)
    for i in range(row.size):
        for j in range(column.size):
            table[i, j] = min(table[i, j], row[i], column[j])
            row[i] -= table[i, j]
            column[j] -= table[i, j]
        missing += row[i]
    return missing


@inline
def _raise(
    table: NDArray[np.int64],
    left: tuple[NDArray[np.int64], NDArray[np.int64]],
    missing: np.int64,
) -> None:
    """Add what rows and columns lack: in proportion to both, the last units in order."""
    row, column = left
    lacks = float(missing)
    for last in range(2):
        for i in range(row.size):
            own = row[i]
            for j in range(column.size):
                if row[i] == 0:
                    break
                more = min(row[i], column[j])
                if last == 0:
                    more = min(more, np.int64(float(own) * (float(column[j]) / lacks)))
                table[i, j] += more
                row[i] -= more
                column[j] -= more


@inline
def _repeat(
    rows: NDArray[np.int64], columns: NDArray[np.int64], total: float
) -> NDArray[np.float64]:
    """Return a table whose rows all have the shares of its columns."""
    u = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        for j in range(columns.size):
            u[i, j] = float(rows[i]) * (float(columns[j]) / total)
    return u


@inline
def _count_digits(total: np.int64) -> int:
    """Return how many digits a fraction has, where a count may be as large as ``total``."""
    digits = DIGITS
    while digits > 0 and total >> (LARGEST - digits):
        digits -= 1
    return digits


@inline
def _make_exact(
    u: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], digits: int
) -> NDArray[np.int64]:
    """Return a table as whole multiples of ``2**-digits`` that meet both margins exactly."""
    table, unit = np.empty(u.shape, np.int64), float(np.int64(1) << digits)
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            table[i, j] = np.int64(u[i, j] * unit)
    left = rows << digits, columns << digits
    missing = _lower(table, left)
    if missing > 0:
        _raise(table, left, missing)
    return table


@kernel
def share_parts(
    wanted: NDArray[np.float64],
    rows: NDArray[np.int64],
    members: NDArray[np.int64],
    columns: NDArray[np.int64],
    seed: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Share out the parts of nodes among their children, in whole numbers that agree both ways.

    The table of a node has its children as rows and its parts as columns. Where something was
    measured it is fitted to the counts of both in proportion, the rows last; then what a column
    holds too much is taken from all of it in proportion, and what is missing added in proportion
    to what the row and the column lack. Otherwise every child has its node's shares. All of it is
    rounded by :func:`geodp.kernels.parts.rounding.round_table`.

    Parameters
    ----------
    wanted : float64[children, parts], overwritten
        What the children should have, not negative; of no rows: their node's shares.
    rows : int64[children]
        Counts of the children, above 0, node by node.
    members : int64[n]
        Children of each node.
    columns : int64[n, parts]
        Of the nodes, not negative; they add up to the counts of the node's children.
    seed : uint64[n]
        Of each node's coins.
    out : int64[children, parts], written
        Rows and columns add up to ``rows`` and ``columns``.
    """
    parts = columns.shape[1]
    column, place = np.empty(parts, np.int64), np.empty(parts, np.int64)
    stop = 0
    for node in range(members.size):
        start, stop = stop, stop + members[node]
        if stop - start == 1:
            out[start] = columns[node]
            continue
        some, total = 0, np.int64(0)
        for j in range(parts):
            if columns[node, j] > 0:
                column[some], place[some] = columns[node, j], j
                total += column[some]
                some += 1
        own, held = rows[start:stop], column[:some]
        if wanted.shape[0]:
            u = np.empty((own.size, some))
            for i in range(own.size):
                for j in range(some):
                    u[i, j] = wanted[start + i, place[j]]
            _fit(u, own, held)
            _take_excess(u, held)
        else:
            u = _repeat(own, held, float(total))
        digits = _count_digits(total)
        table = _make_exact(u, own, held, digits)
        round_table(table, digits, seed[node])
        out[start:stop] = 0
        for i in range(own.size):
            for j in range(some):
                out[start + i, place[j]] = table[i, j] >> digits
