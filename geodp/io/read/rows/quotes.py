"""Unclosed quotes: rows that would vanish inside a field of delimited text.

A quoted field may hold line breaks, as addresses and notes do, but not rows. The rules by which one
is taken for unclosed are fixed, and documented in `docs/tables.md`:

- a field is still open at the end of the file, or beyond the longest record allowed;
- a field with a line break has more text after its closing quote;
- the line in which such a field begins has at least as many columns as the header if its quotes
  are taken as text, and so has a later line of the record read by itself, without text in any
  selected column where the record has a number.

Files without quotes, or with as many lines as records, are not scanned.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.errors import Rule
from geodp.grid.markers import is_placeholder
from geodp.kernels.records import find_broken

OPEN = Rule(
    "quote-open",
    "A quote is not closed, so that rows would vanish inside a field; close it, or write it twice "
    'where it is part of the text ("").',
)
HOLDS_ROWS = Rule(
    "quote-holds-rows",
    "A quoted field holds line breaks and what looks like rows, so a quote before them may not be "
    "closed; close it. Where it is a note of several lines, take the line breaks out of the "
    "column, leave the column out, or write the table as Parquet, in which no text hides a row.",
)

_NUMBER = re.compile(r"[+-]?(\d{6,}([.,]\d*)?|\d+[.,]\d{3,})")
_DIGIT = re.compile("[0-9]")
_LF, _CR = b"\n\r"
_LINE = re.compile(rb"\r\n|\n|\r")


class CountedStream:
    """A stream of delimited text whose lines are counted as it is read.

    Parameters
    ----------
    stream : file of bytes
        After the header.

    Attributes
    ----------
    ended : bool
        Whether the last line that was read is terminated.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._lines = self._returns = 0
        self._quotes, self.ended = False, True
        self._before = self._last = b""

    @property
    def closed(self) -> bool:
        """Whether the underlying stream is closed."""
        return bool(self._stream.closed)

    def read(self, size: int = -1) -> bytes:
        """Read bytes."""
        data = bytes(self._stream.read(size))
        if data:
            characters = np.frombuffer(data, np.uint8)
            self._lines += int(np.count_nonzero(characters == _LF))
            self._returns += int(np.count_nonzero(characters == _CR))
            self._quotes = self._quotes or b'"' in data
            self.ended = data.endswith((b"\n", b"\r"))
            self._before, self._last = self._last, data
        return data

    def may_hide(self, records: int) -> bool:
        """Whether a field may hold a line break, after reading this many records."""
        if not self._quotes:
            return False
        # Mixed line ends: lone carriage returns also end lines, so the numbers say nothing.
        if self._returns not in (0, self._lines):
            return True
        # A quote that is opened in the last line hides its end alone.
        end = (self._before + self._last).rstrip(b"\r\n")
        last = end[end.rfind(b"\n") + 1 :]
        return records != self._lines + (not self.ended) or last.count(b'"') % 2 == 1


@dataclass
class QuotedText:
    """Scan of delimited text for quoted fields that hide rows.

    Attributes
    ----------
    delimiter, encoding : str
    width : int
        Columns of the header.
    chosen : sequence of int
        Columns that are read.
    max_bytes : int
        Longest record, in bytes.
    fault : (str, int) or None
        The rule that a record breaks, and the number of bytes before that record.
    multiline : int
        Number of records so far with a line break in a field.
    """

    delimiter: str
    encoding: str
    width: int
    chosen: Sequence[int]
    max_bytes: int
    fault: tuple[str, int] | None = None
    multiline: int = 0

    def examine(self, stream: Any) -> None:
        """Read a stream after its header to its end, or to the first faulty record."""
        # A block may end inside a record: the rest is kept and joined with the next block.
        waiting, before, ended = b"", 0, False
        span, delimiter = np.zeros(3, np.int64), ord(self.delimiter)
        while not ended and self.fault is None:
            data = stream.read(self.max_bytes)
            ended = not data
            text = waiting + (data or b"\n")
            array, start = np.frombuffer(text, np.uint8), 0
            # The kernel writes the start of a record, its end, and its fault into `span`.
            while self.fault is None and find_broken(array, start, delimiter, span):
                first, start, ragged = span.tolist()
                self.multiline += 1
                if ragged or self._holds_rows(text[first:start]):
                    self.fault = OPEN if ragged else HOLDS_ROWS, before + first
            if self.fault is None:
                first, _, opened = span.tolist()
                if opened and (ended or len(text) - first > self.max_bytes):
                    self.fault = OPEN, before + first
                waiting, before = text[first:], before + first

    def _holds_rows(self, record: bytes) -> bool:
        """Whether a line inside a field of a record looks like a row."""
        first, *others = _LINE.split(record)
        # A first line with fewer delimiters than the header is an ordinary note that begins in its
        # row.
        if first.count(self.delimiter.encode()) + 1 < self.width:
            return False
        expected = self._fields(record)
        if expected is None:
            return True
        for line in others:
            row = self._fields(line)
            if row is None or (len(row) >= self.width and self._alike(expected, row)):
                return True
        return False

    def _fields(self, row: bytes) -> list[str] | None:
        """Return the fields of one row; None if one is longer than the csv module reads."""
        text = row.decode(self.encoding, "replace")
        try:
            return next(csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter), [])
        except csv.Error:
            return None

    def _alike(self, fields: Sequence[str], row: Sequence[str]) -> bool:
        """Whether no selected column has text in one row where the other has a number."""
        for column in self.chosen:
            value, other = (row_fields[column].strip() for row_fields in (fields, row))
            # Long numbers are codes or coordinates, for which another row has one as well.
            if _NUMBER.fullmatch(value) and other and not _NUMBER.fullmatch(other):
                return False
            is_text = sum(map(str.isalpha, other)) > 1 and not is_placeholder(other)
            if is_text and _DIGIT.search(value) and not _DIGIT.search(other):
                return False
        return True
