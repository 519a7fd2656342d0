"""Cells of workbooks: what stands in them, and what a workbook of any form is asked for."""

from __future__ import annotations

import datetime
import re
import struct
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias
from xml.parsers.expat import ExpatError

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.archive import DAMAGES
from geodp.io.read.rows.flags import SEPARATORS, is_flag
from geodp.io.read.rows.input_files import InputFile

Cell: TypeAlias = str | int | float | None

Row: TypeAlias = tuple[list[Cell], bool]
"""The cells of a row, and whether one of them holds a formula."""

BROKEN = (
    *(*DAMAGES, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, NotImplementedError, ExpatError, struct.error),
)
"""What libraries raise on a damaged, hostile or encrypted workbook; their words may quote cells."""

NO_WORKBOOK = Rule(
    "workbook-unreadable",
    "The file cannot be read as a workbook (xlsx, xlsb, xls, ods); it may be damaged or encrypted: "
    "save it again without a password, or as CSV.",
)


_FORMAT = re.compile(r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(.)', re.DOTALL)
"""A text in quotes, an escaped letter, widths, a currency, conditions, and others of a format."""

_CODES = {*map(chr, range(128))} - {"$"}
"""Letters that stand for digits or moments, or are shown and change no number."""

_BESIDE = f"{SEPARATORS}()"


class Book(ABC):
    """A workbook of some form, of which rows are read one by one.

    Attributes
    ----------
    sheets : tuple of str
        Names of its sheets of cells, hidden ones among them.
    """

    sheets: tuple[str, ...]

    def __init__(self, file: InputFile) -> None:
        self._name = file.name

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet from the first on, blank ones too; InputError on damage.

        The words of a library that fails are left out, as they may quote cells.
        """
        rows = self._rows(sheet)
        while True:
            row: Row | None = None
            read = False
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = next(rows, None)
                read = True
            except BROKEN:
                pass
            if not read:
                self.refuse()
            if row is None:
                return
            yield row

    def refuse(self) -> NoReturn:
        """Raise InputError: this is no workbook."""
        raise InputError(NO_WORKBOOK, file=self._name)

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abstractmethod
    def _rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet; one of ``BROKEN`` on damage."""


def as_cell(value: Any, sign: str = "") -> Cell:
    """Return what stands in a cell, whole numbers as such; texts for what is no number.

    Truth values are "True" and "False", dates and times as ISO 8601 writes them, and numbers with
    what :func:`sign_of` found beside them as they are shown.

    >>> as_cell(7.0), as_cell(0.07, "%"), as_cell(7, " ¥"), as_cell(True)
    (7, '7%', '7 ¥', 'True')
    """
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if value is not None and sign:
            return f"{value * 100:.15g}%" if sign == "%" else f"{value:.15g}{sign}"
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def sign_of(code: str) -> str:
    """Return what a format of numbers shows beside them that makes them no counts; empty: nothing.

    ``%``, by which the number shown is a hundred times as large; or, behind a blank, the sign of a
    currency, or a word that texts beside numbers may not have either (``--flags``): ``千人``.

    >>> sign_of("0.0%"), sign_of("[$€-407] #,##0"), sign_of('#,##0"人"'), sign_of('0"千人"')
    ('%', ' €', '', ' 千人')
    """
    words = [""]
    for found in _FORMAT.finditer(code):
        quoted, escaped, currency, other = found.groups()
        if currency:
            return f" {currency}"
        if other == "%":
            return "%"
        shown = quoted or escaped or ("" if other is None or other in _CODES else other)
        words = [*words[:-1], words[-1] + shown] if shown else [*words, ""]
    for word in words:
        plain = word.replace("\\", "¥").strip(_BESIDE)  # as Japanese fonts have it
        if plain and not is_flag(plain):
            return f" {plain}"
    return ""
