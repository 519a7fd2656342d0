"""Delimited text: header, encoding, rows in batches, and the line of a record."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import IO, Any, TypeVar
from unicodedata import category

import pyarrow as pa
import pyarrow.csv

from geodp import progress
from geodp.errors import InputError, Rule, UsageError
from geodp.io.opening import catch_undecodable
from geodp.io.read.rows.arrow import is_ascii, map_values
from geodp.io.read.rows.complete import DAMAGES, fact_of_end
from geodp.io.read.rows.input_files import InputFile, guard
from geodp.io.read.rows.names import fold
from geodp.io.read.rows.partitions import FileTable
from geodp.io.read.rows.quotes import CountedStream, QuotedText
from geodp.io.read.rows.span import (
    ABOVE,
    AFTER_LAST,
    BETWEEN,
    BLANK,
    DELIMITERS,
    HEAD_ROWS,
    NO_FIRST,
    ORDER,
    Opening,
    UpToLine,
    find_row,
    is_number,
    split_line,
    suggest_header,
)
from geodp.table.source import Fact, FactSource

T = TypeVar("T")

HEAD = 1 << 18
"""Bytes in which the header of a text must end."""

BLOCK = 1 << 22
"""Bytes of text that are in memory at once."""

LONG_HEADER = Rule(
    "header-too-long",
    f"The header is longer than {HEAD:,} bytes; give a table with fewer columns, as only those of "
    "places, attributes and counts are read.",
)
BINARY = Rule(
    "text-binary",
    "The file is no text table; it looks binary. A text of UTF-16 needs its byte order mark; save "
    "it as CSV in UTF-8.",
)
NO_LINES = Rule(
    "line-ends-mac",
    "Lines must end in LF or CR LF, but these end in CR; save the file as CSV again, with line "
    "ends of Windows or Unix.",
)

NO_HEADER = Rule(
    "header-unreadable",
    "The header cannot be read; a quote may not be closed, or this is no table. Write one row with "
    "the names of the columns first.",
)
LONG_NAME = Rule(
    "header-line-break",
    "A name in the header has a line break; close its quotation marks, or write the name in one "
    "line.",
)
UNEQUAL = Rule(
    "header-rows-unequal",
    "The two header rows must have the same number of columns; add the missing delimiters.",
)
FAR = Rule(
    "header-too-far",
    f"The line with the names does not end within the first {HEAD:,} bytes; delete the lines "
    "above it.",
)
SAYS_DELIMITER = Rule(
    "line-says-delimiter",
    "This line declares the delimiter and holds no names; name the line below that has them "
    "(--header-row, header_row=).",
)
ANOTHER = Rule(
    "delimiter-contradicted",
    "The first line declares another delimiter than --delimiter (delimiter=); leave the option "
    "out.",
)
ARRAY = Rule(
    "json-array",
    "This is a JSON array, which is no table; write one object a line (.jsonl), such as by "
    "jq -c '.[]', or CSV.",
)

_SEP = re.compile(r'\s*"?sep=([^\s"]|\t)"?[ ]*\r?\n', re.IGNORECASE)
"""First line by which Excel recognises the delimiter of a file."""


@dataclass(frozen=True)
class TextTable(FileTable):
    """Delimited text.

    Attributes
    ----------
    header, titles : tuple of str
        Stripped names and, from an optional second row, labels; without one they are empty.
    delimiter, encoding : str
    header_row : int
        Line of the names, counted from 1.
    head_lines : int
        Lines of the file down to the last of the header, or of the units and totals below it.
    last_row : int, optional
        The last line of the table, where notes stand below it.
    facts : tuple of Fact
        Encoding and delimiter, and who states them. Once the file was read, also whether its last
        line is terminated, and how many rows have line breaks in fields.
    """

    file: InputFile
    header: tuple[str, ...]
    titles: tuple[str, ...]
    delimiter: str
    encoding: str
    header_row: int
    head_lines: int
    _header_facts: tuple[Fact, ...]
    last_row: int | None = None
    _body_facts: list[Fact] = field(default_factory=list, repr=False, compare=False)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts of the header and, once the rows were read, of the body."""
        return (*self._header_facts, *self._body_facts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the header."""
        return self.header

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all columns; empty for those of folders."""
        return (*self.titles, *("" for _ in self.partitions))

    @cached_property
    def title_rows(self) -> tuple[tuple[bool, list[str]], ...]:
        """Rows above the header (True), and those of units between it and the first row (False)."""
        if self.head_lines == 1:
            return ()
        rows = [*enumerate(self._head_rows(self.delimiter)[: self.head_lines], 1)]
        # Titles are one text, which may have delimiters in it: "Income (1,000 EUR)".
        above = ((True, [self.delimiter.join(row)]) for n, row in rows if n < self.header_row)
        return (*above, *((False, row) for n, row in rows if n > self.header_row))

    @classmethod
    def open(cls, file: InputFile, opening: Opening, labelled: bool) -> TextTable:
        """Read the header: the first line that is not blank, or the line that the call names."""
        delimiter, header_row = opening.delimiter, opening.header_row
        file, encoding, text = _open_head(file, opening.encoding, header_row)
        source: FactSource = "values" if delimiter is None else "operator"
        above = 0
        if declaration := _SEP.match(text):
            if delimiter not in (None, declaration[1]):
                raise InputError(ANOTHER, file=file.name, row=1)
            delimiter, source = declaration[1], "file"
            text, above = text[declaration.end() :], declaration[0].count("\n")
        if header_row is None:
            header_row = above + 1 + text[: len(text) - len(text.lstrip("\r\n"))].count("\n")
        else:
            text, above = _from_line(text, header_row, above, file.name), header_row - 1
        line = _first_line(text, file.name)
        # The delimiter that splits the header into most columns; ties go to the comma.
        delimiter = delimiter or max(DELIMITERS, key=lambda one: len(split_line(line, one)))
        names, labels, lines, rule = _read_titles(text, delimiter, labelled)
        if rule:
            raise InputError(rule, file=file.name, row=above + lines)
        encoding_source: FactSource = "operator" if opening.encoding else "values"
        certain = encoding == "utf-8-sig" or file.share is _unknown_share
        facts: tuple[Fact, ...] = (
            Fact("format", "delimited text", "values"),
            Fact("delimiter", delimiter, source),
            Fact("encoding", encoding, "file" if certain else encoding_source),
        )
        # Rows are only known to be in order once the header's own line is.
        end = above + lines
        if any(row is not None and row <= end for row in (opening.first_row, opening.last_row)):
            raise UsageError(ORDER)
        if (first := opening.first_row) is not None:
            _require_units(text.split("\n"), delimiter, above, lines, first, file.name)
            end = first - 1
        facts += opening.facts
        titles, last = tuple(labels or [""] * len(names)), opening.last_row
        return cls(file, tuple(names), titles, delimiter, encoding, header_row, end, facts, last)

    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns as strings; refuse rows of another length."""
        # All supported encodings agree on ASCII bytes, so the file is split as bytes, and only
        # chosen values with other bytes are decoded.
        # Columns are named by their position, as names in a header may repeat.
        names = [str(column) for column in range(len(self.names))]
        include = [names[column] for column in chosen]
        ragged: list[bool] = []

        # Arrow's message would quote the row, so that bad rows are skipped and explained
        # afterwards.
        def note(_: object) -> str:
            ragged.append(True)
            return "skip"

        with self.file.open() as stream, catch_undecodable(note):
            if not guard(self.name, lambda: self._skip_header(stream)):
                return
            body = self._cut(stream)
            counted = CountedStream(body)
            # Values are read as bytes: Arrow would otherwise decode every column, infer types block
            # by block, and quote values in its errors.
            reader: Any = self._read(
                chosen,
                ragged,
                lambda: pyarrow.csv.open_csv(
                    counted,
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
            records = 0
            while True:
                batch = self._read(chosen, ragged, reader.read_next_batch)
                if batch is None:
                    self._check_end(chosen, counted, body, records)
                    return
                records += batch.num_rows
                progress.part(self.file.share(stream), self.file.size)
                yield [self._decode(batch.column(name)) for name in include]

    def _check_end(
        self, chosen: Sequence[int], counted: CountedStream, body: Any, records: int
    ) -> None:
        """Look for unclosed quotes and for rows below the table, once all records were read."""
        self._body_facts[:] = [fact_of_end(ended=counted.ended)]
        # A quote that is never closed swallows rows without an error. Fewer records than lines is
        # the sign of one; only then is the text scanned for it.
        if counted.may_hide(records):
            self._look_at_quotes(chosen)
        if isinstance(body, UpToLine):
            assert self.last_row is not None
            body.require_notes(
                self.name, self.last_row, self._first_row(), self.delimiter, self.encoding
            )

    def line(self, record: int) -> int | None:
        """Return the line of a record, counted from 1; blank lines are no records."""
        return self._find(lambda number, _: number == record)

    def heads(self) -> Iterator[tuple[range, list[list[str]]]]:
        """Return the lines of names, and the first lines of the file, split by each delimiter."""
        header_rows = range(self.header_row, self.head_lines + 1)
        return ((header_rows, self._head_rows(delimiter)) for delimiter in DELIMITERS)

    def _first_row(self) -> list[str]:
        """Return the fields of the first line below the header that is not blank."""
        with self.file.open() as stream:
            self._skip_header(stream)
            text = io.TextIOWrapper(stream, self.encoding, "replace", newline="")
            with suppress(csv.Error):
                return next(filter(None, csv.reader(text, delimiter=self.delimiter)), [])
        return []

    def _head_rows(self, delimiter: str) -> list[list[str]]:
        """Return the fields of the first lines of the file, each line split by itself."""
        text = guard(self.name, lambda: _head_of(self.file)).decode(self.encoding, "replace")
        lines = text.removeprefix("\ufeff").split("\n")[:HEAD_ROWS]
        return [split_line(line, delimiter) for line in lines]

    def _read(
        self, chosen: Sequence[int], ragged: Sequence[bool], step: Callable[[], T]
    ) -> T | None:
        """Carry out a step of reading, None at the end; unclosed quotes are reported first.

        ``ragged`` is not empty if a row has another length, even one that cannot be decoded.
        """
        wrong: InputError | None = None
        result: T | None = None
        try:
            result = guard(self.name, step)
        except StopIteration:
            pass
        except InputError as error:
            wrong = error
        # A broken quote causes ragged rows and decoding errors further down, so it is looked for
        # first.
        if wrong is not None or ragged:
            self._look_at_quotes(chosen)
            raise self._explain_ragged() if ragged or wrong is None else wrong
        return result

    def _look_at_quotes(self, chosen: Sequence[int]) -> None:
        """Raise InputError at the first record whose quoted fields hide rows."""
        width = len(self.names)
        text = QuotedText(self.delimiter, self.encoding, width, chosen, BLOCK)
        with self.file.open() as stream, suppress(*DAMAGES):
            self._skip_header(stream)
            text.examine(self._cut(stream))
        if text.fault is not None:
            rule, before = text.fault
            raise InputError(rule, file=self.name, row=self._line_at(before))
        if text.multiline:
            self._body_facts.append(
                Fact("rows with line breaks in fields", str(text.multiline), "file")
            )

    def _line_at(self, before: int) -> int:
        """Return the line that begins this many bytes after the header."""
        line = self.head_lines + 1
        with self.file.open() as stream:
            self._skip_header(stream)
            while before > 0 and (data := stream.read(min(before, BLOCK))):
                line += data.count(b"\n")
                before -= len(data)
        return line

    def _cut(self, stream: Any) -> Any:
        """Limit a stream after its header to the last row of the table, if the call names it."""
        return (
            stream if self.last_row is None else UpToLine(stream, self.last_row - self.head_lines)
        )

    def _skip_header(self, stream: Any) -> bytes:
        """Skip the lines down to the header and return the next byte, if there is one."""
        for _ in range(self.head_lines):
            stream.readline()
        return bytes(stream.peek(1)[:1])

    def _decode(self, column: pa.Array) -> pa.Array:
        """Decode bytes as strings; distinct values are decoded once."""
        if is_ascii(column):
            return column.view(pa.string())
        # Arrow validates UTF-8 faster than Python; what it refuses is decoded with replacements.
        if self.encoding.startswith("utf-8"):
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.string())
        return map_values(column, lambda value: value.decode(self.encoding, "replace"))

    def _explain_ragged(self) -> InputError:
        """Return the error of a row of another length, with its likely cause."""
        width = len(self.names)
        # A title above the true header is a common cause, so it is named if there is one.
        if (rows := self.guess_header()) is not None:
            rule = Rule(
                "rows-wider-than-header",
                f"Rows have more columns than the header ({width}); {suggest_header(*rows)}",
            )
            return InputError(rule, file=self.name, row=self.header_row)
        return InputError(
            f"Every row must have as many columns as the header ({width}). The row may be cut "
            "off, a field with a delimiter may lack its quotes, or this may be a note below the "
            "table: complete the row, quote the field, or name the table's last row (--last-row, "
            "last_row=).",
            file=self.name,
            row=self._find(lambda _, fields: len(fields) != width),
            code="row-ragged",
        )

    def _find(self, accepts: Callable[[int, list[str]], bool]) -> int | None:
        """Return the first line of the first accepted record; slow, for errors only."""
        record, line = 0, self.head_lines
        with self.file.open() as stream:
            self._skip_header(stream)
            text = io.TextIOWrapper(stream, self.encoding, "replace", newline="")
            reader = csv.reader(text, delimiter=self.delimiter)
            try:
                for fields in reader:
                    if fields and accepts(record, fields):
                        return line + 1
                    record += bool(fields)
                    line = self.head_lines + reader.line_num
            except (csv.Error, *DAMAGES):
                return None
        return None


def _read_titles(
    text: str, delimiter: str, labelled: bool
) -> tuple[list[str], list[str], int, str]:
    """Read names, labels of an optional second row, and the number of lines of both.

    The last value is the rule that they break, or empty; the lines then end with the faulty one.
    """
    names: list[str] = []
    labels: list[str] = []
    # Lines end in LF, as they are skipped; where CR ended them too, rows would be skipped as well.
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter)
    try:
        while not names:
            names = [_strip(name) for name in next(reader)]
        lines = reader.line_num
        # Only official mesh files have a second header row, below a first column KEY_CODE.
        keyed = labelled and fold(names[0]) == "key_code"
        second = [_strip(label) for label in next(reader, [])] if keyed else []
    except (csv.Error, StopIteration):
        return [], [], 1, NO_HEADER
    # A row whose labels are numbers is one of data that lacks its code.
    if second and not second[0] and not any(is_number(label) for label in second):
        labels, lines = second, reader.line_num
    if any(end in title for title in (*names, *labels) for end in "\r\n"):
        return names, labels, 1, LONG_NAME
    if labels and len(labels) != len(names):
        return names, labels, lines, UNEQUAL
    return names, labels, lines, ""


_AMID = re.compile("[A-Za-z][\u3400-\u9fff][a-z]")
"""A kanji in the middle of a Western word, as where cp1252 was decoded as CP932."""

_ODD = "[\u3400-\u9fff\uff61-\uff9f]"
_MIXED_WORD = f"[A-Za-z]+{_ODD}[a-z]+|[A-Za-z][a-z]{{2,}}{_ODD}|{_ODD}[a-z]{{3,}}"
_WESTERN = re.compile(rf"(?<![^\W\d_])(?:{_MIXED_WORD})(?![^\W\d_])")
"""A word of Latin letters and one kanji or half-width kana: a Western letter taken for CP932."""

IN_DOUBT = Rule(
    "encoding-in-doubt",
    "The text is not UTF-8, and reads as CP932 with a kanji or kana inside of Western words; name "
    "its encoding, such as cp1252, or cp932 if it is right (--encoding, encoding=).",
)


class _Recoded(io.RawIOBase):
    """A stream of UTF-16 recoded as UTF-8, as rows are split at ASCII bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._waiting = stream, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # A read may end inside a surrogate pair and decode to nothing: read on until there is text
        # or the end.
        while not self._waiting:
            read = self._stream.read(1 << 16)
            self._waiting = self._decoder.decode(read, final=not read).encode("utf-8", "replace")
            if not read:
                break
        chunk, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _recode(opens: Callable[[], IO[bytes]]) -> IO[bytes]:
    return io.BufferedReader(_Recoded(opens()))


def _unknown_share(stream: IO[bytes]) -> float:
    """Report no progress, as positions in recoded text do not map to bytes of the file."""
    return 0.0


def _strip(text: str) -> str:
    return text.replace("\ufeff", "").strip()


def _head_of(file: InputFile) -> bytes:
    with file.open() as stream:
        return stream.read(HEAD)


def _open_head(
    file: InputFile, encoding: str | None, header_row: int | None
) -> tuple[InputFile, str, str]:
    """Return the file in a supported encoding, that encoding, and its decoded head."""
    head = guard(file.name, partial(_head_of, file))
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        file = replace(file, open=partial(_recode, file.open), share=_unknown_share)
        encoding, head = None, guard(file.name, partial(_head_of, file))
    if encoding is None or head.startswith(codecs.BOM_UTF8):  # a byte order mark is certain
        encoding = _encoding(head, file.name, header_row or 1)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head)
    if header_row is not None and len(head) == HEAD and text.count("\n") < header_row:
        raise InputError(FAR, file=file.name, row=header_row)
    # The whole head without a line end is either a file of old Mac line ends or a huge header.
    if "\n" not in text.lstrip("\r\n") and len(head) == HEAD:
        _first_line(text, file.name)
        raise InputError(LONG_HEADER, file=file.name, row=1)
    return file, encoding, text.removeprefix("\ufeff")


