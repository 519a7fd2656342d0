"""Sort the counts of many pairs of zones with little memory beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from geodp.table.counts import coalesce
from geodp.typing import IntArray, KeyArray, KeyedCounts

AT_ONCE = 1 << 20
"""Counts that are sorted at once, about."""

SAMPLED = 64
"""One key of so many is looked at to divide all keys into ranges."""


BLOCK = 1 << 23
"""Counts that are collected in one array: freed, it is no longer the process's memory, while many
small arrays leave gaps."""


class Collector:
    """Counts by key from many small arrays, in a few large ones.

    ``most``: no more will be added.
    """

    def __init__(self, most: int = BLOCK) -> None:
        self._full: list[KeyedCounts] = []
        self._block = min(most, BLOCK)
        self._begin()

    def _begin(self) -> None:
        self._key, self._count = np.empty(self._block, np.uint64), np.empty(self._block, np.int64)
        self._size = 0

    def add(self, key: KeyArray, count: IntArray) -> None:
        """Add counts: uint64[n], int64[n]."""
        start = 0
        while start < key.size:
            if self._size == self._block:
                self._full.append((self._key, self._count))
                self._begin()
            some = min(key.size - start, self._block - self._size)
            place = slice(self._size, self._size + some)
            self._key[place] = key[start : start + some]
            self._count[place] = count[start : start + some]
            self._size, start = place.stop, start + some

    def parts(self) -> list[KeyedCounts]:
        """Return everything that was added, in its order."""
        return [*self._full, (self._key[: self._size], self._count[: self._size])]


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
