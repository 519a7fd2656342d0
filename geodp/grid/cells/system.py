"""What systems of cells of the whole Earth have in common: ids of 64 bits, levels, outlines.

A cell is a number of 64 bits, whose bits alone say its level and its parents; this needs no
library. Where cells lie is asked of the system's own library, which is an extra.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.codes.arrays import BLANK, MISSING, as_array, text_at
from geodp.typing import FloatArray, IntArray, KeyArray

BITS = 64

DECIMAL = re.compile(r"-?[0-9]{17,20}")
"""An id as a whole number in a text; a text with fewer digits is hexadecimal."""

NO_DEGREES = Rule(
    "coordinate-not-degrees",
    "a coordinate is no longitude and latitude in degrees (-180 to 180, -90 to 90): name the CRS "
    "of the records (--points-crs, crs=), or check whether x and y are swapped.",
)


class CellSystem(ABC):
    """A hierarchy of cells of the whole Earth; one object each, that holds nothing.

    Attributes
    ----------
    name : str
        What stands before the level in a grid's name: ``"h3"``.
    title : str
        In sentences: ``"H3"``.
    word : str
        What the system calls a level: ``"resolution"``.
    finest : int
        The last level; the first is 0.
    reach : float
        How far descendants of a cell lie from its centre at most, in radii of its own outline.
    extra : str
        The extra that brings the library.
    codes : str
        What codes are, in words.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    word: ClassVar[str]
    finest: ClassVar[int]
    reach: ClassVar[float]
    extra: ClassVar[str]
    codes: ClassVar[str]

    @abstractmethod
    def require_library(self) -> str:
        """Return the name and version of the library; UsageError where it is not installed."""

    @abstractmethod
    def levels_of(self, cells: KeyArray) -> IntArray:
        """Return the level of each number, int64[n]; -1 of one that is no cell."""

    @abstractmethod
    def parents(self, cells: KeyArray, level: int) -> KeyArray:
        """Return the cells of a level, not finer than their own, that cells have above them."""

    @abstractmethod
    def children(self, cells: KeyArray, level: int) -> KeyArray:
        """Return all cells of a level, not coarser than their own, below cells of one level."""

    @abstractmethod
    def count(self, level: int) -> int:
        """Return how many cells the Earth has on a level."""

    @abstractmethod
    def base_cells(self) -> KeyArray:
        """Return the cells of level 0."""

    @abstractmethod
    def format(self, cells: KeyArray) -> NDArray[np.str_]:
        """Return the codes of cells as texts, each in its one usual spelling."""

    @abstractmethod
    def hexadecimal(self, text: str) -> int | None:
        """Return the number that a hexadecimal code in small letters stands for; None for none."""

    @abstractmethod
    def outline(self, cells: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return centres, float64[n, 3], and corners, float64[n, k, 3], as points of a unit sphere.

        A cell with fewer corners than others has its last one again.
        """

    @abstractmethod
    def at(self, longitude: FloatArray, latitude: FloatArray, level: int) -> KeyArray:
        """Return the cells of a level that points in degrees, float64[n] each, lie in."""

    def number_of(self, text: str) -> int | None:
        """Return the 64 bits that a code says; None for a text that is no code.

        Hexadecimal digits may be capital letters and have ``0x`` in front; whole numbers of 17
        digits and more are ids, with or without a sign.
        """
        plain = text.strip().lower()
        if DECIMAL.fullmatch(plain):
            return self._number(int(plain))
        if not plain.isascii():
            return None
        return self.hexadecimal(plain.removeprefix("0x"))

    def levels_of_codes(self, codes: Sequence[str]) -> IntArray:
        """Return the level of the cell that each text stands for, int64[n]; -1 of one for none."""
        numbers = [self.number_of(code) for code in codes]
        return self.levels_of(np.array([number or 0 for number in numbers], np.uint64))

    def read(self, codes: ArrayLike) -> tuple[KeyArray, NDArray[np.bool_]]:
        """Return the cells of codes, uint64[n], and which of them are such, bool[n].

        Parameters
        ----------
        codes : sequence of str or of whole numbers
            Whole numbers are ids of 64 bits, which languages without unsigned ones show as
            negative.

        Raises CodeError at the first blank code, and for floats that may have lost digits.
        """
        given = as_array(codes).reshape(-1)
        if given.dtype.kind in "iu":
            cells = given.astype(np.int64 if given.dtype.kind == "i" else np.uint64).view(np.uint64)
            return cells, self.levels_of(cells) >= 0
        numbers = [self._number(one) for one in given.tolist()]
        for position, number in enumerate(numbers):
            if number is None and text_at(given, position).strip() in BLANK:
                raise CodeError(position, MISSING)
        cells = np.array([number or 0 for number in numbers], np.uint64)
        return cells, self.levels_of(cells) >= 0

    def _number(self, code: Any) -> int | None:
        if isinstance(code, int) and not isinstance(code, bool):
            return code % (1 << BITS) if -(1 << BITS - 1) <= code < 1 << BITS else None
        return self.number_of(
            code.decode("ascii", "replace") if isinstance(code, bytes) else str(code)
        )

    def spec(self, level: int) -> str:
        """Return the name of the grid of a level: ``"h3:7"``."""
        return f"{self.name}:{level}"

    @property
    def pattern(self) -> str:
        """How its grids are named: ``"h3:RESOLUTION"``."""
        return f"{self.name}:{self.word.upper()}"

    def require_level(self, level: int) -> None:
        """Raise UsageError for a level that the system does not have."""
        if isinstance(level, bool) or level not in range(self.finest + 1):
            raise UsageError(
                f"Cells of {self.title} are {self.pattern}, from {self.spec(0)} to "
                f"{self.spec(self.finest)}.",
                code="cell-level-unknown",
            )

    def locate(self, longitude: ArrayLike, latitude: ArrayLike, level: int) -> KeyArray:
        """Return the cells of a level that points in degrees of WGS 84 lie in, uint64[n].

        Raises CodeError at the first that is no point in degrees.
        """
        x, y = np.asarray(longitude, np.float64), np.asarray(latitude, np.float64)
        with np.errstate(invalid="ignore"):
            good = (np.abs(x) <= 180) & (np.abs(y) <= 90)
        if not good.all():
            raise CodeError(int(good.argmin()), NO_DEGREES)
        return self.at(x, y, level)

    def missing_library(self, library: str) -> UsageError:
        """Return what is said where the library is not installed."""
        return UsageError(
            f"Cells of {self.title} need {library}, which is not installed: "
            f"pip install 'geodp[{self.extra}]'.",
            code="library-missing",
        )


def sphere(longitude: ArrayLike, latitude: ArrayLike) -> FloatArray:
    """Return points in degrees as points of a unit sphere, float64[..., 3]."""
    x, y = np.radians(np.asarray(longitude)), np.radians(np.asarray(latitude))
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=-1)


def degrees(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return longitudes and latitudes of points of a unit sphere, float64[..., 3], in degrees."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))
