"""Workbooks of both formats, xlsx and ods: their sheets, and the values of cells.

The XML is parsed row by row with Python's standard library. Libraries for several formats of
spreadsheets return blanks or 0 for errors, and the result of a formula like a typed number.
"""

from __future__ import annotations

import datetime
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, TypeAlias
from xml.etree.ElementTree import Element, iterparse
from xml.parsers.expat import ExpatError, ParserCreate
from zipfile import ZipFile

from geodp.errors import InputError, Rule, require_library
from geodp.io.read.rows.complete import DAMAGES, check_archive
from geodp.io.read.rows.count_parser import SEPARATORS, is_flag
from geodp.io.read.rows.input_files import InputFile, guard

Cell: TypeAlias = str | int | float | None

Row: TypeAlias = tuple[list[Cell], bool]
"""The cells of a row, and whether one of them holds a formula."""

BROKEN = (
    *(*DAMAGES, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError),
    *(RuntimeError, NotImplementedError, ExpatError),
)
"""Errors of libraries for damaged, hostile or encrypted workbooks; messages may quote cells."""

NO_WORKBOOK = Rule(
    "workbook-unreadable",
    "The file cannot be read as a workbook (xlsx, ods); it may be damaged or encrypted: save it "
    "again without a password, or as CSV.",
)


