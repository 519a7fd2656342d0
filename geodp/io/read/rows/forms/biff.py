"""Records of workbooks of Excel 97 to 2003 (BIFF): cells with formulas, errors and signs."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from geodp.io.read.rows.forms.cell_records import SIGNS, CellRecords, require_near
from geodp.io.read.rows.forms.cells import sign_of

BOF, EOF, ENCRYPTED, SHEET, FORMAT, STYLE = 0x0809, 0x000A, 0x002F, 0x0085, 0x041E, 0x00E0
FORMULAS = (0x0006, 0x0206, 0x0406)
TRUTH_OR_ERROR = 0x0205
NUMBERS = (0x0203, 0x027E)
MANY_NUMBERS = 0x00BD
DIMENSIONS, MERGED = 0x0200, 0x00E5
CELLS = {*FORMULAS, TRUTH_OR_ERROR, *NUMBERS, MANY_NUMBERS, 0x0204, 0x00D6, 0x00FD}
"""Records of cells: those above, and texts."""

MAX_ROWS, MAX_COLUMNS = 1 << 16, 1 << 8
"""Limits of a sheet."""

VERSIONS = (0x0500, 0x0600)
"""Versions with all sheets in one stream, which python-calamine reads."""


@dataclass(frozen=True)
class WorkbookStream:
    """The stream of a workbook.

    Attributes
    ----------
    stream : bytes
    starts : tuple of int
        Offset of each sheet.
    signs : mapping of int to str
        Signs beside numbers by which they are no counts, by style.
    """

    stream: bytes
    starts: tuple[int, ...]
    signs: Mapping[int, str]

    @classmethod
    def of(cls, stream: bytes) -> WorkbookStream:
        """Read the global records of a workbook.

        Raises ValueError for one that is encrypted, damaged or of another version, and
        struct.error for one that is damaged.
        """
        version, starts, formats, styles = 0, list[int](), dict(SIGNS), list[int]()
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
                    formats[number] = sign_of(_format(stream[at + 2 : at + size], version))
                case 0x00E0:
                    styles.append(struct.unpack_from("<H", stream, at + 2)[0])
        if version not in VERSIONS:
            raise ValueError("a workbook of another version")
        signs = {
            style: formats[number_format]
            for style, number_format in enumerate(styles)
            if formats.get(number_format)
        }
        return cls(stream, tuple(starts), signs)

    def cell_records(self) -> list[CellRecords]:
        """Return the records of cells of each sheet; raises as above."""
        sheets = [*map(self._read_sheet, self.starts)]
        require_near(sheets)
        return sheets

    def _read_sheet(self, start: int) -> CellRecords:
        """Return the records of cells of one sheet."""
        records = CellRecords(MAX_ROWS, MAX_COLUMNS)
        for kind, at, size in _records(self.stream, start):
            if kind == DIMENSIONS:
                _require_dimensions(self.stream[at : at + size])
            # The library reads as many ranges as the record declares, beyond its end.
            elif kind == MERGED and size < 2 + 8 * struct.unpack_from("<H", self.stream, at)[0]:
                raise ValueError("merged cells that are not there")
            if kind not in CELLS:
                continue
            row, column, style = struct.unpack_from("<HHH", self.stream, at)
            records.take(row, column, (size - 6) // 6 if kind == MANY_NUMBERS else 1)
            if kind in FORMULAS:
                records.formulas.add(row)
            # The last byte says whether the value is an error or a boolean.
            elif kind == TRUTH_OR_ERROR and self.stream[at + 7]:
                records.add_error(row, column, self.stream[at + 6])
            elif kind in NUMBERS and style in self.signs:
                records.signs.setdefault(row, {})[column] = self.signs[style]
            elif kind == MANY_NUMBERS and self.signs:
                for number, offset in enumerate(range(at + 4, at + size - 2, 6)):
                    style = struct.unpack_from("<H", self.stream, offset)[0]
                    if style in self.signs:
                        records.signs.setdefault(row, {})[column + number] = self.signs[style]
        return records


def _require_dimensions(data: bytes) -> None:
    """Raise ValueError if a sheet declares more rows or columns than its limits."""
    first, last, _, width = struct.unpack("<LLHH" if len(data) > 10 else "<HHHH", data[:-2])
    if last > MAX_ROWS or width > MAX_COLUMNS or (last and first >= last):
        raise ValueError("dimensions beyond the sheet")


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield kind, offset and length of records up to the end of the substream that begins here.

    Records of embedded charts are left out: their cells do not belong to the sheet.
    """
    depth = 0
    while True:
        kind, size = struct.unpack_from("<HH", stream, at)
        at += 4
        if at + size > len(stream) or (not depth and kind != BOF):
            raise ValueError("records that break off")
        # A chart inside a sheet is a substream of its own with a begin and an end.
        depth += (kind == BOF) - (kind == EOF)
        if depth < 2:
            yield kind, at, size
        if not depth:
            return
        at += size


def _format(data: bytes, version: int) -> str:
    """Decode a number format: in BIFF8 of one or two bytes a character, in BIFF5 of one."""
    if version == VERSIONS[1] and data[2] & 1:
        return data[3:].decode("utf-16-le")
    return data[1:].decode("latin-1")
