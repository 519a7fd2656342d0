"""Tables of cells and counts in CSV, Parquet and memory: by code, by coordinates, by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from geodp.errors import UsageError
from geodp.io.read import reader
from geodp.io.read.reader import Call, Claim, Option, Reader, asks

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.sources import FilePath, Given
    from geodp.io.read.rows.tally import Duplicates, Outside
    from geodp.table.counts import CountTable

Anchor: TypeAlias = Literal["centre", "corner", "index"]

CODE = Option("Column of cell codes (tables).", "--code")
ANCHOR = Option(
    "What x and y of a table are: the cell's centre, its lower left corner, its indices.",
    "--anchor",
    type=("centre", "corner", "index"),
)


def _single(given: Sequence[str]) -> str:
    if len(given) != 1:
        raise UsageError("A table needs exactly one --value column.")
    return given[0]


@dataclass(frozen=True, kw_only=True)
class Table(Reader):
    """Tables with one row a cell: CSV and Parquet; the fields are those of :func:`read_table`."""

    name: ClassVar[str] = "table"
    kind: ClassVar[str] = "a table"

    value: str = field(metadata=asks(reader.VALUE, convert=_single))
    code: str | None = field(default=None, metadata=asks(CODE))
    x: str | None = field(default=None, metadata=asks(reader.X))
    y: str | None = field(default=None, metadata=asks(reader.Y))
    anchor: Anchor = field(default="centre", metadata=asks(ANCHOR, needs="x"))
    columns: Mapping[str, str] = field(default_factory=dict, metadata=asks(reader.COLUMNS))
    where: Mapping[str, str | int] = field(default_factory=dict, metadata=asks(reader.WHERE))
    missing: Sequence[str | float] = field(default=(), metadata=asks(reader.MISSING))
    duplicates: Duplicates = field(default="error", metadata=asks(reader.DUPLICATES))
    outside: Outside | None = field(default=None, metadata=asks(reader.OUTSIDE))
    encoding: str | None = field(default=None, metadata=asks(reader.ENCODING))
    delimiter: str | None = field(default=None, metadata=asks(reader.DELIMITER))

    @classmethod
    def claim(cls, call: Call) -> Claim:
        """Whatever names columns of places is one; so is what no other reader takes."""
        places = any(call.given.get(name) for name in ("code", "x", "y", "column"))
        return Claim.COLUMNS if places else Claim.ANY

    def read(self, paths: Given) -> CountTable:
        """Read the places and the counts of every table in the files."""
        from geodp.io.read.rows import fields
        from geodp.io.read.rows.columns import batches, find_column, open_tables
        from geodp.io.read.rows.locators import cell_locators, locate
        from geodp.io.read.rows.tally import Tally

        columns = dict(self.columns)
        locators = cell_locators(self.grid, self.code, (self.x, self.y), self.anchor, columns)
        names = [self.value, *(name for locator in locators for name in locator.columns)]
        tally = Tally(
            self.grid,
            self.outside or "error",
            self.duplicates,
            memory=self.memory,
            scratch=self.scratch,
        )
        for table in open_tables(paths, delimiter=self.delimiter, encoding=self.encoding):
            chosen = [find_column(table, name, names) for name in names]
            wanted = {find_column(table, name, names): self.where[name] for name in self.where}
            for rows, (counts, *places) in batches(table, chosen, wanted, tally.survey):
                with rows.named(self.value):
                    count = fields.counts(counts, missing=self.missing)
                tally.add(rows, locate(self.grid, rows, locators, places), count)
        return tally.table()


READERS = (Table,)


def read_table(
    paths: Given,
    *,
    grid: str | Grid,
    value: str,
    code: str | None = None,
    x: str | None = None,
    y: str | None = None,
    anchor: Anchor = "centre",
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | int] | None = None,
    missing: Sequence[str | float] = (),
    duplicates: Duplicates = "error",
    outside: Outside | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read tables with one row a cell: CSV (plain, gzip, zip), Parquet, and tables in memory.

    Columns are found by their exact names, or but for letter case. The place of a cell is in
    `code`, in `x` and `y`, or in `columns`; all other axes of the grid are in `columns`. A table
    on pairs of places has no bound: a person may make many trips. What is not explained here all
    readers have in common: :class:`geodp.io.read.reader.Reader`, which also says what is raised.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: whatever speaks Arrow, such as a DataFrame of pandas or Polars, a relation of
        DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public; a string names a code system, as in ``Grid.mesh``.
    value : str
        Column of counts.
    code : str, optional
        Column of published codes.
    x, y : str, optional
        Columns of coordinates in the grid's CRS, or of cell indices.
    anchor : {"centre", "corner", "index"}
        What `x` and `y` state: the cell's centre, its lower left corner (in the south-west),
        or its column and row counted from 0.
    columns : mapping, optional
        Also for "origin" and "destination": columns of codes.
    missing : sequence of str or number, optional
        Values that mean nobody, such as -1, as they are written or as numbers; ``"nan"`` stands
        for NaN, in letters or as a float, and for nulls among numbers, ``""`` for blanks too.
    where, duplicates, outside, delimiter, encoding, memory, scratch
    """
    from geodp.grid.grid import Grid

    return Table(
        grid=Grid.mesh(grid) if isinstance(grid, str) else grid,
        value=value,
        code=code,
        x=x,
        y=y,
        anchor=anchor,
        columns=columns or {},
        where=where or {},
        missing=missing,
        duplicates=duplicates,
        outside=outside,
        delimiter=delimiter,
        encoding=encoding,
        memory=memory,
        scratch=scratch,
    ).read(paths)