_FORMAT = re.compile(r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(.)', re.DOTALL)
"""Tokens of a number format: quoted text, escaped character, width, currency, condition, other."""

_CODES = {*map(chr, range(128))} - {"$"}
"""Characters that stand for digits or times, or are shown without changing the number."""

_HARMLESS = f"{SEPARATORS}()"


class Book(ABC):
    """A workbook of any format that is read row by row.

    Attributes
    ----------
    sheets : tuple of str
        Names of its sheets of cells, including hidden ones.
    title : str
        In its properties; empty without one.
    """

    sheets: tuple[str, ...]
    title: str = ""

    def __init__(self, file: InputFile) -> None:
        self._name = file.name

    def rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet from the first on, including blank ones; InputError on damage.

        Messages of the library are left out, as they may quote cells.
        """
        rows = self._rows(sheet)
        while True:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = next(rows, None)
            except BROKEN:
                break
            if row is None:
                return
            yield row
        # Raised outside the handler, so that the library's error is not its context.
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raise InputError: the file is no workbook."""
        raise InputError(NO_WORKBOOK, file=self._name)

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    @abstractmethod
    def _rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet; one of ``BROKEN`` on damage."""


def as_cell(value: Any, sign: str = "") -> Cell:
    """Return the value of a cell: whole numbers as integers, and texts for everything else.

    Booleans become "True" and "False", dates and times their ISO 8601 form, and numbers with a sign
    from :func:`sign_of` are returned as they are shown, decimals with an exponent.

    >>> as_cell(7.0), as_cell(0.07, "%"), as_cell(7, " ¥"), as_cell(True)
    (7, '7%', '7 ¥', 'True')
    """
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        if value is not None and sign:
            if sign == "%":
                return f"{value * 100:.15g}%"
            # An exponent keeps a number with three decimals from being read as one with thousands.
            digits = f"{value:.15g}"
            return f"{digits}e0{sign}" if "." in digits and "e" not in digits else digits + sign
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def sign_of(code: str) -> str:
    """Return the sign in a number format by which a number is no count; empty without one.

    The sign is ``%``, which multiplies the number by a hundred; or, after a blank, a currency or a
    word that is no valid flag beside numbers (``--flags``), such as ``千人``.

    >>> sign_of("0.0%"), sign_of("[$€-407] #,##0"), sign_of('#,##0"人"'), sign_of('0"千人"')
    ('%', ' €', '', ' 千人')
    """
    texts = [""]
    for match in _FORMAT.finditer(code):
        quoted, escaped, currency, other = match.groups()
        if currency:
            return f" {currency}"
        if other == "%":
            return "%"
        shown = quoted or escaped or ("" if other is None or other in _CODES else other)
        # Adjacent quoted and escaped characters form one text.
        texts = [*texts[:-1], texts[-1] + shown] if shown else [*texts, ""]
    for text in texts:
        plain = text.replace("\\", "¥").strip(_HARMLESS)  # as Japanese fonts have it
        if plain and not is_flag(plain):
            return f" {plain}"
    return ""


MAX_COLUMNS = 1 << 14
"""Maximum number of columns in a sheet."""

MAX_BLANKS = 1 << 16
"""Maximum number of repeated blanks in a text."""

_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT, _STYLE, _DATA_STYLE = (
    f"{_NAMES}{one}:1.0}}" for one in ("table", "office", "text", "style", "datastyle")
)
_CALC = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_DEFAULT = f"{_TABLE}default-cell-style-name"
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_PARAGRAPHS = (f"{_TEXT}p", f"{_TEXT}h")
_ANNOTATIONS = (f"{_OFFICE}annotation", f"{_TEXT}ruby-text", f"{_TEXT}note")
"""Elements inside a text that do not belong to it: comments, readings of characters, notes."""

_NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")
_TIME = re.compile(r"PT(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:[.,]([0-9]+))?S)?")


class OpenDocumentBook(Book):
    """A spreadsheet that is read row by row; InputError for any other file."""

    def __init__(self, file: InputFile) -> None:
        super().__init__(file)
        self._archive = guard(file.name, partial(ZipFile, file.path), NO_WORKBOOK)
        check_archive(file.path, self._archive)
        names: list[str] | None = None
        with suppress(*BROKEN):
            self._signs = read_signs(self._archive)
            names = self._name_tables()
        if names is None or len({*names}) < len(names):
            self.refuse()
        self.sheets = tuple(names)

    def close(self) -> None:
        """Close the file."""
        self._archive.close()

    def _name_tables(self) -> list[str]:
        """Return the names of the sheets."""
        names = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if f"{{{name}" == f"{_TABLE}table":
                names.append(attributes[f"{_TABLE}name"[1:]])

        parser = ParserCreate(namespace_separator="}")
        parser.StartElementHandler = start
        with self._archive.open(CONTENT) as stream:
            parser.ParseFile(stream)
        return names

    def _rows(self, sheet: str) -> Iterator[Row]:
        """Yield the rows of a sheet, with repeated rows and cells expanded."""
        depth, blank, inside = 0, 0, False
        columns = _Columns(self._signs)
        # Read to the end, where zipfile verifies the checksum.
        with self._archive.open(CONTENT) as stream:
            for event, element in iterparse(stream, ("start", "end")):
                if element.tag == f"{_TABLE}table":
                    depth += 1 if event == "start" else -1
                    if depth > 1 and inside:
                        raise ValueError("a table within a cell")
                    inside = depth > 0 and (inside or element.get(f"{_TABLE}name") == sheet)
                    columns = _Columns(self._signs)
                    if event == "end":
                        element.clear()
                elif element.tag == f"{_TABLE}table-column" and event == "end":
                    columns.add(element)
                elif element.tag == f"{_TABLE}table-row" and event == "end":
                    if inside:
                        row, repeat = _read_row(element, columns), _repeat(element, "rows")
                        # Sheets end in a million repeated blank rows: they are yielded only if
                        # another row follows.
                        if row == ([], False):
                            blank += repeat
                        else:
                            yield from (([], False) for _ in range(blank))
                            yield from (row for _ in range(repeat))
                            blank = 0
                    element.clear()


def _repeat(element: Element, of: str) -> int:
    """Return the number of repetitions of a row or a cell."""
    times = int(element.get(f"{_TABLE}number-{of}-repeated", "1"))
    if times < 1:
        raise ValueError("it is there less than once")
    return times


class _Columns:
    """Signs beside numbers, by the styles of cells, rows and columns."""

    def __init__(self, signs: Mapping[str, str]) -> None:
        self._signs = signs
        self._styles: list[str] = []

    def add(self, column: Element) -> None:
        """Add a column and its repetitions."""
        # The last column is repeated up to the width of the sheet, or beyond in a hostile file.
        repeat = min(_repeat(column, "columns"), MAX_COLUMNS - len(self._styles))
        self._styles += [column.get(_DEFAULT, "")] * repeat

    def sign(self, cell: Element, row: Element, at: int, repeat: int) -> str:
        """Return the sign that a repeated cell shows in at least one of its columns."""
        style = cell.get(f"{_TABLE}style-name") or row.get(_DEFAULT)
        # A style of the cell wins over that of its row, and that over the column's.
        names = self._styles[at : at + repeat] if style is None else [style]
        return next((self._signs[name] for name in names if name in self._signs), "")


def _read_row(row: Element, columns: _Columns) -> Row:
    """Return the cells of a row up to the last that is not blank, and whether it has a formula."""
    cells, blank, computed = list[Cell](), 0, False
    for cell in row:
        if cell.tag not in _CELLS:
            raise ValueError("a row of something else than cells")
        repeat = _repeat(cell, "columns")
        value = _read_cell(cell, columns.sign(cell, row, len(cells) + blank, repeat))
        computed = computed or cell.get(f"{_TABLE}formula") is not None
        # Blank cells count only if a filled one follows, as the last may be repeated thousands of
        # times.
        if value is None or value == "":
            blank += repeat
            continue
        if len(cells) + blank + repeat > MAX_COLUMNS:
            raise ValueError("more columns than a sheet has")
        cells += [None] * blank + [value] * repeat
        blank = 0
    return cells, computed


def _read_cell(cell: Element, sign: str) -> Cell:
    """Return the value of a cell by its type; errors as they are shown."""

    def attribute(name: str) -> str:
        return cell.attrib[f"{_OFFICE}{name}"]

    if cell.get(f"{_CALC}value-type") == "error":
        return _read_text(cell) or "#N/A"
    match cell.get(f"{_OFFICE}value-type", "void"):
        case "float":
            return as_cell(_read_number(attribute("value")), sign)
        case "percentage":
            return as_cell(_read_number(attribute("value")), "%")
        case "currency":
            currency = cell.get(f"{_OFFICE}currency") or "¤"
            return as_cell(_read_number(attribute("value")), f" {currency}")
        case "date":
            return _read_date(attribute("date-value"))
        case "time":
            return _read_time(attribute("time-value"))
        case "boolean":
            return {"true": "True", "false": "False"}[attribute("boolean-value").lower()]
        case "string":
            text = cell.get(f"{_OFFICE}string-value")
            return _read_text(cell) if text is None else text
        case "void":
            return _read_text(cell) or None
    raise ValueError("a cell of another type")


def _read_number(text: str) -> int | float:
    """Parse a number; whole numbers become integers."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("no number")
    number = float(text)
    return int(number) if number.is_integer() else number


def _read_date(text: str) -> str:
    """Return a date as its first moment, as workbooks of other formats have dates."""
    try:
        return datetime.datetime.fromisoformat(text).isoformat()
    except ValueError:  # a year beyond those of Python
        return text


def _read_time(text: str) -> str:
    """Return a duration below a day as a time of day, as workbooks of other formats do."""
    if not (match := _TIME.fullmatch(text)):
        return text
    hours, minutes, seconds = (int(one or 0) for one in match.groups()[:3])
    part = int((match[4] or "0")[:6].ljust(6, "0"))
    if hours < 24 and minutes < 60 and seconds < 60:
        return datetime.time(hours, minutes, seconds, part).isoformat()
    return str(datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=part))


