"""Sheets of xlsx workbooks: columns of numbers, where all cells are, and else of texts."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias
from zipfile import ZipFile

import pyarrow as pa

from geodp.errors import InputError, UsageError, printable
from geodp.io.read.rows.complete.archive import DAMAGES
from geodp.io.read.rows.headers import (
    ABOVE,
    AFTER_LAST,
    BLANK,
    HEAD_ROWS,
    guess_header,
    point_to,
    trim,
)
from geodp.io.read.rows.input_files import InputFile
from geodp.io.read.rows.partitions import FileTable
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

Cell: TypeAlias = str | int | float | None

KEPT = 10**15
"""Whole numbers from here on may have lost digits: workbooks keep 15 of them."""

LOST = (
    "A cell holds a number of 16 digits or more, of which workbooks keep 15; write the column as "
    "text, from the original file."
)
FORMULA = "A cell holds a formula; copy the sheet and paste its values only."
NO_WORKBOOK = (
    "The file cannot be read as a workbook (xlsx); it may be damaged or encrypted: save it again "
    "without a password, or as CSV."
)


@dataclass(frozen=True)
class SheetTable(FileTable):
    """One sheet: a row has the names of its columns, and below it are its rows; they count from 1.

    Attributes
    ----------
    header : tuple of str
    header_row : int
        The row of the names.
    named : bool
        Whether the operator says that it is this one.
    """

    file: InputFile
    sheet: str
    header: tuple[str, ...]
    header_row: int
    named: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the header."""
        return self.header

    @classmethod
    def open(cls, file: InputFile, sheet: str | None, header_row: int | None) -> SheetTable:
        """Read the names, in the first row that is not blank or in the one that is named.

        InputError where there are several sheets and none was chosen.
        """
        book = _load(file)
        try:
            names = [one.title for one in book.worksheets]
            shown = ", ".join(map(printable, names))
            if (sheet is None and len(names) != 1) or (sheet is not None and sheet not in names):
                rule = f"Choose one of the sheets (--layer, layer=): {shown}."
                raise InputError(rule, file=file.name)
            chosen = sheet or names[0]
            found, header = header_row or 1, list[str]()
            for number, row in enumerate(_rows(book[chosen], file.name, found), found):
                found, header = number, trim([*map(_text, row)])
                if header or header_row is not None:
                    break
            else:
                if header_row is not None:
                    raise InputError(AFTER_LAST, file=file.name, row=header_row)
            above = book[chosen].iter_rows(max_row=found - 1, values_only=True) if found > 1 else ()
            if header and any(trim([*map(_text, map(_cell, row))]) == header for row in above):
                raise InputError(ABOVE, file=file.name, row=found)
        finally:
            book.close()
        if not header and header_row is not None:
            raise InputError(BLANK, file=file.name, row=header_row)
        if not header:
            raise InputError(
                "The sheet holds no header and no rows; choose another (--layer, layer=).",
                file=file.name,
            )
        return cls(file, chosen, tuple(header), found, header_row is not None)

    def own_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns; blank rows at the end are none.

        The type of a column is that of all its cells, which are held until they were read.
        """
        book, width = _load(self.file), len(self.names)
        held: list[list[Cell]] = [[] for _ in chosen]
        try:
            blank = 0
            below = self.header_row + 1
            for number, row in enumerate(_rows(book[self.sheet], self.name, below), below):
                if any(map(_is_there, row[width:])):
                    raise InputError(self._explain_wide(), file=self.name, row=number)
                if not any(map(_is_there, row)):
                    blank += 1
                    continue
                for column, cells in zip(chosen, held, strict=True):
                    cell = row[column] if column < len(row) else None
                    if isinstance(cell, int) and abs(cell) >= KEPT:
                        raise InputError(LOST, file=self.name, row=number)
                    cells.extend([None] * blank)
                    cells.append(cell)
                blank = 0
        finally:
            book.close()
        columns = [*map(_column, held)]
        for start in range(0, len(columns[0]) if columns else 0, BATCH):
            yield [column.slice(start, BATCH) for column in columns]

    def find_header(self, wanted: Callable[[Sequence[str]], bool]) -> int | None:
        """Return the first other row whose cells are wanted, None if none soon is."""
        for number, row in enumerate(self._head_rows(), 1):
            if number != self.header_row and wanted(row):
                return number
        return None

    def guess_header(self) -> int | None:
        """Return the first other row that looks like a header of more columns, None if none."""
        found = guess_header(self._head_rows(), sum(map(bool, self.names)))
        return None if found is None or found + 1 == self.header_row else found + 1

    def _head_rows(self) -> list[list[str]]:
        """Cells of the first rows as texts."""
        book = _load(self.file)
        try:
            rows = islice(_rows(book[self.sheet], self.name), HEAD_ROWS)
            return [[*map(_text, row)] for row in rows]
        finally:
            book.close()

    def _explain_wide(self) -> str:
        if (row := self.guess_header()) is not None:
            return f"The row has more columns than the header; {point_to(row)}"
        return (
            f"The row has more columns than the header; give each a name in row {self.header_row}, "
            "or delete what is beside the table."
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the workbook says."""
        found = (Fact("format", "xlsx", "file"), Fact("layer", self.sheet, "file"))
        said = Fact("header row", str(self.header_row), "operator")
        return (*found, said) if self.named else found

    def line(self, record: int) -> int:
        """Row of the sheet."""
        return self.header_row + record + 1


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


def _rows(sheet: Any, name: str, first: int = 1) -> Iterator[list[Cell]]:
    """Yield the cells of every row from the first one on."""
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    rows, number = sheet.iter_rows(min_row=first), first - 1
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
        yield [_cell(cell.value) for cell in row]


def _cell(value: Any) -> Cell:
    """Return what stands in a cell, whole numbers as such; texts for what is no number."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _is_there(cell: Cell) -> bool:
    return cell is not None and cell != ""


def _text(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    # An exponent keeps a number with three decimals from being read as one with thousands.
    return f"{text}e0" if isinstance(cell, float) and "e" not in text else text


def _column(cells: list[Cell]) -> pa.Array:
    """Return cells as a column: int64 or float64 where all that are not blank are, else string."""
    kinds = {type(cell) for cell in cells if _is_there(cell)}
    if not kinds or str in kinds:
        return pa.array([*map(_text, cells)], pa.string())
    plain = [cell if _is_there(cell) else None for cell in cells]
    return pa.array(plain, pa.float64() if float in kinds else pa.int64())
