"""Workbooks of Office Open XML (xlsx), by openpyxl, which tells formulas from what they gave."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.forms.cells import (
    BROKEN,
    NO_WORKBOOK,
    Cell,
    Row,
    as_cell,
    guard_rows,
    show,
    sign_of,
)
from geodp.io.read.rows.input_files import InputFile

MOST_SHARED = 1 << 28
"""Bytes of a workbook's parts beside its sheets, such as its texts: they are held in memory."""


class OpenXmlBook:
    """A workbook of which rows are read one by one.

    Raises UsageError where openpyxl is not installed, and InputError for a file that is none.
    """

    def __init__(self, file: InputFile) -> None:
        self._name = file.name
        self._book = _load(file)
        self._signs: dict[Any, str] = {}

    @property
    def sheets(self) -> tuple[str, ...]:
        """Names of its sheets of cells."""
        return tuple(one.title for one in self._book.worksheets)

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet."""
        return guard_rows(self._rows(sheet), self._name)

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _rows(self, sheet: str) -> Iterator[Row]:
        found = self._book[sheet]
        found.reset_dimensions()  # what the file says of its size may be wrong
        for row in found.iter_rows():
            yield [self._cell(one) for one in row], any(one.data_type == "f" for one in row)

    def _cell(self, cell: Any) -> Cell:
        value = cell.value
        if type(value) not in (int, float):
            return as_cell(value)
        style = cell.style_array.numFmtId
        if style not in self._signs:  # a format takes long to look up, and there are few
            self._signs[style] = sign_of(cell.number_format)
        sign = self._signs[style]
        return show(value, sign) if sign else as_cell(value)


def _load(file: InputFile) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise UsageError(
            'Workbooks are read by openpyxl; install it (pip install "geodp[xlsx]").'
        ) from None
    try:
        with ZipFile(file.path) as archive:
            beside = [one for one in archive.infolist() if "/worksheets/" not in one.filename]
        if sum(one.file_size for one in beside) <= MOST_SHARED:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return openpyxl.load_workbook(file.path, read_only=True, keep_links=False)
    except BROKEN:
        pass
    raise InputError(NO_WORKBOOK, file=file.name)
