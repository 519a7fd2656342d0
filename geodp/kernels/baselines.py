"""Loops of methods of the literature: the buckets of DAWA, and the density of MWEM.

DAWA (:mod:`geodp.mechanisms.baselines.dawa`) partitions a list of counts by the deviations of its
intervals; MWEM (:mod:`geodp.mechanisms.baselines.mwem`) multiplies a piecewise constant density.
"""

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
    deviation: NDArray[np.int64],
) -> None:
    """Compute ``sum |x - median|`` of all intervals of one width, in integers.

    Parameters
    ----------
    x : int64[n]
        Not negative; their sum is below 2**62.
    rank : int64[n]
        ``x[i] = level[rank[i]]``.
    level : int64[k]
        The distinct counts, increasing.
    width : int
        A power of two, 2 to n.
    deviation : int64[n - width + 1], written
        Deviations of the intervals that start at 0, 1, 2 ...
    """
    # The width is even, so the deviation is the sum of the upper half less that of the lower half:
    # an integer, whichever median is taken. The counts of the interval are stored as sums over
    # ranks (Fenwick 1994), in which a search from above finds the lower half in log k steps.
    k = level.size
    number = np.zeros(k + 1, np.int64)
    total = np.zeros(k + 1, np.int64)
    largest = 1
    while 2 * largest <= k:
        largest *= 2
    window_sum = 0
    for end in range(x.size):
        window_sum += x[end]
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
        deviation[start] = window_sum - 2 * lower
        window_sum -= x[start]
        _add(number, total, rank[start] + 1, -1, -x[start])


@kernel
def _add(
    number: NDArray[np.int64], total: NDArray[np.int64], at: int, one: int, count: int
) -> None:
    """Add to all sums of a Fenwick tree that contain a rank."""
    while at < number.size:
        number[at] += one
        total[at] += count
        at += at & -at


@kernel
def cheapest(cost: NDArray[np.int64], start: NDArray[np.bool_]) -> None:
    """Partition a list into intervals of minimal total cost.

    Parameters
    ----------
    cost : int64[levels, n]
        Cost of the interval of ``2**level`` entries from every start; intervals that do not fit
        are not read.
    start : bool[n], written
        Where an interval starts.
    """
    # Dynamic programming over prefixes. Of equal partitions the one with the longest last interval
    # is chosen, then the longest last but one, and so on: ties must not depend on the machine.
    n = start.size
    best = np.zeros(n + 1, np.int64)
    last = np.zeros(n + 1, np.int64)
    for end in range(1, n + 1):
        width = 1
        for level in range(cost.shape[0]):
            if width > end:
                break
            candidate = best[end - width] + cost[level, end - width]
            if level == 0 or candidate <= best[end]:
                best[end] = candidate
                last[end] = width
            width *= 2
    start[:] = False
    end = n
    while end:
        end -= last[end]
        start[end] = True


@kernel
def update_density(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    target: NDArray[np.float64],
    cells: NDArray[np.float64],
    total: float,
    passes: int,
    height: NDArray[np.float64],
) -> None:
    """Repeat multiplicative-weights updates over all measurements, one after the other.

    A measurement t of the pieces first to last - 1 multiplies their density by
    ``exp((t - e) / (2 total))``, where e is their current sum; then all pieces are scaled to
    add up to ``total``.

    Parameters
    ----------
    first, last : int64[q]
        Pieces [first, last) of every measurement.
    target : float64[q]
        The measurements.
    cells : float64[p]
        Cells of every piece; some may be 0, but not all.
    total : float
        Above 0.
    passes : int
    height : float64[p], read and written
        Logarithm of every piece's density, up to a constant; at the end the largest of pieces with
        cells is 0.
    """
    # Logarithms are stored, so that no density overflows, and none that underflows is lost.
    mass = np.empty(height.size)
    for _ in range(passes):
        for q in range(target.size):
            _fill(height, cells, mass)
            total_mass = 0.0
            held = 0.0
            for p in range(height.size):
                total_mass += mass[p]
                if first[q] <= p < last[q]:
                    held += mass[p]
            step = (target[q] - total * held / total_mass) / (2 * total)
            for p in range(first[q], last[q]):
                height[p] += step
    _fill(height, cells, mass)


@kernel
def _fill(
    height: NDArray[np.float64], cells: NDArray[np.float64], mass: NDArray[np.float64]
) -> None:
    """Shift the logarithms so that the largest is 0, and write the pieces' mass."""
    largest = -np.inf
    for p in range(height.size):
        if cells[p] > 0 and height[p] > largest:
            largest = height[p]
    for p in range(height.size):
        height[p] -= largest
        mass[p] = cells[p] * np.exp(height[p]) if cells[p] > 0 else 0.0
