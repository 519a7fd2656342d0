"""Coarser grids: the published areas of a code system, or square blocks of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.axes import Mask
from geodp.grid.codes import coarser_system
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.mask import mask_of_blocks

LARGEST_MASK = 1 << 26
"""Maximal cells of a mask that is coarsened, cell by cell."""


@dataclass(frozen=True, eq=False)
class Coarsening:
    """A grid, and the coarser grid whose cells are squares of its cells.

    Attributes
    ----------
    fine, grid : Grid
    side : int
        Cells of the fine grid on a side of a coarser cell.
    first : tuple of (int, int)
        For each map, rows and columns of its first square that lie before the map begins.
    """

    fine: Grid
    grid: Grid
    side: int
    first: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, fine: Grid, level: str | int) -> Coarsening:
        """Coarsen every map of a grid; attributes stay.

        Parameters
        ----------
        fine : Grid
            A grid of a map or of pairs; not in an order of regions.
        level : str or int
            Name of a published area of the code system (``"jis:basic"``, ``"inspire:10km"``, with
            or without the prefix), or the number of cells on a side. A square at the edge of the
            domain, or partly outside a mask, is a coarser cell of the people who are inside.

        Raises
        ------
        UsageError
            The level does not exist, or the grid has no coarser cells.

        Examples
        --------
        >>> kanto = Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
        >>> Coarsening.of(kanto, "basic").grid.shape
        (256, 256)
        """
        if not fine.places or not fine.order.follows_map:
            raise UsageError(
                "Coarser cells need a map whose cells are not ordered by regions.",
                code="coarsen-ordered-map",
            )
        sides = {_side(place, level) for place in fine.places}
        if len(sides) != 1:
            raise UsageError("Both maps need the same coarser cells.", code="coarser-cells-differ")
        (side,) = sides
        places = tuple(coarser_lattice(place, side) for place in fine.places)
        first = tuple(_first(place, side) for place in fine.places)
        coarsening = cls(fine, Grid(places, fine.attributes), side, first)
        if fine.mask is not None:
            return replace(coarsening, grid=coarsening.grid.with_mask(coarsening._mask(fine.mask)))
        return replace(coarsening, grid=_order_like(fine, coarsening.grid))

    @classmethod
    def by_digits(cls, fine: Grid, digits: int) -> Coarsening:
        """Coarsen one map to squares of cells that share the first digits of their keys.

        Keys of the squares are these digits, in the same order.

        Parameters
        ----------
        fine : Grid
            One map, without attributes and mask.
        digits : int
            Number of digits such that the cells form a square; in the order of
            official areas, an area.

        Raises
        ------
        UsageError
            The blocks are not square, or the grid is not a plain map.

        Examples
        --------
        >>> Coarsening.by_digits(Grid.regular((100, 60)), 7).grid.shape
        (13, 8)
        """
        place = fine.plain_map
        if place is None or not fine.domain.is_box:
            raise UsageError(
                "Blocks need a single map without a mask and without regions.",
                code="blocks-need-plain-map",
            )
        if not 0 <= digits <= len(fine.order.radices):
            raise UsageError(
                f"A key of this grid has {len(fine.order.radices)} digits.",
                code="key-digits-differ",
            )
        rows, cols = fine.order.sides(digits, 2).tolist()
        if rows != cols:
            raise UsageError(
                "Blocks with this number of digits are not square; choose another number.",
                code="blocks-not-square",
            )
        if fine.areas.nested:
            return cls.of(fine, rows)
        if fine.order != Grid(fine.places).order:
            raise UsageError(
                "Blocks need cells in Morton order or in the order of official areas.",
                code="blocks-order",
            )
        if place.system is None or rows == 1:
            coarse = coarser_lattice(place, rows) if rows > 1 else place
        elif rows in dict(place.system.areas).values() and _first(place, rows) == (0, 0):
            coarse = coarser_lattice(place, rows)
        else:
            # Blocks that are not published areas have no codes: a plain lattice stands for them.
            coarse = coarser_lattice(replace(place, system=None, row0=0, col0=0), rows)
        return cls(fine, Grid((coarse,)), rows, ((0, 0),))

    def index(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of the coarser cells that contain cells, int64[d, n]."""
        coarse = index.copy()
        for number, first in enumerate(self.first):
            for axis in (0, 1):
                coarse[2 * number + axis] = (index[2 * number + axis] + first[axis]) // self.side
        return coarse

    def _mask(self, mask: Mask) -> Mask:
        """Return the mask of the coarser cells that contain a cell of the mask."""
        cell = np.unique(self._index_mask(mask), axis=1)
        blocks = np.concatenate([cell, np.ones_like(cell)])
        return mask_of_blocks(self.grid, blocks, f"{mask.source}; as coarser cells")

    def _index_mask(self, mask: Mask) -> NDArray[np.int64]:
        """Return row and column of the coarser cell of each cell of the mask, int64[2, n]."""
        if mask.cells > LARGEST_MASK:
            raise UsageError(
                f"A mask of more than {LARGEST_MASK:,} cells cannot be made coarser.",
                code="mask-too-large",
            )
        # A mask's ranges cover all attributes of a cell. Without their digits, each place counts
        # once.
        under = sum(1 for axis in self.fine.order.axes if axis > 1)
        start, stop = (mask.ranges[:, i] >> np.uint64(under) for i in (0, 1))
        each = (stop - start).astype(np.int64)
        within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        key = np.repeat(start, each) + within.astype(np.uint64)
        return self.index(self.fine.decode(key << np.uint64(under)))[:2]

    def count_places(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the places of the fine grid's domain in coarser cells: int64[n].

        Parameters
        ----------
        index : int64[d, n]
            Indices of coarser cells with at least one place; attributes are not counted.
        """
        if self.fine.mask is not None:
            cols = self.grid.places[0].cols
            row, col = self._index_mask(self.fine.mask)
            there, cells = np.unique(row * cols + col, return_counts=True)
            counts = cells[np.searchsorted(there, index[0] * cols + index[1])]
            return np.asarray(counts, np.int64)
        counts = np.ones(index.shape[1], np.int64)
        for number, place in enumerate(self.fine.places):
            first = _first(place, self.side)
            for axis, size in enumerate((place.rows, place.cols)):
                low = index[2 * number + axis] * self.side - first[axis]
                counts *= np.minimum(low + self.side, size) - np.maximum(low, 0)
        return counts


def coarser_lattice(place: Lattice, side: int) -> Lattice:
    """Return the lattice of the squares, of some side in cells, that contain a cell of a lattice.

    Squares of a code system's cells are those of its published areas of that side.
    """
    first = _first(place, side)
    rows, cols = (-(-(f + n) // side) for f, n in zip(first, (place.rows, place.cols), strict=True))
    if place.system is None:
        transform = place.transform
        if transform is not None:
            a, b, c, d, e, f = transform
            transform = (a * side, b, c, d, e * side, f)
        return Lattice(rows, cols, crs=place.crs, transform=transform)
    name = next(name for name, cells in place.system.areas if cells == side)
    system = coarser_system(place.system, name)
    # Squares of a code system start at multiples of their side, not at the domain's edge.
    row0, col0 = place.row0 // side, place.col0 // side
    south = system.origin[0] + row0 * system.step[0]
    west = system.origin[1] + col0 * system.step[1]
    dy, dx = (float(step) for step in system.step)
    transform = (dx, 0.0, float(west), 0.0, dy, float(south))
    return Lattice(rows, cols, system, row0, col0, system.crs, transform)


def _first(place: Lattice, side: int) -> tuple[int, int]:
    """Return the rows and columns of the first square that lie before the lattice begins."""
    return (0, 0) if place.system is None else (place.row0 % side, place.col0 % side)


def _side(place: Lattice, level: str | int) -> int:
    """Return the side of a level, in cells."""
    if isinstance(level, str) and level.isdecimal():
        level = int(level)
    if place.system is None:
        if not isinstance(level, int) or not 1 <= level <= max(place.rows, place.cols):
            raise UsageError(
                "Coarser cells of this grid are given by their number of cells on a side.",
                code="coarser-cells-form",
            )
        return level
    sides = dict(place.system.areas)
    sides |= {name.partition(":")[2]: side for name, side in place.system.areas}
    if isinstance(level, int) and level in sides.values():
        return level
    if level not in sides:
        raise UsageError(
            f"Coarser cells of {place.system.name} are its published areas: "
            f"{', '.join(name for name, _ in place.system.areas)}.",
            code="coarser-cells-are-areas",
        )
    return sides[str(level)]


def _order_like(fine: Grid, coarse: Grid) -> Grid:
    """Put the coarser grid in the same kind of order as the fine one."""
    official = fine.areas.nested
    base = coarse.with_official_order() if official else coarse
    if not fine.attributes:
        return base
    # An order does not record how it was requested, so each kind is tried until one gives the same
    # order.
    names = ["below", "above", "interleaved"]
    if official:
        coarser = coarse.places[0].system
        assert coarser is not None
        names[2:] = [name for name, _ in coarser.areas]
    for name in names:
        if fine.with_attribute_order(name).order == fine.order:
            return base.with_attribute_order(name)
    return base
