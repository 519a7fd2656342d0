"""Noisy counts of the blocks of one uniform grid, as coarse as the number of people suggests.

Blocks of rows and columns, and a noisy total, are for ``agrid`` as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.mechanisms.base import MAX_CELLS, Mechanism, Query, within
from geodp.mechanisms.measure import add_noise, release_dense, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable

MIN_BLOCKS = 10
"""Fewest blocks per axis, unless the axis has fewer cells: the 10 of Qardaji et al. (2013)."""


def split_evenly(size: int, parts: int) -> NDArray[np.int64]:
    """Divide an axis into parts as equal as possible; return the part of every index: int64[size].

    Part k starts at index ``floor(k * size / parts)``.

    Examples
    --------
    >>> split_evenly(7, 3)
    array([0, 0, 1, 1, 2, 2, 2])
    """
    return ((np.arange(size) + 1) * parts - 1) // size


def count_blocks(table: CountTable, block: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Count the people of every block exactly: int64[n]; ``block`` has the grid's shape."""
    sums = np.zeros(n, np.int64)
    np.add.at(sums, block[tuple(table.grid.decode(table.key))], table.count)
    return sums


def noisy_total(table: CountTable, event: Measurement, key: NoiseKey, share: Fraction) -> int:
    """Measure the number of people in stage 0 with a share of the budget; at least 0."""
    noisy = add_noise(table.count.sum(keepdims=True), key, 0, event.scale / share)
    # The methods take a root of it, so it must not be negative.
    return max(int(noisy[0]), 0)


def why_no_plane(name: str, grid: Grid) -> str | None:
    """Explain why a method on the full box of two axes cannot take a grid; None: it can."""
    if len(grid.shape) != 2:
        axes = len(grid.shape)
        return Rule(
            "plane-needs-two-axes",
            f"{name} cuts a map into blocks, and takes two axes; this grid has {axes}.",
        )
    if (cells := prod(grid.shape)) > MAX_CELLS:
        return Rule(
            "plane-too-many-cells",
            f"{name} works on every cell of the rectangle around the domain, and takes at most "
            f"{MAX_CELLS:,} cells; this one has {cells:,}.",
        )
    return None


@dataclass(frozen=True)
class UGrid(Mechanism):
    """Qardaji, Yang, Li (2013), UG: noisy counts of g x g blocks, spread evenly inside.

    With ``g = max(10, sqrt(N epsilon / c))``, rounded down, and at most one block per cell, the
    noise of the blocks and the error of spreading evenly are of one size for many data sets.
    The paper takes the number of people N as public. Here it is not: a small share of the
    budget buys a noisy N, and epsilon in the formula is what is left for the blocks. Blocks
    differ by at most one row and column in size.

    Parameters
    ----------
    share : Fraction
        Share of the budget for N: above 0, below 1; otherwise UsageError.
    c : Fraction
        The paper's constant, above 0.
    """

    share: Fraction = field(default=Fraction(1, 20), metadata=within(0, 1, strictly=True))
    c: Fraction = field(default=Fraction(10), metadata=within(0, strictly=True))

    name: ClassVar[str] = "ugrid"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "uniform grid of noisy block counts (Qardaji et al. 2013)"
    citation: ClassVar[str] = (
        "Qardaji, Yang, Li: Differentially Private Grids for Geospatial Data. ICDE 2013."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Qardaji, Yang, Li (2013), section IV: one person changes one block's count by 1; "
        "the number of blocks depends on a noisy total only, and the two shares add up to epsilon",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Uniformity: the cells of a block share its noisy count evenly, which evens out what "
        "differs inside; unbiased for whole blocks, biased for their parts.",
        "Negative counts stay as they are.",
    )

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """Shares of the budget for the number of people and for the blocks."""
        return self.share, 1 - self.share

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids without exactly two axes, and grids that are too large."""
        return why_no_plane(self.name, grid) or super().unsupported(grid)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smaller share, of the total or of the blocks."""
        return min(self.shares)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return "a person counted once changes the total by 1 and the count of one block by 1"

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, and the blocks that depend on it."""
        total, blocks = self.shares
        return (
            stage_query(0, event.scale / total, "total"),
            stage_query(1, event.scale / blocks, "blocks", self.c, MIN_BLOCKS),
        )

    def blocks_per_axis(self, total: int, event: Measurement) -> int:
        """Compute g from a noisy total; it may exceed the cells of an axis."""
        # In exact fractions, so that the number of blocks never depends on a float's last digit.
        return max(MIN_BLOCKS, isqrt(int(total * self.shares[1] / (event.scale * self.c))))

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release all cells of the domain, with equal values within each block."""
        grid = table.grid
        rows, cols = grid.shape
        g = self.blocks_per_axis(noisy_total(table, event, key, self.shares[0]), event)
        # An axis with fewer cells than blocks gets one block per cell.
        tall, wide = min(g, rows), min(g, cols)
        block = split_evenly(rows, tall)[:, None] * wide + split_evenly(cols, wide)
        people = count_blocks(table, block, tall * wide)
        noisy = add_noise(people, key, 1, event.scale / self.shares[1])
        inside = grid.domain.to_dense()
        cells = np.bincount(block[inside], minlength=tall * wide)
        each = noisy / np.maximum(cells, 1)
        return release_dense(np.where(inside, each[block], 0), grid, event)


METHODS = (UGrid(),)
