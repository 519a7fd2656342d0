"""Zones of flows, in an order in which neighbours follow each other, and blocks of them.

Keys of a map interleave the bits of rows and columns, so that the zones of a square block whose
side is a power of two follow each other. Areal units are ordered by where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import cos, hypot, isqrt, radians
from typing import Protocol

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.axes import Attribute
from geodp.grid.crs import unit_of
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import HierarchyOrder
from geodp.grid.order import bits_for
from geodp.grid.pairs import PairOrder
from geodp.grid.units import pairs_of_units
from geodp.kinds.flows.kernels import balancing
from geodp.kinds.flows.units import (
    LEAST_LAW,
    UnitLaw,
    UnitPlaces,
    count_blocks,
    find_places,
)
from geodp.typing import FloatArray, IntArray, KeyArray

NEEDS_MAP = Rule(
    "flows-need-map",
    "Flows need a grid of one map of cells, without attributes or regions, such as jis:basic or "
    "Grid.regular((rows, columns)); or areal units with outlines, or cells of H3 or S2.",
)

KILOMETRES_A_DEGREE = 111.2
"""Length of a degree of latitude."""


@dataclass(frozen=True, eq=False)
class ZoneBlocks:
    """Blocks of zones that lie together, in the order of the zones.

    Attributes
    ----------
    side : int
        Rows and columns of a square block: a power of two. A block of areal units has at most
        ``side**2`` of them.
    first : int64[n + 1]
        Zones of block i are those from ``first[i]`` to ``first[i + 1]``.
    row, column : int64[n]
        Places of the blocks; of areal units in one row.
    on_map : bool
        Whether blocks are squares of a map.
    """

    side: int
    first: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    on_map: bool = True

    @property
    def number(self) -> int:
        """Number of blocks."""
        return int(self.row.size)

    @property
    def places(self) -> dict[str, IntArray]:
        """Places of the blocks by name: row and column, or the number of a block of units."""
        if self.on_map:
            return {"row": self.row, "col": self.column}
        return {"block": self.column}

    @property
    def of_zone(self) -> IntArray:
        """Block of every zone: int64[zones]."""
        return np.repeat(np.arange(self.number), np.diff(self.first))

    def sums(self, values: IntArray) -> IntArray:
        """Sum values of zones by block: int64[n]."""
        return np.asarray(np.add.reduceat(values, self.first[:-1]), np.int64)


@dataclass(frozen=True, eq=False)
class Zones:
    """Cells of a map, or areal units, as origins and destinations.

    Attributes
    ----------
    grid : Grid
        One map without attributes, whose zones are the cells of its mask if it has one; or units.
    key : uint64[n]
        Of cells of a map in increasing order.
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
        if not grid.names.on_map:
            return UnitZones.of_units(grid)
        key = np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))
        return cls(grid, key, *grid.decode(key))

    @property
    def number(self) -> int:
        """Number of zones."""
        return int(self.key.size)

    def find(self, key: KeyArray) -> IntArray:
        """Return the numbers of zones by their keys: uint64[k] to int64[k]."""
        return np.asarray(np.searchsorted(self.key, key), np.int64)

    @property
    def describe_order(self) -> bytes:
        """Describe what blocks depend on besides the grid; empty for cells of a map."""
        return b""

    def blocks(self, side: int) -> ZoneBlocks:
        """Group the zones into blocks of a side; side 1: the zones themselves."""
        row, column = self.row // side, self.column // side
        new = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
        starts = np.flatnonzero(np.append(True, new))
        return ZoneBlocks(side, np.append(starts, self.number), row[starts], column[starts])

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
        """Width of a zone, and diagonal of the box around all, in the unit of ``steps``."""
        high, wide, _ = self.steps
        rows, columns = (int(np.ptp(axis)) + 1 for axis in (self.row, self.column))
        return max(high, wide), hypot(rows * high, columns * wide)

    def table(self, decay: float, side: int = 1) -> FloatArray:
        """Compute the law of a decay by the distance in rows and columns of blocks.

        Parameters
        ----------
        decay : float
            Length over which flows decrease by the factor e.
        side : int
            Of the blocks, between which the law is averaged over pairs of their zones, as if all
            squares of both were zones.

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

    def law(self, decay: float, blocks: ZoneBlocks) -> FloatArray:
        """Compute the law of a decay between all pairs of blocks: float64[n, n]."""
        law = np.empty((blocks.number, blocks.number))
        balancing.fill_law(blocks.row, blocks.column, self.table(decay, blocks.side), law)
        return law

    def attraction(self, decay: float) -> Attraction:
        """Return the law of a decay between single zones, to be added up."""
        return LatticeLaw(self.row, self.column, self.table(decay))


class Attraction(Protocol):
    """A law of distance between single zones."""

    def attract(
        self, origin: IntArray, block: IntArray, first: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Sum the law from origins to all zones of blocks, times weights of these.

        Parameters
        ----------
        origin : int64[a]
        block : int64[b]
        first : int64[blocks + 1]
            Zones of block i are those from ``first[i]`` to ``first[i + 1]``.
        weight : float64[n]

        Returns
        -------
        float64[a, b]
        """


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """A law between cells of a map, by their distance in rows and columns.

    Attributes
    ----------
    row, column : int64[n]
    table : float64[rows, columns]
        See :meth:`Zones.table`.
    """

    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    table: FloatArray = field(repr=False)

    def attract(
        self, origin: IntArray, block: IntArray, first: IntArray, weight: FloatArray
    ) -> FloatArray:
        """Sum the law from origins to all zones of blocks; see :meth:`Attraction.attract`."""
        value = np.empty((origin.size, block.size))
        places = self.row, self.column
        balancing.attract(places, origin, block, first, weight, self.table, value)
        return value


