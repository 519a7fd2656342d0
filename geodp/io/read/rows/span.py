"""Which rows of a file are its header and its table, and which are titles, units or notes."""

from __future__ import annotations

import codecs
import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any

from geodp.errors import InputError, Rule, UsageError
from geodp.io.read.rows.names import fold, spell
from geodp.table.source import Fact

LOOKED_AT = 3
"""Rows below a header, such as units and totals, among which the first row of data is searched."""

DELIMITERS = (",", ";", "\t", "|")

HEAD_ROWS = 50
"""Rows at the start of a file in which a later header is searched."""

AFTER_LAST = Rule(
    "header-row-after-end",
    "The file ends before that line; name the line with the names of the columns (--header-row, "
    "header_row=).",
)
BLANK = Rule(
    "header-row-blank",
    "The line is blank; name the line with the names of the columns (--header-row, header_row=).",
)
ABOVE = Rule(
    "header-row-repeated",
    "The same names are above this line too, and the rows between would be left out; name the "
    "first such line (--header-row, header_row=), and leave repeated headers out of the file.",
)


COLUMNS_ALIKE = Rule(
    "columns-alike",
    "Several columns are named '{}'; give each a name of its own in the file.",
)
MATRIX = (
    "if this is a matrix with a column for each destination, write one row for each pair instead, "
    "such as by pandas: read_csv('matrix.csv', dtype=str).melt({first!r}, var_name='destination', "
    "value_name='trips').to_csv('pairs.csv', index=False)"
)
"""Remedy for a matrix; ``first``: its column of origins."""


def split_line(line: str, delimiter: str) -> list[str]:
    """Split a line of a text into fields; none of a blank line, or if the csv module cannot.

    >>> split_line('a;"b;c"\\r', ";")
    ['a', 'b;c']
    """
    with suppress(csv.Error):
        return next(csv.reader([line.rstrip("\r")], delimiter=delimiter), [])
    return []


def is_matrix(names: Sequence[str]) -> bool:
    """Whether a header is that of a matrix of zones: a name, and numbers for all others.

    >>> is_matrix(["o", "01", "02"]), is_matrix(["o", "d", "n"])
    (True, False)
    """
    others = [name.strip() for name in names[1:]]
    codes = len(others) > 1 and all(one.isdecimal() for one in others)
    return codes and is_name(names[0]) and len({*others}) == len(others)


def is_number(text: str) -> bool:
    """Whether a column name looks like a number."""
    return text.strip().translate(_NUMBER_MARKS).isdecimal()


def is_name(text: str) -> bool:
    """Whether a field of a header is blank or looks like a name, not like a value.

    >>> [is_name(text) for text in ("T001", "人口（総数）", "2020-01-05", "1kmN2599E4695")]
    [True, True, False, False]
    >>> is_name("1_Person"), is_name("2020_01")
    (True, False)
    """
    text = text.strip()
    named = text[:1].isalpha() or text[:1] == "_" or _NUMBERED.match(spell(text)) is not None
    return not text or (named and not _VALUE.search(text))


_NUMBERED = re.compile(r"[0-9]{1,2}_[A-Za-z]")
"""A small number in front of a word, as in columns of sizes: "1_Person"."""
_VALUE = re.compile(
    r"[][{}<>@]|\([^)]*\d|\d:\d|\d\.\d\d|\d{4}[-/]\d|\d[-/]\d+[-/]\d|N\d+E\d+|E\d+N\d+"
)
_NUMBER_MARKS = str.maketrans("", "", "+-.,eE ")


def guess_header(rows: Sequence[Sequence[str]], wider: int = 1) -> tuple[int, int] | None:
    """Return the indices of the first row that looks like a header and of its first row of data.

    Return None without one. A header has more than ``wider`` fields, all filled and distinct, the
    first one a name; and a row soon below has as many fields, more of which are values. Other rows,
    such as units and totals, may stand between. The result is a hint in errors and decides nothing.

    >>> guess_header([["Population"], [""], ["mesh", "n"], ["53394611", "5"]])
    (2, 3)
    >>> rows = [["mesh", "n"], ["", "persons"], ["Total", "12"], ["53394611", "5"], ["5", "7"]]
    >>> guess_header(rows)
    (0, 3)
    """
    filled = [(number, row) for number, fields in enumerate(rows) if (row := trim(fields))]
    for at, (number, row) in enumerate(filled):
        below = filled[at + 1 :]
        if _is_plain(row, wider) and _is_above(row, below[:LOOKED_AT]):
            forms = [tuple(map(is_name, each)) for _, each in below if len(each) == len(row)]
            # The commonest pattern of names and values among the rows below is that of the data;
            # among equals the later one, as units and totals come first.
            usual = max({*forms}, key=lambda form: (forms.count(form), forms.index(form)))
            first = next(n for n, each in below if tuple(map(is_name, each)) == usual)
            return number, first
    return None


