"""Columns of one table as they are stored, for uses of records rather than cells."""

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
