"""Office Open XML workbooks (xlsx), read by openpyxl, which distinguishes formulas from results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from zipfile import ZipFile

from geodp.errors import UsageError
from geodp.io.read.rows.forms.cells import BROKEN, Book, Cell, Row, as_cell, sign_of
from geodp.io.read.rows.input_files import InputFile

MAX_SHARED = 1 << 28
"""Maximum size of a workbook's parts besides sheets, such as its texts, which stay in memory."""


class OpenXmlBook(Book):
    """A workbook that is read row by row.

    Raises UsageError if openpyxl is not installed, and InputError for any other file.
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
        self.sheets = tuple(worksheet.title for worksheet in self._book.worksheets)
        self.title = str(self._book.properties.title or "")
        self._signs: dict[Any, str] = {}

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _rows(self, sheet: str) -> Iterator[Row]:
        worksheet = self._book[sheet]
        worksheet.reset_dimensions()  # the declared size may be wrong
        for row in worksheet.iter_rows():
            yield [self._cell(cell) for cell in row], any(cell.data_type == "f" for cell in row)

    def _cell(self, cell: Any) -> Cell:
        """Return the value of a cell; numbers keep the sign of their format."""
        value = cell.value
        # A bool is an int to Python; it has no number format that matters.
        if type(value) not in (int, float):
            return as_cell(value)
        style = cell.style_array.numFmtId
        if style not in self._signs:  # a format takes long to look up, and there are few
            self._signs[style] = sign_of(cell.number_format)
        return as_cell(value, self._signs[style])


def _load(file: InputFile, library: Any) -> Any:
    """Load a workbook; None if its parts besides sheets are too large."""
    # The sizes are read from the archive's directory before openpyxl unpacks anything.
    with ZipFile(file.path) as archive:
        shared_parts = [part for part in archive.infolist() if "/worksheets/" not in part.filename]
    if sum(part.file_size for part in shared_parts) > MAX_SHARED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.load_workbook(file.path, read_only=True, keep_links=False)
