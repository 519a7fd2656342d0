"""Sheets of workbooks as tables: columns of numbers if all cells are numbers, else of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import pyarrow as pa

from geodp.errors import InputError, Rule, printable
from geodp.io.read.rows.forms.books import NO_WORKBOOK, Book, Cell, OpenDocumentBook, OpenXmlBook
from geodp.io.read.rows.input_files import InputFile
from geodp.io.read.rows.partitions import FileTable
from geodp.io.read.rows.span import (
    ABOVE,
    AFTER_LAST,
    BELOW,
    BETWEEN,
    BLANK,
    HEAD_ROWS,
    NO_FIRST,
    Opening,
    find_row,
    is_note,
    suggest_header,
    trim,
)
from geodp.table.source import Fact

BATCH = 1 << 14
"""Rows in a batch."""

MAX_ROWS = 1 << 20
"""Maximum number of rows in a sheet."""

EXACT_LIMIT = 10**15
"""Whole numbers from here on may have lost digits, as workbooks store 15 significant digits."""

LOST = Rule(
    "workbook-digits-lost",
    "A cell holds a number of 16 digits or more, of which workbooks keep 15; write the column as "
    "text, from the original file.",
)
LAST_IS_BLANK = Rule(
    "last-row-blank",
    "This row is blank, or beyond the end of the sheet; name the last row of the table "
    "(--last-row, last_row=).",
)
FORMULA = Rule(
    "workbook-formula", "A cell holds a formula; copy the sheet and paste its values only."
)


@dataclass(frozen=True)
class SheetTable(FileTable):
    """One sheet with a row of column names and the rows below it; rows count from 1.

    Attributes
    ----------
    header : tuple of str
    header_row : int
        The row of the names.
    opening : Opening
        Rows that the operator named.
    title : str
        Of the workbook, in its properties; empty without one.
    """

    file: InputFile
    sheet: str
    header: tuple[str, ...]
    header_row: int
    opening: Opening
    title: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the header."""
        return self.header

    @cached_property
    def title_rows(self) -> tuple[tuple[bool, list[str]], ...]:
        """Rows above the header (True), and those of units between it and the first row (False).

        The title of the workbook and the name of the sheet are titles, too.
        """
        begins = self._begins
        titles = [(True, [self.sheet, self.title])]
        if begins > 2:
            with closing(_open_book(self.file)) as book:
                # Formulas in rows that are not read are no matter.
                for number, (cells, _) in enumerate(islice(book.rows(self.sheet), begins - 1), 1):
                    if number != self.header_row:
                        titles.append((number < self.header_row, [*map(_text, cells)]))
        return tuple(titles)

    @classmethod
    def open(cls, file: InputFile, opening: Opening) -> SheetTable:
        """Read the names, from the first row that is not blank or the row that was named.

        Raises InputError if there are several sheets and none was chosen.
        """
        sheet, header_row = opening.layer, opening.header_row
        with closing(_open_book(file)) as book:
            names = book.sheets
            if (sheet is None and len(names) != 1) or (sheet is not None and sheet not in names):
                shown = ", ".join(map(printable, names))
                raise InputError(
                    f"Choose one of the sheets (--layer, layer=): {shown}.",
                    file=file.name,
                    code="sheet-missing",
                )
            chosen = sheet or names[0]
            row_of_names, header = header_row or 1, list[str]()
            rows = _rows(book, chosen, file.name, row_of_names)
            for number, row in enumerate(rows, row_of_names):
                row_of_names, header = number, trim([*map(_text, row)])
                if header or header_row is not None:
                    break
            else:
                if header_row is not None:
                    raise InputError(AFTER_LAST, file=file.name, row=header_row)
            # A row above with the same names is the true header, whose rows would be left out.
            above = islice(book.rows(chosen), row_of_names - 1)
            if header and any(trim([*map(_text, row)]) == header for row, _ in above):
                raise InputError(ABOVE, file=file.name, row=row_of_names)
        if not header and header_row is not None:
            raise InputError(BLANK, file=file.name, row=header_row)
        if not header:
            raise InputError(
                "The sheet has no header and no rows; choose another (--layer, layer=).",
                file=file.name,
                code="sheet-empty",
            )
        return cls(file, chosen, tuple(header), row_of_names, opening, book.title)

    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns, without blank rows at the end.

        The type of a column depends on all of its cells, so that the sheet is read before the first
        batch.
        """
        width, named, last = len(self.names), self.opening.first_row, self.opening.last_row
        columns_read: list[list[Cell]] = [[] for _ in chosen]
        with closing(_open_book(self.file)) as book:
            blank, last_filled, begins = 0, self.header_row, self._begins
            first = [] if named is last is None else self._first_row(book)
            for number, row in enumerate(_rows(book, self.sheet, self.name, begins), begins):
                if last is not None and number > last:
                    if not is_note([*map(_text, row)], first):
                        raise InputError(BELOW, file=self.name, row=number)
                    continue
                if any(map(_is_there, row[width:])):
                    raise InputError(self._explain_wide(), file=self.name, row=number)
                if not any(map(_is_there, row)):
                    blank += 1
                    continue
                for column, cells in zip(chosen, columns_read, strict=True):
                    cell = row[column] if column < len(row) else None
                    # A code of 16 digits ends in zeros after a workbook saved it as a number.
                    if isinstance(cell, int) and abs(cell) >= EXACT_LIMIT:
                        raise InputError(LOST, file=self.name, row=number)
                    # Blank rows inside the table count as rows, so that errors name the right one.
                    cells.extend([None] * blank)
                    cells.append(cell)
                blank, last_filled = 0, number
            if last is not None and last_filled < last:
                raise InputError(LAST_IS_BLANK, file=self.name, row=last)
        columns = [*map(_column, columns_read)]
        for start in range(0, len(columns[0]) if columns else 0, BATCH):
            yield [column.slice(start, BATCH) for column in columns]

    def _first_row(self, book: Book) -> list[str]:
        """Return the first row of data; InputError if a similar row lies above it."""
        below, named = self.header_row + 1, self.opening.first_row
        count = None if named is None else named - self.header_row
        rows = [
            [*map(_text, row)]
            for row in islice(_rows(book, self.sheet, self.name, below), count or HEAD_ROWS)
        ]
        if count is None:
            return next(filter(trim, rows), [])
        first = rows[-1] if len(rows) == count else []
        if not trim(first):
            raise InputError(NO_FIRST, file=self.name, row=named)
        if (wrong := find_row(rows[:-1], first, self.header_row)) is not None:
            raise InputError(BETWEEN, file=self.name, row=wrong)
        return first

    def heads(self) -> Iterator[tuple[range, list[list[str]]]]:
        """Yield the row of names, and the cells of the first rows as texts."""
        with closing(_open_book(self.file)) as book:
            read = islice(_rows(book, self.sheet, self.name), HEAD_ROWS)
            rows = [[*map(_text, row)] for row in read]
        yield range(self.header_row, self.header_row + 1), rows

    def _explain_wide(self) -> str:
        """Return the rule for a row that is wider than the header."""
        if (rows := self.guess_header()) is not None:
            return Rule(
                "sheet-header-elsewhere",
                f"The row has more columns than the header; {suggest_header(*rows)}",
            )
        return Rule(
            "sheet-wider-than-header",
            "The row has more columns than the header; give each column a name in row "
            f"{self.header_row}, or delete the cells beside the table.",
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts from the workbook and the options."""
        facts = (Fact("format", self.file.kind, "file"), Fact("layer", self.sheet, "file"))
        return (*facts, *self.opening.facts)

    def line(self, record: int) -> int:
        """Return the row of the sheet."""
        return self._begins + record

    @property
    def _begins(self) -> int:
        """The row of the sheet in which the table begins."""
        return self.opening.first_row or self.header_row + 1


