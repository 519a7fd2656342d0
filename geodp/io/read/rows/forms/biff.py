"""Records of workbooks of Excel 97 to 2003 (BIFF): which cells hold formulas, errors, percentages.

python-calamine gives a blank for an error and for a formula what it gave, so that their records
are looked at beforehand. It also asks for as much memory as a damaged record says, and the process
ends where there is not so much: sizes are compared with what a sheet can have.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from geodp.io.read.rows.fields import ERRORS

BOF, EOF, ENCRYPTED, SHEET, FORMAT, STYLE = 0x0809, 0x000A, 0x002F, 0x0085, 0x041E, 0x00E0
FORMULAS = (0x0006, 0x0206, 0x0406)
TRUTH_OR_ERROR = 0x0205
NUMBERS = (0x0203, 0x027E)
MANY_NUMBERS = 0x00BD
DIMENSIONS, MERGED = 0x0200, 0x00E5
CELLS = {*FORMULAS, TRUTH_OR_ERROR, *NUMBERS, MANY_NUMBERS, 0x0204, 0x00D6, 0x00FD}
"""Records of cells: those above, and texts."""

ERROR_CODES = (0x00, 0x07, 0x0F, 0x17, 0x1D, 0x24, 0x2A, 0x2B)
"""Of the first of ``ERRORS``."""

MOST_ROWS, MOST_COLUMNS = 1 << 16, 1 << 8
"""Of a sheet."""

MOST_AREA = 1 << 24
"""Cells of the rectangles around the sheets of a workbook, of which few are filled."""

VERSIONS = (0x0500, 0x0600)
"""Those that have several sheets in one stream, and that python-calamine reads."""

PERCENTAGES = {9, 10}
"""Numbers of the built-in formats of percentages."""


@dataclass
class Marks:
    """What of the cells of a sheet is not told by their values; rows and columns count from 0.

    Attributes
    ----------
    formulas : set of int
        Rows that hold one.
    errors : mapping of int to mapping of int to str
        By row and column, as they are shown.
    percentages : mapping of int to list of int
        Columns of numbers that are shown as percentages, by row.
    cells : int
        Records of cells.
    first, last : tuple of int
        Row and column of the corners of the rectangle around all cells.
    """

    formulas: set[int] = field(default_factory=set)
    errors: dict[int, dict[int, str]] = field(default_factory=dict)
    percentages: dict[int, list[int]] = field(default_factory=dict)
    cells: int = 0
    first: tuple[int, int] = (MOST_ROWS, MOST_COLUMNS)
    last: tuple[int, int] = (0, 0)

    @property
    def area(self) -> int:
        """The number of cells in the rectangle."""
        rows, columns = (1 + b - a for a, b in zip(self.first, self.last, strict=True))
        return max(rows, 0) * max(columns, 0)

    def take(self, row: int, column: int, width: int) -> None:
        """Add cells side by side; ValueError for some beyond what a sheet has."""
        end = column + width - 1
        if row >= MOST_ROWS or not column <= end < MOST_COLUMNS:
            raise ValueError("a cell beyond the sheet")
        self.cells += 1
        self.first = min(self.first[0], row), min(self.first[1], column)
        self.last = max(self.last[0], row), max(self.last[1], end)

    @property
    def end(self) -> int:
        """The number of rows up to the last formula or error."""
        return 1 + max([*self.formulas, *self.errors], default=-1)


@dataclass(frozen=True)
class WorkbookStream:
    """The stream of a workbook.

    Attributes
    ----------
    stream : bytes
    starts : tuple of int
        Where each sheet begins.
    shares : frozenset of int
        Styles that show a number as a percentage.
    """

    stream: bytes
    starts: tuple[int, ...]
    shares: frozenset[int]

    @classmethod
    def of(cls, stream: bytes) -> WorkbookStream:
        """Read what the workbook says before its sheets.

        Raises ValueError for one that is encrypted, damaged or of another version, and
        struct.error for one that is damaged.
        """
        version, starts, formats, styles = 0, list[int](), set(PERCENTAGES), list[int]()
        for kind, at, size in _records(stream, 0):
            match kind:
                case 0x0809 if not version:
                    version = struct.unpack_from("<H", stream, at)[0]
                case 0x002F:
                    raise ValueError("the workbook is encrypted")
                case 0x0085:
                    starts.append(struct.unpack_from("<L", stream, at)[0])
                case 0x041E:
                    number = struct.unpack_from("<H", stream, at)[0]
                    if "%" in _format(stream[at + 2 : at + size], version):
                        formats.add(number)
                case 0x00E0:
                    styles.append(struct.unpack_from("<H", stream, at + 2)[0])
        if version not in VERSIONS:
            raise ValueError("a workbook of another version")
        shares = frozenset(style for style, number in enumerate(styles) if number in formats)
        return cls(stream, tuple(starts), shares)

    def marks(self) -> list[Marks]:
        """Return what the values of each sheet do not tell; raises as above."""
        found = [*map(self._mark, self.starts)]
        if sum(one.area for one in found) > max(MOST_AREA, 64 * sum(one.cells for one in found)):
            raise ValueError("cells far from all others")
        return found

    def _mark(self, start: int) -> Marks:
        found = Marks()
        for kind, at, size in _records(self.stream, start):
            if kind == DIMENSIONS:
                _require_dimensions(self.stream[at : at + size])
            elif kind == MERGED and size < 2 + 8 * struct.unpack_from("<H", self.stream, at)[0]:
                raise ValueError("merged cells that are not there")
            if kind not in CELLS:
                continue
            row, column, style = struct.unpack_from("<HHH", self.stream, at)
            found.take(row, column, (size - 6) // 6 if kind == MANY_NUMBERS else 1)
            if kind in FORMULAS:
                found.formulas.add(row)
            elif kind == TRUTH_OR_ERROR and self.stream[at + 7]:
                found.errors.setdefault(row, {})[column] = ERRORS[
                    ERROR_CODES.index(self.stream[at + 6])
                ]
            elif kind in NUMBERS and style in self.shares:
                found.percentages.setdefault(row, []).append(column)
            elif kind == MANY_NUMBERS and self.shares:
                for number, one in enumerate(range(at + 4, at + size - 2, 6)):
                    if struct.unpack_from("<H", self.stream, one)[0] in self.shares:
                        found.percentages.setdefault(row, []).append(column + number)
        return found


def _require_dimensions(data: bytes) -> None:
    """Raise ValueError where a sheet says that it has more rows or columns than there can be."""
    first, last, _, width = struct.unpack("<LLHH" if len(data) > 10 else "<HHHH", data[:-2])
    if last > MOST_ROWS or width > MOST_COLUMNS or (last and first >= last):
        raise ValueError("dimensions beyond the sheet")


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and length of records up to the end of what begins here.

    Those of charts within it are left out: what they hold of cells is none of the sheet.
    """
    depth = 0
    while True:
        kind, size = struct.unpack_from("<HH", stream, at)
        at += 4
        if at + size > len(stream) or (not depth and kind != BOF):
            raise ValueError("records that break off")
        depth += (kind == BOF) - (kind == EOF)
        if depth < 2:
            yield kind, at, size
        if not depth:
            return
        at += size


def _format(data: bytes, version: int) -> str:
    """Return how numbers are shown: in BIFF8 in one or two bytes a letter, in BIFF5 in one."""
    if version == VERSIONS[1] and data[2] & 1:
        return data[3:].decode("utf-16-le")
    return data[1:].decode("latin-1")
