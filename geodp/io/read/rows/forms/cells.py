"""Cells of workbooks: their values, and the interface of workbooks of all formats."""

from __future__ import annotations

import datetime
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias
from xml.parsers.expat import ExpatError

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.files import DAMAGES
from geodp.io.read.rows.count_parser import SEPARATORS, is_flag
from geodp.io.read.rows.input_files import InputFile

Cell: TypeAlias = str | int | float | None

Row: TypeAlias = tuple[list[Cell], bool]
"""The cells of a row, and whether one of them holds a formula."""

BROKEN = (
    *(*DAMAGES, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, NotImplementedError, ExpatError),
)
"""Errors of libraries for damaged, hostile or encrypted workbooks; messages may quote cells."""

NO_WORKBOOK = Rule(
    "workbook-unreadable",
    "The file cannot be read as a workbook (xlsx, ods); it may be damaged or encrypted: save it "
    "again without a password, or as CSV.",
)


_FORMAT = re.compile(r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(.)', re.DOTALL)
"""Tokens of a number format: quoted text, escaped character, width, currency, condition, other."""

_CODES = {*map(chr, range(128))} - {"$"}
"""Characters that stand for digits or times, or are shown without changing the number."""

_HARMLESS = f"{SEPARATORS}()"


class Book(ABC):
    """A workbook of any format that is read row by row.

    Attributes
    ----------
    sheets : tuple of str
        Names of its sheets of cells, including hidden ones.
    title : str
        In its properties; empty without one.
    """

    sheets: tuple[str, ...]
    title: str = ""

    def __init__(self, file: InputFile) -> None:
        self._name = file.name

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet from the first on, including blank ones; InputError on damage.

        Messages of the library are left out, as they may quote cells.
        """
        rows = self._rows(sheet)
        while True:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = next(rows, None)
            except BROKEN:
                break
            if row is None:
                return
            yield row
        # Raised outside the handler, so that the library's error is not its context.
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise InputError: the file is no workbook."""
        raise InputError(NO_WORKBOOK, file=self._name)

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abstractmethod
    def _rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet; one of ``BROKEN`` on damage."""


def as_cell(value: Any, sign: str = "") -> Cell:
    """Return the value of a cell: whole numbers as integers, and texts for everything else.

    Booleans become "True" and "False", dates and times their ISO 8601 form, and numbers with a sign
    from :func:`sign_of` are returned as they are shown, decimals with an exponent.

    >>> as_cell(7.0), as_cell(0.07, "%"), as_cell(7, " ¥"), as_cell(True)
    (7, '7%', '7 ¥', 'True')
    """
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if value is not None and sign:
            if sign == "%":
                return f"{value * 100:.15g}%"
            # An exponent keeps a number with three decimals from being read as one with thousands.
            digits = f"{value:.15g}"
            return f"{digits}e0{sign}" if "." in digits and "e" not in digits else digits + sign
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def sign_of(code: str) -> str:
    """Return the sign in a number format by which a number is no count; empty without one.

    The sign is ``%``, which multiplies the number by a hundred; or, after a blank, a currency or a
    word that is no valid flag beside numbers (``--flags``), such as ``千人``.

    >>> sign_of("0.0%"), sign_of("[$€-407] #,##0"), sign_of('#,##0"人"'), sign_of('0"千人"')
    ('%', ' €', '', ' 千人')
    """
    texts = [""]
    for match in _FORMAT.finditer(code):
        quoted, escaped, currency, other = match.groups()
        if currency:
            return f" {currency}"
        if other == "%":
            return "%"
        shown = quoted or escaped or ("" if other is None or other in _CODES else other)
        # Adjacent quoted and escaped characters form one text.
        texts = [*texts[:-1], texts[-1] + shown] if shown else [*texts, ""]
    for text in texts:
        plain = text.replace("\\", "¥").strip(_HARMLESS)  # as Japanese fonts have it
        if plain and not is_flag(plain):
            return f" {plain}"
    return ""
