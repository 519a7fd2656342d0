"""Sheets of xlsx workbooks, as texts: a number that is whole has no decimals."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile

import pyarrow as pa

from geodp.errors import InputError, UsageError, printable
from geodp.io.read.rows.input_files import DAMAGES, InputFile
from geodp.table.source import Fact

BATCH = 1 << 14
"""Rows that are looked at at once."""

MOST_ROWS = 1 << 20
"""Rows of a sheet of xlsx."""

MOST_SHARED = 1 << 28
"""Bytes of a workbook's parts beside its sheets, such as its texts: they are held in memory."""

BROKEN = (
    *(*DAMAGES, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, NotImplementedError),
)
"""What openpyxl raises on a damaged, hostile or encrypted workbook; its words may quote cells."""

FORMULA = "A cell holds a formula; copy the sheet and paste its values only."
ROUNDED = (
    "A number has more than 15 digits, and a workbook keeps no more of a number; write such codes "
    "and counts as texts."
)
NO_WORKBOOK = "The file cannot be read as a workbook (xlsx); it may be damaged or encrypted."


@dataclass(frozen=True)
class SheetTable:
    """One sheet whose first row has the names of its columns; rows count from 1."""

    file: InputFile
    sheet: str
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.file.name

    @classmethod
    def open(cls, file: InputFile, sheet: str | None) -> SheetTable:
        """Read the first row; InputError where there are several sheets and none was chosen."""
        book = _load(file)
        try:
            names = [one.title for one in book.worksheets]
            shown = ", ".join(map(printable, names))
            if (sheet is None and len(names) != 1) or (sheet is not None and sheet not in names):
                rule = f"Choose one of the sheets (--layer, layer=): {shown}."
                raise InputError(rule, file=file.name)
            chosen = sheet or names[0]
            header = next(_rows(book[chosen], file.name), [])
        finally:
            book.close()
        while header and not header[-1]:
            header.pop()
        if not header:
            raise InputError("The sheet holds no header and no rows.", file=file.name)
        return cls(file, chosen, tuple(name.strip() for name in header))

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns as texts; blank rows at the end are none."""
        book, width = _load(self.file), len(self.columns)
        try:
            rows: list[list[str]] = []
            blank = 0
            for number, row in enumerate(_rows(book[self.sheet], self.name, chosen)):
                if number == 0:
                    continue
                if any(row[width:]):
                    rule = "The row has more columns than the header."
                    raise InputError(rule, file=self.name, row=number + 1)
                if not any(row):
                    blank += 1
                    continue
                rows += [[""] * width] * blank + [[*row, *[""] * width][:width]]
                blank = 0
                if len(rows) >= BATCH:
                    yield _columns(rows, chosen)
                    rows = []
            if rows:
                yield _columns(rows, chosen)
        finally:
            book.close()

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the workbook says."""
        return (Fact("format", "xlsx", "file"), Fact("layer", self.sheet, "file"))

    def line(self, record: int) -> int:
        """Row of the sheet."""
        return record + 2


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


def _rows(sheet: Any, name: str, chosen: Sequence[int] = ()) -> Iterator[list[str]]:
    """Yield the texts of every row; InputError for numbers of chosen columns that lost digits."""
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    rows = sheet.iter_rows()
    number = 0
    while True:
        number += 1
        row: Any = None
        read = False
        try:
            with warnings.catch_warnings():  # they quote cells
                warnings.simplefilter("ignore")
                row = next(rows, None)
            read = number <= MOST_ROWS or row is None
        except BROKEN:
            pass
        if not read:
            raise InputError(NO_WORKBOOK, file=name)
        if row is None:
            return
        if any(cell.data_type == "f" for cell in row):
            raise InputError(FORMULA, file=name, row=number)
        if any(_is_rounded(cell.value) for at, cell in enumerate(row) if at in chosen):
            raise InputError(ROUNDED, file=name, row=number)
        yield [_text(cell.value) for cell in row]


def _is_rounded(value: Any) -> bool:
    """Whether a cell is a number of more digits than Excel keeps."""
    return isinstance(value, int | float) and abs(value) >= 10**15


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _columns(rows: list[list[str]], chosen: Sequence[int]) -> list[pa.Array]:
    return [pa.array([row[column] for row in rows], pa.string()) for column in chosen]
