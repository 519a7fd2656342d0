"""Tables of named columns, read in batches: delimited text, Parquet, and tables in memory.

Opening a table reads its header only. Its rows come as batches of the requested columns,
and the line of a row is determined only when an error needs it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp import progress
from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule, UsageError
from geodp.io.read.rows import fields
from geodp.io.read.rows.arrow import ArrowTable
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.forms.json import JsonTable
from geodp.io.read.rows.forms.locations import fetch_urls
from geodp.io.read.rows.forms.vector import VectorTable
from geodp.io.read.rows.forms.workbook import SheetTable
from geodp.io.read.rows.input_files import (
    NO_ARCHIVE,
    VECTOR,
    WORKBOOKS,
    ArrowStream,
    FilePath,
    InputFile,
    LabelledArray,
    TableSource,
    input_files,
    list_paths,
    unpack,
)
from geodp.io.read.rows.names import describe_lookalike, fold, list_names
from geodp.io.read.rows.parquet import ParquetTable
from geodp.io.read.rows.partitions import FileTable, require_agreement
from geodp.io.read.rows.selecting import RowFilter, Term, describe_form
from geodp.io.read.rows.span import (
    COLUMNS_ALIKE,
    MATRIX,
    Opening,
    is_matrix,
    is_name,
    suggest_header,
)
from geodp.io.read.rows.survey import Survey
from geodp.table.source import Fact

MAX_NAMES = 20
"""Number of column names that an error lists."""

MEMBER = (
    " If this member of the archive is no table, or not the one that is meant, name the one that "
    "is (--member, member=)."
)
NO_OTHER_ROWS = Rule(
    "rows-need-text",
    "Only texts and workbooks have rows above their header or below their table (--header-row, "
    "header_row=; --first-row, first_row=; --last-row, last_row=); leave the option out.",
)

COMMON_COLUMN_NAMES = {"key_code", "grd_id", "mesh_id", "meshcode", "code", "x", "y", "lon", "lat"}
"""Common column names, by which a header is distinguished from a row of data."""


class InputTable(Protocol):
    """Columns of one input file, or of a table in memory."""

    @property
    def name(self) -> str:
        """Name of the table in errors."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; they may repeat."""

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns, text as strings."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts that the table states, or that were declared or inferred, besides column types."""

    def line(self, record: int) -> int | None:
        """Return the line of a record counted from 0; None if it cannot be determined."""


@dataclass(frozen=True)
class RowPositions:
    """Positions of the rows of a batch in their table, for errors."""

    table: InputTable
    first: int
    selected: NDArray[np.int64] | None = field(default=None, repr=False)

    def select(self, mask: NDArray[np.bool_]) -> RowPositions:
        """Return the rows where a mask is true."""
        selected = np.flatnonzero(mask) if self.selected is None else self.selected[mask]
        return RowPositions(self.table, self.first, selected)

    def at(self, positions: NDArray[np.int64]) -> RowPositions:
        """Return the rows at these positions."""
        selected = positions if self.selected is None else self.selected[positions]
        return RowPositions(self.table, self.first, selected)

    def records(self, n: int) -> NDArray[np.int64]:
        """Return the numbers of these n rows in the table, from 0: int64[n], increasing."""
        return self.first + (np.arange(n) if self.selected is None else self.selected)

    def error(self, position: int, rule: str, column: str | None = None) -> InputError:
        """Return an InputError at one of these rows, and in a column."""
        if column is not None:
            rule = Rule(getattr(rule, "code", ""), f"Column {column}: {rule}")
        record = self.first + int(position if self.selected is None else self.selected[position])
        return InputError(rule, file=self.table.name, row=self.table.line(record))

    @contextmanager
    def named(self, column: str | None = None) -> Iterator[None]:
        """Convert a CodeError in the block into an InputError with file, line and column."""
        try:
            yield
        except CodeError as error:
            raise self.error(error.position, error.rule, column) from None


