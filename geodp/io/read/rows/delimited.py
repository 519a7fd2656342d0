"""Delimited text: its header, its encoding, its rows in batches and their lines."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any
from unicodedata import category

import pyarrow as pa
import pyarrow.csv

from geodp import progress
from geodp.errors import InputError
from geodp.io.read.rows.arrow import is_ascii
from geodp.io.read.rows.input_files import DAMAGES, InputFile, guard
from geodp.table.source import Fact, KnownBy

HEAD = 1 << 18
"""Bytes in which the header of a text must end."""

BLOCK = 1 << 22
"""Bytes of text that are in memory at once."""

LONG_HEADER = (
    f"The header is longer than {HEAD:,} bytes; give a table with fewer columns, as only those of "
    "places, attributes and counts are read."
)
BINARY = "The file is no text table; it looks binary."


@dataclass(frozen=True)
class TextTable:
    """Delimited text.

    Attributes
    ----------
    columns, labels : tuple of str
        Of the header's one or two rows, stripped; without a second row labels are empty.
    delimiter, encoding : str
    head_lines : int
        Lines of the file that the header takes.
    facts : tuple of Fact
        Encoding and delimiter, and who says them.
    """

    file: InputFile
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    delimiter: str
    encoding: str
    head_lines: int
    facts: tuple[Fact, ...]

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.file.name

    @classmethod
    def open(
        cls, file: InputFile, delimiter: str | None, encoding: str | None, labelled: bool
    ) -> TextTable:
        """Read the header."""
        told = delimiter, encoding
        file, encoding, text, line = _open_head(file, encoding)
        names: list[str] = []
        labels: list[str] = []
        try:
            delimiter = delimiter or max((",", ";", "\t", "|"), key=partial(_count_columns, line))
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            while not names:
                names = [_strip(name) for name in next(reader)]
            lines = reader.line_num
            keyed = labelled and names[0].upper() == "KEY_CODE"
            second = [_strip(label) for label in next(reader, [])] if keyed else []
            # A row whose labels are numbers is one of data that lacks its code.
            if second and not second[0] and not any(is_number(label) for label in second):
                labels, lines = second, reader.line_num
        except (csv.Error, StopIteration):
            raise InputError("The header cannot be read.", file=file.name, row=1) from None
        if any(mark in title for title in (*names, *labels) for mark in "\r\n"):
            raise InputError(
                "A name in the header has a line break; a quotation mark may not be closed.",
                file=file.name,
                row=1,
            )
        if labels and len(labels) != len(names):
            raise InputError(
                "The two header rows must have as many columns as each other.",
                file=file.name,
                row=lines,
            )
        by: tuple[KnownBy, ...] = tuple("values" if one is None else "operator" for one in told)
        facts = (
            Fact("format", "delimited text", "values"),
            Fact("delimiter", delimiter, by[0]),
            Fact("encoding", encoding, by[1]),
        )
        return cls(
            file,
            tuple(names),
            tuple(labels) or ("",) * len(names),
            delimiter,
            encoding,
            lines,
            facts,
        )

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns as strings; a row of another length is refused."""
        # Bytes of ASCII mean the same in all encodings that are read, so that a file needs no
        # decoding as a whole; only a chosen value that is no ASCII does.
        names = [str(column) for column in range(len(self.columns))]
        include = [names[column] for column in chosen]
        ragged: list[bool] = []

        def note(_: object) -> str:
            ragged.append(True)
            return "skip"

        with self.file.open() as stream, _undecodable(note):
            if not guard(self.name, lambda: self._skip_header(stream)):
                return
            reader = guard(
                self.name,
                lambda: pyarrow.csv.open_csv(
                    stream,
                    read_options=pyarrow.csv.ReadOptions(column_names=names, block_size=BLOCK),
                    parse_options=pyarrow.csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        invalid_row_handler=note,
                    ),
                    convert_options=pyarrow.csv.ConvertOptions(
                        include_columns=list(dict.fromkeys(include)),
                        column_types=dict.fromkeys(include, pa.binary()),
                        strings_can_be_null=False,
                        check_utf8=False,
                    ),
                ),
            )
            while True:
                try:
                    batch = guard(self.name, reader.read_next_batch)
                except StopIteration:
                    batch = None
                if ragged:
                    raise self._explain_ragged()
                if batch is None:
                    return
                progress.part(self.file.share(stream), self.file.size)
                yield [self._decode(batch.column(name)) for name in include]

    def line(self, record: int) -> int | None:
        """Line, counted from 1, on which a record starts; blank lines are no records."""
        return self._find(lambda number, _: number == record)

    def _skip_header(self, stream: Any) -> bytes:
        for _ in range(self.head_lines):
            stream.readline()
        return bytes(stream.peek(1)[:1])

    def _decode(self, column: pa.Array) -> pa.Array:
        if is_ascii(column):
            return column.view(pa.string())
        if self.encoding.startswith("utf-8"):
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.string())
        coded = column.dictionary_encode()
        values = [value.decode(self.encoding, "replace") for value in coded.dictionary.to_pylist()]
        return pa.array(values, pa.string()).take(coded.indices)

    def _explain_ragged(self) -> InputError:
        width = len(self.columns)
        return InputError(
            f"Every row must have as many columns as the header ({width}); the row may be cut "
            "off, or a field with a delimiter in it lacks its quotes.",
            file=self.name,
            row=self._find(lambda _, fields: len(fields) != width),
        )

    def _find(self, wanted: Callable[[int, list[str]], bool]) -> int | None:
        """First line of the first record that is wanted: slow, for errors only."""
        record, line = 0, self.head_lines
        with self.file.open() as stream:
            self._skip_header(stream)
            text = io.TextIOWrapper(stream, self.encoding, "replace", newline="")
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                for fields in reader:
                    if fields and wanted(record, fields):
                        return line + 1
                    record += bool(fields)
                    line = self.head_lines + reader.line_num
            except (csv.Error, *DAMAGES):
                return None
        return None


