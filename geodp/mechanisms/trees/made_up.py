"""The mechanisms themselves on made-up people, in trees side by side, under public keys."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.refinement import RefinementNoise, refine
from geodp.mechanisms.trees.walk import descend
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable
from geodp.typing import KeyedCounts


@dataclass(frozen=True)
class SyntheticLevels:
    """Some levels of a pyramid; parameters are those of :class:`Descent`."""

    fanouts: tuple[int, ...]
    laws: tuple[Law, ...]
    least: tuple[float, ...]
    passes: int

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of so many trees."""
        above = tuple(accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1))
        descent = Descent(self.fanouts, above[::-1], self.laws, self.least, self.passes)
        roots = np.arange(trees, dtype=np.uint64)
        cells, counts, _ = descend(table, descent, key, roots, threads=1)
        return cells, counts


@dataclass(frozen=True)
class Halving:
    """Some levels of ``topdown``, with its noise; the trees stand under more of its levels."""

    law: Law

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of so many trees."""
        streams = (Stream.TOPDOWN_TOTAL, Stream.TOPDOWN_DETAIL)
        noise = RefinementNoise(*(NodeNoise(key, stream, self.law) for stream in streams))
        cells, counts, _ = refine(table, noise, threads=1)
        return cells, counts
