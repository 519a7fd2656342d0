"""Which blocks of keys look alike from the edges of a grid's box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from geodp.grid.grid import Grid

State = tuple[tuple[bool, bool], ...]
"""For every axis: whether the block holds the box's first and its last index."""


@dataclass(frozen=True)
class BoundaryBlocks:
    """Blocks of keys that share their first digits, up to what tells them apart.

    Blocks after equally many digits differ in how many cells they have only by whether they
    hold the first and the last index of each axis.

    Attributes
    ----------
    axes, radices : tuple of int
        Of the digits.
    first, last : tuple of int
        First and last index of every axis, with the order's offset.
    """

    axes: tuple[int, ...]
    radices: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, grid: Grid) -> BoundaryBlocks:
        """Of a grid's box; a mask is not looked at."""
        order = grid.order
        first = order.offset or (0,) * len(grid.shape)
        last = tuple(at + size - 1 for at, size in zip(first, grid.shape, strict=True))
        return cls(order.axes, order.radices, tuple(first), last)

    @property
    def root(self) -> State:
        """The state of the block of all keys."""
        return ((True, True),) * len(self.first)

    def below(self, state: State, digit: int) -> set[State]:
        """States of the blocks that a digit splits a block into, and that hold a cell."""
        axis = self.axes[digit]
        width, radix = self._side(digit + 1, axis), self.radices[digit]
        low, high = state[axis]
        first = self.first[axis] // width % radix if low else 0
        last = self.last[axis] // width % radix if high else radix - 1
        found = set()
        for i in {first, min(first + 1, last), last}:
            edges = (low and i == first, high and i == last)
            found.add((*state[:axis], edges, *state[axis + 1 :]))
        return found

    def children(self, state: State, digit: int, stop: int) -> int:
        """Blocks of ``stop`` digits that hold a cell, within one of ``digit`` digits."""
        found = 1
        for axis, (low, high) in enumerate(state):
            width, each = self._side(digit, axis), self._side(stop, axis)
            first = self.first[axis] % width // each if low else 0
            last = self.last[axis] % width // each if high else width // each - 1
            found *= last - first + 1
        return found

    def _side(self, digit: int, axis: int) -> int:
        return _side(self.axes, self.radices, digit, axis)


@lru_cache(maxsize=1024)
def _side(axes: tuple[int, ...], radices: tuple[int, ...], digit: int, axis: int) -> int:
    """Return indices of an axis that a block of so many digits spans."""
    found = 1
    for a, radix in zip(axes[digit:], radices[digit:], strict=True):
        found *= radix if a == axis else 1
    return found