def _read_text(cell: Element) -> str:
    """Return the paragraphs of a cell, one a line, without comments."""
    texts = []
    for child in cell:
        if child.tag in _PARAGRAPHS:
            texts.append(_read_inline(child).strip(" "))
        elif child.tag.startswith(_TEXT):
            raise ValueError("a text of another form")
    return "\n".join(texts)


def _read_inline(element: Element) -> str:
    """Return the text of an element and its children."""
    parts = [_collapse(element.text)]
    for child in element:
        if child.tag == f"{_TEXT}s":
            blanks = int(child.get(f"{_TEXT}c", "1"))
            if not 0 <= blanks <= MAX_BLANKS:
                raise ValueError("blanks without end")
            parts.append(" " * blanks)
        elif child.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            parts.append("\t" if child.tag.endswith("tab") else "\n")
        elif child.tag not in _ANNOTATIONS:
            parts.append(_read_inline(child))
        parts.append(_collapse(child.tail))
    return "".join(parts)


def _collapse(text: Any) -> str:
    """Collapse blanks and line ends to one blank, as OpenDocument defines white space."""
    return re.sub("[ \t\r\n]+", " ", text or "")


CONTENT, STYLES = "content.xml", "styles.xml"

MAX_PARENTS = 64
"""Maximum number of parent styles in a chain."""

