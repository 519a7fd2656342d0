"""Records of workbooks of Excel 97 to 2003 (BIFF): which cells hold formulas, errors, percentages.

python-calamine gives a blank for an error and for a formula what it gave, so that their records
are looked at beforehand.
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
CELLS = {*FORMULAS, TRUTH_OR_ERROR, *NUMBERS, MANY_NUMBERS, 0x0204, 0x00D6, 0x00FD}
"""Records of cells: those above, and texts."""

ERROR_CODES = (0x00, 0x07, 0x0F, 0x17, 0x1D, 0x24, 0x2A, 0x2B)
"""Of the first of ``ERRORS``."""

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
    """

    formulas: set[int] = field(default_factory=set)
    errors: dict[int, dict[int, str]] = field(default_factory=dict)
    percentages: dict[int, list[int]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number of rows up to the last formula or error."""
        return 1 + max([*self.formulas, *self.errors], default=-1)


@dataclass(frozen=True)
class Records:
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
    def of(cls, stream: bytes) -> Records:
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

    def mark(self, sheet: int) -> Marks:
        """Return what the values of a sheet, by its number from 0, do not tell; raises as above."""
        found = Marks()
        for kind, at, size in _records(self.stream, self.starts[sheet]):
            if kind not in CELLS:
                continue
            row, column, style = struct.unpack_from("<HHH", self.stream, at)
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
