"""Coordinate lists in key order: keys are strictly increasing, with one count each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel


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
        The sum of their absolute values fits int64.
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


@kernel
def coalesce_with_records(
    key: NDArray[np.uint64],
    order: NDArray[np.int64],
    count: NDArray[np.int64],
    record: NDArray[np.int64],
    out_key: NDArray[np.uint64],
    out_count: NDArray[np.int64],
    out_record: NDArray[np.int64],
    again: NDArray[np.int64],
) -> int:
    """Sum the counts of equal keys, keep their first records, and find the first repetition.

    Parameters
    ----------
    key : uint64[n]
        Sorted.
    order : int64[n]
        Position of each key's count and record.
    count : int64[n]
        Not negative; their sum fits int64.
    record : int64[n]
        Numbers of records; equal keys have different ones.
    out_key : uint64[n], out_count, out_record : int64[n], written
    again : int64[2], changed
        ``again[1]`` is the first record that repeats a key, in this call or an earlier one;
        ``again[0]`` is the first record with that key.

    Returns
    -------
    int
        Number of keys written, including those with a count of 0.
    """
    # Chunks are sorted by key, not by record. The smallest repeating record of all chunks is the
    # one that a user sees first in the file, however the input was cut.
    written = 0
    i = 0
    while i < key.size:
        current = key[i]
        total = count[order[i]]
        first = record[order[i]]
        i += 1
        while i < key.size and key[i] == current:
            total += count[order[i]]
            other = record[order[i]]
            i += 1
            later = max(first, other)
            first = min(first, other)
            if later < again[1]:
                again[1] = later
                again[0] = first
        out_key[written] = current
        out_count[written] = total
        out_record[written] = first
        written += 1
    return written
