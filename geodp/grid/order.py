"""The order of a grid's cells: keys are mixed-radix numbers with digits from the axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.kernels import morton
from geodp.reprs import one_line

KEY_BITS = 62
"""Maximal bits of a key: numbers of cells and simulated values fit into an int64
even after padding.
"""

Digits = Sequence[tuple[int, int]]
"""(axis, radix) of digits, most significant first."""


def bits_for(size: int) -> int:
    """Return the number of bits for ``size`` indices from 0."""
    return (size - 1).bit_length()


class Limits(NamedTuple):
    """Limits of the indices that digits of keys encode, within which they are cells.

    Attributes
    ----------
    axes : tuple of int
        Axis of every digit.
    low, high : int64[a]
        First index of a cell on every axis, and one past the last.
    number : int64[p, c]
        Indices of cells on each of the first p axes, in increasing order; on the other axes, all
        indices from ``low`` to ``high`` are cells.
    """

    axes: tuple[int, ...]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    number: NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """An order of cells: axis and radix of every digit of a key, most significant first.

    Attributes
    ----------
    axes : tuple of int
        Axis of every digit.
    radices : tuple of int
        Radix of every digit, at least 2.
    offset : tuple of int
        Added to the index of every axis before it is split into digits, so that blocks of cells
        can coincide with official areas; empty: 0 for all axes.

    Examples
    --------
    >>> order = Order.morton((4, 2))
    >>> order.axes
    (0, 0, 1)
    >>> order.encode(np.array([[3], [1]]))
    array([7], dtype=uint64)
    """

    __repr__ = one_line

    axes: tuple[int, ...]
    radices: tuple[int, ...]
    offset: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.axes) != len(self.radices) or any(radix < 2 for radix in self.radices):
            raise UsageError(
                "An order needs an axis and a radix of at least 2 for every digit.",
                code="order-form",
            )
        if prod(self.radices) > 1 << KEY_BITS:
            raise UsageError(
                f"The grid has more than 2**{KEY_BITS} cells after padding, which is more than "
                "a key can number; choose coarser cells, smaller bounds or fewer attributes.",
                code="grid-too-large",
            )

    @classmethod
    def morton(
        cls, sizes: Sequence[int], *, below: Sequence[int] = (), above: Sequence[int] = ()
    ) -> Order:
        """Create the order that interleaves the bits (Morton 1966) of axes of any sizes.

        The least significant bits of all axes interleave, so that aligned blocks are square at
        every fine level; the longer axes' surplus bits come first.

        Parameters
        ----------
        sizes : sequence of int
            Axes 0, 1, ...; within one round, axis 0 has the more significant bit.
        below, above : sequence of int
            Sizes of further axes, each as a run of bits below or above those.
        """
        # Bits are aligned at the least significant end: the last bits of all axes alternate, so
        # that small blocks are square whatever the shape of the map.
        bits = [bits_for(size) for size in sizes]
        axes = [
            axis
            for position in range(max(bits, default=0) - 1, -1, -1)
            for axis, count in enumerate(bits)
            if count > position
        ]
        # Attributes follow as runs of bits and do not interleave, so that each cell of the map is
        # one run of keys.
        for axis, size in enumerate(below, start=len(bits)):
            axes += [axis] * bits_for(size)
        first = len(bits) + len(below)
        runs = [[axis] * bits_for(size) for axis, size in enumerate(above, start=first)]
        axes = [axis for run in (*runs, axes) for axis in run]
        return cls(tuple(axes), (2,) * len(axes))

    @classmethod
    def official(
        cls,
        sides: Sequence[int],
        first: Sequence[int],
        sizes: Sequence[int],
        attributes: Digits = (),
        under: int | None = None,
    ) -> Order:
        """Create the order of nested areas, by row and column digits of each, from the coarsest.

        Parameters
        ----------
        sides, first, sizes
            See :func:`official_digits`.
        attributes : sequence of (axis, radix)
            Digits of the other axes.
        under : int, optional
            Number in ``sides`` of the areas directly below which they come; -1: above all. Default:
            below the cells.
        """
        parts = official_digits(sides, first, sizes)
        parts.insert(len(parts) if under is None else under + 1, attributes)
        digits = [digit for part in parts for digit in part if digit[1] > 1]
        # Areas start at multiples of the largest side on the code system's lattice. The offset
        # moves the map there, so that its first areas may be incomplete.
        offset = (*(at % sides[0] for at in first), *[0] * len(attributes))
        axes, radices = (tuple(digit[i] for digit in digits) for i in (0, 1))
        return cls(axes, radices, offset)

    def require_fit(self, sizes: Sequence[int]) -> None:
        """Raise UsageError unless the digits can number axes of these sizes."""
        offset = self.offset or (0,) * len(sizes)
        if len(offset) != len(sizes) or min(offset) < 0:
            raise UsageError(
                "An order's offset needs a number of at least 0 for every axis.",
                code="order-offset",
            )
        capacity = [1] * len(sizes)
        for axis, radix in zip(self.axes, self.radices, strict=True):
            if not 0 <= axis < len(capacity):
                raise UsageError(
                    f"The order refers to axis {axis}; the grid has {len(capacity)} axes.",
                    code="order-axis-unknown",
                )
            capacity[axis] *= radix
        if any(
            numbered < size + first
            for numbered, size, first in zip(capacity, sizes, offset, strict=True)
        ):
            raise UsageError(
                "The order has too few digits for the sizes of the grid's axes.",
                code="order-digits-too-few",
            )

    @cached_property
    def is_binary(self) -> bool:
        """Whether every digit is a bit, as the binary tree of `topdown` requires."""
        return all(radix == 2 for radix in self.radices) and not any(self.offset)

    def why_no_halves(self, method: str, remedy: str = "") -> str | None:
        """Return a message why a method cannot split every node in two; None if it can."""
        if self.is_binary:
            return None
        return Rule(
            "order-without-halves",
            f"{method} needs a grid whose order splits every node in two{remedy}.",
        )

    @property
    def follows_map(self) -> bool:
        """Whether blocks of keys are boxes of the map, of equal size except at its edges."""
        return True

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Names of regions and the number of digits of each; empty without regions."""
        return ()

    def without_attributes(self, digits: int, ndim: int) -> Order:
        """Return the order of the cells of maps alone, given their numbers of digits and axes."""
        return Order(self.axes[:digits], self.radices[:digits], self.offset[:ndim])

    def sides(self, digits: int, ndim: int) -> NDArray[np.int64]:
        """Return the cells along each axis of a block of keys that share first digits:
        int64[ndim].
        """
        side = np.ones(ndim, np.int64)
        for axis, radix in zip(self.axes[digits:], self.radices[digits:], strict=True):
            side[axis] *= radix
        return side

    def width(self, digits: int, axis: int) -> int:
        """Return the number of indices of an axis in blocks of keys that share first digits."""
        owners = zip(self.axes[digits:], self.radices[digits:], strict=True)
        return prod(radix for owner, radix in owners if owner == axis)

    def count_prefixes(self, digits: int, axis: int, size: int) -> int:
        """Count the parts of an axis that the first digits of a key distinguish."""
        width, first = self.width(digits, axis), self.offset[axis] if self.offset else 0
        return (first + size - 1) // width - first // width + 1

    def digits_above(self, stride: int) -> int:
        """Return the number of first digits that the keys of a block of ``stride`` keys share.

        ``stride`` is a product of the last radices; ValueError for another number.
        """
        return [prod(self.radices[i:]) for i in range(len(self.radices) + 1)].index(stride)

    def count_cells(
        self, first: NDArray[np.uint64], digits: int, sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Count the domain's cells in blocks of keys that share their first digits: int64[n].

        Parameters
        ----------
        first : uint64[n]
            First key of each block.
        digits : int
            Number of digits that its keys share.
        sizes : sequence of int
            Sizes of the axes.
        """
        counts = np.ones(first.size, np.int64)
        low, sides = self.decode(first, len(sizes)), self.sides(digits, len(sizes))
        for at, side, size in zip(low, sides, sizes, strict=True):
            inside = np.minimum(size - at, side)
            if self.offset:
                # With an offset, the first blocks start before the map, at negative indices.
                inside += np.minimum(at, 0)
            counts *= np.maximum(inside, 0, out=inside)
        return counts

    def limits(self, sizes: Sequence[int]) -> Limits:
        """Return the limits of the indices of axes of these sizes."""
        low = np.array(self.offset or (0,) * len(sizes), np.int64)
        return Limits(self.axes, low, low + np.array(sizes, np.int64), np.empty((0, 0), np.int64))

    def describe(self) -> Any:
        """Return plain values for the release card."""
        return [list(self.axes), list(self.radices), list(self.offset)]

    @cached_property
    def bits(self) -> int:
        """Number of bits of the largest key."""
        return bits_for(prod(self.radices))

    def encode(self, index: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of cell indices: int64[d, n] to uint64[n].

        Raises CodeError for an index beyond the digits of its axis. Padding has keys too; the
        grid's domain decides which keys are cells.
        """
        if self.offset:
            index = index + np.array(self.offset, np.int64)[:, None]
        # Kernels are compiled for contiguous arrays.
        index = np.ascontiguousarray(index, np.int64)
        key = np.empty(index.shape[1], np.uint64)
        axis = np.array(self.axes, np.int64)
        if self.is_binary:
            good = morton.encode_bits(index, axis, key)
        else:
            good = morton.encode_digits(index, axis, np.array(self.radices, np.int64), key)
        if good < key.size:
            raise CodeError(
                good,
                "The index lies beyond the axes that the order numbers.",
                code="index-beyond-axes",
            )
        return key

    def decode(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the cell indices of keys: uint64[n] to int64[ndim, n]."""
        key = np.ascontiguousarray(key, np.uint64)
        index = np.empty((ndim, key.size), np.int64)
        axis = np.array(self.axes, np.int64)
        if self.is_binary:
            morton.decode_bits(key, axis, index)
        else:
            morton.decode_digits(key, axis, np.array(self.radices, np.int64), index)
        if self.offset:
            index -= np.array(self.offset, np.int64)[:, None]
        return index

    def axis_masks(self) -> NDArray[np.uint64]:
        """Return, for every bit of a binary key from the top, all bits of its axis:
        uint64[bits].
        """
        weights = [1 << (len(self.axes) - 1 - i) for i in range(len(self.axes))]
        mask = {
            axis: sum(w for a, w in zip(self.axes, weights, strict=True) if a == axis)
            for axis in set(self.axes)
        }
        return np.array([mask[axis] for axis in self.axes], np.uint64)


def official_digits(
    sides: Sequence[int], first: Sequence[int], sizes: Sequence[int]
) -> list[Digits]:
    """Return the digits of rows and columns for areas of each size; radices may be 1.

    Parameters
    ----------
    sides : sequence of int
        Cells on a side of the areas, the largest first; each divides the one before.
    first, sizes : (rows, columns)
        First index of the map on the code system's lattice, and its size.

    Examples
    --------
    >>> official_digits([10, 1], (5, 0), (12, 8))
    [((0, 2), (1, 1)), ((0, 10), (1, 10))]
    """
    top = [-(-(at % sides[0] + size) // sides[0]) for at, size in zip(first, sizes, strict=True)]
    steps = [top, *([a // b] * 2 for a, b in pairwise(sides))]
    return [tuple(enumerate(step)) for step in steps]
