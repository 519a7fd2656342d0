"""The rows of a written release, a chunk at a time; each column of a chunk is read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.opening import open_parquet, texts_of
from geodp.io.verify.card import require
from geodp.io.write import tables
from geodp.io.write.geometry import geometry
from geodp.io.write.uncertainty import extra_columns_of
from geodp.table.card import Card
from geodp.typing import CountArray, IntArray

LONGEST_CODE = 64
"""Letters of a code that is read with others of its width."""


class RowGroup:
    """A row group of a Parquet file, whose columns are read when they are first asked for.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
    number : int or None
        Of the row group; None: of a file without rows.
    schema : pyarrow.Schema
        Of the release's first file, which all others share.
    """

    def __init__(self, file: Any, number: int | None, schema: Any) -> None:
        self._file, self._number, self._schema = file, number, schema
        self._columns: dict[str, Any] = {}
        self.rows: int = 0 if number is None else file.metadata.row_group(number).num_rows

    def column(self, name: str) -> Any:
        """Return a column as an Arrow array; LookupError where there is none."""
        if name not in self._columns:
            require(
                self._file.schema_arrow.field(name).equals(self._schema.field(name)),
                Rule("parts-columns-differ", "Parts differ in columns."),
            )
            groups = [] if self._number is None else [self._number]
            read = self._file.read_row_groups(groups, columns=[name])
            self._columns[name] = read[name].combine_chunks()
        return self._columns[name]


class Chunk:
    """Up to ``ROW_GROUP`` rows of a release, in the order of the file.

    Attributes
    ----------
    card : Card
    grid : Grid
        On which codes are read.
    start : int
        Rows of the release before it.
    size : int
    """

    def __init__(self, group: RowGroup, first: int, card: Card, grid: Grid, start: int) -> None:
        self._group, self._first = group, first
        self.card, self.grid, self.start = card, grid, start
        self.size = min(tables.ROW_GROUP, group.rows - first)

    def column(self, name: str) -> Any:
        """Return a column as an Arrow array; LookupError where there is none."""
        return self._group.column(name).slice(self._first, self.size)

    def numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers; ArrowException where one is missing, or is none."""
        found: NDArray[Any] = self.column(name).to_numpy()
        return found

    @cached_property
    def count(self) -> CountArray:
        """Counts, int64[n] or float64[n]: as :func:`counts_of`."""
        return counts_of(self.column(self.card.name), self.card)

    @cached_property
    def index(self) -> IntArray:
        """Indices of the cells, int64[d, n]."""
        names = tables.column_names(self.grid, self.card.name, ())[:-1]
        return index_of(pa.table([self.column(name) for name in names], names), self.grid)

    @cached_property
    def key(self) -> NDArray[np.uint64]:
        """Keys of the cells, uint64[n]; CodeError where one lies outside the domain."""
        return self.grid.encode(self.index)

    @cached_property
    def outlines(self) -> tuple[Any, Any]:
        """Arrow arrays of the cells' outlines and of their boxes."""
        return geometry(self.grid, self.index)


def read_chunks(folder: Path, card: Card, grid: Grid) -> Iterator[Chunk]:
    """Yield the rows of a release's Parquet file, or of its parts in key order.

    Of a release without rows it is one chunk, which has its columns.

    Parameters
    ----------
    folder : path
        Of the public files.
    card : Card
    grid : Grid
        On which codes are read.

    Raises
    ------
    OSError, pyarrow.ArrowException, VerificationError
        A file that is none, or has other columns than the first.
    """
    schema, start = None, 0
    for path in parquet_files(folder, card):
        file = open_parquet(path)
        schema = schema or file.schema_arrow
        for number in range(file.num_row_groups):
            group = RowGroup(file, number, schema)
            for first in range(0, group.rows, tables.ROW_GROUP):
                chunk = Chunk(group, first, card, grid, start)
                yield chunk
                start += chunk.size
    if not start:
        yield Chunk(RowGroup(file, None, schema), 0, card, grid, 0)


def parquet_files(folder: Path, card: Card) -> list[Path]:
    """Return the Parquet file of a release, or its parts in key order."""
    whole = folder / f"{card.name}.parquet"
    if not card.in_parts:
        return [whole]
    listed = (folder / name for name in card.listed)
    found = sorted(path for path in listed if path.parent == whole)
    require(bool(found), Rule("card-lists-no-part", f"The card lists no part of {whole.name}."))
    return found


def parquet_schema(folder: Path, card: Card) -> Any:
    """Return the Arrow schema of the Parquet file or its first part."""
    return open_parquet(parquet_files(folder, card)[0]).schema_arrow


def columns_of(card: Card, grid: Grid) -> tuple[str, ...]:
    """Return the names of the columns of a release's tables, but for geometry."""
    return tables.column_names(grid, card.name, extra_columns_of(card))


def counts_of(column: Any, card: Card) -> CountArray:
    """Return the counts int64[n] or float64[n] of an Arrow array.

    Raises VerificationError for counts that the card's method cannot have released.
    """
    whole, nonnegative = card.mechanism.whole, card.mechanism.nonnegative
    kind = "int64" if whole else "double"
    require(
        str(column.type) == kind,
        Rule("counts-type-differs", f"The counts have the type {column.type}, not {kind}."),
    )
    require(column.null_count == 0, Rule("counts-missing", "Some counts are missing."))
    count: CountArray = column.to_numpy()
    require(
        bool(np.isfinite(count).all()), Rule("counts-not-finite", "Some counts are not finite.")
    )
    if nonnegative:
        require(
            bool((count > 0).all()), Rule("counts-not-positive", "Some counts are 0 or negative.")
        )
    require(bool((count != 0).all()), Rule("counts-zero", "Some counts are 0."))
    return count


def index_of(rows: Any, grid: Grid) -> IntArray:
    """Cell indices int64[d, n] of the rows of an Arrow table.

    Codes are texts for a moment, of hundreds of bytes each, so they are read group by group.
    """
    groups = range(0, max(rows.num_rows, 1), tables.ROW_GROUP)
    parts = (rows.slice(start, tables.ROW_GROUP) for start in groups)
    return np.concatenate([np.stack(list(_axes(part, grid))) for part in parts], axis=1)


def _axes(rows: Any, grid: Grid) -> Iterable[IntArray]:
    for number, _ in enumerate(grid.places):
        yield from grid.names.parse(number, _codes_of(rows.column(number)))
    for axis in grid.plain_axes:
        yield rows[grid.axis_names[axis]].to_numpy()
    for attribute in grid.attributes:
        at = pa.compute.index_in(rows[attribute.name], pa.array(attribute.labels))
        require(at.null_count == 0, Rule("labels-unknown", f"Unknown labels of {attribute.name}."))
        yield at.to_numpy().astype(np.int64)


def _codes_of(column: Any) -> NDArray[Any]:
    """Return codes as an array of texts of one width, or as Python's where they are no codes."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts.validate(full=True)
    if not pa.types.is_string(texts.type) or texts.null_count or not len(texts):
        return texts_of(column)
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    width = int(np.diff(ends).max())
    # A 0 would be taken for the end of a text.
    if not 0 < width <= LONGEST_CODE or letters.max() > ord("~") or not letters.all():
        return texts_of(column)
    if (np.diff(ends) < width).any():
        padded = pa.compute.utf8_rpad(texts, width, "\0")
        letters = np.frombuffer(padded.buffers()[2], np.uint8)
    return letters.astype(np.uint32).view(f"U{width}")
