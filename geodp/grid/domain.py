"""The public domain of a grid: which of its keys are cells that can hold people.

A grid's order numbers more keys than there are cells: boxes are padded, masks exclude cells, and
numbers of a hierarchy have gaps. A method that visits, draws or evens out cells asks the domain for
them, regardless of the kind of domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.axes import Mask
from geodp.grid.hierarchy import TableOrder
from geodp.grid.order import Order
from geodp.kernels.key_lists import find
from geodp.reprs import one_line

OUTSIDE = Rule(
    "cell-outside-domain",
    "The cell lies outside the public domain; choose a domain that holds all cells, "
    "or have cells outside dropped (--outside drop, outside='drop').",
)

FAR = (
    "It lies farther from the coastline than the mask of land reaches; a larger distance, such as "
    "--mask land:world:30km, may hold it."
)

PAIRS_OF_MASK = Rule(
    "pairs-of-mask",
    "Trips between the cells of a mask are released as flows (geodp flows publish, "
    "geodp.flows.publish); other methods take pairs of a whole map.",
)

SIDE = 16
"""Least sides of the blocks of places that are looked up before the places themselves."""

MAX_KEYS = 1 << 26
"""Maximal cells of a domain that are enumerated."""


@dataclass(frozen=True, eq=False)
class Domain(ABC):
    """The cells of a grid's box that can hold people.

    Attributes
    ----------
    order : Order
        Order of the grid's cells.
    shape : tuple of int
        Shape of the grid's box.
    is_box : bool
        Whether the domain is the full box, so that its edges are those of the axes.
    kind : str
        What limits the domain, as text; empty for the full box.
    cut : str
        What excludes cells within the bounds, in one word.
    """

    order: Order
    shape: tuple[int, ...]

    is_box: ClassVar[bool] = False
    kind: ClassVar[str]
    cut: ClassVar[str] = "mask"

    @property
    @abstractmethod
    def source(self) -> str:
        """Source of the domain, a text that is published; empty for the full box."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of the mask or the table of regions, in hexadecimal digits.

        Empty for the full box.
        """

    @property
    def outside_rule(self) -> str:
        """Message and remedy for a cell outside the domain."""
        return OUTSIDE

    def describe_mask(self) -> dict[str, str] | None:
        """Return the entry of a release card about the mask; None if there is no mask."""
        return None

    @property
    def ranges(self) -> NDArray[np.uint64]:
        """Ranges [start, stop) of keys that a mask leaves of the box: uint64[r, 2], a copy.

        Empty if there is no mask.
        """
        return np.empty((0, 2), np.uint64)

    @property
    def _numbered(self) -> tuple[int, ...]:
        """Sizes of the axes by which cells are numbered; listed places form one axis."""
        return self.shape

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return prod(self._numbered)

    @abstractmethod
    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) are cells: bool[n]."""

    def contains_lattice(self, row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether places of all combinations of some rows and columns are cells: bool[r, c].

        Parameters
        ----------
        row, col : int64[r], int64[c]
            Indices within the first two axes; those of other axes are 0.
        """
        index = np.zeros((len(self.shape), row.size, col.size), np.int64)
        index[0], index[1] = row[:, None], col
        return self.contains(index.reshape(len(index), -1)).reshape(row.size, col.size)

    def contains_keys(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether keys (uint64[n]) are cells: bool[n]."""
        # `decode` is defined for existing keys only; key 0 is decoded in place of others.
        beyond = key >= np.uint64(prod(self.order.radices))
        index = self.order.decode(np.where(beyond, np.uint64(0), key), len(self.shape))
        return in_box(index, self.shape) & ~beyond

    def overlaps(self, first: NDArray[np.uint64], digits: int) -> NDArray[np.bool_]:
        """Whether blocks of keys that share their first digits hold a cell: bool[n].

        Parameters
        ----------
        first : uint64[n]
            First key of each block.
        digits : int
            Number of leading digits that the keys of a block share.
        """
        return self.order.count_cells(first, digits, self.shape) > 0

    @abstractmethod
    def keys_of_ranks(self, rank: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of cells from their ranks, 0 to ``cells - 1``: int64[n] to uint64[n].

        Domains of any size support this without an enumeration of their cells.
        """

    @abstractmethod
    def ranks_of_keys(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the ranks of cells, see :meth:`keys_of_ranks`: uint64[n] to int64[n]."""

    def count_blocks(self, shifts: Sequence[int]) -> list[int]:
        """Count the aligned blocks of ``2**shift`` consecutive keys with a cell, for each shift.

        Raises UsageError if the domain has to be enumerated and has more than 2**26 cells.
        """
        if self.cells > MAX_KEYS:
            raise UsageError(
                "A grid with a mixed order and unused keys may have up to 2**26 cells; choose "
                "smaller bounds or the Morton order.",
                code="order-too-large",
            )
        key = np.sort(self.keys_of_ranks(np.arange(self.cells)))
        blocks = [key >> np.uint64(shift) for shift in shifts]
        return [1 + int((block[1:] != block[:-1]).sum()) for block in blocks]

    def count_nodes(self, digits: int) -> int:
        """Count the blocks of keys that share their first digits and contain a cell."""
        radices = self.order.radices
        if digits == len(radices):
            return self.cells
        if self.order.is_binary:
            return self.count_blocks([self.order.bits - digits])[0]
        stride = prod(radices[digits:])
        first = np.arange(prod(radices) // stride, dtype=np.uint64) * np.uint64(stride)
        return int(self.overlaps(first, digits).sum())

    def count_label_blocks(self, digits: int, axis: int) -> int:
        """Count the blocks of keys that contain a cell with label 0 of an attribute.

        Parameters
        ----------
        digits : int
            Number of leading digits that the keys of a block share.
        axis : int
            Axis of the attribute.
        """
        return self._count_prefixes(digits, (i for i in range(len(self.shape)) if i != axis))

    def _count_prefixes(self, digits: int, axes: Iterable[int]) -> int:
        """Count combinations of the parts of axes that the first digits of a key distinguish."""
        return prod(self.order.count_prefixes(digits, axis, self.shape[axis]) for axis in axes)

    def to_dense(self) -> NDArray[np.bool_]:
        """Return which cells of the box belong to the domain: bool[shape]."""
        index = np.indices(self.shape, dtype=np.int64).reshape(len(self.shape), -1)
        return self.contains(index).reshape(self.shape)

    def to_vector(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of all ``2**bits`` keys from an array of the box; 0 outside the domain."""
        inside = self.to_dense()
        vector = np.zeros(1 << self.order.bits, values.dtype)
        vector[self.order.encode(np.array(np.nonzero(inside)))] = values[inside]
        return vector


@dataclass(frozen=True, eq=False)
class Rectangular(Domain):
    """All cells of a grid's axes, numbered in index order.

    Examples
    --------
    >>> box = Rectangular(Order.morton((5, 3)), (5, 3))  # padded to 8 x 4
    >>> box.cells, box.count_blocks([0, 2, 4, 5])
    (15, [15, 6, 2, 1])
    """

    __repr__ = one_line

    is_box: ClassVar[bool] = True
    kind: ClassVar[str] = ""

    source: ClassVar[str] = ""
    digest: ClassVar[str] = ""

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices lie inside the axes' sizes."""
        return in_box(index, self.shape)

    def keys_of_ranks(self, rank: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of cells that are numbered in index order."""
        return self.order.encode(np.array(np.unravel_index(rank, self.shape), np.int64))

    def ranks_of_keys(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the ranks of cells in index order."""
        index = tuple(self.order.decode(key, len(self.shape)))
        return np.asarray(np.ravel_multi_index(index, self.shape), np.int64)

    def count_blocks(self, shifts: Sequence[int]) -> list[int]:
        """Count products of aligned intervals, one for each axis."""
        if not self.order.is_binary:
            # Without unused keys the blocks are all full; otherwise gaps lie anywhere and cells
            # are enumerated.
            if self.cells < prod(self.order.radices):
                return super().count_blocks(shifts)
            return [-(-self.cells // (1 << shift)) for shift in shifts]
        return [prod(_blocks_across(self.order, self.shape, shift)) for shift in shifts]

    def to_dense(self) -> NDArray[np.bool_]:
        """Return True for every cell of the box."""
        return np.ones(self.shape, np.bool_)


@dataclass(frozen=True, eq=False)
class _OfMask(Domain):
    """Base of domains that a mask limits: the cells of a map, and pairs of them."""

    mask: Mask

    kind: ClassVar[str] = "mask"

    @property
    def source(self) -> str:
        """Source of the mask."""
        return self.mask.source

    @property
    def outside_rule(self) -> str:
        """Message and remedy; a larger distance is suggested for a mask of land."""
        return OUTSIDE + f" {FAR}" if self.source.startswith("land:") else OUTSIDE

    def describe_mask(self) -> dict[str, str]:
        """Return the source and the digest of the mask."""
        return {"source": self.source, "sha256": self.digest}

    @property
    def digest(self) -> str:
        """SHA-256 of the mask's ranges."""
        return self.mask.sha256


@dataclass(frozen=True, eq=False)
class Masked(_OfMask):
    """The cells of a map's mask, in Morton order, each with all combinations of attributes.

    The mask's places are numbered in key order, and the attributes of each in index order.
    """

    __repr__ = one_line

    @property
    def ranges(self) -> NDArray[np.uint64]:
        """Ranges of the mask."""
        return self.mask.ranges.copy()

    @property
    def _numbered(self) -> tuple[int, ...]:
        """Number of places of the mask, and sizes of the attributes."""
        return (self.mask.cells, *self.shape[2:])

    @property
    def _under(self) -> np.uint64:
        """Number of bits of the attributes."""
        return np.uint64(sum(1 for axis in self.order.axes if axis > 1))

    @cached_property
    def _runs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First place of every run of places, and the number of places before it."""
        start, stop = (self.mask.ranges >> self._under).T
        length = (stop - start).astype(np.int64)
        return start.astype(np.int64), np.cumsum(length) - length

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices lie inside the axes' sizes and the mask."""
        inside = in_box(index, self.shape)
        return inside & self._meets(self.order.encode(np.where(inside, index, 0)), 1)

    def contains_lattice(self, row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Test places only in the blocks of keys that meet the mask, as most of a map do not."""
        digits, high, wide = self._blocks
        down, of_row = np.unique(row // high, return_inverse=True)
        right, of_col = np.unique(col // wide, return_inverse=True)
        first = np.zeros((len(self.shape), down.size, right.size), np.int64)
        first[0], first[1] = high * down[:, None], wide * right
        met = self.overlaps(self.order.encode(first.reshape(len(first), -1)), digits)
        inside = met.reshape(down.size, right.size).take(of_col, axis=1).take(of_row, axis=0)
        at_row, at_col = np.nonzero(inside)
        index = np.zeros((len(self.shape), at_row.size), np.int64)
        index[0], index[1] = row[at_row], col[at_col]
        inside[at_row, at_col] = self.contains(index)
        return inside

    @cached_property
    def _blocks(self) -> tuple[int, int, int]:
        """Digits that keys of a block share, and its rows and columns, at least ``SIDE`` each."""
        digits, rows, cols = len(self.order.radices), 1, 1
        while digits and min(rows, cols) < SIDE:
            digits -= 1
            rows, cols = self.order.sides(digits, len(self.shape))[:2].tolist()
        return digits, rows, cols

    def contains_keys(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Compare the axes too, as a mask's ranges include padded attribute indices."""
        return super().contains_keys(key) & self._meets(key, 1)

    def overlaps(self, first: NDArray[np.uint64], digits: int) -> NDArray[np.bool_]:
        """Whether blocks intersect a range of the mask, which then includes a place of the block.

        Blocks smaller than a place lie within one.
        """
        stride = prod(self.order.radices[digits:])
        return super().overlaps(first, digits) & self._meets(first, stride)

    @cached_property
    def _stops(self) -> NDArray[np.uint64]:
        """Ends of the mask's ranges, in ascending order."""
        return np.ascontiguousarray(self.mask.ranges[:, 1])

    def _meets(self, first: NDArray[np.uint64], length: int) -> NDArray[np.bool_]:
        """Whether runs of keys intersect a range of the mask: bool[n]."""
        ranges = self.mask.ranges
        # Ranges are disjoint and sorted: only the first one that ends after the block's first key
        # can overlap it.
        after = find(self._stops, first + np.uint64(1))
        # A sentinel stands for the range after the last one, which no key reaches.
        start = np.append(ranges[:, 0], np.uint64(2**64 - 1))[after]
        return np.asarray(start < first + np.uint64(length), np.bool_)

    def keys_of_ranks(self, rank: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return keys of cells: places in key order, the attributes of each in index order."""
        number, *labels = np.unravel_index(rank, self._numbered)
        start, before = self._runs
        run = np.searchsorted(before, number, side="right") - 1
        place = (start[run] + number - before[run]).astype(np.uint64)
        within = np.array([np.zeros_like(rank)] * 2 + labels, np.int64)
        return np.asarray(place << self._under | self.order.encode(within), np.uint64)

    def ranks_of_keys(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return ranks of cells: places in key order, the attributes of each in index order."""
        place = (key >> self._under).astype(np.int64)
        start, before = self._runs
        run = np.searchsorted(start, place, side="right") - 1
        number = place - start[run] + before[run]
        labels = self.order.decode(key, len(self.shape))[2:]
        return np.asarray(np.ravel_multi_index((number, *labels), self._numbered), np.int64)

    def count_label_blocks(self, digits: int, axis: int) -> int:
        """Count blocks with any label, and divide by the number of labels."""
        (blocks,) = self.count_blocks([self.order.bits - digits])
        # Every place of a mask has all labels, so each label of the axis has equally many blocks.
        return blocks // self._count_prefixes(digits, (axis,))

    def count_blocks(self, shifts: Sequence[int]) -> list[int]:
        """Count blocks from the ranges, without an enumeration of cells."""
        counts = []
        for shift in shifts:
            if shift <= self._under:
                attributes = _blocks_across(self.order, self.shape, shift)[2:]
                counts.append(self.mask.cells * prod(attributes))
                continue
            first = (self.mask.ranges[:, 0] >> np.uint64(shift)).astype(np.int64)
            last = ((self.mask.ranges[:, 1] - np.uint64(1)) >> np.uint64(shift)).astype(np.int64)
            fresh = last - first + 1
            # Ranges are disjoint and sorted, so only neighbours can share a block, and at most
            # one.
            fresh[1:] -= first[1:] == last[:-1]
            counts.append(int(fresh.sum()))
        return counts


@dataclass(frozen=True, eq=False)
class MaskedPairs(_OfMask):
    """All pairs of the cells of a map's mask, each with all combinations of attributes.

    Origins, then destinations, are numbered in the order of their own keys, and attributes in index
    order. Pairs of a mask are no few ranges of keys, so that no tree divides them: a release of
    flows measures its ends and pairs of blocks.
    """

    __repr__ = one_line

    @property
    def ranges(self) -> NDArray[np.uint64]:
        """Raise UsageError, as methods that need ranges would count pairs outside the mask."""
        raise UsageError(PAIRS_OF_MASK)

    def overlaps(self, first: NDArray[np.uint64], digits: int) -> NDArray[np.bool_]:
        """Raise UsageError, as :attr:`ranges` does."""
        raise UsageError(PAIRS_OF_MASK)

    def count_label_blocks(self, digits: int, axis: int) -> int:
        """Raise UsageError, as :attr:`ranges` does."""
        raise UsageError(PAIRS_OF_MASK)

    @property
    def _numbered(self) -> tuple[int, ...]:
        """Number of places of the mask, once for each end, and sizes of the attributes."""
        return (self.mask.cells, self.mask.cells, *self.shape[4:])

    @cached_property
    def _end(self) -> Masked:
        """Domain of the cells at either end."""
        return Masked(Order.morton(self.shape[:2]), self.shape[:2], self.mask)

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices lie inside the axes' sizes, and both ends inside the mask."""
        inside = in_box(index, self.shape)
        for at in (0, 2):
            inside[inside] = self._end.contains(index[at : at + 2, inside])
        return inside

    def contains_keys(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether keys are pairs of cells of the mask."""
        inside = super().contains_keys(key)
        inside[inside] = self.contains(self.order.decode(key[inside], len(self.shape)))
        return inside

    def keys_of_ranks(self, rank: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return keys of pairs: by origin, then by destination."""
        origin, destination, *labels = np.unravel_index(rank, self._numbered)
        keys = [self._end.keys_of_ranks(one) for one in (origin, destination)]
        places = np.concatenate([self._end.order.decode(one, 2) for one in keys])
        return self.order.encode(np.array([*places, *labels], np.int64))

    def ranks_of_keys(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return ranks of pairs: by origin, then by destination."""
        index = self.order.decode(key, len(self.shape))
        ends = [self._end.order.encode(index[at : at + 2]) for at in (0, 2)]
        numbers = [self._end.ranks_of_keys(one) for one in ends]
        return np.asarray(np.ravel_multi_index((*numbers, *index[4:]), self._numbered), np.int64)


@dataclass(frozen=True, eq=False)
class Hierarchical(Domain):
    """The cells of official regions, with attributes anywhere in their order, or pairs of cells.

    Cells of each map are numbered in the order of regions, the attributes of each in index order.
    """

    __repr__ = one_line

    order: TableOrder

    kind: ClassVar[str] = "table of regions"
    cut: ClassVar[str] = "regions"

    @property
    def source(self) -> str:
        """Source of the table of regions."""
        return self.order.hierarchy.source

    @property
    def digest(self) -> str:
        """SHA-256 of the table."""
        return self.order.hierarchy.sha256

    @property
    def _numbered(self) -> tuple[int, ...]:
        """Numbers of cells of the map, once for each end of a pair, and sizes of attributes."""
        ends = self.order.ends
        return (*(self.order.hierarchy.cells,) * ends, *self.shape[2 * ends :])

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices lie inside the axes' sizes and in a region."""
        inside = in_box(index, self.shape)
        within = np.where(inside, index, 0)
        for end in range(self.order.ends):
            inside &= self.order.hierarchy.number_of(within[2 * end : 2 * end + 2]) >= 0
        return inside

    def count_label_blocks(self, digits: int, axis: int) -> int:
        """Count blocks of places, and multiply by those of other attributes."""
        number, ends = self.order.hierarchy.number, range(self.order.ends)
        places = (np.unique(number // self.order.width(digits, 2 * end)).size for end in ends)
        others = (i for i in range(2 * len(ends), len(self.shape)) if i != axis)
        return prod(places) * self._count_prefixes(digits, others)

    def keys_of_ranks(self, rank: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return keys of cells: in the order of regions, the attributes of each in index order."""
        index, ends = np.unravel_index(rank, self._numbered), self.order.ends
        cells = [self.order.hierarchy.cell[:, number] for number in index[:ends]]
        return self.order.encode(np.array([*np.concatenate(cells), *index[ends:]], np.int64))

    def ranks_of_keys(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return ranks of cells: in the order of regions, attributes of each in index order."""
        place = self.order.numbers(key, len(self.shape))
        # Numbers of cells are strictly increasing, but have gaps.
        number = np.searchsorted(self.order.hierarchy.number, place)
        labels = self.order.decode(key, len(self.shape))[2 * self.order.ends :]
        return np.asarray(np.ravel_multi_index((*number, *labels), self._numbered), np.int64)


def skip_ranks(taken: NDArray[np.int64], number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ranks of cells that are not taken, from their ranks among the free cells.

    Parameters
    ----------
    taken : int64[m]
        Ranks of taken cells, strictly increasing.
    number : int64[n]
        Ranks, from 0 on, among the cells that are not taken.

    Examples
    --------
    >>> skip_ranks(np.array([0, 1, 4]), np.array([0, 1, 2])).tolist()
    [2, 3, 5]
    """
    # The i-th taken cell has taken[i] - i free ones before it.
    before = np.searchsorted(taken - np.arange(taken.size), number, side="right")
    return np.asarray(number + before, np.int64)


def in_box(index: NDArray[np.int64], shape: Sequence[int]) -> NDArray[np.bool_]:
    """Whether indices (int64[d, n]) lie inside axes of some sizes: bool[n]."""
    size = np.array(shape, np.int64)[:, None]
    return np.asarray(((index >= 0) & (index < size)).all(axis=0), np.bool_)


def _blocks_across(order: Order, shape: Sequence[int], shift: int) -> list[int]:
    """Count the aligned blocks of ``2**shift`` keys of a binary order along each axis."""
    low = order.axes[order.bits - shift :]
    return [-(-size // (1 << low.count(axis))) for axis, size in enumerate(shape)]


def domain_of(order: Order, shape: tuple[int, ...], mask: Mask | None, places: int) -> Domain:
    """Return the domain of a grid's order, axes, mask and number of places."""
    if isinstance(order, TableOrder):
        return Hierarchical(order, shape)
    if mask is None:
        return Rectangular(order, shape)
    return (Masked if places == 1 else MaskedPairs)(order, shape, mask)
