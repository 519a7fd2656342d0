"""Stays of persons from records of places, and which of them follow each other.

Records are sorted by unit and time. Positions are whole centimetres in space, and times whole
seconds, so that stays are the same wherever they are computed. What is found of a unit depends on
its own records alone.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline
from geodp.typing import IntArray, KeyArray

Position: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Coordinates in space: int32[n] each, in centimetres."""

Total: TypeAlias = tuple[np.int64, np.int64, np.int64, np.int64]
"""A sum of positions, in centimetres, and of how many records."""

FAR = np.int64(1 << 31)
"""More centimetres than there are between two places, and few enough to be squared."""


@bare_inline
def square_step(at: Position, i: int, j: int) -> np.int64:
    """Return the squared distance of two records."""
    x = np.int64(at[0][i]) - np.int64(at[0][j])
    y = np.int64(at[1][i]) - np.int64(at[1][j])
    z = np.int64(at[2][i]) - np.int64(at[2][j])
    return x * x + y * y + z * z


@bare_inline
def is_fast(time: IntArray, at: Position, i: int, j: int, radius: int, speed: int) -> bool:
    """Whether a step to a later record is longer than the radius, and faster than the speed."""
    reach = max(min(speed * (time[j] - time[i]), FAR), radius)
    return bool(square_step(at, i, j) > reach * reach)


@bare_inline
def is_before(at: Position, zone: KeyArray, i: int, j: int) -> bool:
    """Whether a record has lower coordinates than another, compared one after the other."""
    for axis in range(3):
        if at[axis][i] != at[axis][j]:
            return bool(at[axis][i] < at[axis][j])
    return bool(zone[i] < zone[j])


@bare
def select_records(
    unit: IntArray,
    time: IntArray,
    at: Position,
    zone: KeyArray,
    radius: int,
    speed: int,
    selected: IntArray,
) -> int:
    """Select the records of which stays are made.

    Of several records of a unit in one second the one with the lowest coordinates is selected. Then
    every record is left out to which and from which a step is too fast.

    Parameters
    ----------
    unit, time : int64[n]
        Sorted.
    at : Position
    zone : uint64[n]
    radius, speed : int
        Centimetres, and centimetres a second.
    selected : int64[n], written
        Numbers of the selected records, increasing.

    Returns
    -------
    int
        How many they are.
    """
    some = 0
    for i in range(unit.size):
        last = selected[some - 1] if some > 0 else i
        if last < i and unit[last] == unit[i] and time[last] == time[i]:
            if is_before(at, zone, i, last):
                selected[some - 1] = i
        else:
            selected[some] = i
            some += 1
    left, fast_before = 0, False
    for i in range(some):
        one = selected[i]
        fast_after = False
        if i + 1 < some and unit[selected[i + 1]] == unit[one]:
            fast_after = is_fast(time, at, one, selected[i + 1], radius, speed)
        if not (fast_before and fast_after):
            selected[left] = one
            left += 1
        fast_before = fast_after
    return left


@bare_inline
def is_broken(
    unit: IntArray, time: IntArray, at: Position, i: int, j: int, limits: tuple[int, int, int, int]
) -> bool:
    """Whether no stay extends from a record to the next one, and no trip either."""
    if unit[i] != unit[j] or time[j] - time[i] > limits[3]:
        return True
    return is_fast(time, at, i, j, limits[0], limits[1])


@bare_inline
def find_end(
    unit: IntArray,
    time: IntArray,
    at: Position,
    selected: IntArray,
    start: int,
    limits: tuple[int, int, int, int],
) -> int:
    """Return the number of the last record of the run that begins at ``start``."""
    end, reach = start, limits[0] * limits[0]
    while end + 1 < selected.size:
        there = selected[end + 1]
        if is_broken(unit, time, at, selected[end], there, limits):
            return end
        if square_step(at, selected[start], there) > reach:
            return end
        end += 1
    return end


@bare_inline
def add_up(
    at: Position, selected: IntArray, within: NDArray[np.bool_], start: int, stop: int
) -> Total:
    """Add up the positions of the records of stays from ``start`` to before ``stop``."""
    x, y, z, size = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(start, stop):
        if within[i]:
            x, y, z = x + at[0][selected[i]], y + at[1][selected[i]], z + at[2][selected[i]]
            size += 1
    return x, y, z, size


