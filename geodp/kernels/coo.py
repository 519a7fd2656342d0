"""Sorted coordinate lists: keys strictly increasing, one count a key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import kernel


@kernel
def coalesce(
    key: NDArray[np.uint64],
    count: NDArray[np.int64],
    out_key: NDArray[np.uint64],
    out_count: NDArray[np.int64],
) -> int:
    """Sum the counts of equal keys and drop the keys whose sum is 0.

    Parameters
    ----------
    key : uint64[n]
        Sorted.
    count : int64[n]
        Not negative.
    out_key : uint64[n], out_count : int64[n], written

    Returns
    -------
    int
        Number of keys written, or -1 if a sum exceeds int64.
    """
    written = 0
    i = 0
    while i < key.size:
        current = key[i]
        total = np.int64(0)
        while i < key.size and key[i] == current:
            total += count[i]
            if total < 0:
                return -1
            i += 1
        if total != 0:
            out_key[written] = current
            out_count[written] = total
            written += 1
    return written


@kernel
def sum_blocks(
    key: NDArray[np.uint64],
    count: NDArray[np.int64],
    shift: int,
    out_key: NDArray[np.uint64],
    out_count: NDArray[np.int64],
) -> int:
    """Sum a sorted list over aligned blocks of ``2**shift`` keys; returns their number."""
    written = 0
    for i in range(key.size):
        block = key[i] >> np.uint64(shift)
        if written > 0 and out_key[written - 1] == block:
            out_count[written - 1] += count[i]
        else:
            out_key[written] = block
            out_count[written] = count[i]
            written += 1
    return written
