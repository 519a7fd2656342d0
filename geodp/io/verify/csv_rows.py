"""Compare the rows of a CSV file with those of a Parquet file, a block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from geodp.errors import Rule
from geodp.io.opening import open_parquet
from geodp.io.verify.card import require
from geodp.io.verify.chunks import require_group

BLOCK = 1 << 22
"""Bytes of the CSV file that are read at a time."""

OTHER_NUMBER = Rule("csv-rows-differ", "CSV and Parquet have different numbers of rows.")


def require_same_rows(csv: Path, parquet: Path, columns: Iterable[str]) -> None:
    """Require a CSV file to hold the rows of a Parquet file, or raise VerificationError.

    Parameters
    ----------
    csv, parquet : path
        Neither is ever in memory as a whole.
    columns : iterable of str
        All columns of the CSV file; others of the Parquet file are not looked at.
    """
    file, names = open_parquet(parquet), list(columns)
    with open_rows(csv, file.schema_arrow, names) as rows:
        for batch in _batches(file, names):
            rows.require_next([batch.column(name) for name in names])
        rows.require_end()


def _batches(file: Any, names: list[str]) -> Iterator[Any]:
    """Yield the rows of a Parquet file; all batches at once would keep what is behind them."""
    for group in range(file.num_row_groups):
        require_group(file, group)
        yield from file.read_row_group(group, columns=names).to_batches()


class CsvRows:
    """The rows of a CSV file that are still to come.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._left: Any = None

    def require_next(self, columns: list[Any]) -> None:
        """Raise VerificationError where the next rows are not those of some Arrow arrays."""
        # The blocks of a CSV file end elsewhere than those of a Parquet file.
        start, size = 0, len(columns[0])
        while start < size:
            self._fill()
            require(self._left is not None, OTHER_NUMBER)
            rows = min(self._left.num_rows, size - start)
            for name, values, column in zip(
                self._left.schema.names, self._left.columns, columns, strict=True
            ):
                same = values.slice(0, rows).equals(column.slice(start, rows))
                require(
                    same, Rule("csv-values-differ", f"CSV and Parquet differ in the column {name}.")
                )
            self._left, start = self._left.slice(rows), start + rows

    def require_end(self) -> None:
        """Raise VerificationError where there are more rows."""
        self._fill()
        require(self._left is None, OTHER_NUMBER)

    def _fill(self) -> None:
        """Read on where nothing is left of a batch; None at the end."""
        while self._left is None or self._left.num_rows == 0:
            self._left = next(self._batches, None)
            if self._left is None:
                return


@contextmanager
def open_rows(csv: Path, schema: Any, names: list[str]) -> Iterator[CsvRows]:
    """Open a CSV file to compare its rows.

    Parameters
    ----------
    csv : path
    schema : pyarrow.Schema
        Types of the columns, and perhaps of others.
    names : list of str
        All columns that the file must have, in their order.

    Raises
    ------
    VerificationError
        It has others.
    """
    # Values are read with the types of the Parquet file: guessed ones would lose leading zeros.
    types = {name: schema.field(name).type for name in names}
    with pa.csv.open_csv(
        csv,
        read_options=pa.csv.ReadOptions(block_size=BLOCK),
        convert_options=pa.csv.ConvertOptions(column_types=types, strings_can_be_null=False),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
    ) as written:
        require(
            written.schema.names == names,
            Rule("csv-columns-differ", "CSV and Parquet have different columns."),
        )
        yield CsvRows(iter(written))
