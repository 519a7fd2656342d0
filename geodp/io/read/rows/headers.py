"""Headers: what looks like a name in one, and which row looks like one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from geodp.io.read.rows.names import fold, spell

DELIMITERS = (",", ";", "\t", "|")

HEAD_ROWS = 50
"""Rows in which a header is looked for that is not the first one."""

AFTER_LAST = (
    "The file ends above that line; name the one that has the names of the columns (--header-row, "
    "header_row=)."
)
BLANK = "The line is blank; name the one with the names of the columns (--header-row, header_row=)."
ABOVE = (
    "The same names stand above this line too, and the rows between would be left out; name the "
    "first of them (--header-row, header_row=), and leave repeated headers out of the file."
)


def is_number(text: str) -> bool:
    """Whether a name in a header looks like a value of a row instead."""
    return text.strip().translate(_NUMBER_MARKS).isdecimal()


def is_name(text: str) -> bool:
    """Whether a field of a header looks like a name, or is blank, and not like a value.

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


def guess_header(rows: Sequence[Sequence[str]], wider: int = 1) -> int | None:
    """Return the number from 0 of the first row that looks like a header; None where none does.

    It has more fields than ``wider``, all filled and different, the first one a name; and the next
    row that is not blank has as many, and more of them values. This is a hint for a person and
    decides nothing.

    >>> guess_header([["Population"], [""], ["mesh", "n"], ["53394611", "5"]])
    2
    """
    filled = [(number, row) for number, one in enumerate(rows) if (row := trim(one))]
    for (number, row), (_, below) in pairwise(filled):
        plain = len(row) > wider and all(row) and len({*map(fold, row)}) == len(row)
        if plain and is_name(row[0]) and len(below) == len(row) and _values(row) < _values(below):
            return number
    return None


def trim(row: Sequence[str]) -> list[str]:
    """Return the fields of a row, stripped, without blank ones at its end."""
    found = [field.strip() for field in row]
    while found and not found[-1]:
        found.pop()
    return found


def point_to(row: int) -> str:
    """Return what to do where another row looks like the header, as the end of a sentence."""
    return (
        f"row {row} looks like the header; say so (--header-row {row}, header_row={row}), and "
        "titles and notes above it are not read; where notes stand below the table, name its last "
        "row (--last-row, last_row=). Of a public table, delete such rows."
    )


def _values(row: Sequence[str]) -> int:
    return sum(not is_name(field) for field in row)