@bare_inline
def find_nearest(
    at: Position,
    selected: IntArray,
    within: NDArray[np.bool_],
    start: int,
    stop: int,
) -> int:
    """Return the record of a stay that is the closest to the mean position of them all.

    The first of several; the mean is rounded down to centimetres.
    """
    x, y, z, size = add_up(at, selected, within, start, stop)
    x, y, z = x // size, y // size, z // size
    best, nearest = FAR * FAR, start
    for i in range(start, stop):
        if within[i]:
            one = selected[i]
            east, north, up = at[0][one] - x, at[1][one] - y, at[2][one] - z
            apart = east * east + north * north + up * up
            if apart < best:
                best, nearest = apart, i
    return int(selected[nearest])


@bare_inline
def are_near(one: Total, other: Total, radius: int) -> bool:
    """Whether the mean positions of two groups of records are within the radius."""
    x = one[0] // one[3] - other[0] // other[3]
    y = one[1] // one[3] - other[1] // other[3]
    z = one[2] // one[3] - other[2] // other[3]
    return bool(x * x + y * y + z * z <= radius * radius)


@bare
def find_stays(
    unit: IntArray,
    time: IntArray,
    at: Position,
    zone: KeyArray,
    selected: IntArray,
    limits: tuple[int, int, int, int],
    within: NDArray[np.bool_],
    first: IntArray,
    place: KeyArray,
    follows: NDArray[np.bool_],
) -> int:
    """Find the stays of every unit.

    Records are cut into runs that are within the radius of their first one, without a step that is
    too fast or too long in time. A run of at least the dwell is a stay. It continues the stay
    before if no such step is between them, their mean positions are within the radius, and either
    no record is between them, or at most the dwell. What it continues is then one stay, of the
    records of all its runs.

    Parameters
    ----------
    unit, time, at, zone
        See :func:`select_records`.
    selected : int64[m]
        Records of which stays are made.
    limits : int, int, int, int
        Radius in centimetres, speed in centimetres a second, dwell of at least 1 and gap in
        seconds.
    within : bool[m], written
        Which of the selected records are of a stay.
    first : int64[m // 2], written
        Position of the first record of every stay in ``selected``.
    place : uint64[m // 2], written
        Zone of the record that is the closest to the mean position of those of the stay.
    follows : bool[m // 2], written
        Whether a trip leads from the stay before to this one.

    Returns
    -------
    int
        How many stays there are.
    """
    found, start, ended, broken = 0, 0, 0, True
    before = np.int64(0), np.int64(0), np.int64(0), np.int64(1)
    while start < selected.size:
        end = find_end(unit, time, at, selected, start, limits)
        one = selected[start]
        long = time[selected[end]] - time[one] >= limits[2]
        within[start : end + 1] = long
        if long:
            run = add_up(at, selected, within, start, end + 1)
            soon = ended + 1 == start or time[one] - time[selected[ended]] <= limits[2]
            if soon and not broken and are_near(before, run, limits[0]):
                x, y, z = before[0] + run[0], before[1] + run[1], before[2] + run[2]
                before = x, y, z, before[3] + run[3]
            else:
                first[found], follows[found] = start, not broken
                before = run
                found += 1
            ended, broken = end, False
        if end + 1 < selected.size and is_broken(
            unit, time, at, selected[end], selected[end + 1], limits
        ):
            broken = True
        start = end + 1
    for i in range(found):
        stop = first[i + 1] if i + 1 < found else selected.size
        place[i] = zone[find_nearest(at, selected, within, first[i], stop)]
    return found


@bare
def chain_stays(
    unit: IntArray,
    begin: IntArray,
    end: IntArray,
    zone: KeyArray,
    gap: int,
    first: IntArray,
    follows: NDArray[np.bool_],
) -> int:
    """Join stays of one zone that meet or overlap, and find which follow each other.

    Parameters
    ----------
    unit, begin, end : int64[n]
        Sorted by unit and begin. The least number is a begin before the period of the unit, and the
        largest an end after it. No trip leads from a stay to one with the same begin, as it is not
        known which of them was first.
    zone : uint64[n]
    gap : int
        Most seconds between two stays with a trip from one to the other.
    first : int64[n], written
        Number of the first row of every stay.
    follows : bool[n], written
        Whether a trip leads from the stay before to this one.

    Returns
    -------
    int
        How many stays there are.
    """
    found, until = 0, np.int64(0)
    for i in range(unit.size):
        same = i > 0 and unit[i] == unit[i - 1]
        meets = same and begin[i] <= until
        if meets and zone[i] == zone[first[found - 1]]:
            until = max(until, end[i])
        else:
            later = same and begin[i] > begin[first[found - 1]]
            first[found] = i
            follows[found] = later and (meets or begin[i] - until <= gap)
            until = end[i]
            found += 1
    return found
