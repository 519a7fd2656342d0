"""Whether a CSV file holds the rows of a Parquet file, a piece of both at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from geodp.errors import Rule
from geodp.io.opening import open_parquet
from geodp.io.verify.card import require

BLOCK = 1 << 22
"""Bytes of the CSV file that are read at a time."""


def require_same_rows(csv: Path, parquet: Path, columns: Iterable[str]) -> None:
    """Raise VerificationError where a CSV file holds anything else than a Parquet file.

    Parameters
    ----------
    csv, parquet : path
        Neither is ever in memory as a whole.
    columns : iterable of str
        All columns of the CSV file; others of the Parquet file are not looked at.
    """
    file, names = open_parquet(parquet), list(columns)
    types = {name: file.schema_arrow.field(name).type for name in names}
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
        for one, other in _pair(iter(written), _batches(file, names)):
            for name in names:
                same = one.column(name).equals(other.column(name))
                require(
                    same, Rule("csv-values-differ", f"CSV and Parquet differ in the column {name}.")
                )


def _batches(file: Any, names: list[str]) -> Iterator[Any]:
    """Yield the rows of a Parquet file; all batches at once would keep what is behind them."""
    for group in range(file.num_row_groups):
        yield from file.read_row_group(group, columns=names).to_batches()


def _pair(ones: Iterator[Any], others: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield pieces of as many rows of both; VerificationError where one ends before the other."""
    one = other = None
    while True:
        one, other = _fill(one, ones), _fill(other, others)
        same = (one is None) == (other is None)
        require(same, Rule("csv-rows-differ", "CSV and Parquet have different numbers of rows."))
        if one is None or other is None:
            return
        rows = min(one.num_rows, other.num_rows)
        yield one.slice(0, rows), other.slice(0, rows)
        one, other = one.slice(rows), other.slice(rows)


def _fill(left: Any, batches: Iterator[Any]) -> Any:
    """Return what is left of a batch, or the next one with rows; None at the end."""
    while left is None or left.num_rows == 0:
        left = next(batches, None)
        if left is None:
            return None
    return left
