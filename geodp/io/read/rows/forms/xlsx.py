"""Workbooks of Office Open XML (xlsx), by openpyxl, which tells formulas from what they gave."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from zipfile import ZipFile

from geodp.errors import UsageError
from geodp.io.read.rows.forms.cells import BROKEN, Book, Cell, Row, as_cell, sign_of
from geodp.io.read.rows.input_files import InputFile

MOST_SHARED = 1 << 28
"""Bytes of a workbook's parts beside its sheets, such as its texts: they are held in memory."""


class OpenXmlBook(Book):
    """A workbook of which rows are read one by one.

    Raises UsageError where openpyxl is not installed, and InputError for a file that is none.
    """

    def __init__(self, file: InputFile) -> None:
        super().__init__(file)
        try:
            import openpyxl
        except ImportError:
            raise UsageError(
                'Workbooks are read by openpyxl; install it (pip install "geodp[xlsx]").',
                code="library-missing",
            ) from None
        self._book: Any = None
        with suppress(*BROKEN):
            self._book = _load(file, openpyxl)
        if self._book is None:
            self.refuse()
        self.sheets = tuple(one.title for one in self._book.worksheets)
        self._signs: dict[Any, str] = {}

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
        return as_cell(value, self._signs[style])


def _load(file: InputFile, library: Any) -> Any:
    """Return a workbook; None for one whose parts beside its sheets are too large."""
    with ZipFile(file.path) as archive:
        beside = [one for one in archive.infolist() if "/worksheets/" not in one.filename]
    if sum(one.file_size for one in beside) > MOST_SHARED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.load_workbook(file.path, read_only=True, keep_links=False)
