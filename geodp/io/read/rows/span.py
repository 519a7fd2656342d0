"""Which rows of a text or a sheet are its table, and which are titles, units, totals or notes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from geodp.errors import InputError, Rule, UsageError
from geodp.io.read.rows.headers import is_name
from geodp.table.source import Fact

ROWS = "(--header-row, header_row=; --first-row, first_row=; --last-row, last_row=)"
COUNTED = Rule("rows-counted-from-1", f"Rows are counted from 1 {ROWS}.")
ORDER = Rule(
    "first-row-order",
    f"The first row stands below that of the names, and the last one not above it {ROWS}.",
)
ENDS_ABOVE = Rule(
    "last-row-beyond-file",
    "The file ends above that row; name the last one of the table (--last-row, last_row=).",
)
BETWEEN = Rule(
    "row-above-first",
    "This row above the first one of the table (--first-row, first_row=) looks like one of its "
    "rows; name the first of them, or delete what is no unit and no total.",
)
NO_FIRST = Rule(
    "first-row-blank",
    "This row is blank, or below the file's; name the first one of the table (--first-row, "
    "first_row=).",
)
BELOW = Rule(
    "row-below-last",
    "This row below the last one of the table (--last-row, last_row=) looks like one of its rows; "
    "name the last of them, or delete what is no note.",
)


@dataclass(frozen=True)
class Span:
    """Rows of a file that are its table, counted from 1; None where they are found.

    Attributes
    ----------
    header : int, optional
        The row of the names; what stands above it is not read.
    last : int, optional
        The last row; what stands below it are notes and totals.
    first : int, optional
        The first row; what stands between the names and it are units and totals.

    Raises
    ------
    UsageError
        Numbers that are no rows in this order.
    """

    header: int | None = None
    last: int | None = None
    first: int | None = None

    def __post_init__(self) -> None:
        named = [row for row in (self.header, self.first, self.last) if row is not None]
        if any(row < 1 for row in named):
            raise UsageError(COUNTED)
        below = [row for row in (self.first, self.last) if row is not None]
        if named != sorted(named) or any(row <= (self.header or 1) for row in below):
            raise UsageError(ORDER)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the operator says."""
        said = {"header row": self.header, "first row": self.first, "last row": self.last}
        return tuple(Fact(n, str(row), "operator") for n, row in said.items() if row is not None)

    @property
    def is_named(self) -> bool:
        """Whether the operator says of any row what it is."""
        return any(row is not None for row in (self.header, self.first, self.last))


FOUND = Span()
"""Of a table whose rows are found: from its first row that is not blank to the file's end."""


class UpToLine:
    """A stream of bytes that ends with a line; what follows it is looked at in the end.

    Parameters
    ----------
    stream : file of bytes
        After the header.
    lines : int
        That are left of the table, at least 1.
    """

    def __init__(self, stream: Any, lines: int) -> None:
        self._stream, self._left = stream, lines
        self._rest, self._open = b"", False

    @property
    def closed(self) -> bool:
        """Whether the stream is."""
        return bool(self._stream.closed)

    def read(self, size: int = -1) -> bytes:
        """Read bytes of the lines that are left."""
        if not self._left:
            return b""
        data = bytes(self._stream.read(size))
        held = data.count(b"\n")
        if held < self._left:
            self._left -= held
            self._open = not data.endswith(b"\n") if data else self._open
            return data
        end = -1
        for _ in range(self._left):
            end = data.index(b"\n", end + 1)
        self._left, self._rest = 0, data[end + 1 :]
        return data[: end + 1]

    def require_notes(
        self, name: str, last: int, row: Sequence[str], delimiter: str, encoding: str
    ) -> None:
        """Raise InputError where the file ends above the line ``last``, or the like of ``row``."""
        if self._left and not (self._left == 1 and self._open):
            raise InputError(ENDS_ABOVE, file=name, row=last)
        for number, line in enumerate(self._lines_below(), last + 1):
            fields: list[str] = []
            with suppress(csv.Error):
                fields = next(csv.reader([line.decode(encoding, "replace")], delimiter=delimiter))
            if not is_note(fields, row):
                raise InputError(BELOW, file=name, row=number)

    def _lines_below(self) -> Iterator[bytes]:
        *lines, begun = self._rest.split(b"\n")
        yield from lines
        while data := bytes(self._stream.read(1 << 16)):
            *lines, begun = (begun + data).split(b"\n")
            yield from lines
        yield begun


def is_note(fields: Sequence[str], row: Sequence[str]) -> bool:
    """Whether fields outside of a table are none of its rows, of which ``row`` is one.

    At most one of them is filled; or, as in totals, a word stands first where rows have a code that
    is none.

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
    first = next((at for at, field in enumerate(row) if field.strip()), 0)
    if not row or is_name(row[first]) or len(fields) <= first:
        return False
    return bool(fields[first].strip()) and is_name(fields[first])


def is_unit(fields: Sequence[str], row: Sequence[str]) -> bool:
    """Whether fields between the names and the first ``row`` of a table are units, or a note.

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
    """Return the number of a row that is like the first ``row`` below it; None where none is.

    ``above``: rows down to the names, below which they stand.
    """
    for number, fields in enumerate(between, above + 1):
        if not is_unit(fields, row):
            return number
    return None
