"""Geohashes: rectangles of degrees that bisect the Earth alternately, east first.

Source: G. Niemeyer, geohash.org (public domain, 2008). A geohash has 5 bits per character, from an
alphabet of 32 characters without a, i, l and o; the first bit is the longitude's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.codes.system import (
    MISSING,
    SNAP,
    Pair,
    flat_cells,
    flat_degrees,
    is_missing,
    require,
    text_at,
    text_codes,
    within,
)
from geodp.typing import IntArray

ALPHABET = "0123456789bcdefghjkmnpqrstuvwxyz"
DEEPEST = 9
BITS = 5

_VALUES = np.full(128, -1, np.int64)
_VALUES[[ord(letter) for letter in ALPHABET]] = np.arange(len(ALPHABET))


@dataclass(frozen=True, slots=True)
class Geohashes:
    """Cells of one length of geohash in degrees of WGS 84.

    Parameters
    ----------
    length : int
        Characters of a code, 1 to 9 (5 m).

    Examples
    --------
    >>> row, col = Geohashes(5).parse(["xn76u"])
    >>> str(Geohashes(5).format(row, col)[0]), Geohashes(5).step
    ('xn76u', (Fraction(45, 1024), Fraction(45, 1024)))
    """

    length: int
    crs: str = field(default="EPSG:4326", init=False, repr=False)
    origin: Pair = field(default=(Fraction(-90), Fraction(-180)), init=False, repr=False)
    zeros: ClassVar[bool] = True
    definition: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not 1 <= self.length <= DEEPEST:
            raise UsageError(
                f"geohashes are named geohash:<length>, with a length of 1 to {DEEPEST}",
                code="geohash-length",
            )

    @property
    def name(self) -> str:
        """Name of the system, such as "geohash:6"."""
        return f"geohash:{self.length}"

    @property
    def bits(self) -> tuple[int, int]:
        """Numbers of bits of the row and of the column."""
        return BITS * self.length // 2, -(-BITS * self.length // 2)

    @property
    def step(self) -> Pair:
        """Exact degrees of latitude and of longitude of a cell."""
        rows, cols = self.bits
        return Fraction(180, 1 << rows), Fraction(360, 1 << cols)

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """The entire Earth, in cells."""
        rows, cols = self.bits
        return 0, 0, 1 << rows, 1 << cols

    @property
    def around(self) -> int:
        """Number of columns once around the Earth."""
        return 1 << self.bits[1]

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Every second coarser length, whose cells are squares of these cells, and this length."""
        # Five bits a character: cells of odd and of even lengths have different proportions, so
        # only lengths of the same parity nest as squares.
        lengths = [*range(2 - self.length % 2, self.length + 1, 2)]
        return tuple((f"geohash:{n}", 1 << BITS * (self.length - n) // 2) for n in lengths)

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes to lattice indices; see `CodeSystem.parse`."""
        array, characters = text_codes(codes, self.length, self.name)
        value = _VALUES[np.minimum(characters[:, : self.length], 127)]
        good = (value >= 0).all(axis=1) & (characters[:, self.length] == 0)
        require(good, lambda position: self._rule(text_at(array, position)))
        row, col = np.zeros(array.size, np.int64), np.zeros(array.size, np.int64)
        for place in range(self.length * BITS):
            bit = value[:, place // BITS] >> (BITS - 1 - place % BITS) & 1
            # Bits alternate, the longitude first; `axis` is a view on the array, changed in place.
            axis = row if place % 2 else col
            axis <<= 1
            axis |= bit
        return row.reshape(array.shape), col.reshape(array.shape)

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert lattice indices to codes; see `CodeSystem.format`."""
        row, col, shape = flat_cells(row, col)
        rows, cols = self.bits
        inside = within(row, 1 << rows) & within(col, 1 << cols)
        require(inside, lambda _: Rule("cell-outside-map", "the cell is outside the map"))
        value = np.zeros((row.size, self.length), np.int64)
        left = [rows, cols]
        for place in range(self.length * BITS):
            axis = 0 if place % 2 else 1
            left[axis] -= 1
            bit = (row, col)[axis] >> left[axis] & 1
            value[:, place // BITS] = value[:, place // BITS] << 1 | bit
        # Characters as numbers of 32 bits are numpy's own representation of text, so that no loop
        # over codes is needed.
        letters = np.array([ord(letter) for letter in ALPHABET], np.uint32)[value]
        return np.ascontiguousarray(letters).view(f"U{self.length}").reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Find the cells of longitudes x and latitudes y, degrees; see `CodeSystem.locate`."""
        x, y, shape = flat_degrees(x, y)
        (dy, dx), (south, west) = map(float, self.step), map(float, self.origin)
        row, col = (
            # Points that rounding moved just below an edge belong to the cell above it.
            np.floor((values - start) / side + SNAP).astype(np.int64)
            for values, start, side in ((y, south, dy), (x, west, dx))
        )
        return row.reshape(shape), col.reshape(shape)

    def _rule(self, text: str) -> str:
        if is_missing(text):
            return MISSING
        return Rule(
            "geohash-form",
            f"codes of {self.name} are {self.length} digits and lowercase letters without a, i, l "
            "and o; check the column and the length",
        )