def _from_line(text: str, line: int, above: int, name: str) -> str:
    """Return a head from the line of the names on; ``above`` lines were removed already."""
    lines = text.split("\n", line - above - 1) if line > above else []
    rule = ""
    if not lines:
        rule = SAYS_DELIMITER
    elif len(lines) < line - above or not lines[-1]:
        rule = AFTER_LAST
    elif not lines[-1].partition("\n")[0].strip():
        rule = BLANK
    elif lines[-1].partition("\n")[0].strip() in map(str.strip, lines[:-1]):
        rule = ABOVE
    if rule:
        raise InputError(rule, file=name, row=line)
    return lines[-1]


def _require_units(
    head: Sequence[str], delimiter: str, above: int, lines: int, first: int, name: str
) -> None:
    """Raise InputError if a row of data stands above the first one, or that is missing.

    ``head`` begins with the names, which take ``lines`` lines; ``above`` lines precede it.
    """
    rows = [split_line(line, delimiter) for line in head[lines : first - above]]
    if len(rows) < first - above - lines or not any(rows[-1]):
        raise InputError(NO_FIRST, file=name, row=first)
    if (wrong := find_row(rows[:-1], rows[-1], above + lines)) is not None:
        raise InputError(BETWEEN, file=name, row=wrong)


def _first_line(text: str, name: str) -> str:
    """Return the first line of a head that is not blank; InputError if it is no table's."""
    shown = text.lstrip("\r\n")
    blank, line = text[: len(text) - len(shown)], shown.partition("\n")[0]
    # Control characters other than tabs mean a binary file, or UTF-16 without its mark.
    if any(category(character) == "Cc" for character in line.strip() if character not in "\t\r"):
        raise InputError(BINARY, file=name)
    if not line.strip():
        rule = Rule("text-empty", "The file has no header and no rows; write the table again.")
        if text.strip():
            rule = Rule(
                "header-names-nothing",
                "The first row names no column; the file needs a header with names.",
            )
        raise InputError(rule, file=name)
    if blank.endswith("\r") or "\r" in line.rstrip("\r"):
        raise InputError(NO_LINES, file=name)
    if re.match(r'\s*\[\s*[{"\[]', text):
        raise InputError(ARRAY, file=name)
    return line


