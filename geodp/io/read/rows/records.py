"""Columns of one table as they stand, for what is asked of records and not of cells."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from geodp.errors import UsageError
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import batches, find_column, open_tables
from geodp.io.read.rows.input_files import FilePath


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
        Further columns, of whole numbers that are not negative.

    Returns
    -------
    dict of str to ChunkedArray
        By the given names: values as they are stored, text of a text file; counts as int64.

    Raises
    ------
    UsageError
        An archive of several tables.
    InputError
        A table that cannot be read, no such column, or no count; names file and row.
    """
    tables = list(open_tables(path))
    if len(tables) != 1:
        raise UsageError(
            "The archive holds several tables; give one of them.", code="archive-tables-several"
        )
    (table,) = tables
    names = [*columns, *counts] or [name.strip() for name in table.columns]
    chosen = [find_column(table, name, names) for name in names]
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    for rows, arrays in batches(table, chosen):
        for name, array in zip(names, arrays, strict=True):
            if name in counts:
                with rows.named(name):
                    array = pa.array(fields.counts(array))
            parts[name].append(array)
    return {name: pa.chunked_array(arrays or [pa.array([])]) for name, arrays in parts.items()}
