"""Parquet: the places of columns that the footer names, against where the footer begins."""

from __future__ import annotations

from typing import Any

from geodp.errors import Rule
from geodp.io.read.rows.complete.error import incomplete

MAGIC = 4
"""Bytes that a file begins and ends with."""


def check_chunks(name: str, footer: Any, size: int) -> None:
    """Refuse a file whose columns reach into its footer, as where bytes before it were lost.

    Parameters
    ----------
    footer : pyarrow.parquet.FileMetaData
    size : int
        Bytes of the file.

    Raises
    ------
    InputError
    """
    last = size - footer.serialized_size - 2 * MAGIC
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column in range(footer.num_columns if group.num_rows else 0):
            chunk = group.column(column)
            first = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                first = min(first, chunk.dictionary_page_offset)
            if first < MAGIC or first + chunk.total_compressed_size > last:
                raise incomplete(
                    name,
                    Rule(
                        "parquet-columns-beyond-data",
                        "The Parquet file's columns reach beyond its data",
                    ),
                )
