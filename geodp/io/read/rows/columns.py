"""Tables of named columns, read in batches: delimited text, Parquet, and tables in memory.

A table is open by its header only. Its rows come as batches of the columns that are asked
for, and a row is named by its line in the file only when an error needs it.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp import progress
from geodp.errors import CodeError, InputError, Rule, UsageError
from geodp.io.read.rows.arrow import ArrowTable
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.forms.packed import unpack
from geodp.io.read.rows.forms.url import fetch_urls
from geodp.io.read.rows.headers import is_name, point_to
from geodp.io.read.rows.input_files import (
    NO_ARCHIVE,
    VECTOR,
    WORKBOOKS,
    ArrowStream,
    FilePath,
    Given,
    InputFile,
    LabelledArray,
    input_files,
    list_paths,
)
from geodp.io.read.rows.names import fold, list_names, tell_apart
from geodp.io.read.rows.parquet import ParquetTable
from geodp.io.read.rows.partitions import FileTable, require_agreement
from geodp.io.read.rows.selecting import RowFilter, Term, describe_form
from geodp.io.read.rows.span import Span
from geodp.io.read.rows.survey import Survey
from geodp.table.source import Fact

MOST_NAMES = 20
"""Names of columns that an error lists."""

MEMBER = (
    " If this member of the archive is no table, or not the one that is meant, name the one that "
    "is (--member, member=)."
)
NO_OTHER_ROWS = Rule(
    "rows-need-text",
    "Only texts and workbooks have rows above their header or below their table (--header-row, "
    "header_row=; --first-row, first_row=; --last-row, last_row=); leave the option out.",
)

WELL_KNOWN = {"key_code", "grd_id", "mesh_id", "meshcode", "code", "x", "y", "lon", "lat"}
"""Names that tell a header from a row of data."""


class InputTable(Protocol):
    """Columns of one input file, or of a table in memory."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; they may repeat."""

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns, text as strings."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What it says of itself, or was told or inferred of it, beside its columns' types."""

    def line(self, record: int) -> int | None:
        """Line in the file of a record counted from 0; None where it cannot be told."""


