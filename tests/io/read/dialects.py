"""One table in every form and dialect: texts, workbooks and other files, and frames in memory."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from geodp.io.read.table import read_table
from geodp.table.counts import CountTable
from tests.io.read import workbooks

Columns = Mapping[str, Sequence[Any]]

TEXTS = ("csv", "tsv", "csv.gz", "csv.zst", "csv.zip")
BOOKS = ("xlsx", "ods")
RECORDS = ("jsonl", "geojson", "parquet")


def to_polars(table: pa.Table) -> Any:
    """Return a table as a frame of polars, which not all tests need."""
    import polars

    return polars.from_arrow(table)


MEMORY = {
    "arrow": lambda table: table,
    "batches": lambda table: table.to_reader(2),
    "pandas": lambda table: table.to_pandas(),
    "polars": to_polars,
}
FORMS = (*TEXTS, *BOOKS, *RECORDS, *MEMORY)


@dataclass(frozen=True)
class Dialect:
    """How rows of a text or of a workbook are written.

    Attributes
    ----------
    delimiter, encoding, end, quoting
        Of a text.
    above, between, below : tuple of tuples
        Rows above the header, between it and the table, and below the table, none of which is one
        of the table.
    blank : int
        Blank lines above all else.
    says : bool
        Whether a first line says the delimiter.
    ends : bool
        Whether the last line has an end.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    end: str = "\n"
    quoting: int = csv.QUOTE_MINIMAL
    above: tuple[tuple[Any, ...], ...] = ()
    between: tuple[tuple[Any, ...], ...] = ()
    below: tuple[tuple[Any, ...], ...] = ()
    blank: int = 0
    says: bool = False
    ends: bool = True

    @property
    def header(self) -> int:
        """Number of the header's row, counted from 1."""
        return self.says + self.blank + len(self.above) + 1

    def row(self, number: int) -> int:
        """Return the row of a record, which is counted from 0."""
        return self.header + len(self.between) + 1 + number

    def options(self, records: int) -> dict[str, int]:
        """Return what a call says of the rows of a table."""
        found = {}
        if self.above or self.between or self.below:
            found["header_row"] = self.header
        if self.between:
            found["first_row"] = self.row(0)
        if self.below:
            found["last_row"] = self.row(records - 1)
        return found

    def rows(self, columns: Columns) -> list[tuple[Any, ...]]:
        """Return all rows from the first one above the header on."""
        table = zip(*columns.values(), strict=True)
        return [*self.above, tuple(columns), *self.between, *table, *self.below]

    def text(self, columns: Columns) -> bytes:
        """Return a table as the bytes of a text."""
        out = io.StringIO()
        out.write(f"sep={self.delimiter}{self.end}" * self.says + self.end * self.blank)
        style = {"delimiter": self.delimiter, "lineterminator": self.end, "quoting": self.quoting}
        csv.writer(out, **style).writerows(self.rows(columns))
        text = out.getvalue()
        return (text if self.ends else text.removesuffix(self.end)).encode(self.encoding)


PLAIN = Dialect()


def table_of(columns: Columns) -> pa.Table:
    """Return columns as a table of Arrow; a column of None alone is one of texts."""
    return pa.table(
        {
            name: cells
            if isinstance(cells, pa.Array) or any(cell is not None for cell in cells)
            else pa.array(cells, pa.string())
            for name, cells in columns.items()
        }
    )


def write(path: Path, columns: Columns, dialect: Dialect = PLAIN) -> Path:
    """Write columns into a file of the form that its ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = table_of(columns)
    cells = {name: table[name].to_pylist() for name in columns}
    form = path.name.partition(".")[2]
    match form:
        case "csv":
            path.write_bytes(dialect.text(cells))
        case "tsv":
            path.write_bytes(replace(dialect, delimiter="\t").text(cells))
        case "csv.gz":
            path.write_bytes(gzip.compress(dialect.text(cells)))
        case "csv.zst":
            path.write_bytes(pa.Codec("zstd").compress(dialect.text(cells), asbytes=True))
        case "csv.zip":
            zipped(path, {"a.csv": dialect.text(cells)})
        case "xlsx" | "ods":
            workbooks.write(path, [*[()] * dialect.blank, *dialect.rows(cells)])
        case "jsonl" | "geojson":
            records = table.to_pylist()
            if form == "geojson":
                rows = [{"type": "Feature", "geometry": None, "properties": one} for one in records]
                records = [{"type": "FeatureCollection", "features": rows}]
            lines = (json.dumps(one, default=str) + "\n" for one in records)
            path.write_text("".join(lines), encoding="utf-8")
        case "parquet":
            pq.write_table(table, path)
    return path


def zipped(
    path: Path, members: Mapping[str, str | bytes], packing: int = zipfile.ZIP_DEFLATED
) -> Path:
    """Write members into an archive."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def read(source: Any, **given: Any) -> CountTable:
    """Read counts in a column n by codes of 1 km, unless something else is said."""
    return read_table(source, **{"grid": "jis:basic", "code": "code", "value": "n", **given})


def same(one: CountTable, other: CountTable) -> bool:
    """Return whether two tables have the same counts."""
    return np.array_equal(one.key, other.key) and np.array_equal(one.count, other.count)


def make(form: str, columns: Columns, folder: Path, dialect: Dialect = PLAIN) -> Any:
    """Return columns in a form: the path of a file in a folder, or a frame in memory."""
    if form in MEMORY:
        return MEMORY[form](table_of(columns))
    return write(folder / f"a.{form}", columns, dialect)


def write_rows(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """Write rows, the header among them, into a text or a workbook."""
    if path.suffix == ".csv":
        lines = (",".join("" if one is None else str(one) for one in row) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8")
        return path
    return workbooks.write(path, rows)
