"""The order of pairs of regions: origin and destination, level by level.

A key's digits are the origin's on the coarsest level, the destination's on the same level, then
both on the next one, so that all pairs of units of one level are nodes of one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.hierarchy import Hierarchy, HierarchyOrder, TableOrder
from geodp.grid.order import KEY_BITS, Limits, Order

ENDS = ("origin", "destination")
"""Names of the two ends of a pair."""

MAX_PARTS = 2048
"""Most children of a node that is split by origin and destination at once."""


@dataclass(frozen=True)
class PairOrder(TableOrder):
    """Digits of the origin's and the destination's numbers in one table of regions, in turn.

    The origin's are on axis 0, the destination's on axis 2, the rows of their places.
    """

    ends: ClassVar[int] = 2

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> PairOrder:
        """Return the order of all pairs of a table's cells.

        Raises UsageError where a key would have too many digits.
        """
        levels = [[(2 * end, r) for end in (0, 1) for r in some] for some in hierarchy.digits]
        digits = [digit for level in levels for digit in level]
        if prod(radix for _, radix in digits) > 1 << KEY_BITS:
            raise UsageError(
                f"Pairs of these units need keys of more than {KEY_BITS} bits; give a table of a "
                "smaller area, or of coarser units.",
                code="pairs-need-long-keys",
            )
        axes, radices = (tuple(digit[i] for digit in digits) for i in (0, 1))
        return cls(axes, radices, hierarchy=hierarchy)

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and how many digits lead to them; one named "" is no pair of a level.

        Both digits of a level make one step, which leaves more of the budget to each level; where
        a node would have more than ``MAX_PARTS`` children, the origin's comes before.
        """
        found: list[tuple[str, int]] = []
        for name, radices in zip(self.hierarchy.levels, self.hierarchy.digits, strict=False):
            if len(radices) == 1 and radices[0] ** 2 <= MAX_PARTS:
                found.append((name, 2))
            else:
                found += [("", 1)] * (2 * len(radices) - 1) + [(name, 1)] * bool(radices)
        return tuple(found)

    def without_attributes(self, digits: int, ndim: int) -> PairOrder:
        """Return this order: pairs of units have no attributes."""
        return self

    def _inner(self) -> Order:
        """Return the same digits, the origin's on axis 0 and the destination's on axis 1."""
        return Order(tuple(axis // 2 for axis in self.axes), self.radices)

    def numbers(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the numbers of origins and destinations in keys: uint64[n] to int64[2, n]."""
        return self._inner().decode(key, self.ends)

    def require_fit(self, sizes: Sequence[int]) -> None:
        """Raise UsageError where the digits cannot number both places' cells."""
        for axis in (0, 2):
            own = tuple(r for at, r in zip(self.axes, self.radices, strict=True) if at == axis)
            cell, shape = self.hierarchy.cell, np.array(sizes[axis : axis + 2])[:, None]
            if own != self.hierarchy.radices or len(sizes) != 2 * self.ends or self.offset:
                raise UsageError(
                    "The order's digits are not those of pairs of its regions.",
                    code="order-not-of-pairs",
                )
            if (cell < 0).any() or (cell >= shape).any():
                raise UsageError("The regions reach beyond the grid.", code="regions-beyond-grid")

    def encode(self, index: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Keys of pairs: int64[4, n] to uint64[n]; CodeError for a cell that no region holds."""
        number = np.stack([self.hierarchy.number_of(index[at : at + 2]) for at in (0, 2)])
        outside = (number < 0).any(axis=0)
        if outside.any():
            raise CodeError(
                int(outside.argmax()), "No region holds the cell.", code="cell-in-no-region"
            )
        return self._inner().encode(number)

    def decode(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Pairs of keys: uint64[n] to int64[4, n]; row and column -1 where no cell is."""
        return np.concatenate([self.hierarchy.cell_of(one) for one in self.numbers(key, ndim)])

    def count_cells(
        self, first: NDArray[np.uint64], digits: int, sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Pairs of the domain in blocks of keys that share their first digits: int64[n]."""
        found = np.ones(first.size, np.int64)
        sides = self._inner().sides(digits, self.ends)
        for low, side in zip(self.numbers(first, len(sizes)), sides, strict=True):
            start, stop = (np.searchsorted(self.hierarchy.number, low + i) for i in (0, side))
            found *= stop - start
        return found

    def limits(self, sizes: Sequence[int]) -> Limits:
        """Of the origin's number, which is axis 0, and of the destination's, axis 1."""
        high = np.full(self.ends, prod(self.hierarchy.radices), np.int64)
        number = np.tile(self.hierarchy.number, (self.ends, 1))
        return Limits(self._inner().axes, np.zeros_like(high), high, number)

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card: all but the table itself."""
        told = HierarchyOrder.of(self.hierarchy).describe()
        return {**told, "axes": list(self.axes), "radices": list(self.radices)}
