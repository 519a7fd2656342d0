"""Common base of discrete global grid systems: ids of 64 bits, levels, outlines.

A cell is a number of 64 bits whose bits encode its level and its parents; this needs no library.
Where cells lie on the Earth is computed by the system's library, which is an optional extra.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError, require_library
from geodp.grid.codes.system import MISSING, as_array, is_missing, text_at
from geodp.typing import FloatArray, IntArray, KeyArray

BITS = 64

# Indices of H3 have at most 16 hexadecimal digits, tokens of S2 16: 17 digits are unambiguous.
DECIMAL = re.compile(r"-?[0-9]{17,20}")
"""An id as a whole number in a text; a text with fewer digits is hexadecimal."""

NO_DEGREES = Rule(
    "coordinate-not-degrees",
    "a coordinate is not a longitude or latitude in degrees (-180 to 180, -90 to 90): name the CRS "
    "of the records (--points-crs, crs=), or check whether x and y are swapped.",
)


class CellSystem(ABC):
    """A hierarchy of cells of the Earth; implementations are stateless.

    Attributes
    ----------
    name : str
        Prefix of a grid's name, before the level: ``"h3"``.
    title : str
        Name in sentences: ``"H3"``.
    word : str
        The system's word for a level: ``"resolution"``.
    finest : int
        The last level; the first is 0.
    reach : float
        Maximal distance of a cell's descendants from its centre, in radii of its outline.
    library, extra : str
        The system's library, and the optional extra of geodp that installs it.
    remedy : str
        What to do without it, a sentence.
    codes : str
        Description of valid codes, for errors.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    word: ClassVar[str]
    finest: ClassVar[int]
    reach: ClassVar[float]
    library: ClassVar[str]
    extra: ClassVar[str]
    remedy: ClassVar[str] = ""
    codes: ClassVar[str]

    def require_library(self) -> str:
        """Return the name and version of the library; UsageError if it is not installed."""
        require_library(self.library, f"Cells of {self.title}", self.extra, self.remedy)
        return f"{self.library} {version(self.library)}"

    @abstractmethod
    def levels_of(self, cells: KeyArray) -> IntArray:
        """Return the level of each number, int64[n]; -1 if it is not a cell."""

    @abstractmethod
    def parents(self, cells: KeyArray, level: int) -> KeyArray:
        """Return the ancestors of cells on a level, which is not finer than their own."""

    @abstractmethod
    def children(self, cells: KeyArray, level: int) -> KeyArray:
        """Return all descendants, on a level, of cells that share one level."""

    @abstractmethod
    def count(self, level: int) -> int:
        """Return the number of cells that the Earth has on a level."""

    @abstractmethod
    def base_cells(self) -> KeyArray:
        """Return the cells of level 0."""

    @abstractmethod
    def format(self, cells: KeyArray) -> NDArray[np.str_]:
        """Return the codes of cells as texts, in their canonical spelling."""

    @abstractmethod
    def hexadecimal(self, text: str) -> int | None:
        """Return the number of a lowercase hexadecimal code; None if it is not one."""

    @abstractmethod
    def outline(self, cells: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return centres, float64[n, 3], and corners, float64[n, k, 3], as points of a unit sphere.

        The last corner of a cell with fewer corners than others is repeated.
        """

    @abstractmethod
    def at(self, longitude: FloatArray, latitude: FloatArray, level: int) -> KeyArray:
        """Return the cells of a level that contain points in degrees, float64[n] each."""

    def number_of(self, text: str) -> int | None:
        """Return the 64 bits that a code encodes; None if the text is not a code.

        Hexadecimal digits may be uppercase and have a prefix ``0x``; integers of 17 digits and
        more are ids, with or without a sign.
        """
        plain = text.strip().lower()
        if DECIMAL.fullmatch(plain):
            return self._number(int(plain))
        if not plain.isascii():
            return None
        return self.hexadecimal(plain.removeprefix("0x"))

    def levels_of_codes(self, codes: Sequence[str]) -> IntArray:
        """Return the level of the cell that each text denotes, int64[n]; -1 if there is none."""
        numbers = [self.number_of(code) for code in codes]
        return self.levels_of(np.array([number or 0 for number in numbers], np.uint64))

    def read(self, codes: ArrayLike) -> tuple[KeyArray, NDArray[np.bool_]]:
        """Return the cells of codes, uint64[n], and which codes are valid, bool[n].

        Parameters
        ----------
        codes : sequence of str or of int
            Integers are ids of 64 bits, which languages without unsigned types show as negative.

        Raises CodeError at the first blank code, and for floats that may have lost digits.
        """
        array = as_array(codes).reshape(-1)
        if array.dtype.kind in "iu":
            cells = array.astype(np.int64 if array.dtype.kind == "i" else np.uint64).view(np.uint64)
            return cells, self.levels_of(cells) >= 0
        numbers = [self._number(one) for one in array.tolist()]
        for position, number in enumerate(numbers):
            if number is None and is_missing(text_at(array, position)):
                raise CodeError(position, MISSING)
        cells = np.array([number or 0 for number in numbers], np.uint64)
        return cells, self.levels_of(cells) >= 0

    def _number(self, code: Any) -> int | None:
        if isinstance(code, int) and not isinstance(code, bool):
            # BigQuery and PostgreSQL store ids as signed 64 bits; the remainder restores the
            # unsigned one.
            return code % (1 << BITS) if -(1 << BITS - 1) <= code < 1 << BITS else None
        return self.number_of(
            code.decode("ascii", "replace") if isinstance(code, bytes) else str(code)
        )

    def spec(self, level: int) -> str:
        """Return the name of the grid of a level: ``"h3:7"``."""
        return f"{self.name}:{level}"

    @property
    def pattern(self) -> str:
        """Form of its grids' names: ``"h3:RESOLUTION"``."""
        return f"{self.name}:{self.word.upper()}"

    def require_level(self, level: int) -> None:
        """Raise UsageError if the system does not have a level."""
        if isinstance(level, bool) or level not in range(self.finest + 1):
            raise UsageError(
                f"Cells of {self.title} are {self.pattern}, from {self.spec(0)} to "
                f"{self.spec(self.finest)}.",
                code="cell-level-unknown",
            )

    def locate(self, longitude: ArrayLike, latitude: ArrayLike, level: int) -> KeyArray:
        """Return the cells of a level that contain points in degrees of WGS 84, uint64[n].

        Raises CodeError at the first point that is not in degrees.
        """
        x, y = np.asarray(longitude, np.float64), np.asarray(latitude, np.float64)
        with np.errstate(invalid="ignore"):
            good = (np.abs(x) <= 180) & (np.abs(y) <= 90)
        if not good.all():
            raise CodeError(int(good.argmin()), NO_DEGREES)
        return self.at(x, y, level)


def sphere(longitude: ArrayLike, latitude: ArrayLike) -> FloatArray:
    """Convert points in degrees to points of a unit sphere, float64[..., 3]."""
    x, y = np.radians(np.asarray(longitude)), np.radians(np.asarray(latitude))
    return np.stack([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)], axis=-1)


def degrees(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Convert points of a unit sphere, float64[..., 3], to longitudes and latitudes in degrees."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))
