"""The rows of a release that may be shown: made once, some at a time, for every writer of rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from geodp import progress
from geodp.io.write.geometry import geometry, has_geometry
from geodp.io.write.tables import arrow_columns, chunks, require_released
from geodp.io.write.uncertainty import RowErrors
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a release, in key order.

    Attributes
    ----------
    table : ReleasedTable
        All of it.
    part : slice
        Which rows of it these are.
    columns : pyarrow.Table
        Codes or centres, other axes and labels, the count, its standard error and its interval.
    """

    table: ReleasedTable
    part: slice
    columns: Any

    @cached_property
    def index(self) -> IntArray:
        """Indices of the cells: int64[d, n]."""
        return self.table.grid.decode(self.table.key[self.part])

    @property
    def count(self) -> CountArray:
        """Released counts: int64[n] or float64[n]."""
        return self.table.count[self.part]

    @cached_property
    def outlines(self) -> tuple[Any, Any]:
        """Outlines as WKB, and the sides of their boxes: Arrow arrays."""
        return geometry(self.table.grid, self.index)

    @property
    def located(self) -> Any:
        """The columns, and ``geometry`` and ``bbox`` of a grid that lies on the Earth."""
        if not has_geometry(self.table.grid):
            return self.columns
        wkb, covering = self.outlines
        return self.columns.append_column("geometry", wkb).append_column("bbox", covering)


@dataclass(frozen=True, eq=False)
class View:
    """What the rows of a release are made of.

    Attributes
    ----------
    table : ReleasedTable
        Anything else is refused: what is written is public.
    name : str
        Of the count's column.
    errors : RowErrors or None
        None leaves their columns out.
    kept : KeptRows or None
        Where columns lie that were made once; None: they are made for whoever asks.
    """

    table: ReleasedTable
    name: str
    errors: RowErrors | None
    kept: KeptRows | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_released(self.table)

    @cached_property
    def empty(self) -> Rows:
        """No rows, whose columns have the names and types of all."""
        return self._make(slice(0), self.table.grid.decode(self.table.key[:0]))

    def rows(self, what: str) -> Iterator[Rows]:
        """Yield all rows, some at a time; ``what`` is counted for the operator's eyes."""
        progress.begin(what, self.table.key.size, public=True)
        for rows in self._keep() if self.kept is not None else self._make_all():
            yield rows
            progress.advance(rows.columns.num_rows)

    def to_arrow(self) -> Any:
        """Return the columns of all rows as one ``pyarrow.Table``."""
        index = self.table.grid.decode(self.table.key)
        return arrow_columns(self.table, slice(None), index, self.name, self.errors)

    def _make(self, part: slice, index: IntArray) -> Rows:
        columns = arrow_columns(self.table, part, index, self.name, self.errors)
        rows = Rows(self.table, part, columns)
        rows.__dict__["index"] = index
        return rows

    def _make_all(self) -> Iterator[Rows]:
        for part, index, _ in chunks(self.table):
            yield self._make(part, index)

    def _keep(self) -> Iterator[Rows]:
        """Make rows and keep their columns, or take those that were kept."""
        assert self.kept is not None
        if not self.kept.complete:
            yield from self.kept.fill(self.empty.columns.schema, self._make_all())
            return
        start = 0
        for columns in self.kept.read():
            part = slice(start, start + columns.num_rows)
            yield Rows(self.table, part, columns)
            start = part.stop


class KeptRows:
    """Columns that were made, in a file without a name, which nobody finds when the run has ended.

    One writer after the other reads them.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.complete = False

    def fill(self, schema: Any, rows: Iterator[Rows]) -> Iterator[Rows]:
        """Yield rows that are made, and write their columns; complete when all were asked for."""
        self._file.seek(0)
        self._file.truncate()
        with pa.ipc.new_stream(self._file, schema) as stream:
            for one in rows:
                stream.write_table(one.columns)
                yield one
        self.complete = True

    def read(self) -> Iterator[Any]:
        """Yield Arrow tables as they were written."""
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])


@contextmanager
def keep_rows(view: View, folder: Path) -> Iterator[View]:
    """Yield a view whose rows are made once, and lie in a folder's file system until the end."""
    with closing(tempfile.TemporaryFile(dir=folder)) as file:
        yield replace(view, kept=KeptRows(file))
