"""Records of binary workbooks of Excel since 2007 (xlsb): cells with formulas, errors and signs.

A workbook is a zip archive of parts that consist of records (MS-XLSB). python-calamine skips
records that it does not know, reads stale memory for a record that is too short, and panics at a
missing text: such workbooks are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import fromstring
from zipfile import ZipFile

from geodp.io.read.rows.forms.cell_records import SIGNS, CellRecords, require_near
from geodp.io.read.rows.forms.cells import sign_of

BOOK, LINKS = "xl/workbook.bin", "xl/_rels/workbook.bin.rels"
STYLES, TEXTS = "xl/styles.bin", "xl/sharedStrings.bin"

ROW, SHEET, SHARED = 0, 156, 19
FORMAT, STYLE, STYLES_BEGIN, STYLES_END = 44, 47, 617, 618
BEGIN, END, DIMENSIONS = 145, 146, 148

BLANK, SMALL, ERROR, TRUTH, NUMBER, TEXT, SHARED_TEXT = 1, 2, 3, 4, 5, 6, 7
FORMULAS = (8, 9, 10, 11)
VALUE_BYTES = {BLANK: 8, SMALL: 12, ERROR: 9, TRUTH: 9, NUMBER: 16, TEXT: 12, SHARED_TEXT: 12}
"""Minimum size of records of cells without formulas."""

MIN_BYTES = {**VALUE_BYTES, 8: 12, 9: 16, 10: 9, 11: 9}
OTHERS = {*range(12, 19), 62}
"""Records of cells that the library skips: those without a column, and rich texts."""

MAX_ROWS, MAX_COLUMNS = 1 << 20, 1 << 14
"""Limits of a sheet."""

MAX_BYTES = 1 << 28
"""Maximum size of all parts when unpacked, which are held in memory."""

_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def read_cell_records(archive: ZipFile) -> list[CellRecords]:
    """Return the records of cells of each sheet, in the order of the workbook.

    Raises ValueError, LookupError, struct.error or SyntaxError for a damaged workbook, and the
    errors of zipfile for a damaged part.
    """
    parts = [entry.filename.lower() for entry in archive.infolist()]
    # Of two parts with one name, the library may read another one than zipfile.
    if len({*parts}) < len(parts):
        raise ValueError("a part that is there twice")
    if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
        raise ValueError("more than memory holds")
    links = {
        entry.attrib["Id"]: entry.attrib["Target"]
        for entry in fromstring(archive.read(LINKS)).iter(_LINK)
    }
    signs, texts = _read_styles(archive), 0
    if TEXTS.lower() in parts:
        texts = sum(kind == SHARED for kind, _, _ in _records(archive.read(TEXTS)))
    sheets = []
    book = archive.read(BOOK)
    for kind, at, size in _records(book):
        if kind == SHEET:
            link = _text(book, at + 8, at + size)
            sheets.append(_read_sheet(archive, links[link], signs, texts))
    require_near(sheets)
    return sheets


def _read_styles(archive: ZipFile) -> Mapping[int, str]:
    """Return the signs that cell styles show beside numbers, by style."""
    data = archive.read(STYLES) if STYLES in archive.namelist() else b""
    formats, styles, inside = dict(SIGNS), list[int](), False
    for kind, at, size in _records(data):
        if kind == FORMAT:
            (number,) = struct.unpack_from("<H", data, at)
            formats[number] = sign_of(_text(data, at + 2, at + size))
        elif kind in (STYLES_BEGIN, STYLES_END):
            inside = kind == STYLES_BEGIN
        elif kind == STYLE and inside:
            styles.append(struct.unpack_from("<H", data, at + 2)[0])
    return {
        style: formats[number_format]
        for style, number_format in enumerate(styles)
        if formats.get(number_format)
    }


def _read_sheet(archive: ZipFile, target: str, signs: Mapping[int, str], texts: int) -> CellRecords:
    """Return the records of a sheet; empty for a sheet without cells, such as a chart."""
    records = CellRecords(MAX_ROWS, MAX_COLUMNS)
    path = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    if not path.startswith("xl/worksheets/"):
        return records
    data = archive.read(path)
    inside, row, before = False, -1, -1
    for kind, at, size in _records(data):
        if kind == DIMENSIONS:
            _require_dimensions(data[at : at + size])
        elif kind in (BEGIN, END):
            inside = kind == BEGIN
        elif not inside:
            continue
        elif kind == ROW:
            (after,) = struct.unpack_from("<L", data, at)
            # Cells out of order would overwrite each other in the library.
            if after <= row:
                raise ValueError("rows out of order")
            row, before = after, -1
        elif kind in OTHERS or (kind in MIN_BYTES and (size < MIN_BYTES[kind] or row < 0)):
            raise ValueError("a cell of another form")
        elif kind in MIN_BYTES:
            (column,) = struct.unpack_from("<L", data, at)
            if column <= before:
                raise ValueError("columns out of order")
            before = column
            _take_cell(records, kind, data[at : at + size], (row, column), signs, texts)
    return records


def _take_cell(
    records: CellRecords,
    kind: int,
    data: bytes,
    place: tuple[int, int],
    signs: Mapping[int, str],
    texts: int,
) -> None:
    """Add one record of a cell; ValueError if it refers to a missing text."""
    row, column = place
    if kind != BLANK:
        records.take(row, column)
    style = int.from_bytes(data[4:7], "little")
    if kind in FORMULAS:
        records.formulas.add(row)
    elif kind == ERROR:
        records.add_error(row, column, data[8])
    elif kind in (SMALL, NUMBER) and style in signs:
        records.signs.setdefault(row, {})[column] = signs[style]
    elif kind == SHARED_TEXT and struct.unpack_from("<L", data, 8)[0] >= texts:
        raise ValueError("a text that is not there")


def _require_dimensions(data: bytes) -> None:
    """Raise ValueError if a sheet declares more rows or columns than its limits."""
    first, last, left, right = struct.unpack_from("<LLLL", data)
    if not (first <= last < MAX_ROWS and left <= right < MAX_COLUMNS):
        raise ValueError("dimensions beyond the sheet")


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, offset and length of records; numbers have seven bits a byte, lowest first."""
    at = 0
    while at < len(data):
        kind, at = _number(data, at, 2)
        size, at = _number(data, at, 4)
        if at + size > len(data):
            raise ValueError("records that break off")
        yield kind, at, size
        at += size


def _number(data: bytes, at: int, max_bytes: int) -> tuple[int, int]:
    """Return a variable-length number and its end; IndexError if the data end before."""
    value = 0
    for place in range(max_bytes):
        value |= (data[at + place] & 0x7F) << (7 * place)
        if data[at + place] < 0x80:
            return value, at + place + 1
    return value, at + max_bytes


def _text(data: bytes, at: int, end: int) -> str:
    """Return a text that is preceded by its length; ValueError if it is incomplete."""
    (length,) = struct.unpack_from("<L", data, at)
    if at + 4 + 2 * length > end:
        raise ValueError("a text that breaks off")
    return data[at + 4 : at + 4 + 2 * length].decode("utf-16-le")
