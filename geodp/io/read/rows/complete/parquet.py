"""Completeness of Parquet files: column chunks must lie before the footer."""

from __future__ import annotations

from typing import Any

from geodp.errors import Rule
from geodp.io.read.rows.complete.error import incomplete

MAGIC = 4
"""Bytes of the magic number at both ends of a file."""


def check_chunks(name: str, footer: Any, size: int) -> None:
    """Refuse a file whose columns overlap its footer, as after a loss of bytes.

    Parameters
    ----------
    footer : pyarrow.parquet.FileMetaData
    size : int
        Size of the file in bytes.

    Raises
    ------
    InputError
        A column chunk reaches beyond the data.
    """
    last = size - footer.serialized_size - 2 * MAGIC
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column in range(footer.num_columns if group.num_rows else 0):
            chunk = group.column(column)
            # A dictionary page precedes the data pages; an offset of 0 means that there is none.
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
