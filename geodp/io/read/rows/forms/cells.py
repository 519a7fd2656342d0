"""Cells of workbooks: what stands in them, and what a workbook of any form is asked for."""

from __future__ import annotations

import datetime
import struct
import warnings
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias
from xml.parsers.expat import ExpatError

from geodp.errors import InputError
from geodp.io.read.rows.complete.archive import DAMAGES

Cell: TypeAlias = str | int | float | None

Row: TypeAlias = tuple[list[Cell], bool]
"""The cells of a row, and whether one of them holds a formula."""

BROKEN = (
    *(*DAMAGES, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, NotImplementedError, ExpatError, struct.error),
)
"""What libraries raise on a damaged, hostile or encrypted workbook; their words may quote cells."""

NO_WORKBOOK = (
    "The file cannot be read as a workbook (xlsx, xls, ods); it may be damaged or encrypted: save "
    "it again without a password, or as CSV."
)


class Book(Protocol):
    """A workbook of some form."""

    @property
    def sheets(self) -> tuple[str, ...]:
        """Names of its sheets of cells, hidden ones among them."""

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet from the first on, blank ones too; InputError on damage."""

    def close(self) -> None:
        """Close the file."""


def as_cell(value: Any) -> Cell:
    """Return what stands in a cell, whole numbers as such; texts for what is no number.

    Truth values are "True" and "False", dates and times as ISO 8601 writes them.
    """
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def percentage(value: float) -> str:
    """Return a number that a workbook shows as a percentage as the text that it shows."""
    return f"{value * 100:.15g}%"


def guard_rows(rows: Iterator[Row], name: str) -> Iterator[Row]:
    """Yield rows; InputError where a library fails, without its words, which may quote cells."""
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
            raise InputError(NO_WORKBOOK, file=name)
        if row is None:
            return
        yield row
