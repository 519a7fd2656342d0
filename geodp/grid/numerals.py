"""Codes of units that are whole numbers: the same number in another spelling is the same unit.

Programs write the whole numbers of a column with a blank as 1.0, and large ones as 1e+05. Such a
code is read as a number of the column's type would be, or refused: it is never another place.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule
from geodp.grid.codes.arrays import LOST_ZEROS
from geodp.grid.hierarchy import Hierarchy
from geodp.typing import IntArray

LOST = LOST_ZEROS.format("these units")
"""Rule on numbers, and on texts of digits, that are a unit's code without its zeros."""

INEXACT = Rule(
    "unit-code-inexact",
    "codes of these units are whole numbers, and this one has a fraction or an exponent, which may "
    "have cost digits: write the column as text or as integers, from the original file.",
)

_DAMAGED = re.compile(r"[+-]?([0-9]+[.][0-9]*|[.][0-9]+|[0-9]+([.][0-9]*)?[eE][+-]?[0-9]+)")


def plain_numbers(texts: NDArray[np.str_]) -> tuple[NDArray[np.str_], NDArray[np.bool_]]:
    """Return texts of whole numbers without zeros in front or after a point, and which are such.

    Parameters
    ----------
    texts : str[n]

    Examples
    --------
    >>> plain, numbers = plain_numbers(np.array(["7", "7.0", "007", "7.5", "A7", "0"]))
    >>> plain.tolist(), numbers.tolist()
    (['7', '7', '7', '7.5', 'A7', '0'], [True, True, True, False, False, True])
    """
    whole, point, fraction = np.strings.partition(texts, ".")
    # Without a point there is no fraction, and with one at least a zero.
    empty = np.strings.str_len(np.strings.rstrip(fraction, "0")) == 0
    some = (np.strings.str_len(fraction) > 0) == (point == ".")
    numbers = np.strings.isdecimal(whole) & empty & some
    short = np.strings.lstrip(whole, "0")
    return np.where(numbers & (short == ""), "0", np.where(numbers, short, texts)), numbers


@lru_cache(maxsize=4)
def _numbers_of(table: Hierarchy) -> tuple[NDArray[np.str_], IntArray, bool]:
    """Return the whole numbers among the codes of finest units, sorted, and their positions.

    Also whether other codes have the form of numbers with a fraction or an exponent.
    """
    codes = np.array(table.codes[-1], np.str_)
    short, numbers = plain_numbers(codes)
    at = np.flatnonzero(numbers)
    at = at[np.argsort(short[at], kind="stable")]
    return short[at], at, bool(_are_damaged(codes[~numbers]).any())


def match_numbers(
    table: Hierarchy, texts: NDArray[np.str_], *, needed: bool
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return positions among units whose codes are the same number, and which texts have none.

    Parameters
    ----------
    table : Hierarchy
    texts : str[n]
        Codes that no unit has as they are written.
    needed : bool
        Whether unknown codes are left out or counted in another unit, so that one that may be a
        unit's has to be refused here.

    Raises CodeError at the first text that differs from a unit's code by zeros in front, or has a
    fraction or an exponent where codes are whole numbers.
    """
    numbers, at, damaged = _numbers_of(table)
    unknown = np.ones(texts.size, np.bool_)
    if not numbers.size or not texts.size:
        return np.zeros(texts.size, np.int64), unknown
    short, whole = plain_numbers(texts)
    first = np.searchsorted(numbers, short)
    near = np.minimum(first, numbers.size - 1)
    same = whole & (numbers[near] == short)
    units = np.array(table.codes[-1], np.str_)[at[near]]
    alone = np.searchsorted(numbers, short, side="right") - first == 1
    # Zeros after a point are lost by no program, those in front of a number by most.
    clear = alone & (_before_point(texts) == _before_point(units))
    unknown = ~(same & clear)
    if needed:
        wrong, inexact = same & ~clear, ~whole & ~damaged & _are_damaged(texts)
        bad = np.flatnonzero(wrong | inexact)
        if bad.size:
            raise CodeError(int(bad[0]), LOST if wrong[bad[0]] else INEXACT)
    return at[near], unknown


def _before_point(texts: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return what stands before the point of each text: str[n]."""
    return np.asarray(np.strings.partition(texts, ".")[0])


def _are_damaged(texts: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which texts are numbers with a fraction or an exponent: bool[n]."""
    return np.array([_DAMAGED.fullmatch(text) is not None for text in texts.tolist()], np.bool_)
