"""The H3 system: hexagons and twelve pentagons, whose children do not lie entirely in them.

The 64 bits of an index are, from the top: 0, the mode (1, four bits), three bits of 0, the
resolution (four bits), the base cell (seven bits) and 15 digits of three bits, one for each
resolution, of which those beyond the cell's resolution are 7.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.cells.system import CellSystem, sphere
from geodp.typing import FloatArray, IntArray, KeyArray

DIGITS, BITS, UNUSED = 15, 3, 7
"""Digits of an index, bits of each, and the digit of a resolution finer than the cell's."""

BASE_CELLS = 122

PENTAGONS = (4, 14, 24, 38, 49, 58, 63, 72, 83, 97, 107, 117)
"""Base cells that are pentagons: a pentagon lacks child 1, and its child 0 is a pentagon."""

MAX_CORNERS = 10
"""Corners of a pentagon that crosses edges of the icosahedron."""

INDEX = re.compile(r"0?8[0-9a-f]{14}")


class H3(CellSystem):
    """The H3 system, resolutions 0 to 15; codes are indices of 15 hexadecimal digits."""

    name: ClassVar[str] = "h3"
    title: ClassVar[str] = "H3"
    word: ClassVar[str] = "resolution"
    finest: ClassVar[int] = DIGITS
    # Descendants stick out of a cell: on a plane to 1.06 times its radius; the margin is for the
    # distortion on the sphere. Too small a value would lose cells at the edge of an area.
    reach: ClassVar[float] = 1.25
    library: ClassVar[str] = "h3"
    extra: ClassVar[str] = "hexagons"
    codes: ClassVar[str] = "indices of 15 hexadecimal digits, or integers of 64 bits"

    def levels_of(self, cells: KeyArray) -> IntArray:
        """Return resolutions, after a check of all bits of the index."""
        resolution = (cells >> np.uint64(52) & np.uint64(15)).astype(np.int64)
        base = (cells >> np.uint64(45) & np.uint64(127)).astype(np.int64)
        good = (cells >> np.uint64(56) == 8) & (base < BASE_CELLS)
        # A cell is a pentagon as long as all its digits are 0: digit 1 is then impossible.
        centre = np.isin(base, PENTAGONS)
        for place in range(1, DIGITS + 1):
            digit = _digit(cells, place)
            used = place <= resolution
            good &= np.where(used, digit != UNUSED, digit == UNUSED)
            good &= ~(centre & used & (digit == 1))
            centre &= digit == 0
        return np.where(good, resolution, -1)

    def parents(self, cells: KeyArray, level: int) -> KeyArray:
        """Return cells with another resolution, and all digits beyond it unused."""
        free = np.uint64((1 << BITS * (DIGITS - level)) - 1)
        without_level = cells & ~np.uint64(15 << 52)
        return without_level | np.uint64(level << 52) | free

    def children(self, cells: KeyArray, level: int) -> KeyArray:
        """Return the cells with every digit from 0 to 6 appended; pentagons have no 1."""
        descendants = cells
        resolution = int(self.levels_of(cells[:1])[0]) if cells.size else level
        for place in range(resolution + 1, level + 1):
            shift = np.uint64(BITS * (DIGITS - place))
            parent = descendants & ~(np.uint64(UNUSED) << shift) & ~np.uint64(15 << 52)
            parent |= np.uint64(place << 52)
            digits = np.arange(UNUSED, dtype=np.uint64)
            more = (parent[:, None] | digits << shift).reshape(-1)
            # Drops the child 1 of pentagons, the only children that do not exist.
            descendants = more[self.levels_of(more) == place]
        return descendants

    def count(self, level: int) -> int:
        """Return 2 + 120 times 7 to the power of the resolution."""
        return int(2 + 120 * 7**level)

    def base_cells(self) -> KeyArray:
        """Return the 122 cells of resolution 0."""
        base = np.arange(BASE_CELLS, dtype=np.uint64) << np.uint64(45)
        return base | np.uint64(8 << 56) | np.uint64((1 << BITS * DIGITS) - 1)

    def format(self, cells: KeyArray) -> NDArray[np.str_]:
        """Return indices of 15 lowercase digits."""
        return np.array([f"{cell:x}" for cell in cells.tolist()], np.str_)

    def hexadecimal(self, text: str) -> int | None:
        """Return the number of an index of 15 digits, or of 16 with a 0 in front."""
        return int(text, 16) if INDEX.fullmatch(text) else None

    def outline(self, cells: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return centres and corners, from the h3 library."""
        from h3.api import basic_int as h3

        numbers = cells.tolist()
        centre = np.array([h3.cell_to_latlng(cell) for cell in numbers]).reshape(-1, 2)
        corners = np.empty((len(numbers), MAX_CORNERS, 2))
        for number, cell in enumerate(numbers):
            edge = h3.cell_to_boundary(cell)
            corners[number, : len(edge)] = edge
            corners[number, len(edge) :] = edge[-1]
        return sphere(centre[:, 1], centre[:, 0]), sphere(corners[..., 1], corners[..., 0])

    def at(self, longitude: FloatArray, latitude: FloatArray, level: int) -> KeyArray:
        """Return the cells of points, which the h3 library takes one by one."""
        from h3.api.basic_int import latlng_to_cell

        numbers = map(latlng_to_cell, latitude.tolist(), longitude.tolist(), repeat(level))
        return np.fromiter(numbers, np.uint64, longitude.size)


def _digit(cells: KeyArray, place: int) -> IntArray:
    """Return the digits of one resolution, int64[n]."""
    return (cells >> np.uint64(BITS * (DIGITS - place)) & np.uint64(UNUSED)).astype(np.int64)
