"""Codes and indices as arrays: the checks and conversions that all code systems share."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, InputError, Rule
from geodp.typing import FloatArray, IntArray

Pair: TypeAlias = tuple[Fraction, Fraction]

SNAP = 1e-5  # of a 125 m cell (1 mm; 8 printed decimals are off by 5e-6), and of a metre
BLANK = ("", "None", "nan", "NaN", "NaT", "<NA>")
MISSING = Rule("code-missing", "a code is missing or blank: drop the rows without a code")


DECIMAL = Rule(
    "code-decimal", "codes are never decimals: drop the blanks and read the column as text"
)
ROUNDED = Rule(
    "code-rounded",
    "a code this large may have lost digits as a floating-point number: read the column as text "
    "(dtype=str) or as whole numbers",
)
LOST_ZEROS = Rule(
    "zeros-lost",
    "codes of {} may begin with 0, and a number has lost the zeros in front of it: write the "
    "column as text, from the original file",
)


def as_array(codes: ArrayLike) -> NDArray[Any]:
    """Make an array of codes; lists become objects, so that one overlong text widens no other.

    Floats that are whole numbers become integers, as pandas makes floats of a column with a blank.
    CodeError at the first that is missing, has a fraction, or is so large that its type may have
    lost digits of it.
    """
    array = np.asarray(codes, dtype=object if isinstance(codes, list | tuple) else None)
    if array.dtype.kind != "f":
        return array
    flat = array.reshape(-1)
    require(~np.isnan(flat), lambda _: MISSING)
    require(flat == np.floor(flat), lambda _: DECIMAL)
    exact = 2.0 ** (np.finfo(array.dtype).nmant + 1)
    require(np.abs(flat) < exact, lambda _: ROUNDED)
    return array.astype(np.int64)


def characters_of(array: NDArray[Any], width: int) -> NDArray[np.uint32]:
    """Return the first `width` characters of every element, shape (n, width), 0 after its end."""
    try:
        strings = array.reshape(-1).astype(f"U{width}")
    except UnicodeDecodeError:
        raise InputError(
            "codes are ASCII text: decode the column of bytes first", code="codes-are-bytes"
        ) from None
    characters: NDArray[np.uint32] = strings.view(np.uint32).reshape(-1, width)
    return characters


def text_codes(codes: ArrayLike, length: int, name: str) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Return codes that are never numbers as an array and as characters, uint32[n, length + 1].

    CodeError for numbers, which may have lost zeros in front that their length does not tell;
    `name` is the code system's.
    """
    array = as_array(codes)
    if array.dtype.kind in "iu" and array.size:
        raise CodeError(0, LOST_ZEROS.format(name))
    return array, characters_of(array, length + 1)


def text_at(array: NDArray[Any], position: int) -> str:
    """Return the text of one code, for choosing the sentence of an error."""
    value = array.reshape(-1)[position]
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def read_digits(characters: NDArray[np.uint32]) -> tuple[IntArray, IntArray]:
    """Return the numbers written and their widths, 0 unless digits only and a 0 at the end."""
    length = np.count_nonzero(characters, axis=1)
    value, valid = np.zeros(len(length), np.int64), characters[:, -1] == 0
    for place, column in enumerate(characters[:, :-1].T):
        digit, inside = column.astype(np.int64) - ord("0"), place < length
        valid &= ~inside | within(digit, 10)
        value = np.where(inside, value * 10 + digit, value)
    return value, np.where(valid, length, 0)


def flat_pair(
    first: ArrayLike, second: ArrayLike, dtype: type[np.int64 | np.float64], rule: str
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, ...]]:
    """Return two arrays of numbers as flat arrays of `dtype`, and the shape they had."""
    pair, kinds = (np.asarray(first), np.asarray(second)), "iu" if dtype is np.int64 else "iuf"
    if pair[0].shape != pair[1].shape or any(a.dtype.kind not in kinds and a.size for a in pair):
        raise InputError(rule)
    first, second = (one.reshape(-1).astype(dtype, copy=False) for one in pair)
    return first, second, pair[0].shape


def snap_floor(values: FloatArray) -> IntArray:
    """Round down, but up where rounding left a value just below a whole number."""
    return np.floor(values + SNAP).astype(np.int64)


def within(values: IntArray, end: int) -> NDArray[np.bool_]:
    """Tell which values lie in [0, end)."""
    return (values >= 0) & (values < end)


def require(valid: NDArray[np.bool_], rule: Callable[[int], str]) -> None:
    """Raise CodeError at the first position that is not valid."""
    if not valid.all():
        position = int(valid.argmin())
        raise CodeError(position, rule(position))
