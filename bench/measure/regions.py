"""Groups of regions: sums of errors over them, and closed forms of their squares."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray, IntArray

MAX_DENSE = 1 << 22
"""Maximal keys of a grid whose errors are stored as a vector of all keys."""

MAX_MAP = 1 << 25
"""Maximal cells of a map whose errors are stored as an array of the map."""

Sums = tuple[FloatArray, FloatArray]
"""People, and released minus true counts, of regions; float64[n] each."""


@dataclass(frozen=True, eq=False)
class MapDifference:
    """The difference between a release and the public table it was made from.

    Attributes
    ----------
    grid : Grid
    key : uint64[n] or None
        Keys, strictly increasing; None: all keys.
    people, error : float64[n]
        True counts, and released minus true ones.
    """

    grid: Grid
    key: NDArray[np.uint64] | None = field(repr=False)
    people: FloatArray = field(repr=False)
    error: FloatArray = field(repr=False)

    @classmethod
    def of(cls, truth: CountTable, released: ReleasedTable) -> Self:
        """Create the difference from both tables."""
        n = prod(truth.grid.order.radices)
        # With a vector of all keys, sums over blocks are sums of slices; larger grids merge and
        # sort keys.
        if n <= MAX_DENSE:
            key, size = None, n
            at = truth.key.astype(np.int64), released.key.astype(np.int64)
        else:
            key = np.union1d(truth.key, released.key)
            size = key.size
            at = np.searchsorted(key, truth.key), np.searchsorted(key, released.key)
        people, error = np.zeros(size), np.zeros(size)
        people[at[0]] = truth.count
        error[at[1]] = released.count
        return cls(truth.grid, key, people, error - people)

    def at(self, key: NDArray[np.uint64]) -> Sums:
        """Return people and errors of cells: uint64[n]."""
        if self.key is None:
            place = key.astype(np.int64)
            return self.people[place], self.error[place]
        if not self.key.size:
            return np.zeros(key.size), np.zeros(key.size)
        place = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
        exists = self.key[place] == key
        return np.where(exists, self.people[place], 0), np.where(exists, self.error[place], 0)

    @cached_property
    def blocks(self) -> list[Sums]:
        """Sums over blocks that share i digits, at index i; blocks that are 0 may be omitted."""
        radices = self.grid.order.radices
        key, sums = self.key, [(self.people, self.error)]
        for radix in reversed(radices):
            people, error = sums[-1]
            if key is None:
                sums.append((_fold(people, radix), _fold(error, radix)))
                continue
            key = key // np.uint64(radix)
            first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
            sums.append((_run(people, first), _run(error, first)))
            key = key[first]
        return sums[::-1]

    @cached_property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Prefix sums of people and errors over rows and columns: float64[rows + 1, .]."""
        some = np.flatnonzero((self.error != 0) | (self.people != 0))
        key = some.astype(np.uint64) if self.key is None else self.key[some]
        row, col = self.grid.decode(key)[:2]
        rows, cols = self.grid.shape[:2]
        prefix_sums = []
        for values in (self.people[some], self.error[some]):
            below = np.zeros((rows + 1, cols + 1))
            cells = np.bincount(row * cols + col, values, rows * cols).reshape(rows, cols)
            below[1:, 1:] = cells.cumsum(axis=0).cumsum(axis=1)
            prefix_sums.append(below)
        return prefix_sums[0], prefix_sums[1]


class RegionGroup(Protocol):
    """Regions of one kind and size."""

    @property
    def name(self) -> str:
        """Name for people."""

    def count(self, grid: Grid) -> int:
        """Return the number of regions."""

    def sums(self, difference: MapDifference) -> Sums:
        """Return sums over each region; regions where both are 0 may be omitted."""

    def squares(self, grid: Grid) -> FloatArray | None:
        """Return the mean parts of squares of the regions: float64[digits + 1].

        None if it is not implemented.
        """


@dataclass(frozen=True)
class Blocks:
    """All blocks of keys that share their first digits."""

    name: str
    digits: int

    def count(self, grid: Grid) -> int:
        """Return the number of blocks with a cell."""
        return grid.domain.count_nodes(self.digits)

    def sums(self, difference: MapDifference) -> Sums:
        """Return the sums over blocks."""
        return difference.blocks[self.digits]

    def squares(self, grid: Grid) -> FloatArray:
        """Return the squared parts of every such block inside the domain."""
        stride = _strides(grid)
        # Above its level the block is a part of one node; below it consists of `part` entire
        # nodes.
        part = stride[self.digits] / stride
        return np.asarray(np.where(part < 1, part**2, part), np.float64)


