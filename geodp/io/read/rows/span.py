"""Which rows of a text or a sheet are its table, where titles stand above it or notes below."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from geodp.errors import InputError, UsageError
from geodp.table.source import Fact

COUNTED = "Rows are counted from 1 (--header-row, header_row=; --last-row, last_row=)."
ORDER = (
    "The last row stands below that of the names (--header-row, header_row=; --last-row, "
    "last_row=)."
)
ENDS_ABOVE = "The file ends above that row; name the last one of the table (--last-row, last_row=)."
BELOW = (
    "This row below the last one of the table (--last-row, last_row=) looks like one of its rows; "
    "name the last of them, or delete what is no note."
)


@dataclass(frozen=True)
class Span:
    """Rows of a file that are its table, counted from 1; None where they are found.

    Attributes
    ----------
    header : int, optional
        The row of the names; what stands above it is not read.
    last : int, optional
        The last row; what stands below it are notes, which have one field each.

    Raises
    ------
    UsageError
        Numbers that are no rows in this order.
    """

    header: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        if any(row is not None and row < 1 for row in (self.header, self.last)):
            raise UsageError(COUNTED)
        if self.last is not None and self.last <= (self.header or 1):
            raise UsageError(ORDER)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What the operator says."""
        said = {"header row": self.header, "last row": self.last}
        return tuple(Fact(n, str(row), "operator") for n, row in said.items() if row is not None)

    @property
    def is_named(self) -> bool:
        """Whether the operator says of any row what it is."""
        return self.header is not None or self.last is not None


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

    def require_notes(self, name: str, last: int, delimiter: str, encoding: str) -> None:
        """Raise InputError where the file ends above the line ``last``, or rows follow it."""
        if self._left and not (self._left == 1 and self._open):
            raise InputError(ENDS_ABOVE, file=name, row=last)
        for number, line in enumerate(self._lines_below(), last + 1):
            fields: list[str] = []
            with suppress(csv.Error):
                fields = next(csv.reader([line.decode(encoding, "replace")], delimiter=delimiter))
            if not is_note(fields):
                raise InputError(BELOW, file=name, row=number)

    def _lines_below(self) -> Iterator[bytes]:
        *lines, begun = self._rest.split(b"\n")
        yield from lines
        while data := bytes(self._stream.read(1 << 16)):
            *lines, begun = (begun + data).split(b"\n")
            yield from lines
        yield begun


def is_note(fields: list[str]) -> bool:
    """Whether the fields of a row can be a note: one of them is filled, or none is.

    Examples
    --------
    >>> is_note(["Source: an office", "", ""]), is_note([]), is_note(["53394611", "5"])
    (True, True, False)
    """
    return sum(bool(field.strip()) for field in fields) <= 1
