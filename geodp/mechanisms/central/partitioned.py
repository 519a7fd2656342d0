"""A release in two parts: the top of the tree, and the subtrees below a cut.

What becomes of a node depends on the noise of nodes, which the key and the node decide, and on
true counts of the nodes that are measured. The top therefore needs the totals of the cut's nodes
only, and each subtree its own cells; put together they are the release of one machine, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.margins import AROUND
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels.noise import LEVELS
from geodp.mechanisms.base import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.topdown import TopDown
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.refinement import Noise, Tree
from geodp.mechanisms.trees.walk import Front, Records, Walk
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import Cells

MOST_ROOTS = 1 << 14
"""Most nodes of a cut."""

Counted = tuple[NDArray[np.uint64], NDArray[np.int64]]
"""Keys, or numbers of nodes, in order, and their counts above 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Roots:
    """Nodes of a cut that hold somebody, in key order: noisy, and not released before the end.

    Attributes
    ----------
    prefix : uint64[n]
    count : int64[n]
        What the top gives them.
    z, variance : float64[n]
        Their own estimates, where estimates from below are to improve them; otherwise empty.
    """

    prefix: NDArray[np.uint64]
    count: NDArray[np.int64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]

    def __repr__(self) -> str:
        return "Roots(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return sum(part.nbytes for part in (self.prefix, self.count, self.z, self.variance))

    @classmethod
    def of_counts(cls, prefix: NDArray[np.uint64], count: NDArray[np.int64]) -> Roots:
        """Without estimates."""
        return cls(prefix, count, np.empty(0), np.empty(0))

    def counts_of(self, some: Roots) -> NDArray[np.int64]:
        """Return counts of roots that are among these: int64[n]."""
        return self.count[np.searchsorted(self.prefix, some.prefix)]

    def between(self, first: int, stop: int) -> Roots:
        """Those with ``first <= prefix < stop``."""
        here = slice(*np.searchsorted(self.prefix, np.array([first, stop], np.uint64)))
        return Roots(self.prefix[here], self.count[here], self.z[here], self.variance[here])


@dataclass(frozen=True, eq=False, repr=False)
class Subtrees:
    """What is below some roots, with all noise drawn.

    Attributes
    ----------
    roots : Roots
        With their estimates improved from below.
    cells : pair of arrays
        Released cells and their counts, where they do not wait for the top; otherwise empty.
    records : Records
        What the second pass needs; empty without one.
    """

    roots: Roots
    cells: Counted
    records: Records

    def __repr__(self) -> str:
        return "Subtrees(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all that is kept, see :class:`Roots`."""
        cells = sum(part.nbytes for part in self.cells)
        return getsizeof(self.roots) + cells + getsizeof(self.records)


