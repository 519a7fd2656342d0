"""Names of cells: the codes of a map, or of the units of a public table.

Programs write the whole numbers of a column with a blank as 1.0, and large ones as 1e+05. Such a
code is read as a number of the column's type would be, or refused: it is never another place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.cells import cells_of
from geodp.grid.cells.system import CellSystem
from geodp.grid.codes.system import LOST_ZEROS, MISSING, as_array, require
from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.grid.lattice import Lattice, parse_codes
from geodp.grid.markers import find_no_place
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
    integer, point, fraction = np.strings.partition(texts, ".")
    # Without a point there is no fraction, and with one at least a zero.
    empty = np.strings.str_len(np.strings.rstrip(fraction, "0")) == 0
    some = (np.strings.str_len(fraction) > 0) == (point == ".")
    numbers = np.strings.isdecimal(integer) & empty & some
    short = np.strings.lstrip(integer, "0")
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
    numerals, place = np.concatenate(pieces), np.concatenate(places)
    by_text = np.argsort(numerals, kind="stable")
    return numerals[by_text], place[by_text]


@lru_cache(maxsize=4)
def _have_integers(table: Hierarchy) -> bool:
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
    short, integer = plain_numbers(texts)
    wrong = np.zeros(texts.size, np.bool_)
    if integer.any():
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
        unknown = ~(integer & clear)
        wrong = integer & (number > 0) & ~clear
    if needed:
        inexact = ~integer & _are_damaged(texts)
        bad = np.flatnonzero(wrong | (inexact & (inexact.any() and _have_integers(table))))
        if bad.size:
            raise CodeError(int(bad[0]), LOST if wrong[bad[0]] else INEXACT)
    return at, unknown


def _before_point(texts: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return the part of each text before its first point: str[n]."""
    return np.asarray(np.strings.partition(texts, ".")[0])


