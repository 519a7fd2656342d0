"""Protocol of all code systems, and checks and conversions of arrays that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, InputError, Rule
from geodp.grid.markers import is_placeholder
from geodp.typing import FloatArray, IntArray

Pair: TypeAlias = tuple[Fraction, Fraction]

# In 125 m cells (1 mm) or metres: coordinates printed with 8 decimals are off by up to 5e-6 cells.
SNAP = 1e-5
MISSING = Rule("code-missing", "a code is missing or blank: drop the rows without a code")


DECIMAL = Rule(
    "code-decimal", "codes are never decimals: drop the blanks and read the column as text"
)
ROUNDED = Rule(
    "code-rounded",
    "a code this large may have lost digits as a floating-point number: read the column as text "
    "(dtype=str) or as integers",
)
LOST_ZEROS = Rule(
    "zeros-lost",
    "codes of {} may begin with 0, and a number has lost the zeros in front of it: write the "
    "column as text, from the original file",
)


def as_array(codes: ArrayLike) -> NDArray[Any]:
    """Convert codes to an array; lists become objects, so that one long text widens no other.

    Floats that are integers become int64, as pandas stores an integer column with a blank as
    floats. CodeError at the first that is missing, has a fraction, or is so large that its type
    may have lost digits.
    """
    # A list of texts as an array of text would have the width of its longest element.
    array = np.asarray(codes, dtype=object if isinstance(codes, list | tuple) else None)
    if array.dtype.kind != "f":
        return array
    flat = array.reshape(-1)
    require(~np.isnan(flat), lambda _: MISSING)
    require(flat == np.floor(flat), lambda _: DECIMAL)
    # Above 2 to the number of bits of the mantissa not every integer has a float.
    exact = 2.0 ** (np.finfo(array.dtype).nmant + 1)
    require(np.abs(flat) < exact, lambda _: ROUNDED)
    return array.astype(np.int64)


def characters_of(array: NDArray[Any], width: int) -> NDArray[np.uint32]:
    """Return the first `width` characters of every element, shape (n, width), padded with 0."""
    try:
        strings = array.reshape(-1).astype(f"U{width}")
    except UnicodeDecodeError:
        raise InputError(
            "codes are ASCII text: decode the column of bytes first", code="codes-are-bytes"
        ) from None
    characters: NDArray[np.uint32] = strings.view(np.uint32).reshape(-1, width)
    return characters


def text_codes(codes: ArrayLike, length: int, name: str) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return codes that must be text as an array and as characters, uint32[n, length + 1].

    CodeError for numbers, as their length does not show whether leading zeros were lost; `name`
    is the code system's.
    """
    array = as_array(codes)
    if array.dtype.kind in "iu" and array.size:
        raise CodeError(0, LOST_ZEROS.format(name))
    return array, characters_of(array, length + 1)


def text_at(array: NDArray[Any], position: int) -> str:
    """Return the text of one code, to choose the message of an error."""
    value = array.reshape(-1)[position]
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def is_missing(text: str) -> bool:
    """Test whether the text of a code stands for none: blank, or a placeholder.

    >>> is_missing(" "), is_missing("NA"), is_missing("53394611")
    (True, True, False)
    """
    return not text.strip() or is_placeholder(text)


def read_digits(characters: NDArray[np.uint32]) -> tuple[IntArray, IntArray]:
    """Return the numbers written and their widths, 0 unless they are digits only."""
    length = np.count_nonzero(characters, axis=1)
    value, valid = np.zeros(len(length), np.int64), characters[:, -1] == 0
    for place, column in enumerate(characters[:, :-1].T):
        digit, inside = column.astype(np.int64) - ord("0"), place < length
        valid &= ~inside | within(digit, 10)
        value = np.where(inside, value * 10 + digit, value)
    return value, np.where(valid, length, 0)


Flat: TypeAlias = tuple[NDArray[Any], NDArray[Any], tuple[int, ...]]
"""Two flat arrays, and the shape that both had."""


def flat_cells(row: ArrayLike, col: ArrayLike) -> Flat:
    """Flatten rows and columns to int64; InputError unless they are integers of one shape."""
    rule = Rule("row-col-not-integers", "row and col are integers of one shape")
    return _flatten((row, col), "iu", np.int64, rule)


