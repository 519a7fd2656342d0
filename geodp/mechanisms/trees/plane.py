"""Functions for methods on a plane: blocks of rows and columns, and a noisy total."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.mechanisms.base import MAX_CELLS
from geodp.mechanisms.measure import add_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

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
