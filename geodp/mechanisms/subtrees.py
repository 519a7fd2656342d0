"""A release in two parts: the top of the tree, and the subtrees below a cut.

What becomes of a node depends on the noise of nodes, which the key and the node decide, and on
true counts of the nodes that are measured. The top therefore needs the totals of the cut's nodes
only, and each subtree its own cells; put together they are the release of one machine, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.mechanisms.base import Mechanism
from geodp.mechanisms.descent import (
    Descent,
    Pieces,
    cells_of,
    combined,
    expanded,
    rounded,
    share_out,
)
from geodp.mechanisms.frontier import Data, Level
from geodp.mechanisms.pyramid import Pyramid
from geodp.mechanisms.topdown import Noise, TopDown, split
from geodp.randomness import NoiseKey
from geodp.tree import overlaps

MOST_ROOTS = 1 << 14
"""Most nodes of a cut."""

ALONE = Pieces(1)
"""A subtree is one task among many: no threads of its own."""


@dataclass(frozen=True)
class Cut(ABC):
    """Where a method's tree on a grid is cut, and how its two parts are refined.

    Attributes
    ----------
    grid : Grid
    event : Event
    """

    grid: Grid
    event: Event

    @property
    @abstractmethod
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""

    @property
    def two_passes(self) -> bool:
        """Whether the top waits for :meth:`estimates` of the subtrees."""
        return False

    @abstractmethod
    def above(self, data: Data, key: NoiseKey) -> list[Level]:
        """Levels from the root to the cut; ``data`` hold totals of the cut's nodes."""

    @abstractmethod
    def below(self, data: Data, roots: Level, key: NoiseKey) -> list[Level]:
        """Levels of some subtrees, from their roots to the cells; ``data`` hold their cells."""

    def totals(
        self, levels: list[Level], z: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Counts of all roots, in key order, from their estimates; ``levels`` are overwritten."""
        return levels[-1].count

    def finished(
        self, levels: list[Level], totals: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Cells above 0 of some subtrees and their counts, in key order."""
        return cells_of(levels)

    def nodes(self) -> NDArray[np.uint64]:
        """The cut's nodes that hold a cell of the public domain: uint64[n]."""
        keys = 1
        for radix in self.grid.order.radices:
            keys *= radix
        every = np.arange(keys // self.stride, dtype=np.uint64)
        return every[overlaps(self.grid, every, self.stride)]


@dataclass(frozen=True)
class PyramidCut(Cut):
    """Of the pyramid: at its finest level with at most ``MOST_ROOTS`` nodes."""

    method: Pyramid

    @property
    def level(self) -> int:
        """The cut's level in the chain."""
        strides = self.descent.strides
        return max(i for i, s in enumerate(strides) if strides[0] // s <= MOST_ROOTS)

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
        return self.descent.strides[self.level]

    @property
    def descent(self) -> Descent:
        """The method's levels and noise."""
        return _descent(self.method, self.grid, self.event)

    @property
    def two_passes(self) -> bool:
        """As the method's setting says."""
        return self.method.passes == 2

    def above(self, data: Data, key: NoiseKey) -> list[Level]:
        """The first pass down to the cut."""
        root = data.frontier(np.zeros(1, np.uint64), self.descent.strides[0])
        return expanded(data, self.descent, key, root, Pieces(), slice(self.level + 1))

    def below(self, data: Data, roots: Level, key: NoiseKey) -> list[Level]:
        """The first pass below the cut, and estimates from below up to the roots."""
        own = replace(roots, z=roots.z.copy(), variance=roots.variance.copy())
        start = data.frontier(roots.prefix, self.stride, roots.count)
        under = slice(self.level + 1, None)
        levels = [own, *expanded(data, self.descent, key, start, ALONE, under)]
        if self.two_passes:
            combined(levels, self.descent.laws[self.level :], ALONE)
        return levels

    def totals(
        self, levels: list[Level], z: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The second pass down to the cut."""
        cut = levels[-1]
        if self.two_passes:
            cut.z[cut.open], cut.variance[cut.open] = z, variance
            combined(levels, self.descent.laws[: self.level + 1], ALONE)
            levels[0].count = rounded(levels[0])[levels[0].open]
            share_out(levels, self.descent.least[: self.level + 1], ALONE)
        return cut.count

    def finished(
        self, levels: list[Level], totals: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The second pass below the cut."""
        own = [replace(level) for level in levels]  # a task that runs again finds what it found
        own[0].count = totals
        if self.two_passes:
            share_out(own, self.descent.least[self.level :], ALONE)
        return cells_of(own)


@dataclass(frozen=True)
class TopDownCut(Cut):
    """Of the paper's method: at its lowest level with at most ``MOST_ROOTS`` nodes."""

    @property
    def level(self) -> int:
        """A multiple of three, as three levels share the blocks of noise of the uppermost."""
        return min(self.grid.bits, MOST_ROOTS.bit_length() - 1) // 3 * 3

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
        return 1 << (self.grid.bits - self.level)

    def above(self, data: Data, key: NoiseKey) -> list[Level]:
        """The refined nodes of the cut."""
        noise = Noise.of(self.event, key)
        start = noise.root(data)
        prefix, count, _ = split(data, noise, start, 0, self.level)
        return [_counted(prefix, count)]

    def below(self, data: Data, roots: Level, key: NoiseKey) -> list[Level]:
        """The refined cells."""
        start = data.frontier(roots.prefix, self.stride, roots.count)
        noise = Noise.of(self.event, key)
        prefix, count, _ = split(data, noise, start, self.level, self.grid.bits)
        return [roots, _counted(prefix, count)]


def cut_of(method: Mechanism, grid: Grid, event: Event) -> Cut:
    """The cut of a method; UsageError for one that cannot be cut."""
    if isinstance(method, Pyramid):
        return PyramidCut(grid, event, method)
    if isinstance(method, TopDown):
        return TopDownCut(grid, event)
    raise UsageError(f"Partitions are released with pyramid or topdown, not with {method.name}.")


def roots_between(level: Level, first: int, stop: int) -> Level:
    """The open nodes of a level with ``first <= prefix < stop``, as roots of subtrees."""
    prefix = level.prefix[level.open]
    here = (prefix >= np.uint64(first)) & (prefix < np.uint64(stop))
    at = level.open[here]
    roots = _counted(prefix[here], level.count[here])
    return replace(roots, z=level.z[at], variance=level.variance[at])


def _counted(prefix: NDArray[np.uint64], count: NDArray[np.int64]) -> Level:
    """Nodes that are all open, whose measurements are not needed any more."""
    none = np.zeros(prefix.size)
    return Level(1, prefix, none, none, np.zeros(0), np.arange(prefix.size), count)


@lru_cache(maxsize=8)
def _descent(method: Pyramid, grid: Grid, event: Event) -> Descent:
    return method.descent(grid, event)