def flat_points(x: ArrayLike, y: ArrayLike) -> Flat:
    """Flatten coordinates to float64; InputError unless they are numbers of one shape."""
    rule = Rule("x-y-not-numbers", "x and y are numbers of one shape")
    return _flatten((x, y), "iuf", np.float64, rule)


def flat_degrees(x: ArrayLike, y: ArrayLike) -> Flat:
    """Flatten longitudes x and latitudes y to float64; CodeError at the first that is none."""
    x, y, shape = flat_points(x, y)
    rule = Rule(
        "point-not-longitude-latitude",
        "points are finite: x is longitude, -180 to 180, and y is latitude, -90 to 90; the two "
        "may be swapped",
    )
    require((np.abs(x) <= 180) & (np.abs(y) <= 90), lambda _: rule)
    return x, y, shape


def _flatten(
    pair: tuple[ArrayLike, ArrayLike], kinds: str, dtype: type[np.int64 | np.float64], rule: str
) -> Flat:
    """Flatten two arrays of numbers of some kinds to `dtype`."""
    first, second = map(np.asarray, pair)
    if first.shape != second.shape or any(
        one.dtype.kind not in kinds and one.size for one in (first, second)
    ):
        raise InputError(rule)
    flat = [one.reshape(-1).astype(dtype, copy=False) for one in (first, second)]
    return flat[0], flat[1], first.shape


def snap_floor(values: FloatArray) -> IntArray:
    """Round down, but up if a value is just below an integer because of rounding."""
    return np.floor(values + SNAP).astype(np.int64)


def within(values: IntArray, end: int) -> NDArray[np.bool_]:
    """Return which values lie in [0, end)."""
    return (values >= 0) & (values < end)


def require(valid: NDArray[np.bool_], rule: Callable[[int], str]) -> None:
    """Raise CodeError at the first invalid position."""
    if not valid.all():
        position = int(valid.argmin())
        raise CodeError(position, rule(position))


class CodeSystem(Protocol):
    """A lattice of cells with published codes: `JISMesh` or `PatternGrid`.

    Arrays may have any shape, and results have the same; the position in a `CodeError`
    counts through the flattened array.
    """

    @property
    def name(self) -> str:
        """Name for `code_system`, such as "jis:half" or "inspire:1km"."""

    @property
    def crs(self) -> str:
        """Coordinate reference system of `origin`, `step` and `locate`, such as "EPSG:6668"."""

    @property
    def origin(self) -> Pair:
        """(y, x) of the lower left corner of cell (0, 0), in CRS units, exact."""

    @property
    def step(self) -> Pair:
        """(dy, dx), the size of a cell in CRS units, exact."""

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """(row0, col0, rows, cols) of the full public extent, in cells."""

    @property
    def around(self) -> int | None:
        """Number of columns once around the Earth, where the first follows the last.

        Otherwise None.
        """

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Published areas that nest, from the coarsest to the cell: names and sides in cells."""

    @property
    def zeros(self) -> bool:
        """Whether codes may begin with 0 and their length does not show that zeros were lost.

        Integers are refused as codes of such systems. Where codes have one length, missing zeros
        are detected.
        """

    @property
    def definition(self) -> Mapping[str, Any] | None:
        """Definition that a release contains, so that its codes can be read without any file.

        None for a system that its name defines.
        """

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes to int64 row and col.

        Codes are NumPy, pandas or pyarrow arrays or lists of str, bytes or, unless `zeros`, int.
        Those outside `extent` are valid, as the grid decides which cells belong to it. CodeError at
        the first value that is not a code of this system.
        """

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert row and col, integers of one shape, to codes; CodeError if there is none."""

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return int64 row and col of the cells that contain points.

        x is longitude or easting, y latitude or northing, float64 of one shape, in `crs`.
        Cells are closed in the south and west; a point that rounding left just below an edge
        belongs to the cell above it. South or west of `origin` indices are negative.
        CodeError at the first point that is not finite or not on Earth.
        """
