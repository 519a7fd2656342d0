"""Quotes that nobody closed: rows that would vanish inside a field of delimited text.

A quoted field may hold line breaks, as addresses and notes do. It may not hold rows. What is taken
for one is fixed, and `docs/inputs.md` says it:

- a field is open where the file ends, or for longer than a record may be;
- a field with a line break has more text after its closing quote;
- a line of such a field, read by itself, has as many columns as the header or more, and in no
  column that is read does it have words where the row has a number.

Only text with quotes is looked at, and of that only rows with a line break one by one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from geodp.kernels.quotes import find_broken

OPEN = (
    "A quote is not closed, so that rows would vanish inside a field; close it, or write it twice "
    'where it is part of the text ("").'
)
HOLDS_ROWS = (
    "A quoted field holds line breaks and what looks like rows, so a quote before them may not be "
    "closed; close it, or take line breaks out of the column."
)

_MARKS = {"na", "n/a", "n.a.", "nan", "null", "none", "nil"}
_NUMBER = re.compile(r"[+-]?(\d{6,}([.,]\d*)?|\d+[.,]\d{3,})")
_DIGIT = re.compile("[0-9]")
_LINE = re.compile(rb"\r\n|\n|\r")


@dataclass
class QuotedStream:
    """A stream of delimited text, looked at as it is read.

    Attributes
    ----------
    stream : file of bytes
        After the header.
    delimiter, encoding : str
    width : int
        Columns of the header.
    chosen : sequence of int
        Columns that are read.
    most : int
        Bytes of a record.
    fault : (str, int) or None
        The rule that a record breaks, and the bytes of the stream before it.
    multiline : int
        Records so far that have a line break in a field.
    ended : bool
        Whether the last line that was read has its end.
    """

    stream: Any
    delimiter: str
    encoding: str
    width: int
    chosen: Sequence[int]
    most: int
    fault: tuple[str, int] | None = None
    multiline: int = 0
    ended: bool = True
    _waiting: bytes = field(default=b"", repr=False)
    _before: int = 0

    @property
    def closed(self) -> bool:
        """Whether the stream is."""
        return bool(self.stream.closed)

    def read(self, size: int = -1) -> bytes:
        """Read bytes, and look at their quotes."""
        data = bytes(self.stream.read(size))
        if data:
            self.ended = data.endswith((b"\n", b"\r"))
        if self.fault is None:
            self._look(data)
        return data

    def _look(self, data: bytes) -> None:
        """Go through records that are whole with these bytes; none are the end of the stream."""
        text = self._waiting + data
        if b'"' not in data and b'"' not in self._waiting:
            self._wait(text, text.rfind(b"\n") + 1)
            return
        if not data:
            text += b"\n"
        array, first = np.frombuffer(text, np.uint8), 0
        found, mark = np.zeros(3, np.int64), ord(self.delimiter)
        while find_broken(array, first, mark, found):
            start, first, ragged = found.tolist()
            self.multiline += 1
            if ragged or self._holds_rows(text[start:first]):
                self.fault = OPEN if ragged else HOLDS_ROWS, self._before + start
                return
        start, _, opened = found.tolist()
        if opened and (not data or len(text) - start > self.most):
            self.fault = OPEN, self._before + start
        self._wait(text, start)

    def _wait(self, text: bytes, start: int) -> None:
        self._waiting = text[start:]
        self._before += start

    def _holds_rows(self, record: bytes) -> bool:
        """Whether a line inside a field of a record looks like a row."""
        own = self._fields(record)
        if own is None:
            return True
        for line in _LINE.split(record)[1:]:
            row = self._fields(line)
            if row is None or (len(row) >= self.width and self._alike(own, row)):
                return True
        return False

    def _fields(self, row: bytes) -> list[str] | None:
        """Return the fields of one row, None where they are longer than can be read."""
        text = row.decode(self.encoding, "replace")
        try:
            return next(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter), [])
        except csv.Error:
            return None

    def _alike(self, own: Sequence[str], row: Sequence[str]) -> bool:
        """Whether no column that is read has words in one where the other has a number."""
        for column in self.chosen:
            value, other = (fields[column].strip() for fields in (own, row))
            if _NUMBER.fullmatch(value) and other and not _NUMBER.fullmatch(other):
                return False
            words = sum(map(str.isalpha, other)) > 1 and other.lower() not in _MARKS
            if words and _DIGIT.search(value) and not _DIGIT.search(other):
                return False
        return True
