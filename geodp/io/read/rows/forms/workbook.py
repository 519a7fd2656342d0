"""Sheets of workbooks: columns of numbers, where all cells are, and else of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from geodp.errors import InputError, Rule, printable
from geodp.io.read.rows.forms.cells import NO_WORKBOOK, Book, Cell
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
from geodp.io.read.rows.span import BELOW, BETWEEN, FOUND, NO_FIRST, Span, find_row, is_note
from geodp.table.source import Fact

BATCH = 1 << 14
"""Rows that are looked at at once."""

MOST_ROWS = 1 << 20
"""Rows of a sheet, as spreadsheets keep them."""

KEPT = 10**15
"""Whole numbers from here on may have lost digits: workbooks keep 15 of them."""

LOST = Rule(
    "workbook-digits-lost",
    "A cell holds a number of 16 digits or more, of which workbooks keep 15; write the column as "
    "text, from the original file.",
)
LAST_IS_BLANK = Rule(
    "last-row-blank",
    "This row is blank, or below the sheet's; name the last one of the table (--last-row, "
    "last_row=).",
)
FORMULA = Rule(
    "workbook-formula", "A cell holds a formula; copy the sheet and paste its values only."
)


@dataclass(frozen=True)
class SheetTable(FileTable):
    """One sheet: a row has the names of its columns, and below it are its rows; they count from 1.

    Attributes
    ----------
    header : tuple of str
    header_row : int
        The row of the names.
    stated : Span
        What the operator says of its rows.
    """

    file: InputFile
    sheet: str
    header: tuple[str, ...]
    header_row: int
    stated: Span = FOUND

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the header."""
        return self.header

    @classmethod
    def open(cls, file: InputFile, sheet: str | None, span: Span) -> SheetTable:
        """Read the names, in the first row that is not blank or in the one that is named.

        InputError where there are several sheets and none was chosen.
        """
        book, header_row = _open_book(file), span.header
        try:
            names = book.sheets
            shown = ", ".join(map(printable, names))
            if (sheet is None and len(names) != 1) or (sheet is not None and sheet not in names):
                rule = Rule(
                    "sheet-missing", f"Choose one of the sheets (--layer, layer=): {shown}."
                )
                raise InputError(rule, file=file.name)
            chosen = sheet or names[0]
            found, header = header_row or 1, list[str]()
            for number, row in enumerate(_rows(book, chosen, file.name, found), found):
                found, header = number, trim([*map(_text, row)])
                if header or header_row is not None:
                    break
            else:
                if header_row is not None:
                    raise InputError(AFTER_LAST, file=file.name, row=header_row)
            above = islice(book.rows(chosen), found - 1)
            if header and any(trim([*map(_text, row)]) == header for row, _ in above):
                raise InputError(ABOVE, file=file.name, row=found)
        finally:
            book.close()
        if not header and header_row is not None:
            raise InputError(BLANK, file=file.name, row=header_row)
        if not header:
            raise InputError(
                "The sheet holds no header and no rows; choose another (--layer, layer=).",
                file=file.name,
                code="sheet-empty",
            )
        return cls(file, chosen, tuple(header), found, span)

    def own_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns; blank rows at the end are none.

        The type of a column is that of all its cells, which are held until they were read.
        """
        book, width = _open_book(self.file), len(self.names)
        held: list[list[Cell]] = [[] for _ in chosen]
        try:
            blank, met = 0, self.header_row
            begins = self.stated.first or self.header_row + 1
            first = [] if self.stated.first is self.stated.last is None else self._first_row(book)
            for number, row in enumerate(_rows(book, self.sheet, self.name, begins), begins):
                if self.stated.last is not None and number > self.stated.last:
                    if not is_note([*map(_text, row)], first):
                        raise InputError(BELOW, file=self.name, row=number)
                    continue
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
                blank, met = 0, number
            if self.stated.last is not None and met < self.stated.last:
                raise InputError(LAST_IS_BLANK, file=self.name, row=self.stated.last)
        finally:
            book.close()
        columns = [*map(_column, held)]
        for start in range(0, len(columns[0]) if columns else 0, BATCH):
            yield [column.slice(start, BATCH) for column in columns]

    def _first_row(self, book: Book) -> list[str]:
        """Return the first row; InputError where its like stands above the one that is named."""
        below = self.header_row + 1
        count = None if self.stated.first is None else self.stated.first - self.header_row
        rows = [
            [*map(_text, row)]
            for row in islice(_rows(book, self.sheet, self.name, below), count or HEAD_ROWS)
        ]
        if count is None:
            return next(filter(trim, rows), [])
        first = rows[-1] if len(rows) == count else []
        if not trim(first):
            raise InputError(NO_FIRST, file=self.name, row=self.stated.first)
        if (wrong := find_row(rows[:-1], first, self.header_row)) is not None:
            raise InputError(BETWEEN, file=self.name, row=wrong)
        return first

    def find_header(self, wanted: Callable[[Sequence[str]], bool]) -> int | None:
        """Return the first other row whose cells are wanted, None if none soon is."""
        for number, row in enumerate(self._head_rows(), 1):
            if number != self.header_row and wanted(row):
                return number
        return None

    def guess_header(self) -> tuple[int, int] | None:
        """Return the first other row that looks like a header of more columns, None if none.

        Beside it that with which its table seems to begin.
        """
        found = guess_header(self._head_rows(), sum(map(bool, self.names)))
        if found is None or found[0] + 1 == self.header_row:
            return None
        return found[0] + 1, found[1] + 1

    def _head_rows(self) -> list[list[str]]:
        """Cells of the first rows as texts."""
        book = _open_book(self.file)
        try:
            rows = islice(_rows(book, self.sheet, self.name), HEAD_ROWS)
            return [[*map(_text, row)] for row in rows]
        finally:
            book.close()

    def _explain_wide(self) -> str:
        if (rows := self.guess_header()) is not None:
            return Rule(
                "sheet-header-elsewhere",
                f"The row has more columns than the header; {point_to(*rows)}",
            )
        return Rule(
            "sheet-wider-than-header",
            f"The row has more columns than the header; give each a name in row {self.header_row}, "
            "or delete what is beside the table.",
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the workbook says."""
        found = (Fact("format", self.file.kind, "file"), Fact("layer", self.sheet, "file"))
        return (*found, *self.stated.facts)

    def line(self, record: int) -> int:
        """Row of the sheet."""
        return self.header_row + record + 1


def _open_book(file: InputFile) -> Book:
    """Open a workbook by the library of its form, which is imported here alone."""
    if file.kind == "ods":
        from geodp.io.read.rows.forms.ods import OpenDocumentBook

        return OpenDocumentBook(file)
    if file.kind in ("xls", "xlsb"):
        from geodp.io.read.rows.forms.xls import BinaryBook

        return BinaryBook(file)
    from geodp.io.read.rows.forms.xlsx import OpenXmlBook

    return OpenXmlBook(file)


def _rows(book: Book, sheet: str, name: str, first: int = 1) -> Iterator[list[Cell]]:
    """Yield the cells of every row from the first one on; InputError at a formula."""
    for number, (cells, computed) in enumerate(book.rows(sheet), 1):
        if number > MOST_ROWS:
            raise InputError(NO_WORKBOOK, file=name)
        if number >= first:
            if computed:
                raise InputError(FORMULA, file=name, row=number)
            yield cells


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
