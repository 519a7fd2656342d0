"""Zones of flows: the cells of a map in the order of their keys, and blocks of them.

Keys of a map interleave the bits of rows and columns, so that the zones of a square block whose
side is a power of two follow each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import cos, hypot, radians

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.features.flows.kernels import balancing
from geodp.grid.crs import unit_of
from geodp.grid.grid import Grid
from geodp.typing import FloatArray, IntArray, KeyArray

NEEDS_MAP = Rule(
    "flows-need-map",
    "Flows need a grid of one map of cells, without attributes, regions or a mask, such as "
    "jis:basic or Grid.regular((rows, columns)); units, H3 and S2 are not supported yet.",
)

LEAST_LAW = 1e-9
"""Least value of a law: no distance is impossible, and whatever was measured has to fit."""

KILOMETRES_A_DEGREE = 111.2
"""Length of a degree of latitude."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Square blocks of zones, in the order of their keys.

    Attributes
    ----------
    side : int
        Rows and columns of a block: a power of two.
    first : int64[n + 1]
        Zones of block i are those from ``first[i]`` to ``first[i + 1]``.
    row, column : int64[n]
        Places of the blocks.
    """

    side: int
    first: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)

    @property
    def number(self) -> int:
        """Number of blocks."""
        return int(self.row.size)

    @property
    def of_zone(self) -> IntArray:
        """Block of every zone: int64[zones]."""
        return np.repeat(np.arange(self.number), np.diff(self.first))

    def sums(self, values: IntArray) -> IntArray:
        """Sum values of zones by block: int64[n]."""
        return np.asarray(np.add.reduceat(values, self.first[:-1]), np.int64)


@dataclass(frozen=True, eq=False)
class Zones:
    """Cells of a map as origins and destinations.

    Attributes
    ----------
    grid : Grid
        One map without attributes and mask.
    key : uint64[n]
        In increasing order.
    row, column : int64[n]
    """

    grid: Grid
    key: KeyArray = field(repr=False)
    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)

    @classmethod
    def of(cls, grid: Grid) -> Zones:
        """Make the zones of a grid; UsageError for a grid of another kind."""
        require_zones(grid)
        index = np.indices(grid.shape).reshape(2, -1)
        key = grid.encode(index)
        order = np.argsort(key)
        return cls(grid, key[order], index[0][order], index[1][order])

    @property
    def number(self) -> int:
        """Number of zones."""
        return int(self.key.size)

    def blocks(self, side: int) -> Blocks:
        """Group the zones into square blocks; side 1: the zones themselves."""
        row, column = self.row // side, self.column // side
        new = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
        starts = np.flatnonzero(np.append(True, new))
        return Blocks(side, np.append(starts, self.number), row[starts], column[starts])

    @cached_property
    def steps(self) -> tuple[float, float, str]:
        """Height and width of a zone, and their unit: km, or cells on a grid without a place."""
        place = self.grid.places[0]
        unit = "" if place.transform is None or place.crs is None else unit_of(place.crs)
        if unit not in ("metre", "degree"):
            return 1.0, 1.0, "cells"
        assert place.transform is not None
        high, wide = abs(place.transform[4]), place.transform[0]
        if unit == "metre":
            return high / 1000, wide / 1000, "km"
        _, south, _, north = place.bounds
        wide *= cos(radians((south + north) / 2))
        return high * KILOMETRES_A_DEGREE, wide * KILOMETRES_A_DEGREE, "km"

    @property
    def extent(self) -> tuple[float, float]:
        """Width of a zone, and diagonal of the map, in the unit of ``steps``."""
        high, wide, _ = self.steps
        rows, columns = self.grid.shape
        return max(high, wide), hypot(rows * high, columns * wide)

    def table(self, decay: float, side: int = 1) -> FloatArray:
        """Compute the law of a decay by the distance in rows and columns of blocks.

        Parameters
        ----------
        decay : float
            Length over which flows decrease by the factor e.
        side : int
            Of the blocks, between which the law is averaged over pairs of their zones.

        Returns
        -------
        float64[rows, columns]
        """
        high, wide, _ = self.steps
        rows, columns = (-(-size // side) * side for size in self.grid.shape)
        # From -(rows - 1) to rows - 1: averages of blocks reach to both sides.
        down, across = np.arange(1 - rows, rows) * high, np.arange(1 - columns, columns) * wide
        law = np.exp(-np.hypot(down[:, None], across) / decay)
        for axis in (0, 1):
            law = average_blocks(law, side, axis)
        return np.asarray(np.maximum(law, LEAST_LAW), np.float64)

    def law(self, decay: float, blocks: Blocks) -> FloatArray:
        """Compute the law of a decay between all pairs of blocks: float64[n, n]."""
        law = np.empty((blocks.number, blocks.number))
        balancing.fill_law(blocks.row, blocks.column, self.table(decay, blocks.side), law)
        return law


def require_zones(grid: Grid) -> None:
    """Raise UsageError for a grid that is not one map of cells in the order of their bits."""
    plain = grid.plain_map is not None and grid.mask is None and grid.hierarchy is None
    if not plain or grid.order != Grid(grid.places).order:
        raise UsageError(NEEDS_MAP)


def average_blocks(law: FloatArray, side: int, axis: int) -> FloatArray:
    """Average a law over all pairs of places in two blocks, along an axis.

    Parameters
    ----------
    law : float64[..., 2 n - 1, ...]
        By differences from ``1 - n`` to ``n - 1``; n is a multiple of the side.
    side : int
    axis : int

    Returns
    -------
    float64[..., n / side, ...]
        By differences of blocks, from 0 on.
    """
    size = (law.shape[axis] + 1) // 2
    # Of two blocks, side - |k| pairs of places lie k further apart than the blocks do.
    weight = (side - np.abs(np.arange(1 - side, side))) / side**2
    edges = [(side, side) if one == axis else (0, 0) for one in range(law.ndim)]
    padded = np.moveaxis(np.pad(law, edges), axis, 0)
    centre = np.arange(size // side) * side + size - 1 + side
    parts = [np.tensordot(weight, padded[at - side + 1 : at + side], 1) for at in centre]
    return np.moveaxis(np.array(parts), 0, axis)
