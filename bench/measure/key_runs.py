"""Sums over many regions at once, as differences of prefix sums over runs of keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.grid.region import Region
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class KeyRuns:
    """Regions as runs of consecutive keys, so that sums are differences of prefix sums.

    Attributes
    ----------
    end : uint64[e]
        Where runs begin, and the keys past their last; strictly increasing.
    first, past : int64[n]
        Indices into ``end`` of the first key of every run, and of that past its last.
    region : int64[n]
        Index of every run's region.
    regions : int
        Number of regions.
    """

    end: NDArray[np.uint64] = field(repr=False)
    first: IntArray = field(repr=False)
    past: IntArray = field(repr=False)
    region: IntArray = field(repr=False)
    regions: int

    @classmethod
    def of(cls, regions: Sequence[Region]) -> Self:
        """Split regions into runs; a region may have no cells."""
        parts: list[list[Any]] = [[np.empty(0, np.uint64)], [np.empty(0, np.uint64)]]
        counts = []
        for region in regions:
            key = region.key
            gap = key[1:] - key[:-1] != 1
            parts[0].append(key[np.append(True, gap)[: key.size]])
            parts[1].append(key[np.append(gap, True)[: key.size]] + np.uint64(1))
            counts.append(parts[0][-1].size)
        first, past = (np.concatenate(part) for part in parts)
        end, number = np.unique(np.concatenate([first, past]), return_inverse=True)
        ends = number.reshape(2, -1)
        return cls(end, ends[0], ends[1], np.repeat(np.arange(len(counts)), counts), len(counts))

    def sums(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Compute the regions' sums: float64[regions]."""
        before = np.concatenate([np.zeros(1, table.count.dtype), np.cumsum(table.count)])
        at = before[np.searchsorted(table.key, self.end)]
        held = (at[self.past] - at[self.first]).astype(np.float64)
        return np.bincount(self.region, held, self.regions).astype(np.float64)