def _is_plain(row: Sequence[str], wider: int) -> bool:
    """Whether all fields of a row are filled and distinct and the first one is a name."""
    plain = len(row) > wider and all(row) and len({*map(fold, row)}) == len(row)
    return plain and is_name(row[0])


def _is_above(row: Sequence[str], below: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether a row below has more values, with no other candidate for the header before it."""
    for _, each in below:
        if len(each) == len(row) and _values(row) < _values(each):
            return True
        if _is_plain(each, len(row) - 1):
            return False
    return False


def trim(row: Sequence[str]) -> list[str]:
    """Strip the fields of a row and drop blank ones at its end."""
    fields = [field.strip() for field in row]
    while fields and not fields[-1]:
        fields.pop()
    return fields


def suggest_header(row: int, first: int) -> str:
    """Suggest another row as the header, as the end of a sentence.

    ``first`` is the row with which the table seems to begin.
    """
    if first == row + 1:
        return (
            f"row {row} looks like the header; name it (--header-row {row}, header_row={row}), so "
            "that titles and notes above it are not read; if notes or totals follow the table, "
            "name its last row (--last-row, last_row=)."
        )
    return (
        f"row {row} looks like the header and row {first} like the first row of the table; name "
        f"them (--header-row {row} --first-row {first}, header_row={row}, first_row={first}), so "
        "that rows above and between them are not read; if notes or totals follow the table, "
        "name its last row (--last-row, last_row=)."
    )


def _values(row: Sequence[str]) -> int:
    """Return the number of fields that look like values."""
    return sum(not is_name(field) for field in row)


_ROW_OPTIONS = "(--header-row, header_row=; --first-row, first_row=; --last-row, last_row=)"
COUNTED = Rule("rows-counted-from-1", f"Rows are counted from 1 {_ROW_OPTIONS}.")
ORDER = Rule(
    "first-row-order",
    "The first row must be below the header row, and the last row not above the first "
    f"{_ROW_OPTIONS}.",
)
ENDS_ABOVE = Rule(
    "last-row-beyond-file",
    "The file ends before that row; name the last row of the table (--last-row, last_row=).",
)
BETWEEN = Rule(
    "row-above-first",
    "This row above the first row of the table (--first-row, first_row=) looks like data; name "
    "an earlier first row, or delete rows that are neither units nor totals.",
)
NO_FIRST = Rule(
    "first-row-blank",
    "This row is blank, or beyond the end of the file; name the first row of the table "
    "(--first-row, first_row=).",
)
BELOW = Rule(
    "row-below-last",
    "This row below the last row of the table (--last-row, last_row=) looks like data; name a "
    "later last row, or delete rows that are not notes.",
)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Options by which a file is opened; None where that is detected.

    Attributes
    ----------
    delimiter : str, optional
        Of a text: comma, semicolon, tab or bar, whichever splits the header into most columns.
    encoding : str, optional
        Of a text: UTF-8 if the start of the file is UTF-8, else CP932.
    layer : str, optional
        Layer of a GeoPackage with several, or sheet of a workbook.
    member : str, optional
        Name of a zip archive's member, or a pattern of several.
    header_row : int, optional
        Line of a text, or row of a sheet, with the names, counted from 1; rows above are not
        read. Default: the first that is not blank.
    first_row : int, optional
        The first line or row of the table; units and totals between the names and it are not read.
    last_row : int, optional
        The last line or row of the table; notes below it are not read. Default: the file's.

    Raises
    ------
    UsageError
        Rows below 1 or out of order, a delimiter of several characters, or an unknown encoding.
    """

    delimiter: str | None = None
    encoding: str | None = None
    layer: str | None = None
    member: str | None = None
    header_row: int | None = None
    first_row: int | None = None
    last_row: int | None = None

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise UsageError(
                "A delimiter is one ASCII character such as ; or a tab, which Bash writes $'\\t'; "
                "without the option it is detected.",
                code="delimiter-form",
            )
        if self.encoding is not None and not _keeps_ascii(self.encoding):
            raise UsageError(
                "The encoding must be one that keeps ASCII, such as utf-8 or cp1252 (--encoding, "
                "encoding=).",
                code="encoding-unknown",
            )
        named = [*self._rows.values()]
        if any(row < 1 for row in named):
            raise UsageError(COUNTED)
        below = [row for row in (self.first_row, self.last_row) if row is not None]
        if named != sorted(named) or any(row <= (self.header_row or 1) for row in below):
            raise UsageError(ORDER)

    @property
    def _rows(self) -> dict[str, int]:
        rows = {name: getattr(self, name) for name in ("header_row", "first_row", "last_row")}
        return {name: row for name, row in rows.items() if row is not None}

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The rows that the operator named."""
        rows = self._rows.items()
        return tuple(Fact(name.replace("_", " "), str(row), "operator") for name, row in rows)

    @property
    def names_rows(self) -> bool:
        """Whether the operator named any of the rows."""
        return bool(self._rows)


OPENING = tuple(one.name for one in fields(Opening))
"""Names of the options by which files are opened."""


def _keeps_ascii(encoding: str) -> bool:
    """Return whether rows can be split at ASCII bytes, unlike in UTF-16 and EBCDIC."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)("replace")  # as the header is read
        alike = "0,\n".encode(encoding).endswith(b"0,\n")
        return alike and decoder.decode(b"0,\n", final=True) == "0,\n"
    except (LookupError, ValueError):  # no such encoding, or none that is one of texts
        return False


@dataclass(frozen=True)
class PublicFile(os.PathLike[str]):
    """A path with options of :func:`geodp.io.read.rows.columns.open_tables` for it.

    Attributes
    ----------
    path : path
    opening : mapping
        Options by their names, such as ``header_row``.
    """

    path: str | os.PathLike[str]
    opening: Mapping[str, Any] = field(default_factory=dict)

    def __fspath__(self) -> str:
        """Return the path alone."""
        return str(os.fspath(self.path))

    def __str__(self) -> str:
        """Return the path, as messages show it."""
        return self.__fspath__()


def opening_options(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the options by which a public file is opened; empty for a plain path.

    Examples
    --------
    >>> opening_options("a.csv"), opening_options(PublicFile("a.xlsx", {"header_row": 4}))
    ({}, {'header_row': 4})
    """
    return {**path.opening} if isinstance(path, PublicFile) else {}


class UpToLine:
    """A stream of bytes that ends after a number of lines; the lines below are checked last.

    Parameters
    ----------
    stream : file of bytes
        After the header.
    lines : int
        Remaining lines of the table, at least 1.
    """

    def __init__(self, stream: Any, lines: int) -> None:
        self._stream, self._left = stream, lines
        self._rest, self._open = b"", False

    @property
    def closed(self) -> bool:
        """Whether the underlying stream is closed."""
        return bool(self._stream.closed)

    def read(self, size: int = -1) -> bytes:
        """Read bytes of the remaining lines."""
        if not self._left:
            return b""
        data = bytes(self._stream.read(size))
        breaks = data.count(b"\n")
        if breaks < self._left:
            self._left -= breaks
            self._open = not data.endswith(b"\n") if data else self._open
            return data
        # The block holds the last line: what follows it is kept for the check of notes.
        end = -1
        for _ in range(self._left):
            end = data.index(b"\n", end + 1)
        self._left, self._rest = 0, data[end + 1 :]
        return data[: end + 1]

    def require_notes(
        self, name: str, last: int, row: Sequence[str], delimiter: str, encoding: str
    ) -> None:
        """Raise InputError if the file ends before line ``last``, or a row of data follows it."""
        # A last line without a line end is complete all the same.
        if self._left and not (self._left == 1 and self._open):
            raise InputError(ENDS_ABOVE, file=name, row=last)
        for number, line in enumerate(self._lines_below(), last + 1):
            if not is_note(split_line(line.decode(encoding, "replace"), delimiter), row):
                raise InputError(BELOW, file=name, row=number)

    def _lines_below(self) -> Iterator[bytes]:
        """Yield the lines below the last one of the table."""
        *lines, begun = self._rest.split(b"\n")
        yield from lines
        while data := bytes(self._stream.read(1 << 16)):
            *lines, begun = (begun + data).split(b"\n")
            yield from lines
        yield begun


def is_note(fields: Sequence[str], row: Sequence[str]) -> bool:
    """Whether fields outside a table are a note or total, given one ``row`` of the table.

    Notes fill at most one field; in totals the first field is a word where rows have a code.

    Examples
    --------
    >>> row = ["53394611", "5", "7"]
    >>> is_note(["Source: an office", "", ""], row), is_note([], row), is_note(["Total", "9"], row)
    (True, True, True)
    >>> is_note(["53394612", "*"], row), is_note(["", "6", "1"], row), is_note(["a", "b"], ["c"])
    (False, False, False)
    """
    if sum(bool(field.strip()) for field in fields) <= 1:
        return True
    # A total has a word such as "Total" where rows have a code.
    first = next((at for at, field in enumerate(row) if field.strip()), 0)
    if not row or is_name(row[first]) or len(fields) <= first:
        return False
    return bool(fields[first].strip()) and is_name(fields[first])


def is_unit(fields: Sequence[str], row: Sequence[str]) -> bool:
    """Whether fields between the names and the first ``row`` of a table are units or a note.

    Examples
    --------
    >>> row = ["53394611", "5", "7"]
    >>> is_unit(["", "persons", "persons"], row), is_unit(["Total", "9", "8"], row)
    (True, True)
    >>> is_unit(["53394612", "6", "1"], row)
    False
    """
    return all(map(is_name, fields)) or is_note(fields, row)


def find_row(between: Sequence[Sequence[str]], row: Sequence[str], above: int) -> int | None:
    """Return the number of a row above the first that looks like data; None without one.

    ``above`` is the number of rows down to the names, below which the rows stand.
    """
    numbered = enumerate(between, above + 1)
    return next((number for number, one in numbered if not is_unit(one, row)), None)