@dataclass(frozen=True, eq=False)
class UnitZones(Zones):
    """Areal units as origins and destinations.

    Attributes
    ----------
    places : UnitPlaces
        Where they lie, in the order of the zones.
    """

    places: UnitPlaces = field(repr=False)

    @classmethod
    def of_units(cls, grid: Grid) -> UnitZones:
        """Make the zones of a grid of units; UsageError where it does not tell where they lie."""
        assert grid.hierarchy is not None
        places = find_places(grid.hierarchy)
        index = np.stack([np.zeros_like(places.column), places.column])
        return cls(grid, grid.encode(index), index[0], index[1], places)

    @cached_property
    def _sorted(self) -> IntArray:
        return np.argsort(self.key)

    def find(self, key: KeyArray) -> IntArray:
        """Return the numbers of zones by their keys."""
        return np.asarray(self._sorted[np.searchsorted(self.key, key, sorter=self._sorted)])

    @property
    def describe_order(self) -> bytes:
        """Return the columns of the units in their order, of which blocks are made."""
        return self.column.astype("<i8").tobytes()

    def blocks(self, side: int) -> ZoneBlocks:
        """Group the units into blocks of at most ``side**2`` of them."""
        first = self.places.starts(side)
        number = np.arange(first.size - 1)
        return ZoneBlocks(side, first, np.zeros_like(number), number, on_map=False)

    @cached_property
    def steps(self) -> tuple[float, float, str]:
        """Width of a unit that is as large as most, twice, and the unit: km."""
        width, _ = self.places.extent
        return width, width, "km"

    @property
    def extent(self) -> tuple[float, float]:
        """Width of a unit, and diagonal of the box around all, in kilometres."""
        return self.places.extent

    def law(self, decay: float, blocks: ZoneBlocks) -> FloatArray:
        """Compute the law of a decay between all pairs of blocks."""
        return UnitLaw(self.places, decay).average(blocks.side)

    def attraction(self, decay: float) -> Attraction:
        """Return the law of a decay between single units."""
        return UnitLaw(self.places, decay)


def require_zones(grid: Grid) -> None:
    """Raise UsageError for a grid whose cells are no zones of flows.

    They are those of one map, or of its mask, in the order of their bits, or units of which it is
    known where they lie.
    """
    if grid.hierarchy is not None and not grid.names.on_map and grid.plain_map is not None:
        find_places(grid.hierarchy)
        return
    plain = grid.plain_map is not None and grid.hierarchy is None
    if not plain or grid.order != Grid(grid.places).order:
        raise UsageError(NEEDS_MAP)


def pairs_of(grid: Grid, attributes: Sequence[Attribute] = ()) -> Grid:
    """Return the grid of pairs of zones of a grid, and of labels of attributes."""
    if not grid.names.on_map:
        pairs = pairs_of_units(grid)
    else:
        pairs = grid.pairs() if grid.mask is None else Grid(grid.places * 2, mask=grid.mask)
    for one in attributes:
        pairs = pairs.with_attribute(one.name, one.labels)
    return pairs


def zones_of(pairs: Grid) -> Grid:
    """Return the grid of the zones whose pairs a grid has, without labels.

    Pairs that were read from files know no outlines.
    """
    order = pairs.order
    if isinstance(order, PairOrder):
        return Grid(pairs.places[:1], order=HierarchyOrder.of(order.hierarchy))
    return Grid(pairs.places[:1], mask=pairs.mask)


def count_zone_blocks(grid: Grid, side: int) -> int:
    """Count the blocks of a side, before any is made."""
    if not grid.names.on_map:
        return count_blocks(grid.size, side)
    if grid.mask is not None:
        # Keys of the cells of a square share their first bits; an axis may have fewer than others.
        below = side.bit_length() - 1
        (number,) = grid.domain.count_blocks([sum(min(bits_for(n), below) for n in grid.shape)])
        return number
    rows, columns = (-(-size // side) for size in grid.shape)
    return rows * columns


def side_of_all(grid: Grid) -> int:
    """Return the side of a block that holds all zones, which is no power of two."""
    return max(grid.shape) if grid.names.on_map else isqrt(grid.size - 1) + 1


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
