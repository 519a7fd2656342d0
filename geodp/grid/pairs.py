"""The order of pairs of regions: origin and destination, level by level.

A key's digits are the origin's on the coarsest level, the destination's on the same level, then
both on the next one, so that all pairs of units of one level are nodes of one tree. Digits of
attributes come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.hierarchy import Hierarchy, HierarchyOrder, TableOrder
from geodp.grid.order import KEY_BITS, Digits, Limits, Order

ENDS = ("origin", "destination")
"""Names of the two ends of a pair."""

MAX_PARTS = 2048
"""Maximal children of a node that is split by origin and destination at once."""


@dataclass(frozen=True)
class PairOrder(TableOrder):
    """Alternating digits of the origin's and the destination's numbers in one table of regions.

    The origin's digits are on axis 0, the destination's on axis 2, the rows of their places.
    """

    ends: ClassVar[int] = 2

    @classmethod
    def of(cls, hierarchy: Hierarchy, attributes: Digits = ()) -> PairOrder:
        """Create the order of all pairs of a table's cells; attributes come below them.

        Parameters
        ----------
        hierarchy : Hierarchy
        attributes : sequence of (axis, radix)

        Raises UsageError if a key would have too many bits.
        """
        levels = [[(2 * end, r) for end in (0, 1) for r in some] for some in hierarchy.digits]
        digits = [digit for level in levels for digit in level]
        digits += [digit for digit in attributes if digit[1] > 1]
        # Checked here for a message about pairs; the base class would speak of a grid.
        if prod(radix for _, radix in digits) > 1 << KEY_BITS:
            raise UsageError(
                f"Pairs of these units need keys of more than {KEY_BITS} bits; give a table of a "
                "smaller area, or of coarser units, or fewer attributes.",
                code="pairs-need-long-keys",
            )
        axes, radices = (tuple(digit[i] for digit in digits) for i in (0, 1))
        return cls(axes, radices, hierarchy=hierarchy)

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and the number of digits of each.

        One named "" is not a level of pairs.

        Both digits of a level form one step, which leaves more of the budget to each level; if a
        node would have more than ``MAX_PARTS`` children, the origin's digit is a step before.
        """
        steps: list[tuple[str, int]] = []
        # Pairs of units end at the units: the last digits, which number cells within a unit, have
        # one value and no radix.
        for name, radices in zip(self.hierarchy.levels, self.hierarchy.digits, strict=False):
            if len(radices) == 1 and radices[0] ** 2 <= MAX_PARTS:
                steps.append((name, 2))
            else:
                steps += [("", 1)] * (2 * len(radices) - 1) + [(name, 1)] * bool(radices)
        return tuple(steps)

    def without_attributes(self, digits: int, ndim: int) -> PairOrder:
        """Return the order of the pairs alone."""
        return PairOrder.of(self.hierarchy)

    @cached_property
    def _inner(self) -> Order:
        """Order of the same digits: the origin's number on axis 0, the destination's on axis 1,
        attributes from axis 2 on.
        """
        rows = 2 * self.ends
        axes = (axis // 2 if axis < rows else axis - self.ends for axis in self.axes)
        return Order(tuple(axes), self.radices)

    def numbers(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the numbers of origins and destinations in keys: uint64[n] to int64[2, n]."""
        return self._inner.decode(key, ndim - self.ends)[: self.ends]

    def require_fit(self, sizes: Sequence[int]) -> None:
        """Raise UsageError unless the digits number both places' cells, and other axes."""
        rows = 2 * self.ends
        columns = any(axis < rows and axis % 2 for axis in self.axes)
        for axis in (0, 2):
            radices = tuple(r for at, r in zip(self.axes, self.radices, strict=True) if at == axis)
            cell, shape = self.hierarchy.cell, np.array(sizes[axis : axis + 2])[:, None]
            other = radices != self.hierarchy.radices or columns or self.offset
            if other or len(sizes) < rows:
                raise UsageError(
                    "The digits of the order do not match pairs of its regions.",
                    code="order-not-of-pairs",
                )
            if (cell < 0).any() or (cell >= shape).any():
                raise UsageError("The regions extend beyond the grid.", code="regions-beyond-grid")
        numbers = (prod(self.hierarchy.radices),) * self.ends
        self._inner.require_fit((*numbers, *sizes[rows:]))

    def encode(self, index: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of pairs, with their labels: int64[d, n] to uint64[n].

        Raises CodeError for a cell outside all regions, or a label beyond its attribute's digits.
        """
        number = np.stack([self.hierarchy.number_of(index[at : at + 2]) for at in (0, 2)])
        outside = (number < 0).any(axis=0)
        if outside.any():
            raise CodeError(
                int(outside.argmax()), "The cell is in no region.", code="cell-in-no-region"
            )
        return self._inner.encode(np.concatenate([number, index[2 * self.ends :]]))

    def decode(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the pairs of keys, with their labels: uint64[n] to int64[ndim, n].

        Rows and columns are -1 if no cell has the number.
        """
        inner = self._inner.decode(key, ndim - self.ends)
        cells = [self.hierarchy.cell_of(one) for one in inner[: self.ends]]
        return np.concatenate([*cells, inner[self.ends :]])

    def count_cells(
        self, first: NDArray[np.uint64], digits: int, sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Count the domain's pairs in blocks of keys that share their first digits: int64[n]."""
        ndim = len(sizes) - self.ends
        low, sides = self._inner.decode(first, ndim), self._inner.sides(digits, ndim)
        labels = np.array(sizes[2 * self.ends :], np.int64)[:, None] - low[self.ends :]
        counts = np.clip(labels, 0, sides[self.ends :, None]).prod(axis=0)
        for at, side in zip(low[: self.ends], sides[: self.ends], strict=True):
            start, stop = (np.searchsorted(self.hierarchy.number, at + i) for i in (0, side))
            counts *= stop - start
        return np.asarray(counts, np.int64)

    def limits(self, sizes: Sequence[int]) -> Limits:
        """Return the limits of the origin's number, as axis 0, of the destination's, axis 1, and
        of attributes from axis 2.
        """
        numbers = (prod(self.hierarchy.radices),) * self.ends
        high = np.array((*numbers, *sizes[2 * self.ends :]), np.int64)
        number = np.tile(self.hierarchy.number, (self.ends, 1))
        return Limits(self._inner.axes, np.zeros_like(high), high, number)

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card, without the table."""
        described = HierarchyOrder.of(self.hierarchy).describe()
        return {**described, "axes": list(self.axes), "radices": list(self.radices)}