def _has_western_word(text: str) -> bool:
    """Test whether a text has a word of Latin letters and one kanji or half-width kana."""
    # Most lines are numbers, and a search of a whole head takes longer than reading its file.
    return any(_WESTERN.search(line) for line in text.split("\n") if not line.isascii())


def _encoding(head: bytes, name: str, header_row: int) -> str:
    """Guess the encoding of a head: UTF-8 or CP932; InputError for any other."""
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if b"\0" in head:
        raise InputError(BINARY, file=name)
    # The head may end inside a character: only complete lines are decoded.
    lines = head[: head.rfind(b"\n") + 1] or head
    for encoding in ("utf-8", "cp932"):
        try:
            text = lines.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Western text often passes for CP932, but with characters for private use in it, or with
        # a kanji in the middle of a word: "Fernw舐me".
        header = "".join(text.split("\n", header_row)[:header_row])
        western = any(category(letter) == "Co" for letter in header)
        if not western and not (encoding == "cp932" and _AMID.search(header)):
            # A header of ASCII does not say whether the values are Western.
            if encoding == "cp932" and header.isascii() and _has_western_word(text):
                raise InputError(IN_DOUBT, file=name)
            return encoding
    raise InputError(
        "The text is neither UTF-8 nor CP932; name its encoding, such as cp1252 "
        "(--encoding, encoding=).",
        file=name,
        code="text-encoding-unknown",
    )
