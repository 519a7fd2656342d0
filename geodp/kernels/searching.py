"""Places in a sorted list, of wanted values most of which lie near the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare


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
    at, end = 0, values.size
    for i in range(wanted.size):
        one, step = wanted[i], 1
        if at < end and values[at] < one:
            low = at
            while low + step < end and values[low + step] < one:
                low += step
                step *= 2
            high = min(low + step, end)
        else:
            high = at
            while high >= step and values[high - step] >= one:
                high -= step
                step *= 2
            low = max(high - step, -1)
        while high - low > 1:
            middle = (low + high) // 2
            if values[middle] < one:
                low = middle
            else:
                high = middle
        at = high
        found[i] = at
