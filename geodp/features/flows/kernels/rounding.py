"""Dependent rounding of tables of real numbers: whole numbers with exactly the given margins.

Entries are multiples of ``1 / UNITS``, whose sums by row and by column are whole. As long as there
are fractions, some of them form a cycle of rows and columns; moving the same amount around it,
alternately up and down, changes no margin and makes at least one of them whole. Directions are
random, so that each entry keeps its mean. Gandhi, Khuller, Parthasarathy and Srinivasan (2006),
"Dependent rounding and its applications to approximation algorithms", Journal of the ACM 53.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare, bare_inline
from geodp.typing import FloatArray, IntArray

UNITS = 1 << 30
"""Parts of one trip in which entries are counted while they are rounded."""

NONE = -1


@bare_inline
def next_uniform(state: IntArray) -> float:
    """Return the next number in [0, 1) of SplitMix64 (Steele, Lea and Flood 2014)."""
    # Rounding is post-processing, so that its numbers need no cipher.
    word = np.uint64(state[0]) + np.uint64(0x9E3779B97F4A7C15)
    state[0] = np.int64(word)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((word ^ (word >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@bare_inline
def first_fraction(part: IntArray, head: IntArray, following: IntArray, vertex: int) -> int:
    """Return the first fractional entry of a row or column, and unlink the whole ones before it."""
    while head[vertex] != NONE and part[head[vertex]] == 0:
        head[vertex] = following[head[vertex]]
    return int(head[vertex])


@bare_inline
def other_fraction(
    part: IntArray, head: IntArray, following: IntArray, vertex: int, last: int
) -> int:
    """Return a fractional entry of a row or column other than ``last``, which is one of them."""
    first = first_fraction(part, head, following, vertex)
    if first != last:
        return first
    entry = following[first]
    # There is one: the margin is whole, and one fraction alone has no whole sum.
    while part[entry] == 0:
        entry = following[entry]
    following[first] = entry
    return int(entry)


@bare
def move_cycle(
    part: IntArray, count: IntArray, path: IntArray, start: int, end: int, state: IntArray
) -> None:
    """Move parts around the cycle of entries ``path[start:end]`` until one of them is whole."""
    up, down = UNITS, UNITS
    for i in range(start, end):
        entry = part[path[i]]
        low, high = (entry, UNITS - entry) if (i - start) % 2 == 0 else (UNITS - entry, entry)
        up, down = min(up, high), min(down, low)
    # Steps whose mean is 0: every entry keeps its expectation.
    step = up if next_uniform(state) * float(up + down) < float(down) else -down
    for i in range(start, end):
        entry = path[i]
        part[entry] += step if (i - start) % 2 == 0 else -step
        if part[entry] == UNITS:
            part[entry] = 0
            count[entry] += 1


@bare
def link(at: IntArray, part: IntArray, head: IntArray, following: IntArray, entries: int) -> None:
    """Link the fractional entries of every row, or of every column, in their order."""
    head[:] = NONE
    for entry in range(entries - 1, -1, -1):
        if part[entry] > 0:
            following[entry] = head[at[entry]]
            head[at[entry]] = entry


@bare
def round_entries(
    ends: tuple[IntArray, IntArray],
    part: IntArray,
    count: IntArray,
    entries: int,
    links: tuple[IntArray, IntArray, IntArray, IntArray],
    places: tuple[IntArray, IntArray],
    path: IntArray,
    state: IntArray,
) -> None:
    """Round entries up or down, so that the sums of rows and of columns stay what they are.

    Parameters
    ----------
    ends : int64[>= entries], int64[>= entries]
        Row and column of every entry.
    part : int64[>= entries]
        Fractions in units of ``1 / UNITS``, from 0 to ``UNITS - 1``; every row and every column of
        them adds up to a multiple of ``UNITS``. All are 0 afterwards.
    count : int64[>= entries]
        Whole numbers below the entries; increased by 1 where one is rounded up.
    links : int64[rows], int64[columns], int64[>= entries], int64[>= entries]
        Workspace: lists of the fractional entries of rows and columns.
    places : int64[rows], int64[columns]
        Workspace: where a row or column is on the path.
    path : int64[>= rows + columns + 1]
        Workspace.
    state : int64[1]
        State of the random numbers.
    """
    row, column = ends
    row_head, column_head, row_next, column_next = links
    row_place, column_place = places
    link(row, part, row_head, row_next, entries)
    link(column, part, column_head, column_next, entries)
    row_place[:] = NONE
    column_place[:] = NONE
    for start in range(row_head.size):
        while first_fraction(part, row_head, row_next, start) != NONE:
            length, vertex, last, met = 0, start, NONE, NONE
            row_place[start] = 0
            while met == NONE:
                on_row = length % 2 == 0
                if on_row:
                    last = other_fraction(part, row_head, row_next, vertex, last)
                    vertex = column[last]
                    met = column_place[vertex]
                else:
                    last = other_fraction(part, column_head, column_next, vertex, last)
                    vertex = row[last]
                    met = row_place[vertex]
                path[length] = last
                length += 1
                if met == NONE and on_row:
                    column_place[vertex] = length
                elif met == NONE:
                    row_place[vertex] = length
            for i in range(length):
                row_place[row[path[i]]] = NONE
                column_place[column[path[i]]] = NONE
            move_cycle(part, count, path, met, length, state)


@bare
def complete_margins(
    row_rest: IntArray,
    column_rest: IntArray,
    ends: tuple[IntArray, IntArray],
    part: IntArray,
    entries: int,
) -> int:
    """Append entries that fill what rows and columns lack, in their order; return the number.

    Parameters
    ----------
    row_rest, column_rest : int64[rows], int64[columns]
        What they lack, with equal sums; 0 afterwards.
    ends, part
        See :func:`round_entries`; the new ones follow the first ``entries``.
    """
    row, column, i, j = ends[0], ends[1], 0, 0
    while True:
        while i < row_rest.size and row_rest[i] == 0:
            i += 1
        while j < column_rest.size and column_rest[j] == 0:
            j += 1
        if i == row_rest.size or j == column_rest.size:
            return entries
        amount = min(row_rest[i], column_rest[j])
        row[entries], column[entries], part[entries] = i, j, amount
        row_rest[i] -= amount
        column_rest[j] -= amount
        entries += 1


@bare
def scale_to_margins(
    ends: tuple[IntArray, IntArray],
    value: FloatArray,
    entries: int,
    margins: tuple[IntArray, IntArray],
    rests: tuple[IntArray, IntArray],
    sums: tuple[FloatArray, FloatArray],
    part: IntArray,
) -> None:
    """Convert real entries to units, so that no margin is exceeded.

    Parameters
    ----------
    value : float64[>= entries]
        Entries, not negative, whose sums are nearly the margins.
    margins : int64[rows], int64[columns]
        Whole sums that are wanted.
    rests : int64[rows], int64[columns]
        Overwritten with what is lacking, in units.
    sums : float64[rows], float64[columns]
        Workspace.
    part : int64[>= entries]
        Overwritten with the entries in units.
    """
    (row, column), (by_row, by_column) = ends, sums
    by_row[:] = 0.0
    by_column[:] = 0.0
    for entry in range(entries):
        by_row[row[entry]] += value[entry]
        by_column[column[entry]] += value[entry]
    for i in range(by_row.size):
        by_row[i] = margins[0][i] / by_row[i] if by_row[i] > margins[0][i] else 1.0
        rests[0][i] = margins[0][i] * UNITS
    for j in range(by_column.size):
        by_column[j] = margins[1][j] / by_column[j] if by_column[j] > margins[1][j] else 1.0
        rests[1][j] = margins[1][j] * UNITS
    # A little less, as sums of floating-point numbers are not exact.
    unit = (1.0 - 2.0**-40) * UNITS
    for entry in range(entries):
        factor = min(by_row[row[entry]], by_column[column[entry]])
        part[entry] = np.int64(value[entry] * factor * unit)
        rests[0][row[entry]] -= part[entry]
        rests[1][column[entry]] -= part[entry]


@bare
def split_whole(part: IntArray, count: IntArray, entries: int) -> None:
    """Split entries in units into whole numbers and fractions."""
    for entry in range(entries):
        count[entry] = part[entry] // UNITS
        part[entry] -= count[entry] * UNITS