@dataclass(frozen=True)
class Rows:
    """Where the rows of a batch stand in their file."""

    table: InputTable
    first: int
    kept: NDArray[np.int64] | None = field(default=None, repr=False)

    def select(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return the rows where a mask is true."""
        kept = np.flatnonzero(chosen) if self.kept is None else self.kept[chosen]
        return Rows(self.table, self.first, kept)

    def at(self, positions: NDArray[np.int64]) -> Rows:
        """Return the rows at some of these positions."""
        kept = positions if self.kept is None else self.kept[positions]
        return Rows(self.table, self.first, kept)

    def records(self, n: int) -> NDArray[np.int64]:
        """Numbers in the table of these n rows, from 0: int64[n], rising."""
        return self.first + (np.arange(n) if self.kept is None else self.kept)

    def error(self, position: int, rule: str) -> InputError:
        """Return an InputError at one of these rows."""
        record = self.first + int(position if self.kept is None else self.kept[position])
        return InputError(rule, file=self.table.name, row=self.table.line(record))

    @contextmanager
    def named(self, column: str | None = None) -> Iterator[None]:
        """Turn a CodeError of the block into an InputError with file, line and column."""
        try:
            yield
        except CodeError as error:
            rule = (
                error.rule if column is None else Rule(error.code, f"Column {column}: {error.rule}")
            )
            raise self.error(error.position, rule) from None


def open_tables(
    paths: Given,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    labelled: bool = False,
    layer: str | None = None,
    header_row: int | None = None,
    first_row: int | None = None,
    last_row: int | None = None,
    member: str | None = None,
    scratch: FilePath | None = None,
) -> Generator[InputTable]:
    """Open a table in memory, or those in files or at URLs: :mod:`geodp.io.read.rows.input_files`.

    Parameters
    ----------
    delimiter, encoding : str, optional
        Of texts. Default: comma, semicolon, tab or bar, whichever splits the header into most
        columns; UTF-8 if the start of the file is, else CP932.
    labelled : bool
        Whether a second header row with labels may follow, whose first field is empty.
    layer : str, optional
        Of a GeoPackage with several, or sheet of a workbook.
    header_row : int, optional
        Line of a text, or row of a sheet, with the names, counted from 1; what stands above is not
        read. Default: the first one that is not blank.
    first_row : int, optional
        The first line or row below the names; units and totals between are not read.
    last_row : int, optional
        The last line or row of the table; notes below it are not read. Default: the file's.
    member : str, optional
        Name of an archive's member, or a pattern of several.
    scratch : path, optional
        Folder for what is fetched from URLs.
    """
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
    ):
        raise UsageError(
            "A delimiter is one ASCII character such as ; or a tab, which Bash writes $'\\t'; left "
            "out, it is found.",
            code="delimiter-form",
        )
    if encoding is not None:
        try:
            decoder = codecs.getincrementaldecoder(encoding)("replace")  # as the header is read
            ascii_alike = "0,\n".encode(encoding).endswith(b"0,\n")
            ascii_alike = ascii_alike and decoder.decode(b"0,\n", final=True) == "0,\n"
        except (LookupError, ValueError):  # no such encoding, or none that is one of texts
            ascii_alike = False
        if not ascii_alike:
            raise UsageError(
                "The encoding must be one that keeps ASCII, such as utf-8 or cp1252 (--encoding, "
                "encoding=).",
                code="encoding-unknown",
            )
    span = Span(header_row, last_row, first_row)
    if isinstance(paths, LabelledArray):
        raise UsageError(
            "An array of xarray is a raster: geodp.read(array, grid), or read_raster.",
            code="array-is-raster",
        )
    if isinstance(paths, ArrowStream):
        if span.is_named:
            raise UsageError(NO_OTHER_ROWS)
        if member is not None:
            raise UsageError(NO_ARCHIVE)
        progress.begin("Reading", None)
        yield ArrowTable.open(paths)
        progress.begin("Sorting")
        return
    with fetch_urls(paths, scratch) as given, ExitStack() as held:
        found = list_paths(given)
        files = [held.enter_context(unpack(one, scratch, member)) for one in found]
        progress.begin("Reading", sum(os.path.getsize(p) for p in files if os.path.isfile(p)))
        for file in input_files(files, member, header_row):
            if file.kind == "text":
                yield _open_text(file, delimiter, encoding, labelled, span)
            else:
                yield _open_named(file, encoding, layer, span)
            progress.advance(file.size)
    progress.begin("Sorting")


def _open_text(
    file: InputFile,
    delimiter: str | None,
    encoding: str | None,
    labelled: bool,
    span: Span,
) -> TextTable:
    """Open a text; of one in an archive, an error says that it may be none of the tables."""
    try:
        return TextTable.open(file, delimiter, encoding, labelled, span)
    except InputError as error:
        rule, row = error.rule, error.row
    raise InputError(rule + (MEMBER if file.member else ""), file=file.name, row=row)


def _open_named(file: InputFile, encoding: str | None, layer: str | None, span: Span) -> InputTable:
    """Open what is no text; errors call it by its name, also where it lies in another place."""
    try:
        return _open(file, encoding, layer, span)
    except InputError as error:
        if error.file != file.path:
            raise
        rule, row = error.rule, error.row
    raise InputError(rule, file=file.name, row=row)


def _open(file: InputFile, encoding: str | None, layer: str | None, span: Span) -> InputTable:
    """Open what is no text."""
    if span.is_named and file.kind not in WORKBOOKS:
        raise UsageError(NO_OTHER_ROWS)
    if file.kind == "parquet":
        return ParquetTable.open(file)
    if file.kind in VECTOR:
        from geodp.io.read.rows.forms.vector import VectorTable

        return VectorTable.open(file, layer, encoding)
    if file.kind in WORKBOOKS:
        from geodp.io.read.rows.forms.workbook import SheetTable

        return SheetTable.open(file, layer, span)
    from geodp.io.read.rows.forms.json import JsonTable

    return JsonTable.open(file)


def batches(
    table: InputTable,
    chosen: Sequence[int],
    where: Mapping[int, object] | None = None,
    survey: Survey | None = None,
) -> Iterator[tuple[Rows, list[pa.Array]]]:
    """Rows and the chosen columns, batch by batch; of the rows that meet ``where``, if given.

    Values are compared as :mod:`geodp.io.read.rows.selecting` says. A file whose folders' names say
    that no row of it is meant is not read. ``survey`` is told what is known of the table, the types
    of the chosen columns, and how many rows there are and meet each term.
    """
    survey = Survey() if survey is None else survey
    survey.note(table.name, table.facts)
    stated: dict[int, Term] = {}
    terms = {
        column: Term.of(table.columns[column].strip(), value)
        for column, value in (where or {}).items()
    }
    if isinstance(table, FileTable):
        survey.note(table.name, table.facts_around)
        stated = dict(table.stated_twice)
        if not _is_meant(table, terms, survey):
            for _ in _arrays(table, [], stated):
                pass
            return
    selection, first = RowFilter([*terms.values()]), 0
    for arrays in _arrays(table, [*chosen, *terms], stated):
        rows, found, read = Rows(table, first), arrays[: len(chosen)], len(arrays[0])
        if not first:
            survey.note(table.name, _types(table, [*chosen, *terms], arrays))
        begins, first = not first, first + read
        met: dict[str, Mapping[str, int]] = {}
        mask = None
        for array, term in zip(arrays[len(chosen) :], terms.values(), strict=True):
            with rows.named(term.column):
                one = selection.meet(term, array)
            met[str(term)] = one.spellings
            if begins:
                survey.describe_term(table.name, str(term), describe_form(array))
            mask = one.mask if mask is None else pc.and_(mask, one.mask)
        if mask is not None:
            rows = rows.select(mask.to_numpy(zero_copy_only=False))
            found = [array.filter(mask) for array in found]
        survey.take(table.name, read, met, read if mask is None else mask.true_count)
        yield rows, found
    survey.note(table.name, table.facts)  # what only the end of a file tells


def _arrays(
    table: InputTable, chosen: Sequence[int], stated: Mapping[int, Term]
) -> Iterator[list[pa.Array]]:
    """Batches of chosen columns of a table, in whose rows are the values that its folders state.

    ``stated``: columns of the file that its folders state too. Raises InputError at the first row
    that has another value in one of them.
    """
    if not chosen and not stated:
        return
    first = 0
    for arrays in table.arrays([*chosen, *stated]):
        for term, array in zip(stated.values(), arrays[len(chosen) :], strict=True):
            with Rows(table, first).named(term.column):
                require_agreement(term, array)
        yield arrays[: len(chosen)]
        first += len(arrays[0])


def _is_meant(table: FileTable, terms: Mapping[int, Term], survey: Survey) -> bool:
    """Whether the names of the file's folders meet the terms about them.

    Raises InputError where they write the value of a term in several ways.
    """
    unmet, values = [], {fold(name): value for name, value in table.file.partitions.items()}
    for term in terms.values():
        if fold(term.column) not in values:
            continue
        with Rows(table, 0).named(term.column):
            one = term.meet(pa.array([values[fold(term.column)]], pa.string()))
        if not one.mask.true_count:
            unmet.append(str(term))
        elif term.has_one_spelling and not survey.spell(term, *one.spellings):
            raise InputError(
                f"Column {term.column}: {term.two_spellings}",
                file=table.name,
                code="where-spelt-variously",
            )
    if unmet:
        survey.leave_out(table.name, table.declared_rows, unmet)
    return not unmet


def _types(table: InputTable, chosen: Sequence[int], arrays: Sequence[pa.Array]) -> Iterator[Fact]:
    """Yield the type that each chosen column is stored in."""
    for column, array in zip(chosen, arrays, strict=True):
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        yield Fact(f"type of column {table.columns[column].strip()}", str(kind), "file")


def own_columns(table: InputTable) -> tuple[str, ...]:
    """Return the names of a table's own columns, without those that its folders stand for."""
    return table.names if isinstance(table, FileTable) else table.columns


def find_column(table: InputTable, wanted: str, asked: Sequence[str] = ()) -> int:
    """Return the position of a column: by its exact name, or by one that is spelt otherwise.

    Other spellings differ in case, width, spaces, dashes and composition alone:
    :func:`geodp.io.read.rows.names.fold`.

    Raises InputError. It lists the names only if they look like names, and if one of them is
    well known or among those ``asked`` for: a first row may be one of data.
    """
    for form in (str.strip, str.casefold, fold):
        found = [i for i, name in enumerate(table.columns) if form(name) == form(wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(
                f"Several columns are named '{wanted}'; give each a name of its own in the file.",
                file=table.name,
                row=_header_row(table),
                code="columns-alike",
            )
    rule = Rule(
        "column-unknown", f"No column is named '{wanted}'; {_why_none(table, wanted, asked)}"
    )
    raise InputError(rule, file=table.name, row=_header_row(table))


def _header_row(table: InputTable) -> int | None:
    """Return the row of the names: 1 where a table is no text and no sheet, none in memory."""
    return None if isinstance(table, ArrowTable) else int(getattr(table, "header_row", 1))


def _why_none(table: InputTable, wanted: str, asked: Sequence[str]) -> str:
    """Return what else a table has, and what to do."""
    there = {fold(name) for name in table.columns}
    known = not there.isdisjoint({*WELL_KNOWN, *map(fold, asked)})
    all_names = all(map(is_name, table.columns))
    if (row := _find_header(table, [wanted, *asked])) is not None:
        return point_to(row, row + 1)
    if all_names and known and (other := tell_apart(wanted, table.columns)):
        return other
    if not (all_names and known) and (rows := guess_header_of(table)) is not None:
        return point_to(*rows)
    remedy = MEMBER if isinstance(table, TextTable) and table.file.member else ""
    if not all_names:
        return f"the first row looks like data, and a header with names is needed.{remedy}"
    if isinstance(table, TextTable) and len(table.names) == 1:
        return (
            "the header has one column only, so that the delimiter may be another "
            f"(--delimiter, delimiter=).{remedy}"
        )
    if not known and isinstance(table, ArrowTable):
        return (
            "nor is any other of the frame known, so that they may be data and are not shown; "
            "correct the name that is asked for, or rename the frame's columns."
        )
    if not known:
        return (
            "nor is any other name known in the first row, which may be no header; write the names "
            f"of the columns in the first row, or correct the names that are asked for.{remedy}"
        )
    names = list_names([name for name in table.columns if name], MOST_NAMES)
    return f"there are {names}.{remedy}"


def _find_header(table: InputTable, wanted: Sequence[str]) -> int | None:
    """Return another row that has all names which are wanted, where one of texts or sheets has."""
    names = {fold(name) for name in wanted}

    def is_header(fields: Sequence[str]) -> bool:
        return names <= {fold(field) for field in fields}

    from geodp.io.read.rows.forms.workbook import SheetTable

    if isinstance(table, TextTable | SheetTable):
        return table.find_header(is_header)
    return None


def guess_header_of(table: InputTable) -> tuple[int, int] | None:
    """Return another row of a text or sheet that looks like its header; None where none does.

    Beside it that with which its table seems to begin.
    """
    from geodp.io.read.rows.forms.workbook import SheetTable

    return table.guess_header() if isinstance(table, TextTable | SheetTable) else None