@takes(Opening)
def open_tables(
    paths: TableSource, *, labelled: bool = False, scratch: FilePath | None = None, **options: Any
) -> Generator[InputTable]:
    """Open a table in memory, or those in files or at URLs: :mod:`geodp.io.read.rows.input_files`.

    Parameters
    ----------
    labelled : bool
        Whether a second header row, with labels and an empty first field, may follow.
    scratch : path, optional
        Folder for what is fetched from URLs.
    """
    opening = Opening(**options)
    if isinstance(paths, LabelledArray):
        raise UsageError(
            "An array of xarray is a raster: geodp.read(array, grid), or read_raster.",
            code="array-is-raster",
        )
    if isinstance(paths, ArrowStream):
        if opening.names_rows:
            raise UsageError(NO_OTHER_ROWS)
        if opening.member is not None:
            raise UsageError(NO_ARCHIVE)
        progress.begin("Reading", None)
        yield ArrowTable.open(paths)

        progress.begin("Sorting")
        return
    with fetch_urls(paths, scratch) as sources, ExitStack() as stack:
        paths = list_paths(sources)
        files = [stack.enter_context(unpack(path, scratch, opening.member)) for path in paths]
        progress.begin("Reading", sum(os.path.getsize(p) for p in files if os.path.isfile(p)))
        for file in input_files(files, opening.member, opening.header_row):
            yield _open(file, opening, labelled)
            progress.advance(file.size)
    progress.begin("Sorting")


def _open(file: InputFile, opening: Opening, labelled: bool) -> InputTable:
    """Open a file; errors show its given name instead of a temporary path.

    Those about a text in an archive also suggest another member.
    """
    try:
        return _open_form(file, opening, labelled)
    except InputError as error:
        if error.file not in (file.path, file.name):
            raise
        rule, row = error.rule, error.row
    more = MEMBER if file.kind == "text" and file.member else ""
    # Raised outside the handler, so that no parser's message is in its context.
    raise InputError(rule + more, file=file.name, row=row)


def _open_form(file: InputFile, opening: Opening, labelled: bool) -> InputTable:
    """Open a file by the reader of its kind."""
    if file.kind == "text":
        return TextTable.open(file, opening, labelled)
    if opening.names_rows and file.kind not in WORKBOOKS:
        raise UsageError(NO_OTHER_ROWS)
    if file.kind == "parquet":
        return ParquetTable.open(file)
    if file.kind in VECTOR:
        return VectorTable.open(file, opening)
    if file.kind in WORKBOOKS:
        return SheetTable.open(file, opening)
    return JsonTable.open(file)


def batches(
    table: InputTable,
    chosen: Sequence[int],
    where: Mapping[int, object] | None = None,
    survey: Survey | None = None,
) -> Iterator[tuple[RowPositions, list[pa.Array]]]:
    """Yield rows and the chosen columns, batch by batch; only rows that meet ``where``, if given.

    Values are compared as described in :mod:`geodp.io.read.rows.selecting`. A file is skipped if
    the names of its folders exclude all of its rows. ``survey`` records the facts of the table, the
    types of the chosen columns, and how many rows there are and meet each term.
    """
    survey = Survey() if survey is None else survey
    survey.note(table.name, table.facts)
    partitions: dict[int, Term] = {}
    terms = {
        column: Term.of(table.columns[column].strip(), value)
        for column, value in (where or {}).items()
    }
    if isinstance(table, FileTable):
        survey.note(table.name, table.facts_around)
        partitions = dict(table.duplicated_partitions)
        # Even a skipped file is checked against its folders' names, so that a misplaced one is
        # not overlooked.
        if not _folders_match(table, terms, survey):
            for _ in _arrays(table, [], partitions):
                pass
            return
    selection, first = RowFilter([*terms.values()]), 0
    for arrays in _arrays(table, [*chosen, *terms], partitions):
        rows, columns, read = RowPositions(table, first), arrays[: len(chosen)], len(arrays[0])
        if not first:
            survey.note(table.name, _types(table, [*chosen, *terms], arrays))
        begins, first = not first, first + read
        matches: dict[str, Mapping[str, int]] = {}
        mask = None
        for array, term in zip(arrays[len(chosen) :], terms.values(), strict=True):
            with rows.named(term.column):
                match = selection.match(term, array)
            matches[str(term)] = match.spellings
            if begins:
                survey.describe_term(table.name, str(term), describe_form(array))
            mask = match.mask if mask is None else pc.and_(mask, match.mask)
        if mask is not None:
            rows = rows.select(mask.to_numpy(zero_copy_only=False))
            columns = [array.filter(mask) for array in columns]
        survey.take(table.name, read, matches, read if mask is None else mask.true_count)
        yield rows, columns
    survey.note(table.name, table.facts)  # some facts are known at the end only