@dataclass(frozen=True)
class TreePartition(ABC):
    """Where a method's tree on a grid is cut, and how its two parts are refined.

    Attributes
    ----------
    grid : Grid
    event : Measurement
    method : Mechanism
    """

    grid: Grid
    event: Measurement
    method: Mechanism

    @property
    @abstractmethod
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""

    @property
    def two_passes(self) -> bool:
        """Whether the top waits for what subtrees tell of their roots."""
        return False

    @abstractmethod
    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the roots, from totals of the cut's nodes at the first key of each."""

    @abstractmethod
    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return some subtrees, from the cells that they hold and perhaps others."""

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: NDArray[np.float64],
        variance: NDArray[np.float64],
    ) -> Counted:
        """Roots above 0 by the second pass, from the estimates that subtrees made."""
        raise NotImplementedError

    def finish(self, found: Subtrees, count: NDArray[np.int64]) -> Counted:
        """Released cells of some subtrees, from the final counts of their roots."""
        return found.cells

    def nodes(self) -> NDArray[np.uint64]:
        """Return the cut's nodes that hold a cell of the public domain: uint64[n]."""
        every = np.arange(prod(self.grid.order.radices) // self.stride, dtype=np.uint64)
        return every[overlaps(self.grid, every, self.stride)]


@dataclass(frozen=True)
class PyramidPartition(TreePartition):
    """Of the pyramid: at its finest level with at most ``MOST_ROOTS`` nodes."""

    method: Pyramid

    @property
    def level(self) -> int:
        """The cut's level in the chain: what is around a cell lies with it, or roots are cells."""
        strides = self.descent.strides
        few = [i for i, s in enumerate(strides) if strides[0] // s <= MOST_ROOTS]
        return max(i for i in few if strides[i] == 1 or strides[i] >= AROUND)

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
        return self.descent.strides[self.level]

    @property
    def descent(self) -> Descent:
        """The method's levels and noise."""
        return self.method.descent(self.grid, self.event)

    @property
    def two_passes(self) -> bool:
        """As the method's setting says."""
        return self.method.passes == 2

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the first pass down to the cut."""
        walk = Walk.of(totals, self.descent, key)
        front, _ = walk.roots(np.zeros(1, np.uint64))
        cut, _ = walk.open(front, self.level)
        return Roots(cut.prefix, cut.count, cut.z, cut.variance)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the first pass below the cut, and estimates from below up to the roots."""
        walk, none = Walk.of(cells, self.descent, key), Records([], 0)
        estimates = roots.z.copy(), roots.variance.copy()  # a task may run again
        front = Front(self.level, roots.prefix, roots.count, *estimates)
        if not self.two_passes:
            found, _ = walk.cells(front, self.descent.last)
            return Subtrees(roots, found, none)
        records, _ = walk.measure(front, self.descent.last)
        better = replace(roots, z=front.z, variance=front.variance)
        return Subtrees(better, (np.empty(0, np.uint64), np.empty(0, np.int64)), records)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: NDArray[np.float64],
        variance: NDArray[np.float64],
    ) -> Counted:
        """Run the first pass once more, with better estimates of the roots, and the second."""
        walk = Walk.of(totals, self.descent, key)
        front, uniform = walk.roots(np.zeros(1, np.uint64))
        cut, _ = walk.open(front, self.level)
        count = walk.settle(front, uniform, replace(cut, z=z, variance=variance))
        return cut.prefix[count > 0], count[count > 0]

    def finish(self, found: Subtrees, count: NDArray[np.int64]) -> Counted:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return found.cells
        roots, empty = found.roots, Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        front = Front(self.level, roots.prefix, roots.count, roots.z, roots.variance)
        walk = Walk.of(empty, self.descent, NoiseKey(bytes(32)))
        records = Records([*found.records.pieces], found.records.opened)  # it may run again
        return walk.share(front, self.descent.last, count, records)


@dataclass(frozen=True)
class TopDownPartition(TreePartition):
    """Of the paper's method: at its lowest level with at most ``MOST_ROOTS`` nodes."""

    @property
    def level(self) -> int:
        """A multiple of four above the cells, or the root: there blocks of noise start."""
        too_many = max(self.grid.bits - MOST_ROOTS.bit_length() + 1, 0)
        return max(self.grid.bits + -too_many // LEVELS * LEVELS, 0)

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
        return 1 << (self.grid.bits - self.level)

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the refined nodes of the cut."""
        noise = Noise.of(self.event, key)
        tree = Tree(totals, noise.detail)
        (prefix, total), _ = tree.below(tree.root(noise), 0, self.level)
        return Roots.of_counts(prefix.view(np.uint64), total)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the refined cells."""
        tree = Tree(cells, Noise.of(self.event, key).detail)
        nodes = roots.prefix.astype(np.int64), roots.count
        (prefix, count), _ = tree.below(nodes, self.level, self.grid.bits)
        return Subtrees(roots, (prefix.view(np.uint64), count), Records([], 0))


def partition_of(method: Mechanism, grid: Grid, event: Measurement) -> TreePartition:
    """Return the cut of a method; UsageError for one that cannot be cut."""
    if isinstance(method, Pyramid):
        return PyramidPartition(grid, event, method)
    if isinstance(method, TopDown):
        return TopDownPartition(grid, event, method)
    raise UsageError(f"Partitions are released with pyramid or topdown, not with {method.name}.")


def fill_counts(roots: Roots, counted: Counted) -> NDArray[np.int64]:
    """Return counts of all roots, where those of the others are 0."""
    count = np.zeros(roots.prefix.size, np.int64)
    count[np.searchsorted(roots.prefix, counted[0])] = counted[1]
    return count


def spans(cells: Cells, roots: Roots, stride: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First and one past the last of the cells of each root."""
    first = roots.prefix * np.uint64(stride)
    last = first + np.uint64(stride - 1)
    return np.searchsorted(cells.key, first), np.searchsorted(cells.key, last, "right")
