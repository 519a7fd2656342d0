"""Sort the counts of many pairs of zones with little memory beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from geodp.table.counts import coalesce
from geodp.typing import KeyArray, KeyedCounts

AT_ONCE = 1 << 20
"""Counts that are sorted at once, about."""

SAMPLED = 64
"""One key of so many is looked at to divide all keys into ranges."""


def merge(parts: Sequence[KeyedCounts]) -> KeyedCounts:
    """Join counts by key, in increasing order of keys; each part is sorted in place.

    They are joined range by range, so that beside parts and result little memory is needed.

    Parameters
    ----------
    parts : sequence of (uint64[n], int64[n])
        Keys and counts above 0, in any order; no key occurs twice.
    """
    for key, count in parts:
        key[:], count[:] = coalesce(key, count)
    total = sum(key.size for key, _ in parts)
    keys, counts, start = np.empty(total, np.uint64), np.empty(total, np.int64), 0
    for some in _divide([key for key, _ in parts], -(-total // AT_ONCE)):
        pieces = [(key[s], count[s]) for (key, count), s in zip(parts, some, strict=True)]
        key, count = coalesce(*(np.concatenate(one) for one in zip(*pieces, strict=True)))
        keys[start : start + key.size], counts[start : start + key.size] = key, count
        start += key.size
    return keys, counts


def _divide(keys: Sequence[KeyArray], number: int) -> Iterator[list[slice]]:
    """Yield the slices of sorted arrays of keys that lie in a range, for about equal ranges."""
    sample = np.sort(np.concatenate([np.empty(0, np.uint64), *(key[::SAMPLED] for key in keys)]))
    starts = [0] * len(keys)
    for i in range(1, number + 1):
        ends = [key.size for key in keys]
        if i < number:
            limit = sample[i * sample.size // number]
            ends = [int(np.searchsorted(key, limit)) for key in keys]
        yield [slice(start, end) for start, end in zip(starts, ends, strict=True)]
        starts = ends