def is_number(text: str) -> bool:
    """Whether a name in a header looks like a value of a row instead."""
    return text.strip().translate(_NUMBER_MARKS).isdecimal()


def is_name(text: str) -> bool:
    """Whether a field of a header looks like a name, or is blank, and not like a value.

    >>> [is_name(text) for text in ("T001", "人口（総数）", "2020-01-05", "1kmN2599E4695")]
    [True, True, False, False]
    """
    text = text.strip()
    return not text or ((text[0].isalpha() or text[0] == "_") and not _VALUE.search(text))


_VALUE = re.compile(r"[][(){}<>@]|\d:\d|\d\.\d\d|\d{4}[-/]\d|\d[-/]\d+[-/]\d|N\d+E\d+|E\d+N\d+")
_AMID = re.compile("[A-Za-z][\u3400-\u9fff][a-z]")
_NUMBER_MARKS = str.maketrans("", "", "+-.,eE ")


@contextmanager
def _undecodable(note: Callable[[object], str]) -> Iterator[None]:
    """Note rows of another length also where pyarrow cannot decode them for the handler.

    It then reports an exception that nobody can catch, which would reach the screen.
    """
    shown = sys.unraisablehook

    def hook(report: Any) -> None:
        if report.exc_type is UnicodeDecodeError:
            note(report)
        else:
            shown(report)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = shown


class _Recoded(io.RawIOBase):
    """A stream of UTF-16 as UTF-8: rows are split at bytes that mean ASCII."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._waiting = stream, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._waiting:
            read = self._stream.read(1 << 16)
            self._waiting = self._decoder.decode(read, final=not read).encode("utf-8", "replace")
            if not read:
                break
        given, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _recode(opens: Callable[[], IO[bytes]]) -> IO[bytes]:
    return io.BufferedReader(_Recoded(opens()))


def _unknown(stream: IO[bytes]) -> float:
    return 0.0


def _count_columns(line: str, delimiter: str) -> int:
    """Return the columns of a header with this delimiter; 0 of fields longer than csv takes."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter)))
    except csv.Error:
        return 0


def _strip(text: str) -> str:
    return text.replace("\ufeff", "").strip()


def _open_head(file: InputFile, encoding: str | None) -> tuple[InputFile, str, str, str]:
    """Return the file in an encoding that is read, that encoding, its head, and the first line.

    Raises InputError where there is no line of text.
    """

    def start() -> bytes:
        with file.open() as stream:
            return stream.read(HEAD)

    head = guard(file.name, start)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        file, encoding = (
            replace(file, open=partial(_recode, file.open), share=_unknown),
            None,
        )
        head = guard(file.name, start)
    if encoding is None or head.startswith(codecs.BOM_UTF8):  # a mark says it for certain
        encoding = _encoding(head, file.name)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    line = text.lstrip("\r\n").partition("\n")[0]
    if any(category(mark) == "Cc" for mark in line.strip() if mark not in "\t\r"):
        raise InputError(BINARY, file=file.name)
    if not line.strip():
        rule = "The file holds no header and no rows."
        if text.strip():
            rule = "The first row names no column; the file needs a header with names."
        raise InputError(rule, file=file.name)
    if "\r" in line.rstrip("\r"):
        raise InputError("Lines must end in LF or CR LF.", file=file.name)
    if "\n" not in text and len(head) == HEAD:
        raise InputError(LONG_HEADER, file=file.name, row=1)
    return file, encoding, text, line


def _encoding(head: bytes, name: str) -> str:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if b"\0" in head:
        raise InputError(BINARY, file=name)
    lines = head[: head.rfind(b"\n") + 1] or head
    for encoding in ("utf-8", "cp932"):
        try:
            text = lines.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Western text often passes for CP932, but with characters for private use in it, or with
        # a kanji in the middle of a word: "Fernw舐me".
        header = text.partition("\n")[0]
        western = any(category(letter) == "Co" for letter in header)
        if not western and not (encoding == "cp932" and _AMID.search(header)):
            return encoding
    raise InputError(
        "The text is neither UTF-8 nor CP932; name its encoding, such as cp1252 "
        "(--encoding, encoding=).",
        file=name,
    )