@dataclass(frozen=True, eq=False)
class CellSets:
    """Sets of cells.

    Attributes
    ----------
    name : str
    key : uint64[n]
        Keys of every region's cells, strictly increasing within a region.
    start : int64[r]
        Position of each region's first cell; no region is empty.
    """

    name: str
    key: NDArray[np.uint64] = field(repr=False)
    start: IntArray = field(repr=False)

    @classmethod
    def of(cls, name: str, regions: list[NDArray[np.uint64]]) -> Self:
        """Create the group from the keys of regions; empty regions are dropped."""
        some = [keys for keys in regions if keys.size]
        size = np.array([0, *(keys.size for keys in some)])
        return cls(name, np.concatenate([np.empty(0, np.uint64), *some]), size.cumsum()[:-1])

    @classmethod
    def of_labels(cls, name: str, key: NDArray[np.uint64], label: IntArray) -> Self:
        """Create the group from cells in key order and the number of each cell's region."""
        order = np.argsort(label, kind="stable")
        label = label[order]
        start = np.flatnonzero(np.append(True, label[1:] != label[:-1])[: label.size])
        return cls(name, key[order], start)

    def count(self, grid: Grid) -> int:
        """Return the number of regions."""
        return int(self.start.size)

    def sums(self, difference: MapDifference) -> Sums:
        """Return the sums over every region."""
        people, error = difference.at(self.key)
        return _run(people, self.start), _run(error, self.start)

    def squares(self, grid: Grid) -> FloatArray:
        """Return the mean squared parts over regions."""
        begins = np.zeros(self.key.size, np.bool_)
        begins[self.start] = True
        means = []
        for stride in _strides(grid).tolist():
            node = self.key // np.uint64(stride)
            first = begins.copy()
            # A node that two regions share counts once for each of them.
            first[1:] |= node[1:] != node[:-1]
            inside = np.diff(np.append(np.flatnonzero(first), node.size)) / stride
            means.append(float((inside * inside).sum()) / max(1, self.start.size))
        return np.array(means)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Rectangles of a map, all attributes together.

    Attributes
    ----------
    name : str
    low, high : int64[2, r]
        First row and column, and those past the last.
    """

    name: str
    low: IntArray = field(repr=False)
    high: IntArray = field(repr=False)

    def count(self, grid: Grid) -> int:
        """Return the number of rectangles."""
        return int(self.low.shape[1])

    def sums(self, difference: MapDifference) -> Sums:
        """Return the sums over every rectangle, from prefix sums."""
        (top, left), (bottom, right) = self.low, self.high
        people, error = (
            below[bottom, right] - below[top, right] - below[bottom, left] + below[top, left]
            for below in difference.boxes
        )
        return people, error

    def squares(self, grid: Grid) -> FloatArray | None:
        """Return the mean squared parts over rectangles, as a product over the axes."""
        order, ndim = grid.order, len(grid.shape)
        # Only then are blocks boxes, whose overlap with a rectangle is a product over the axes.
        if not order.follows_map:
            return None
        # Blocks start where the offset puts them, which may be outside the map.
        offset = order.offset or (0,) * ndim
        ends: list[tuple[Any, Any]] = list(zip(self.low, self.high, strict=True))
        ends += [(np.zeros(1, np.int64), np.array([size])) for size in grid.shape[2:]]
        means = []
        for digits in range(len(order.radices) + 1):
            product: FloatArray = np.ones(1)
            sides = order.sides(digits, ndim).tolist()
            for (low, high), side, first in zip(ends, sides, offset, strict=True):
                product = product * _squares_of(low + first, high + first, side)
            means.append(float(product.mean()))
        return np.array(means)


def _squares_of(low: IntArray, high: IntArray, side: int) -> FloatArray:
    """Return sums of squared parts of runs of ``side`` cells between ends of an axis."""
    first, last = low // side, (high - 1) // side
    ends = ((first + 1) * side - low) ** 2 + (high - last * side) ** 2
    full = last - first - 1
    return np.where(first == last, ((high - low) / side) ** 2, ends / side**2 + full)


def _strides(grid: Grid) -> FloatArray:
    """Return the number of keys of blocks that share i digits, at index i: float64[digits + 1]."""
    radices = reversed(grid.order.radices)
    return np.array([*accumulate(radices, lambda a, b: a * b, initial=1.0)])[::-1]


def _fold(values: FloatArray, radix: int) -> FloatArray:
    """Return sums of ``radix`` neighbours."""
    folded = values[::radix].copy()
    for i in range(1, radix):
        folded += values[i::radix]
    return folded


def _run(values: FloatArray, first: IntArray) -> FloatArray:
    return np.add.reduceat(values, first) if first.size else np.zeros(0)