def _arrays(
    table: InputTable, chosen: Sequence[int], partitions: Mapping[int, Term]
) -> Iterator[list[pa.Array]]:
    """Yield batches of chosen columns, after comparing them with the names of folders.

    ``partitions``: columns of the file that its folders define too. Raises InputError at the first
    row with another value in one of them.
    """
    if not chosen and not partitions:
        return
    first = 0
    for arrays in table.arrays([*chosen, *partitions]):
        for term, array in zip(partitions.values(), arrays[len(chosen) :], strict=True):
            with RowPositions(table, first).named(term.column):
                require_agreement(term, array)
        yield arrays[: len(chosen)]
        first += len(arrays[0])


def _folders_match(table: FileTable, terms: Mapping[int, Term], survey: Survey) -> bool:
    """Whether the names of the file's folders meet the terms about them.

    Raises InputError if they write the value of a term in several ways.
    """
    unmet, values = [], {fold(name): value for name, value in table.file.partitions.items()}
    for term in terms.values():
        if fold(term.column) not in values:
            continue
        with RowPositions(table, 0).named(term.column):
            term_match = term.match(pa.array([values[fold(term.column)]], pa.string()))
        if not term_match.mask.true_count:
            unmet.append(str(term))
        elif term.has_one_spelling and not survey.spell(term, *term_match.spellings):
            raise InputError(
                f"Column {term.column}: {term.two_spellings}",
                file=table.name,
                code="where-spelt-variously",
            )
    if unmet:
        survey.leave_out(table.name, table.declared_rows, unmet)
    return not unmet


def _types(table: InputTable, chosen: Sequence[int], arrays: Sequence[pa.Array]) -> Iterator[Fact]:
    """Yield the stored type of each chosen column."""
    for column, array in zip(chosen, arrays, strict=True):
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        yield Fact(f"type of column {table.columns[column].strip()}", str(kind), "file")


def file_columns(table: InputTable) -> tuple[str, ...]:
    """Return the columns stored in a table's file, without those that its folders define."""
    return table.names if isinstance(table, FileTable) else table.columns


def find_column(table: InputTable, wanted: str, requested: Sequence[str] = ()) -> int:
    """Return the position of a column: by its exact name, or by another spelling of it.

    Other spellings differ only in case, width, spaces, dashes and composition:
    :func:`geodp.io.read.rows.names.fold`.

    Raises InputError. It lists the names only if all look like names and one of them is common or
    among those ``requested``: the first row may be confidential data.
    """
    # The exact name wins over other spellings, so that "n" and "N" may be two columns.
    for form in (str.strip, str.casefold, fold):
        positions = [i for i, name in enumerate(table.columns) if form(name) == form(wanted)]
        if len(positions) == 1:
            return positions[0]
        if positions:
            rule = COLUMNS_ALIKE.format(wanted)
            raise InputError(rule, file=table.name, row=_header_row(table))
    rule = Rule(
        "column-unknown", f"No column is named '{wanted}'; {_why_none(table, wanted, requested)}"
    )
    raise InputError(rule, file=table.name, row=_header_row(table))


