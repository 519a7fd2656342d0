"""Binary workbooks of Excel (xls, xlsb): values by python-calamine, all else by their records."""

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
from geodp.io.read.rows.forms.biff12 import read_marks
from geodp.io.read.rows.forms.cells import BROKEN, Book, Cell, Row, as_cell
from geodp.io.read.rows.forms.compound import read_stream
from geodp.io.read.rows.forms.marks import Marks
from geodp.io.read.rows.input_files import InputFile

MOST_BYTES = 1 << 28
"""Of a workbook, which is held in memory."""

STREAMS = ("Workbook", "Book", "WORKBOOK", "BOOK")


class BinaryBook(Book):
    """A workbook that is held in memory.

    Raises UsageError where python-calamine is not installed, and InputError for a file that is
    none.
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
        if Path(file.path).stat().st_size > MOST_BYTES:
            return
        data = Path(file.path).read_bytes()
        # What they refuse would end the process in the library.
        self._marks = _marks(file, data)
        self._book = _carry_out(partial(library.load_workbook, BytesIO(data)))
        found = self._book.sheets_metadata
        kept = [n for n, one in enumerate(found) if one.typ == library.SheetTypeEnum.WorkSheet]
        numbers = {found[n].name: n for n in kept}
        if len(found) == len(self._marks) and len(numbers) == len(kept):
            self._numbers = numbers

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _rows(self, sheet: str) -> Iterator[Row]:
        assert self._numbers is not None
        marks = self._marks[self._numbers[sheet]]
        found = self._book.get_sheet_by_name(sheet)
        left, height, blank = 0, 0, repeat(list[Any]())
        rows: Iterator[list[Any]] = iter(())
        if found.start is not None:
            rows = iter(partial(_carry_out, partial(next, found.iter_rows(), None)), None)
            left, height = found.start[1], found.end[0] + 1
        rows = islice(chain(rows, blank), max(height, marks.end))
        for number, row in enumerate(rows):
            signs = marks.signs.get(number, {})
            cells: list[Cell] = [None] * left
            cells += [_cell(one, signs.get(left + at, "")) for at, one in enumerate(row)]
            for column, text in marks.errors.get(number, {}).items():
                cells += [None] * (column + 1 - len(cells))
                cells[column] = text
            yield cells, number in marks.formulas


def _marks(file: InputFile, data: bytes) -> list[Marks]:
    """Return what the values of each sheet do not tell."""
    if file.kind == "xls":
        return WorkbookStream.of(read_stream(data, STREAMS)).marks()
    with ZipFile(BytesIO(data)) as archive:
        check_archive(file.path, archive)
        return read_marks(archive)


def _carry_out(step: Callable[[], Any]) -> Any:
    """Return what a step of the library gives; ValueError where its code gives up.

    What it raises then is no Exception, which would end the process.
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
    """Return what stands in a cell; a date is the moment at which it begins, as in xlsx."""
    if value == "":
        return None
    if type(value) is datetime.date:
        value = datetime.datetime.combine(value, datetime.time())
    return as_cell(value, sign)
