"""Binary workbooks of Excel (xls, xlsb): values by python-calamine, the rest by their records."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from geodp.errors import UsageError
from geodp.io.read.rows.complete.archive import check_archive
from geodp.io.read.rows.forms.biff import WorkbookStream
from geodp.io.read.rows.forms.biff12 import read_cell_records
from geodp.io.read.rows.forms.cell_records import CellRecords
from geodp.io.read.rows.forms.cells import BROKEN, Book, Cell, Row, as_cell
from geodp.io.read.rows.forms.compound import read_stream
from geodp.io.read.rows.input_files import InputFile

MAX_BYTES = 1 << 28
"""Maximum size of a workbook, which is held in memory."""

STREAMS = ("Workbook", "Book", "WORKBOOK", "BOOK")


class BinaryBook(Book):
    """A workbook that is held in memory.

    Raises UsageError if python-calamine is not installed, and InputError for any other file.
    """

    def __init__(self, file: InputFile) -> None:
        super().__init__(file)
        try:
            import python_calamine
        except ImportError:
            raise UsageError(
                "Binary workbooks (xls, xlsb) are read by python-calamine; install it (pip "
                'install "geodp[xls]").',
                code="library-missing",
            ) from None
        self._numbers: dict[str, int] | None = None
        with suppress(*BROKEN, python_calamine.CalamineError):
            self._open(file, python_calamine)
        if self._numbers is None:
            self.refuse()
        self.sheets = tuple(self._numbers)

    def _open(self, file: InputFile, library: Any) -> None:
        if Path(file.path).stat().st_size > MAX_BYTES:
            return
        data = Path(file.path).read_bytes()
        # Read first, as they refuse workbooks on which the library would end the process.
        self._records = _records(file, data)
        self._book = _call(partial(library.load_workbook, BytesIO(data)))
        metadata = self._book.sheets_metadata
        worksheets = [
            n for n, sheet in enumerate(metadata) if sheet.typ == library.SheetTypeEnum.WorkSheet
        ]
        numbers = {metadata[n].name: n for n in worksheets}
        # Sheets of cells, charts and macros are numbered together; names must be unique.
        if len(metadata) == len(self._records) and len(numbers) == len(worksheets):
            self._numbers = numbers

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _rows(self, sheet: str) -> Iterator[Row]:
        assert self._numbers is not None
        records = self._records[self._numbers[sheet]]
        worksheet = self._book.get_sheet_by_name(sheet)
        left, height, blank = 0, 0, repeat(list[Any]())
        rows: Iterator[list[Any]] = iter(())
        if worksheet.start is not None:
            rows = iter(partial(_call, partial(next, worksheet.iter_rows(), None)), None)
            left, height = worksheet.start[1], worksheet.end[0] + 1
        # The library drops empty rows at both ends, which would shift the numbers of rows.
        rows = islice(chain(rows, blank), max(height, records.end))
        for number, row in enumerate(rows):
            signs = records.signs.get(number, {})
            cells: list[Cell] = [None] * left
            cells += [_cell(value, signs.get(left + at, "")) for at, value in enumerate(row)]
            for column, text in records.errors.get(number, {}).items():
                cells += [None] * (column + 1 - len(cells))
                cells[column] = text
            yield cells, number in records.formulas


def _records(file: InputFile, data: bytes) -> list[CellRecords]:
    """Return the records of cells of each sheet, in addition to their values."""
    if file.kind == "xls":
        return WorkbookStream.of(read_stream(data, STREAMS)).cell_records()
    with ZipFile(BytesIO(data)) as archive:
        check_archive(file.path, archive)
        return read_cell_records(archive)


def _call(step: Callable[[], Any]) -> Any:
    """Carry out a step of the library; ValueError if its code panics.

    A panic of Rust is no subclass of Exception and would pass all handlers.
    """
    try:
        return step()
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
    raise ValueError("the library gave up")


def _cell(value: Any, sign: str) -> Cell:
    """Return the value of a cell; a date is its first moment, as in xlsx."""
    if value == "":
        return None
    if type(value) is datetime.date:
        value = datetime.datetime.combine(value, datetime.time())
    return as_cell(value, sign)
