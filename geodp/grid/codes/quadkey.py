"""Quadkeys: tiles of the web Mercator map, with the names that Bing Maps gives them.

Source: Bing Maps Tile System. A quadkey has a digit 0 to 3 for every zoom level: 0 north-west, 1
north-east, 2 south-west, 3 south-east.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.codes.system import (
    MISSING,
    Pair,
    flat_cells,
    flat_points,
    is_missing,
    require,
    text_at,
    text_codes,
    within,
)
from geodp.typing import IntArray

DEEPEST = 24
HALF = Fraction(math.pi * 6378137)
"""Half the circumference of the sphere in metres: exactly the nearest float64."""


@dataclass(frozen=True, slots=True)
class Quadkeys:
    """Tiles of one zoom level in EPSG:3857.

    Parameters
    ----------
    zoom : int
        1 to 24; a code has as many digits.

    Examples
    --------
    >>> row, col = Quadkeys(3).parse(["213"])
    >>> (int(row[0]), int(col[0]), str(Quadkeys(3).format(row, col)[0]))
    (2, 3, '213')
    """

    zoom: int
    crs: str = field(default="EPSG:3857", init=False, repr=False)
    origin: Pair = field(default=(-HALF, -HALF), init=False, repr=False)
    zeros: ClassVar[bool] = True
    definition: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not 1 <= self.zoom <= DEEPEST:
            raise UsageError(
                f"quadkeys are quadkey:<zoom>, zoom 1 to {DEEPEST}", code="quadkey-zoom"
            )

    @property
    def name(self) -> str:
        """Name of the system, such as "quadkey:16"."""
        return f"quadkey:{self.zoom}"

    @property
    def step(self) -> Pair:
        """Size of a tile in metres of the projection, which are shorter on the ground."""
        return 2 * HALF / 2**self.zoom, 2 * HALF / 2**self.zoom

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """The entire map, in tiles."""
        return 0, 0, 2**self.zoom, 2**self.zoom

    @property
    def around(self) -> int:
        """Number of tiles once around the Earth."""
        return 1 << self.zoom

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Every third coarser zoom level, and this one."""
        # Each zoom level has four times as many tiles: every third one gives areas of 64 parts.
        zooms = [*range(self.zoom % 3 or 3, self.zoom, 3), self.zoom]
        return tuple((f"quadkey:{zoom}", 2 ** (self.zoom - zoom)) for zoom in zooms)

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes to lattice indices, rows from the south; see `CodeSystem.parse`."""
        array, characters = text_codes(codes, self.zoom, self.name)
        digits = characters[:, : self.zoom].astype(np.int64) - ord("0")
        good = within(digits, 4).all(axis=1) & (characters[:, self.zoom] == 0)
        require(good, lambda position: self._rule(text_at(array, position)))
        weight = 1 << np.arange(self.zoom - 1, -1, -1, dtype=np.int64)
        col, south = (digits & 1) @ weight, (digits >> 1) @ weight
        # Quadkeys count rows from the north, all lattices of geodp from the south.
        row = (1 << self.zoom) - 1 - south
        return row.reshape(array.shape), col.reshape(array.shape)

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert lattice indices to codes; see `CodeSystem.format`."""
        row, col, shape = flat_cells(row, col)
        end = 1 << self.zoom
        require(
            within(row, end) & within(col, end),
            lambda _: Rule("cell-outside-map", "the cell is outside the map"),
        )
        shift = np.arange(self.zoom - 1, -1, -1, dtype=np.int64)
        south = (end - 1 - row)[:, np.newaxis] >> shift & 1
        digit = (south << 1) + (col[:, np.newaxis] >> shift & 1) + ord("0")
        text = np.ascontiguousarray(digit.astype(np.uint32)).view(f"U{self.zoom}")
        return text.reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Find the tiles of points in metres of EPSG:3857; see `CodeSystem.locate`."""
        x, y, shape = flat_points(x, y)
        rule = Rule(
            "quadkey-point-outside",
            "points are finite: x is easting, y is northing, metres of EPSG:3857 below 1e8",
        )
        require((np.abs(x) < 1e8) & (np.abs(y) < 1e8), lambda _: rule)
        side, west = float(self.step[0]), float(HALF)
        # In tiles, which are up to half the Earth wide: `SNAP` would move points by 200 m.
        row, col = (np.floor((v + west) / side + 1e-9).astype(np.int64) for v in (y, x))
        return row.reshape(shape), col.reshape(shape)

    def _rule(self, text: str) -> str:
        if is_missing(text):
            return MISSING
        return Rule(
            "quadkey-form",
            f"codes of {self.name} are {self.zoom} digits 0 to 3; check the column and the zoom, "
            "and whether zeros in front were lost",
        )
