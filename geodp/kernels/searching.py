"""Places in a sorted list, of wanted values most of which lie near the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline


def find(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return how many values are smaller than each wanted one, as ``np.searchsorted`` does.

    Parameters
    ----------
    values : uint64[n]
        Increasing.
    wanted : uint64[m]
        In any order; quick where each is near the one before.
    """
    found = np.empty(wanted.size, np.int64)
    gallop(values, wanted, found)
    return found


@bare
def gallop(
    values: NDArray[np.uint64], wanted: NDArray[np.uint64], found: NDArray[np.int64]
) -> None:
    """Look on both sides of the last place, twice as far each time (Bentley, Yao 1976)."""
    at = 0
    for i in range(wanted.size):
        # Of the two looks one ends at once.
        at = find_before(values, wanted[i], find_from(values, wanted[i], at))
        found[i] = at


@bare_inline
def find_from(values: NDArray[np.uint64], wanted: np.uint64, at: int) -> int:
    """Return how many values are smaller than one, if ``at`` are; otherwise ``at`` itself."""
    n, step = values.size, 1
    if at >= n or values[at] >= wanted:
        return at
    low = at
    while low + step < n and values[low + step] < wanted:
        low += step
        step *= 2
    return _halve(values, wanted, low, min(low + step, n))


@bare_inline
def find_before(values: NDArray[np.uint64], wanted: np.uint64, at: int) -> int:
    """Return how many values are smaller than one, if those from ``at`` on are not."""
    if at == 0 or values[at - 1] < wanted:
        return at
    high, step = at - 1, 1
    while high - step >= 0 and values[high - step] >= wanted:
        high -= step
        step *= 2
    return _halve(values, wanted, max(high - step, -1), high)


@bare_inline
def _halve(values: NDArray[np.uint64], wanted: np.uint64, low: int, high: int) -> int:
    """Return how many values are smaller: more than ``low``, of which it is, up to ``high``."""
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return high
