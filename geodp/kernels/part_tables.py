"""Tables of children times parts: true sums, fits to the margins of both sides, random rounding.

:mod:`geodp.mechanisms.parts.chain` measures the sums and hands out the fitted tables. Rounding
keeps the sums of all rows and columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel, lowest_bit

WORD = 64
"""Number of entries of a row or a column whose bits fit one word."""

WHICH, WITHIN = np.uint64(6), np.uint64(WORD - 1)
"""An index shifted right by ``WHICH`` is its word; masked with ``WITHIN`` it is its bit there."""


@inline
def _toss(seed: np.uint64, step: np.uint64) -> bool:
    """Return random bit number ``step`` of a seed: the top bit of splitmix64.

    Steele, Lea, Flood (2014): Fast splittable pseudorandom number generators.
    """
    # Rounding is post-processing of noisy values, so a fast generator is enough: only its seed is
    # drawn from the key.
    z = seed + (step + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bool((z ^ (z >> np.uint64(31))) >> np.uint64(63))


@inline
def _set_bits(
    table: NDArray[np.int64], digit: int, row: NDArray[np.uint64], column: NDArray[np.uint64]
) -> None:
    """Set the bits of the entries with a binary digit of 1, by row and by column."""
    one = np.uint64(1)
    column[:] = np.uint64(0)
    for i in range(np.uint64(table.shape[0])):
        word, at, bits = i >> WHICH, i & WITHIN, np.uint64(0)
        for j in range(np.uint64(table.shape[1])):
            bit = np.uint64(table[i, j] >> digit) & one
            bits |= bit << j
            column[word, j] |= bit << at
        row[i] = bits


@kernel
def round_table(table: NDArray[np.int64], digits: int, seed: np.uint64) -> None:
    """Round a table of binary fractions at random, keeping the sums of all rows and columns.

    This is dependent rounding along cycles (Gandhi, Khuller, Parthasarathy, Srinivasan 2006), one
    binary digit at a time, from the last on. Every entry is rounded to one of its two neighbouring
    integers, with its own value as expectation; an integer stays as it is.

    Parameters
    ----------
    table : int64[rows, columns], changed
        Entries times ``2**digits``, not negative; every row and every column adds up to a multiple
        of ``2**digits``. Afterwards every entry is such a multiple. At most 64 columns.
    digits : int
    seed : uint64
        Seed of the random bits, one for each digit and row.
    """
    # As all sums are integers, every row and every column has an even number of entries whose last
    # remaining digit is 1. As edges between rows and columns these entries form closed walks; along
    # each walk they are rounded up and down alternately, which keeps all sums, and a fair bit
    # decides which comes first, which makes it unbiased.
    rows, columns = table.shape
    one, words = np.uint64(1), (rows + WORD - 1) // WORD
    row, column = np.empty(rows, np.uint64), np.empty((words, columns), np.uint64)
    word = np.empty(columns, np.uint64)  # the first of each column that may have a mark
    for digit in range(digits):
        _set_bits(table, digit, row, column)
        word[:] = np.uint64(0)
        size = np.int64(1) << digit
        for start in range(rows):
            i, up = np.uint64(start), size
            pending = row[i]
            if pending and _toss(seed, np.uint64(digit * rows + start)):
                up = -size
            while pending:  # at the first row at last the walk is closed
                j = lowest_bit(pending)
                table[i, j] += up
                row[i] = pending & (pending - one)
                column[i >> WHICH, j] ^= one << (i & WITHIN)
                while not column[word[j], j]:
                    word[j] += one
                bits = column[word[j], j]
                i = lowest_bit(bits) + (word[j] << WHICH)
                column[word[j], j] = bits & (bits - one)
                table[i, j] -= up
                pending = row[i] ^ (one << j)
                row[i] = pending


ROUNDS = 12
"""Rounds of iterative proportional fitting."""

FLOOR = 1e-6
"""Fraction of a child's people that is added to every part before fitting. Without it a table with
zeros might have no fit: a column whose entries are all 0 could not reach its sum."""

DIGITS = 10
"""Binary digits of the fractions that are rounded; fewer if counts are too large."""

LARGEST = 61
"""Bits of a count with its fraction: below 63, so that sums of two do not overflow."""


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
        In order; some may lie in none of these nodes.
    part, count : int64[m]
    sums : int64[n, parts], changed
    """
    # True counts: integers only, as the noise is added afterwards (docs/decisions/0002).
    at, owner, beyond = 0, np.uint64(0), np.uint64(0)
    for i in range(cell.size):
        if cell[i] >= beyond:
            owner = cell[i] // stride
            beyond = (owner + np.uint64(1)) * stride
            while at < node.size and node[at] < owner:
                at += 1
            if at == node.size:
                return
        if node[at] == owner:
            sums[at, part[i]] += count[i]