def _open_book(file: InputFile) -> Book:
    """Open a workbook by the library of its format, which is imported on demand."""
    if file.kind == "ods":
        return OpenDocumentBook(file)
    return OpenXmlBook(file)


def _rows(book: Book, sheet: str, name: str, first: int = 1) -> Iterator[list[Cell]]:
    """Yield the cells of every row from ``first`` on; InputError at a formula."""
    for number, (cells, computed) in enumerate(book.rows(sheet), 1):
        if number > MAX_ROWS:
            raise InputError(NO_WORKBOOK, file=name)
        if number >= first:
            if computed:
                raise InputError(FORMULA, file=name, row=number)
            yield cells


def _is_there(cell: Cell) -> bool:
    """Whether a cell is not blank."""
    return cell is not None and cell != ""


def _text(cell: Cell) -> str:
    """Return a cell as text."""
    text = "" if cell is None else str(cell)
    # An exponent keeps a number with three decimals from being read as one with thousands.
    return f"{text}e0" if isinstance(cell, float) and "e" not in text else text


def _column(cells: list[Cell]) -> pa.Array:
    """Return cells as a column: int64 or float64 if all filled cells are numbers, else string."""
    # Numbers of a column with texts are written as texts, too: one column has one type.
    kinds = {type(cell) for cell in cells if _is_there(cell)}
    if not kinds or str in kinds:
        return pa.array([*map(_text, cells)], pa.string())
    plain = [cell if _is_there(cell) else None for cell in cells]
    return pa.array(plain, pa.float64() if float in kinds else pa.int64())
