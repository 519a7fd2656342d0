"""Read the rows of a written release in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.opening import open_parquet, require_rows, texts_of
from geodp.io.verify.card import require
from geodp.io.write import tables
from geodp.table.card import Card
from geodp.typing import CountArray, IntArray

LARGEST_GROUP = 1 << 20
"""Rows of the largest row group that is read, which other writers choose by default; geodp's have
fewer."""

LONGEST_CODE = 64
"""Letters of the longest code that is read without making Python texts."""


def read_chunks(folder: Path, card: Card, names: Sequence[str]) -> Iterator[Any]:
    """Yield columns of a release's Parquet file, or of its parts in key order, and no row at last.

    Parameters
    ----------
    folder : path
        The public folder.
    card : Card
    names : sequence of str
        The columns; LookupError where there is none of a name.

    Yields
    ------
    pyarrow.Table
        ``ROW_GROUP`` rows at most.

    Raises
    ------
    OSError, pyarrow.ArrowException, VerificationError
        A file is no Parquet file, has other columns than the first one, or more rows than there can
        be.
    """
    schema: Any = None
    rows = 0
    for path in parquet_files(folder, card):
        file = open_parquet(path)
        rows += file.metadata.num_rows
        require_rows(path, rows, card.domain.cells)
        found = pa.schema([file.schema_arrow.field(name) for name in names])
        schema = schema or found
        require(found.equals(schema), Rule("parts-columns-differ", "Parts differ in columns."))
        yield from read_groups(file, names)
    # Columns of a release without rows are checked, too.
    # Arrow imports pandas to make an array of nothing, and not for one of no nulls.
    yield pa.Table.from_arrays([pa.nulls(0, one.type) for one in schema], schema=schema)


def read_groups(file: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield columns of a Parquet file, ``ROW_GROUP`` rows at most: row groups may be larger."""
    for number in range(file.num_row_groups):
        require_group(file, number)
        group = file.read_row_group(number, columns=names)
        for start in range(0, group.num_rows, tables.ROW_GROUP):
            yield group.slice(start, tables.ROW_GROUP)


def require_group(file: Any, number: int) -> None:
    """Refuse a row group that would not fit into memory: equal rows take no space in a file."""
    require(
        file.metadata.row_group(number).num_rows <= LARGEST_GROUP,
        Rule("row-group-too-large", f"A row group has more than {LARGEST_GROUP:,} rows."),
    )


def parquet_files(folder: Path, card: Card) -> list[Path]:
    """Return the Parquet file of a release, or its parts in key order."""
    root = folder / f"{card.name}.parquet"
    if not card.in_parts:
        return [root]
    # Parts are numbered in key order with five digits, so that their names sort as their keys do.
    paths = sorted(path for path in map(folder.joinpath, card.listed) if path.parent == root)
    require(bool(paths), Rule("card-lists-no-part", f"The card lists no part of {root.name}."))
    return paths


def numbers_in(rows: Any, name: str) -> NDArray[Any]:
    """Return a column of numbers of an Arrow table; VerificationError where one is missing."""
    column = rows[name]
    is_numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    require(
        is_numeric and not column.null_count,
        Rule("numbers-missing", f"The column {name} lacks numbers."),
    )
    return numbers_of(column)


def counts_of(column: Any, card: Card) -> CountArray:
    """Convert an Arrow column to counts, int64[n] or float64[n].

    Raises VerificationError for counts that the card's method cannot have released.
    """
    kind = "int64" if card.mechanism.whole else "double"
    require(
        str(column.type) == kind,
        Rule("counts-type-differs", f"The counts have the type {column.type}, not {kind}."),
    )
    require(column.null_count == 0, Rule("counts-missing", "Some counts are missing."))
    count: CountArray = numbers_of(column)
    require(
        bool(np.isfinite(count).all()), Rule("counts-not-finite", "Some counts are not finite.")
    )
    if card.mechanism.nonnegative:
        require(
            bool((count > 0).all()), Rule("counts-not-positive", "Some counts are 0 or negative.")
        )
    require(bool((count != 0).all()), Rule("counts-zero", "Some counts are 0."))
    return count


def index_of(rows: Any, grid: Grid) -> IntArray:
    """Read the cell indices int64[d, n] of the rows of an Arrow table.

    Codes are Python texts for a moment, of hundreds of bytes each, so rows are read by groups.
    """
    if not rows.num_rows:
        return grid.decode(np.empty(0, np.uint64))
    groups = range(0, rows.num_rows, tables.ROW_GROUP)
    parts = (rows.slice(start, tables.ROW_GROUP) for start in groups)
    return np.concatenate([np.stack(list(_axes(part, grid))) for part in parts], axis=1)


def _axes(rows: Any, grid: Grid) -> Iterable[IntArray]:
    for number, _ in enumerate(grid.places):
        yield from grid.names.parse(number, _codes_of(rows.column(number)))
    for axis in grid.plain_axes:
        yield numbers_of(rows[grid.axis_names[axis]])
    for attribute in grid.attributes:
        at = pa.compute.index_in(rows[attribute.name], pa.array(attribute.labels))
        require(at.null_count == 0, Rule("labels-unknown", f"Unknown labels of {attribute.name}."))
        yield numbers_of(at).astype(np.int64)


def _codes_of(column: Any) -> NDArray[Any]:
    """Return codes as a NumPy array of one width; as Python's texts where they are unusual."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    texts.validate(full=True)
    if not pa.types.is_string(texts.type) or texts.null_count or not len(texts):
        return texts_of(column)
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    width = int(np.diff(ends).max())
    # NumPy pads texts with zeros, so that a zero within one would be taken for its end.
    if not 0 < width <= LONGEST_CODE or letters.max() > ord("~") or not letters.all():
        return texts_of(column)
    if (np.diff(ends) < width).any():
        padded = pa.compute.utf8_rpad(texts, width, "\0")
        letters = np.frombuffer(padded.buffers()[2], np.uint8)
    return letters.astype(np.uint32).view(f"U{width}")
