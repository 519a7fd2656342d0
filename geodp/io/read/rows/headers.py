"""Headers: which texts look like column names, and which row looks like a header."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from contextlib import suppress

from geodp.errors import Rule
from geodp.io.read.rows.names import fold, spell

BETWEEN = 3
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
        if _is_plain(row, wider) and _is_above(row, below[:BETWEEN]):
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