def _header_row(table: InputTable) -> int | None:
    """Return the row of the names: 1 for files without a stated one, None in memory."""
    return None if isinstance(table, ArrowTable) else int(getattr(table, "header_row", 1))


def _why_none(table: InputTable, wanted: str, requested: Sequence[str]) -> str:
    """Explain why no column has this name, and what to do, as the end of a sentence."""
    existing = {fold(name) for name in table.columns}
    recognised = not existing.isdisjoint({*COMMON_COLUMN_NAMES, *map(fold, requested)})
    # Names are shown only if they cannot be values of a first row of data.
    all_names = all(map(is_name, table.columns))
    if (row := _find_header(table, [wanted, *requested])) is not None:
        return suggest_header(row, row + 1)
    if all_names and recognised and (lookalike := describe_lookalike(wanted, table.columns)):
        return lookalike
    if is_matrix(table.columns):
        matrix = MATRIX.format(first=table.columns[0].strip() or "origin")
        return f"the first row looks like data, or like codes of zones: {matrix}."
    if not (all_names and recognised) and (rows := guess_header_of(table)) is not None:
        return suggest_header(*rows)
    remedy = MEMBER if isinstance(table, TextTable) and table.file.member else ""
    if not all_names:
        return f"the first row looks like data, and a header with names is needed.{remedy}"
    if isinstance(table, TextTable) and len(table.names) == 1:
        return (
            "the header has one column only, so that the delimiter may be another "
            f"(--delimiter, delimiter=).{remedy}"
        )
    if not recognised and isinstance(table, ArrowTable):
        return (
            "the names of the frame's columns are not shown, as they may be data; correct the "
            "requested name, or rename the columns."
        )
    if not recognised:
        return (
            "the first row may be data, and is not shown; write the names of the columns in the "
            f"first row, or correct the requested names.{remedy}"
        )
    names = list_names([name for name in table.columns if name], MAX_NAMES)
    return f"there are {names}.{remedy}"


def _find_header(table: InputTable, wanted: Sequence[str]) -> int | None:
    """Return another row of a text or sheet that has all wanted names; None without one."""
    names = {fold(name) for name in wanted}
    if not isinstance(table, FileTable):
        return None
    return table.find_header(lambda fields: names <= {fold(field) for field in fields})


def guess_header_of(table: InputTable) -> tuple[int, int] | None:
    """Return another row of a text or sheet that looks like its header, or None.

    The second number is the row with which its table seems to begin.
    """
    return table.guess_header() if isinstance(table, FileTable) else None


def read_records(
    path: FilePath, columns: Sequence[str] = (), counts: Sequence[str] = ()
) -> dict[str, pa.ChunkedArray]:
    """Read columns of a table.

    Parameters
    ----------
    path : path
        CSV (plain, gzip, zip) with a header, or Parquet.
    columns : sequence of str
        Their names. Default: all, where `counts` is empty too.
    counts : sequence of str
        Further columns, of non-negative whole numbers.

    Returns
    -------
    dict of str to ChunkedArray
        Columns by the given names: values as stored (text, for text files); counts as int64.

    Raises
    ------
    UsageError
        An archive of several tables.
    InputError
        A table that cannot be read, an unknown column, or a value that is no count; names file
        and row.
    """
    tables = list(open_tables(path))
    if len(tables) != 1:
        raise UsageError(
            "The archive holds several tables; give one of them.", code="archive-tables-several"
        )
    (table,) = tables
    names = [*columns, *counts] or [name.strip() for name in table.columns]
    chosen = [find_column(table, name, names) for name in names]
    columns_by_name: dict[str, list[pa.Array]] = {name: [] for name in names}
    for rows, arrays in batches(table, chosen):
        for name, array in zip(names, arrays, strict=True):
            if name in counts:
                with rows.named(name):
                    array = pa.array(fields.counts(array))
            columns_by_name[name].append(array)
    return {
        name: pa.chunked_array(arrays or [pa.array([])]) for name, arrays in columns_by_name.items()
    }
