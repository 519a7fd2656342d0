"""Records of binary workbooks of Excel since 2007 (xlsb): which cells hold formulas, errors, signs.

A workbook is a zip archive of parts of records (MS-XLSB). python-calamine passes over records that
it does not know, takes what is left in memory for a record that is too short, and gives up at a
text that is not there: such are refused.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import fromstring
from zipfile import ZipFile

from geodp.io.read.rows.forms.cells import sign_of
from geodp.io.read.rows.forms.marks import SIGNS, Marks, require_near

BOOK, LINKS = "xl/workbook.bin", "xl/_rels/workbook.bin.rels"
STYLES, TEXTS = "xl/styles.bin", "xl/sharedStrings.bin"

ROW, SHEET, SHARED = 0, 156, 19
FORMAT, STYLE, STYLES_BEGIN, STYLES_END = 44, 47, 617, 618
BEGIN, END, DIMENSIONS = 145, 146, 148

BLANK, SMALL, ERROR, TRUTH, NUMBER, TEXT, SHARED_TEXT = 1, 2, 3, 4, 5, 6, 7
FORMULAS = (8, 9, 10, 11)
BYTES = {BLANK: 8, SMALL: 12, ERROR: 9, TRUTH: 9, NUMBER: 16, TEXT: 12, SHARED_TEXT: 12}
"""The least that records of cells have, formulas aside."""

LEAST = {**BYTES, 8: 12, 9: 16, 10: 9, 11: 9}
OTHERS = {*range(12, 19), 62}
"""Cells that the library passes over: those without a column of their own, and texts in parts."""

MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14
"""Of a sheet."""

MOST_BYTES = 1 << 28
"""Of all parts unpacked, which are held in memory."""

_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def read_marks(archive: ZipFile) -> list[Marks]:
    """Return what the values of each sheet do not tell, in the order of sheets.

    Raises ValueError, LookupError, struct.error or SyntaxError for a workbook that is damaged, and
    what zipfile raises for a part that is.
    """
    parts = [one.filename.lower() for one in archive.infolist()]
    if len({*parts}) < len(parts):
        raise ValueError("a part that is there twice")
    if sum(one.file_size for one in archive.infolist()) > MOST_BYTES:
        raise ValueError("more than memory holds")
    links = {
        one.attrib["Id"]: one.attrib["Target"]
        for one in fromstring(archive.read(LINKS)).iter(_LINK)
    }
    signs, texts = _read_styles(archive), 0
    if TEXTS.lower() in parts:
        texts = sum(kind == SHARED for kind, _, _ in _records(archive.read(TEXTS)))
    found = []
    book = archive.read(BOOK)
    for kind, at, size in _records(book):
        if kind == SHEET:
            link = _text(book, at + 8, at + size)
            found.append(_read_sheet(archive, links[link], signs, texts))
    require_near(found)
    return found


def _read_styles(archive: ZipFile) -> Mapping[int, str]:
    """Return what styles of cells show beside a number that makes it no count."""
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
    return {style: formats[one] for style, one in enumerate(styles) if formats.get(one)}


def _read_sheet(archive: ZipFile, target: str, signs: Mapping[int, str], texts: int) -> Marks:
    """Return the marks of a sheet, none of one that has no cells, such as a chart."""
    found = Marks(MOST_ROWS, MOST_COLUMNS)
    path = target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    if not path.startswith("xl/worksheets/"):
        return found
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
            if after <= row:
                raise ValueError("rows out of order")
            row, before = after, -1
        elif kind in OTHERS or (kind in LEAST and (size < LEAST[kind] or row < 0)):
            raise ValueError("a cell of another form")
        elif kind in LEAST:
            (column,) = struct.unpack_from("<L", data, at)
            if column <= before:
                raise ValueError("columns out of order")
            before = column
            _take_cell(found, kind, data[at : at + size], (row, column), signs, texts)
    return found


def _take_cell(
    found: Marks,
    kind: int,
    data: bytes,
    place: tuple[int, int],
    signs: Mapping[int, str],
    texts: int,
) -> None:
    row, column = place
    if kind != BLANK:
        found.take(row, column)
    style = int.from_bytes(data[4:7], "little")
    if kind in FORMULAS:
        found.formulas.add(row)
    elif kind == ERROR:
        found.add_error(row, column, data[8])
    elif kind in (SMALL, NUMBER) and style in signs:
        found.signs.setdefault(row, {})[column] = signs[style]
    elif kind == SHARED_TEXT and struct.unpack_from("<L", data, 8)[0] >= texts:
        raise ValueError("a text that is not there")


def _require_dimensions(data: bytes) -> None:
    """Raise ValueError where a sheet says that it has more rows or columns than there can be."""
    first, last, left, right = struct.unpack_from("<LLLL", data)
    if not (first <= last < MOST_ROWS and left <= right < MOST_COLUMNS):
        raise ValueError("dimensions beyond the sheet")


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and length of records: numbers of seven bits a byte, the lowest first."""
    at = 0
    while at < len(data):
        kind, at = _number(data, at, 2)
        size, at = _number(data, at, 4)
        if at + size > len(data):
            raise ValueError("records that break off")
        yield kind, at, size
        at += size


def _number(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Return a number and where it ends; IndexError where the data end before."""
    found = 0
    for place in range(most):
        found |= (data[at + place] & 0x7F) << (7 * place)
        if data[at + place] < 0x80:
            return found, at + place + 1
    return found, at + most


def _text(data: bytes, at: int, end: int) -> str:
    """Return a text, in front of which its length is; ValueError where it breaks off."""
    (length,) = struct.unpack_from("<L", data, at)
    if at + 4 + 2 * length > end:
        raise ValueError("a text that breaks off")
    return data[at + 4 : at + 4 + 2 * length].decode("utf-16-le")
