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

AT_ONCE = 1 << 16
"""Codes of a table that are looked at together: a nation has millions of blocks."""

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
    if not texts.size:
        return texts, np.zeros(0, np.bool_)
    whole, point, fraction = np.strings.partition(texts, ".")
    # Without a point there is no fraction, and with one at least a zero.
    empty = np.strings.str_len(np.strings.rstrip(fraction, "0")) == 0
    some = (np.strings.str_len(fraction) > 0) == (point == ".")
    numbers = np.strings.isdecimal(whole) & empty & some
    short = np.strings.lstrip(whole, "0")
    return np.where(numbers & (short == ""), "0", np.where(numbers, short, texts)), numbers


@lru_cache(maxsize=4)
def sort_units(table: Hierarchy) -> tuple[NDArray[np.str_], IntArray]:
    """Return the codes of finest units, sorted as text, and their positions."""
    units = np.array(table.codes[-1], np.str_)
    order = np.argsort(units)
    return units[order], order


def find_units(table: Hierarchy, texts: NDArray[np.str_]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the positions of texts among the codes of finest units, and which are unknown."""
    units, order = sort_units(table)
    # `searchsorted` returns the length for texts after the last one.
    near = np.minimum(np.searchsorted(units, texts), units.size - 1)
    return order[near], np.asarray(units[near] != texts, np.bool_)


@lru_cache(maxsize=4)
def _list_odd(table: Hierarchy) -> tuple[NDArray[np.str_], IntArray]:
    """Return whole numbers that codes write with further zeros, sorted, and their positions."""
    units, order = sort_units(table)
    pieces, places = [np.empty(0, np.str_)], [np.empty(0, np.int64)]
    for start in range(0, units.size, AT_ONCE):
        some = units[start : start + AT_ONCE]
        short, numbers = plain_numbers(some)
        odd = np.flatnonzero(numbers & (short != some))
        pieces.append(short[odd])
        places.append(order[start + odd])
    found, place = np.concatenate(pieces), np.concatenate(places)
    by_text = np.argsort(found, kind="stable")
    return found[by_text], place[by_text]


@lru_cache(maxsize=4)
def _have_whole_numbers(table: Hierarchy) -> bool:
    """Return whether some codes are whole numbers, and none has a fraction or an exponent."""
    units, _ = sort_units(table)
    parts = (units[start : start + AT_ONCE] for start in range(0, units.size, AT_ONCE))
    some = False
    for part in parts:
        _, numbers = plain_numbers(part)
        some |= bool(numbers.any())
        if _are_damaged(part[~numbers]).any():
            return False
    return some


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
    at, unknown = np.zeros(texts.size, np.int64), np.ones(texts.size, np.bool_)
    short, whole = plain_numbers(texts)
    wrong = np.zeros(texts.size, np.bool_)
    if whole.any():
        odd, place = _list_odd(table)
        plain, missing = find_units(table, short)
        first = np.searchsorted(odd, short)
        number = np.searchsorted(odd, short, side="right") - first + ~missing
        at = (
            plain
            if not odd.size
            else np.where(missing, place[np.minimum(first, odd.size - 1)], plain)
        )
        # Zeros after a point are lost by no program, those in front of a number by most.
        units = np.array([table.codes[-1][one] for one in at.tolist()], np.str_)
        clear = (number == 1) & (_before_point(texts) == _before_point(units))
        unknown = ~(whole & clear)
        wrong = whole & (number > 0) & ~clear
    if needed:
        inexact = ~whole & _are_damaged(texts)
        bad = np.flatnonzero(wrong | (inexact & (inexact.any() and _have_whole_numbers(table))))
        if bad.size:
            raise CodeError(int(bad[0]), LOST if wrong[bad[0]] else INEXACT)
    return at, unknown


def _before_point(texts: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the part of each text before its first point: str[n]."""
    return np.asarray(np.strings.partition(texts, ".")[0])


def _are_damaged(texts: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which texts are numbers with a fraction or an exponent: bool[n]."""
    return np.array([_DAMAGED.fullmatch(text) is not None for text in texts.tolist()], np.bool_)