def _are_damaged(texts: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Return which texts are numbers with a fraction or an exponent: bool[n]."""
    return np.array([_DAMAGED.fullmatch(text) is not None for text in texts.tolist()], np.bool_)


WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
"""For :meth:`str.translate`: full-width ASCII, the ideographic space and the minus sign as ASCII.

Not all of NFKC, which would turn a footnote's superscript into a digit: 12² into 122.
"""


def as_read(text: str) -> str:
    """Return a code as it is read from tables, where it is composed already: narrow, and trimmed.

    Examples
    --------
    >>> as_read("Ａ（１）")
    'A(1)'
    """
    return unicodedata.normalize("NFC", text).translate(WIDE).strip()


@dataclass(frozen=True)
class CellNames:
    """Names of the cells of a grid, and what they imply for readers and writers.

    Attributes
    ----------
    places : tuple of Lattice
        Maps of the cells; units lie in one row.
    table : Hierarchy, optional
        The table whose finest units the cells are. Without one they lie on a map, so that they have
        coordinates, axes and neighbours; units have codes only.
    """

    places: tuple[Lattice, ...]
    table: Hierarchy | None

    @property
    def on_map(self) -> bool:
        """Whether cells lie on a map."""
        return self.table is None

    @property
    def level(self) -> str:
        """Name of the level of the cells: the table's finest one."""
        return CELL if self.table is None else self.table.levels[-1]

    @property
    def texts(self) -> str:
        """Names that a table defines, concatenated; codes of a map are ASCII."""
        if self.table is None:
            return ""
        return "".join((*self.table.codes[-1], *(self.table.names or ())))

    @property
    def cells(self) -> tuple[Hierarchy, CellSystem, int] | None:
        """Table, system and level of cells of H3 or S2; None for other cells."""
        system = None if self.table is None else cells_of(self.table)
        return None if self.table is None or system is None else (self.table, *system)

    def format(self, number: int, index: IntArray) -> NDArray[np.str_]:
        """Return the codes of cells in a release.

        Parameters
        ----------
        number : int
            Number of the place: 0, or 1 for the destination of a pair.
        index : int64[d, n]
            Indices of cells of the domain.
        """
        row, col = index[2 * number : 2 * number + 2]
        if self.table is None:
            return self.places[number].format(row, col)
        return np.asarray(self._by_column(self.table.codes[-1])[col])

    @property
    def titled(self) -> bool:
        """Whether units have names beside their codes."""
        return self.table is not None and self.table.names is not None

    def title(self, number: int, index: IntArray) -> NDArray[np.str_]:
        """Return the names of units beside their codes, as :meth:`format` returns the codes.

        Blank where a unit has none.
        """
        assert self.table is not None
        assert self.table.names is not None
        return np.asarray(self._by_column(self.table.names)[index[2 * number + 1]])

    def show(self, number: int, index: IntArray) -> list[str]:
        """Return codes of cells for readers, behind the name of a unit: "Uccle (21016)"."""
        codes: list[str] = self.format(number, index).tolist()
        if not self.titled:
            return codes
        return [*map(entitle, self.title(number, index).tolist(), codes)]

    def _by_column(self, texts: Sequence[str]) -> NDArray[np.str_]:
        """Return texts of all units, which are in key order, by the columns of the grid."""
        assert self.table is not None
        columns = np.empty(self.places[0].cols, np.array(texts).dtype)
        columns[self.table.cell[1]] = texts
        return np.asarray(columns)

    def parse(self, number: int, codes: Sequence[str] | NDArray[Any]) -> IntArray:
        """Return row and column of written codes, int64[2, n]; the inverse of :meth:`format`.

        Raises CodeError for an invalid code.
        """
        if self.table is not None:
            return self.find(codes)
        return np.stack(parse_codes(self.places[number], codes))

    def find(
        self,
        codes: Sequence[str] | NDArray[Any],
        *,
        drops: bool = False,
        other: str | None = None,
    ) -> IntArray:
        """Return row and column of finest units: int64[2, n].

        Parameters
        ----------
        codes : sequence of str, or of int if no unit's code begins with 0
            Codes of units; those of cells of H3 and S2 in any spelling, such as ids of 64 bits.
        drops : bool
            Whether an unknown code gets row and column -1, outside of every domain.
        other : str, optional
            Unit to which unknown codes are assigned, such as "abroad"; a blank code
            remains an error.

        Raises CodeError at the first unknown code, and always for a code that is no cell of H3 or
        S2 on such a grid, or one of another level than the grid's; UsageError if cells are not
        units, or there is no unit `other`.
        """
        table = self.require_table(NO_UNITS)
        array, cells = as_array(codes).reshape(-1), cells_of(table)
        # 13 might be the unit 013: counting it elsewhere would be silent, so integers are refused
        # for tables with such codes.
        if cells is None and array.dtype.kind in "iu" and array.size and _begin_with_zero(table):
            raise CodeError(0, LOST)
        home = None if other is None else _find_unit(table, other)
        texts = np.array([str(code).strip() for code in array.tolist()], np.str_)
        at, wrong = find_units(table, texts)
        # Integers are ids of 64 bits: a token of digits alone would have the same text.
        if cells is not None:
            wrong |= [isinstance(code, int) for code in array.tolist()]
        rest, needed = np.flatnonzero(wrong), drops or home is not None
        with _positions(rest):
            at[rest], wrong[rest] = (
                match_numbers(table, texts[rest], needed=needed)
                if cells is None
                else _find_cells(table, *cells, array[rest])
            )
        # A blank is a missing value, and no place that lies elsewhere.
        require(~(wrong & (texts == "")), lambda _: MISSING)
        if not drops:
            for position in np.flatnonzero(wrong).tolist():
                if rule := find_no_place(str(texts[position])):
                    raise CodeError(position, rule)
        if home is not None:
            at = np.where(wrong, home[0], at)
            wrong[:] = False
        if wrong.any() and not drops:
            raise CodeError(int(wrong.argmax()), UNKNOWN if cells is None else OUTSIDE)
        return np.where(wrong, -1, table.cell[:, at])

    def require_map(self, refusal: str) -> None:
        """Raise UsageError with a message if cells lie on no map."""
        if self.table is not None:
            raise UsageError(refusal)

    def require_table(self, refusal: str) -> Hierarchy:
        """Return the table of units; raise UsageError with a message if there is none."""
        if self.table is None:
            raise UsageError(refusal)
        return self.table

    def explain_outside(
        self, inside: NDArray[np.bool_], beyond: NDArray[np.bool_], cut: str
    ) -> dict[str, NDArray[np.bool_]]:
        """Return why cells lie outside the domain: bool[n] for each reason.

        Parameters
        ----------
        inside, beyond : bool[n]
            Whether cells are in the domain, and whether they are beyond its bounds.
        cut : str
            What excludes cells within the bounds, in one word.
        """
        if self.table is not None:
            return {"units": ~inside}
        return {"bounds": beyond, cut: ~inside & ~beyond}


def names_of(places: tuple[Lattice, ...], table: Hierarchy | None) -> CellNames:
    """Create the names of the cells of a grid.

    Cells are units if they lie in one row, without a CRS, and are the finest regions of the table
    that orders them.
    """
    if table is not None and table.names_cells:
        place = places[0]
        # Regions of a map remain cells with coordinates; only a table without a lattice makes
        # units.
        if place.rows == 1 and place.system is None and place.crs is None:
            return CellNames(places, table)
    return CellNames(places, None)


def entitle(name: str, code: str) -> str:
    """Return the code of a unit for readers, behind its name if it has another one.

    Examples
    --------
    >>> entitle("Uccle", "21016"), entitle("", "21016")
    ('Uccle (21016)', '21016')
    """
    return code if name in ("", code) else f"{name} ({code})"


def _find_unit(table: Hierarchy, code: str) -> IntArray:
    """Return the position of the unit for other codes: int64[1]; UsageError where it is none."""
    at = np.flatnonzero(np.array(table.codes[-1], np.str_) == code)
    if not at.size:
        raise UsageError(NO_OTHER)
    return at


def _begin_with_zero(table: Hierarchy) -> bool:
    """Return whether a number may have lost zeros; the code 0 alone has none to lose."""
    units = sort_units(table)[0]
    return bool((np.strings.startswith(units, "0") & (units != "0")).any())


def _find_cells(
    table: Hierarchy, system: CellSystem, level: int, codes: NDArray[Any]
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the positions of cells in other spellings; see :func:`find_units`.

    Raises CodeError for a code that is no cell at all, and for a cell of another level.
    """
    cells, good = system.read(codes)
    levels = system.levels_of(cells)
    rules = (
        (~good, NO_CELL.format(system.title, system.codes)),
        (good & (levels > level), FINER.format(system.spec(level), system.pattern)),
        (good & (levels < level), COARSER.format(system.spec(level), system.pattern)),
    )
    bad = np.stack([wrong for wrong, _ in rules])
    # The first code that breaks any of the rules is reported, with the rule that it breaks.
    fit = np.asarray(~bad.any(axis=0), np.bool_)
    require(fit, lambda position: rules[int(bad[:, position].argmax())][1])
    return find_units(table, system.format(cells))


@contextmanager
def _positions(of: IntArray) -> Iterator[None]:
    """Translate the position in a CodeError to that among all codes, int64[n]."""
    try:
        yield
    except CodeError as error:
        raise CodeError(int(of[error.position]), error.rule) from None


NO_UNITS = Rule("grid-without-units", "The grid has no units; create it from a table of units.")

NO_OTHER = Rule(
    "other-no-unit",
    "The unit for other codes (--other, other=) is not a unit of the grid; read the table of units "
    "with it (read_units, other=).",
)

UNKNOWN = Rule(
    "unit-unknown",
    "the code is not in the table of units; check leading zeros, a prefix such as 1400000US and "
    "the table's year, give a table that lists every unit, drop such rows (--outside drop), or "
    "count them in a separate unit (--other NAME).",
)

OUTSIDE = Rule(
    "cell-outside-area",
    "the cell lies outside of the grid's public area; give wider bounds or another mask (--bounds, "
    "--mask; bounds=, mask=), drop such rows (--outside drop, outside=), or count them in a "
    "separate unit (--other NAME).",
)

NO_CELL = Rule(
    "code-no-cell",
    "the code is not a cell of {}; codes are {}. A number with an exponent or a fraction has lost "
    "digits: export the column as text or as integers.",
)

FINER = Rule(
    "code-finer-than-grid",
    "the code is a cell that is finer than those of the grid, {}; choose a finer grid "
    "(--grid {}), or replace each cell by its parent first, and add up the counts of one cell "
    "(--duplicates sum, duplicates=).",
)

COARSER = Rule(
    "code-coarser-than-grid",
    "the code is a cell that is coarser than those of the grid, {}, and it is unknown in which of "
    "its parts people are; choose a coarser grid (--grid {}), or drop such rows (--where, where=).",
)
