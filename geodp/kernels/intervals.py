"""Intervals of a list of counts: how even they are, and the cheapest way to cut the list."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel


@kernel
def deviations(
    x: NDArray[np.int64],
    rank: NDArray[np.int64],
    level: NDArray[np.int64],
    width: int,
    found: NDArray[np.int64],
) -> None:
    """``sum |x - median|`` of all intervals of one width, in whole numbers.

    The sum of the upper half less that of the lower half. The counts of the interval are kept as
    sums over ranks (Fenwick 1994), in which half of them is found from above.

    Parameters
    ----------
    x : int64[n]
        Not negative; their sum is below 2**62.
    rank : int64[n]
        ``x[i] = level[rank[i]]``.
    level : int64[k]
        The different counts, increasing.
    width : int
        A power of two of at least 2, and at most n.
    found : int64[n - width + 1], written
        Of the intervals that start at 0, 1, 2 ...
    """
    k = level.size
    number = np.zeros(k + 1, np.int64)
    total = np.zeros(k + 1, np.int64)
    largest = 1
    while 2 * largest <= k:
        largest *= 2
    whole = 0
    for end in range(x.size):
        whole += x[end]
        _add(number, total, rank[end] + 1, 1, x[end])
        start = end - width + 1
        if start < 0:
            continue
        at, left, lower, step = 0, width // 2, 0, largest
        while step:
            if at + step <= k and number[at + step] <= left:
                at += step
                left -= number[at]
                lower += total[at]
            step //= 2
        if left:
            lower += left * level[at]
        found[start] = whole - 2 * lower
        whole -= x[start]
        _add(number, total, rank[start] + 1, -1, -x[start])


@kernel
def _add(
    number: NDArray[np.int64], total: NDArray[np.int64], at: int, one: int, count: int
) -> None:
    """Add to the sums over ranks that hold a rank."""
    while at < number.size:
        number[at] += one
        total[at] += count
        at += at & -at


@kernel
def cheapest(cost: NDArray[np.int64], start: NDArray[np.bool_]) -> None:
    """Cut a list into intervals of the least cost together.

    Among equals that one whose last interval is the longest, then the last but one, and so on.

    Parameters
    ----------
    cost : int64[levels, n]
        Of the intervals of ``2**level`` entries from every start on; what does not fit is not
        read.
    start : bool[n], written
        Where an interval starts.
    """
    n = start.size
    best = np.zeros(n + 1, np.int64)
    last = np.zeros(n + 1, np.int64)
    for end in range(1, n + 1):
        width = 1
        for level in range(cost.shape[0]):
            if width > end:
                break
            found = best[end - width] + cost[level, end - width]
            if level == 0 or found <= best[end]:
                best[end] = found
                last[end] = width
            width *= 2
    start[:] = False
    end = n
    while end:
        end -= last[end]
        start[end] = True
