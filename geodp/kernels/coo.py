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
        Not negative; their sum fits int64.
    out_key : uint64[n], out_count : int64[n], written

    Returns
    -------
    int
        Number of keys written.
    """
    written = 0
    i = 0
    while i < key.size:
        current = key[i]
        total = np.int64(0)
        while i < key.size and key[i] == current:
            total += count[i]
            i += 1
        if total != 0:
            out_key[written] = current
            out_count[written] = total
            written += 1
    return written