@kernel
def list_some(
    table: NDArray[np.int64],
    cell: NDArray[np.uint64],
    some: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """List cell, part and count of all counts of a table that are above 0, row by row.

    Parameters
    ----------
    table : int64[n, parts]
    cell : uint64[n]
    some : uint64[k], int64[k], int64[k], written
        One entry for each of them.
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
    """Fit a table to both margins by iterative proportional fitting, the rows last."""
    for i in range(rows.size):
        for j in range(columns.size):
            u[i, j] += FLOOR * float(rows[i])
    # A fixed number of rounds: a test for convergence could stop differently on another machine.
    # What is missing then is corrected in integers.
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
    """Scale down the columns whose sums are too large."""
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
    """Reduce entries until no row or column exceeds its sum; return the total that is missing.

    ``left``: the sums of rows and columns; afterwards what is missing from each.
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
    # Proportional shares are rounded down, so a few units stay: the second round hands them out.
    # Rows and columns lack the same total, so it always ends with both margins met exactly.
    row, column = left
    lacks = float(missing)
    for last in range(2):
        for i in range(row.size):
            lacking = row[i]
            for j in range(column.size):
                if row[i] == 0:
                    break
                more = min(row[i], column[j])
                if last == 0:
                    more = min(more, np.int64(float(lacking) * (float(column[j]) / lacks)))
                table[i, j] += more
                row[i] -= more
                column[j] -= more


@inline
def _repeat(
    rows: NDArray[np.int64], columns: NDArray[np.int64], total: float
) -> NDArray[np.float64]:
    """Make a table whose rows all have the same shares by column."""
    u = np.empty((rows.size, columns.size))
    for i in range(rows.size):
        for j in range(columns.size):
            u[i, j] = float(rows[i]) * (float(columns[j]) / total)
    return u


@inline
def _count_digits(total: np.int64) -> int:
    """Return how many binary digits fractions can have if a count may be as large as ``total``."""
    digits = DIGITS
    while digits > 0 and total >> (LARGEST - digits):
        digits -= 1
    return digits


@inline
def _shift(counts: NDArray[np.int64], digits: int) -> NDArray[np.int64]:
    """Shift counts to the left by binary digits."""
    # In a loop: Numba names an expression of arrays after its address, so that the same sources
    # would not be compiled to the same bytes.
    shifted = np.empty(counts.size, np.int64)
    for i in range(counts.size):
        shifted[i] = counts[i] << digits
    return shifted


@inline
def _make_exact(
    u: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], digits: int
) -> NDArray[np.int64]:
    """Convert a table to multiples of ``2**-digits`` that meet both margins exactly."""
    # From here on all sums are integers: the margins hold exactly, whatever floating point lost.
    table, unit = np.empty(u.shape, np.int64), float(np.int64(1) << digits)
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            table[i, j] = np.int64(u[i, j] * unit)
    left = _shift(rows, digits), _shift(columns, digits)
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
    """Apportion the parts of nodes to their children, in integers that meet both margins.

    The table of a node has its children as rows and its parts as columns. If parts of the children
    were measured, the table is fitted to both margins, the rows last; then columns whose sums are
    too large are scaled down, and what is missing is added in proportion to what the row and the
    column lack. Otherwise every child has its node's shares. The table is then rounded by
    :func:`geodp.kernels.part_tables.round_table`.

    Parameters
    ----------
    wanted : float64[children, parts], overwritten
        Estimates of the children's parts, not negative; without rows: the node's shares are used.
    rows : int64[children]
        Counts of the children, above 0, node by node.
    members : int64[n]
        Number of children of each node.
    columns : int64[n, parts]
        Parts of the nodes, not negative; they add up to the counts of the node's children.
    seed : uint64[n]
        Seed of each node's random bits.
    out : int64[children, parts], written
        Its rows and columns add up to ``rows`` and ``columns``.
    """
    parts = columns.shape[1]
    column, place = np.empty(parts, np.int64), np.empty(parts, np.int64)
    stop = 0
    for node in range(members.size):
        start, stop = stop, stop + members[node]
        if stop - start == 1:
            out[start] = columns[node]
            continue
        # Parts of 0 are left out: their column is 0 in every child.
        some, total = 0, np.int64(0)
        for j in range(parts):
            if columns[node, j] > 0:
                column[some], place[some] = columns[node, j], j
                total += column[some]
                some += 1
        row_counts, held = rows[start:stop], column[:some]
        if wanted.shape[0]:
            u = np.empty((row_counts.size, some))
            for i in range(row_counts.size):
                for j in range(some):
                    u[i, j] = wanted[start + i, place[j]]
            _fit(u, row_counts, held)
            _take_excess(u, held)
        else:
            u = _repeat(row_counts, held, float(total))
        digits = _count_digits(total)
        table = _make_exact(u, row_counts, held, digits)
        round_table(table, digits, seed[node])
        out[start:stop] = 0
        for i in range(row_counts.size):
            for j in range(some):
                out[start + i, place[j]] = table[i, j] >> digits
