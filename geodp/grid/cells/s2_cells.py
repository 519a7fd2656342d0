"""The S2 system: the six faces of a cube, each bisected both ways thirty times.

The 64 bits of an id are the face (three bits), two bits for every level down to the cell's, a 1,
and only 0 after it, so that the last 1 determines the level. A token is the id in hexadecimal
digits without trailing zeros.
"""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.cells.system import CellSystem
from geodp.typing import FloatArray, IntArray, KeyArray

FACES, FINEST, CORNERS = 6, 30, 4

DIGITS = 16
"""Hexadecimal digits of an id."""

LAST_ONES = np.uint64(0x1555555555555555)
"""Bits at which the last 1 of an id may stand."""

TOKEN = re.compile(r"[0-9a-f]{0,15}[1-9a-f]|[0-9a-f]{16}")


class S2(CellSystem):
    """The S2 system, levels 0 to 30; codes are tokens."""

    name: ClassVar[str] = "s2"
    title: ClassVar[str] = "S2"
    word: ClassVar[str] = "level"
    finest: ClassVar[int] = FINEST
    # Children lie in their parent; the margin is for rounding alone.
    reach: ClassVar[float] = 1.001
    library: ClassVar[str] = "s2geometry"
    extra: ClassVar[str] = "s2"
    remedy: ClassVar[str] = (
        "It has packages for Linux on x86-64 and for macOS; elsewhere give the cells as a table of "
        "units (--grid units:TABLE)."
    )
    codes: ClassVar[str] = (
        "tokens (hexadecimal digits without the zeros at the end), or integers of 64 bits"
    )

    def levels_of(self, cells: KeyArray) -> IntArray:
        """Return levels, from the position of the last 1."""
        last = _last_one(cells)
        good = (last & LAST_ONES != 0) & (cells >> np.uint64(61) < FACES)
        # Each level has two bits, so half of the zeros after the last 1 is the number of finer
        # levels.
        below = np.bitwise_count(last - np.uint64(1)).astype(np.int64)
        return np.where(good, FINEST - below // 2, -1)

    def parents(self, cells: KeyArray, level: int) -> KeyArray:
        """Return cells whose last 1 is that of the level."""
        last = _last_of(level)
        return cells & ~(last - np.uint64(1)) | last

    def children(self, cells: KeyArray, level: int) -> KeyArray:
        """Return the ids between the first and the last of each cell, at the level's spacing."""
        if not cells.size:
            return cells
        last_one, last = _last_one(cells), _last_of(level)
        each = int(last_one[0] // last)
        step = np.arange(each, dtype=np.uint64) * np.uint64(2 * int(last))
        return ((cells - last_one + last)[:, None] + step).reshape(-1)

    def count(self, level: int) -> int:
        """Return six times 4 to the power of the level."""
        return int(FACES * 4**level)

    def base_cells(self) -> KeyArray:
        """Return the six faces."""
        return np.arange(FACES, dtype=np.uint64) << np.uint64(61) | _last_of(0)

    def format(self, cells: KeyArray) -> NDArray[np.str_]:
        """Return tokens in lowercase."""
        return np.array([f"{cell:0{DIGITS}x}".rstrip("0") for cell in cells.tolist()], np.str_)

    def hexadecimal(self, text: str) -> int | None:
        """Return the number of a token, or of all sixteen digits of an id."""
        return int(text.ljust(DIGITS, "0"), 16) if TOKEN.fullmatch(text) else None

    def outline(self, cells: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return centres and corners, from the s2geometry library."""
        from s2geometry import S2Cell, S2CellId

        centre, corners = np.empty((cells.size, 3)), np.empty((cells.size, CORNERS, 3))
        for number, cell in enumerate(cells.tolist()):
            one = S2Cell(S2CellId(cell))
            points = [one.GetCenter(), *map(one.GetVertex, range(CORNERS))]
            vectors = [(point.x(), point.y(), point.z()) for point in points]
            centre[number], corners[number] = vectors[0], vectors[1:]
        return centre, corners

    def at(self, longitude: FloatArray, latitude: FloatArray, level: int) -> KeyArray:
        """Return the cells of points, which the s2geometry library takes one by one."""
        from s2geometry import S2CellId, S2LatLng

        place = map(S2LatLng.FromDegrees, latitude.tolist(), longitude.tolist())
        leaves = np.fromiter((S2CellId(one).id() for one in place), np.uint64, longitude.size)
        return self.parents(leaves, level)


def _last_one(cells: KeyArray) -> KeyArray:
    """Return the lowest set bit of each number."""
    # Two's complement without a signed type, for which numpy would have to convert.
    return cells & (~cells + np.uint64(1))


def _last_of(level: int) -> np.uint64:
    """Return the lowest set bit of cells of a level."""
    return np.uint64(1 << 2 * (FINEST - level))
