"""Searches in a sorted list, fast if each value lies near the previous one.

Nodes and cells are looked up in key order, so that a bisection of the whole list would be wasteful.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline


def find(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the values that are smaller than each wanted one, like ``np.searchsorted``.

    Parameters
    ----------
    values : uint64[n]
        Increasing.
    wanted : uint64[m]
        In any order; fast if each lies near the previous one.
    """
    places = np.empty(wanted.size, np.int64)
    gallop(values, wanted, places)
    return places


@bare
def gallop(
    values: NDArray[np.uint64], wanted: NDArray[np.uint64], places: NDArray[np.int64]
) -> None:
    """Search around the previous place with doubling steps (Bentley, Yao 1976)."""
    at = 0
    for i in range(wanted.size):
        # One of the two searches, forwards and backwards, ends at once.
        at = find_before(values, wanted[i], find_from(values, wanted[i], at))
        places[i] = at


@bare_inline
def find_from(values: NDArray[np.uint64], wanted: np.uint64, at: int) -> int:
    """Count the values smaller than a wanted one, if at least ``at`` are; else return ``at``."""
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
    """Count the values smaller than a wanted one, if those from ``at`` on are not."""
    if at == 0 or values[at - 1] < wanted:
        return at
    high, step = at - 1, 1
    while high - step >= 0 and values[high - step] >= wanted:
        high -= step
        step *= 2
    return _halve(values, wanted, max(high - step, -1), high)


@bare_inline
def _halve(values: NDArray[np.uint64], wanted: np.uint64, low: int, high: int) -> int:
    """Count the smaller values by bisection: the one at ``low`` is, that at ``high`` is not."""
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return high
