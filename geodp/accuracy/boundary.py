"""Blocks of keys that are equivalent with respect to the edges of a grid's box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from geodp.grid.grid import Grid

State = tuple[tuple[bool, bool], ...]
"""For every axis: whether the block contains the box's first and its last index."""


@dataclass(frozen=True)
class BoundaryBlocks:
    """Blocks of keys that share their first digits, classified by the edges they touch.

    The number of cells of blocks after equally many digits depends only on whether they contain
    the first and the last index of each axis.

    Attributes
    ----------
    axes, radices : tuple of int
        Axis and radix of each digit.
    first, last : tuple of int
        First and last index of every axis, with the order's offset.
    """

    axes: tuple[int, ...]
    radices: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, grid: Grid) -> BoundaryBlocks:
        """Create the blocks of a grid's box, regardless of a mask."""
        order = grid.order
        first = order.offset or (0,) * len(grid.shape)
        last = tuple(at + size - 1 for at, size in zip(first, grid.shape, strict=True))
        return cls(order.axes, order.radices, tuple(first), last)

    @property
    def root(self) -> State:
        """State of the block of all keys."""
        return ((True, True),) * len(self.first)

    def below(self, state: State, digit: int) -> set[State]:
        """Return the states of the non-empty parts that a digit splits a block into."""
        axis = self.axes[digit]
        width, radix = self._side(digit + 1, axis), self.radices[digit]
        low, high = state[axis]
        first = self.first[axis] // width % radix if low else 0
        last = self.last[axis] // width % radix if high else radix - 1
        states = set()
        # Indices strictly between the first and the last are all equivalent: one of them stands
        # for all.
        for i in {first, min(first + 1, last), last}:
            edges = (low and i == first, high and i == last)
            states.add((*state[:axis], edges, *state[axis + 1 :]))
        return states

    def children(self, state: State, digit: int, stop: int) -> int:
        """Count the blocks of ``stop`` digits with a cell, within one of ``digit`` digits."""
        count = 1
        # Blocks are products of intervals, one along each axis.
        for axis, (low, high) in enumerate(state):
            width, each = self._side(digit, axis), self._side(stop, axis)
            first = self.first[axis] % width // each if low else 0
            last = self.last[axis] % width // each if high else width // each - 1
            count *= last - first + 1
        return count

    def _side(self, digit: int, axis: int) -> int:
        return _side(self.axes, self.radices, digit, axis)


@lru_cache(maxsize=1024)
def _side(axes: tuple[int, ...], radices: tuple[int, ...], digit: int, axis: int) -> int:
    """Return the number of indices of an axis that a block of ``digit`` digits spans."""
    width = 1
    for a, radix in zip(axes[digit:], radices[digit:], strict=True):
        width *= radix if a == axis else 1
    return width