_PERCENTAGE = f"{_DATA_STYLE}percentage-style"
_NUMBERS = (_PERCENTAGE, f"{_DATA_STYLE}number-style", f"{_DATA_STYLE}currency-style")


def read_signs(archive: ZipFile) -> Mapping[str, str]:
    """Return the signs that cell styles show beside numbers, by the names of the styles.

    Signs are those of :func:`sign_of`. Raises KeyError for an archive without content, and
    ParseError for invalid XML.
    """
    signs, styles = dict[str, str](), dict[str, tuple[str, str]]()
    for part in (STYLES, CONTENT):
        if part == STYLES and part not in archive.namelist():
            continue
        with archive.open(part) as stream:
            for event, element in iterparse(stream, ("start", "end")):
                if event == "start" and element.tag == f"{_OFFICE}body":
                    break
                name = element.get(f"{_STYLE}name", "")
                if event == "end" and element.tag in _NUMBERS:
                    signs[name] = _sign_of_style(element)
                elif event == "end" and element.tag == f"{_STYLE}style":
                    parent = element.get(f"{_STYLE}parent-style-name", "")
                    styles[name] = element.get(f"{_STYLE}data-style-name", ""), parent
    all_signs = {name: signs.get(_numbers_of(name, styles), "") for name in styles}
    return {name: sign for name, sign in all_signs.items() if sign}


def _numbers_of(name: str, styles: Mapping[str, tuple[str, str]]) -> str:
    """Return the number style of a cell style, from its parents if necessary; empty if none."""
    # A chain of parents may be a cycle in a damaged file.
    for _ in range(MAX_PARENTS):
        numbers, parent = styles.get(name, ("", ""))
        if numbers or not parent:
            return numbers
        name = parent
    return ""


def _sign_of_style(style: Element) -> str:
    """Return the sign of a number style, via an equivalent format code."""
    if style.tag == _PERCENTAGE:
        return "%"
    code = ""
    for part in style:
        text = (part.text or "").replace('"', "")
        if part.tag == f"{_DATA_STYLE}text":
            code += f'"{text}"'
        elif part.tag == f"{_DATA_STYLE}currency-symbol":
            code += f"[${text.translate({ord(']'): None, ord('-'): None}) or '¤'}]"
        else:
            code += "0"
    return sign_of(code)


MAX_SHARED = 1 << 28
"""Maximum size of a workbook's parts besides sheets, such as its texts, which stay in memory."""


class OpenXmlBook(Book):
    """A workbook that is read row by row.

    Raises UsageError if openpyxl is not installed, and InputError for any other file.
    """

    def __init__(self, file: InputFile) -> None:
        super().__init__(file)
        require_library("openpyxl", "A workbook", "xlsx")
        import openpyxl

        self._book: Any = None
        with suppress(*BROKEN):
            self._book = _load(file, openpyxl)
        if self._book is None:
            self.refuse()
        self.sheets = tuple(worksheet.title for worksheet in self._book.worksheets)
        self.title = str(self._book.properties.title or "")
        self._signs: dict[Any, str] = {}

    def close(self) -> None:
        """Close the file."""
        self._book.close()

    def _rows(self, sheet: str) -> Iterator[Row]:
        worksheet = self._book[sheet]
        worksheet.reset_dimensions()  # the declared size may be wrong
        for row in worksheet.iter_rows():
            yield [self._cell(cell) for cell in row], any(cell.data_type == "f" for cell in row)

    def _cell(self, cell: Any) -> Cell:
        """Return the value of a cell; numbers keep the sign of their format."""
        value = cell.value
        # A bool is an int to Python; it has no number format that matters.
        if type(value) not in (int, float):
            return as_cell(value)
        style = cell.style_array.numFmtId
        if style not in self._signs:  # a format takes long to look up, and there are few
            self._signs[style] = sign_of(cell.number_format)
        return as_cell(value, self._signs[style])


def _load(file: InputFile, library: Any) -> Any:
    """Load a workbook; None if its parts besides sheets are too large."""
    # The sizes are read from the archive's directory before openpyxl unpacks anything.
    with ZipFile(file.path) as archive:
        shared_parts = [part for part in archive.infolist() if "/worksheets/" not in part.filename]
    if sum(part.file_size for part in shared_parts) > MAX_SHARED:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.load_workbook(file.path, read_only=True, keep_links=False)
