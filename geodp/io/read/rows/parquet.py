"""Parquet files, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from geodp import progress
from geodp.errors import InputError, Rule
from geodp.io.opening import open_parquet
from geodp.io.read.rows.arrow import BATCH, validate_arrays
from geodp.io.read.rows.complete import check_chunks, incomplete
from geodp.io.read.rows.input_files import InputFile, guard
from geodp.io.read.rows.partitions import FileTable
from geodp.io.read.rows.span import COLUMNS_ALIKE
from geodp.table.source import Fact

BUFFER = 1 << 20
"""Bytes of a column that are read at once."""


OPTIONS = {"buffer_size": BUFFER, "pre_buffer": False, "page_checksum_verification": True}
"""Read as streams: a memory map would count as memory, and whole column chunks may not fit. Page
checksums are verified where the file has them."""

MAX_VALUES = 1 << 21
"""Values in a batch. Tables of few columns get longer batches, in which more codes repeat."""

CODED = 4
"""Bytes a value below which texts must be dictionary-encoded: a plain text takes as many for its
length."""


@dataclass(frozen=True)
class ParquetTable(FileTable):
    """A Parquet file; its rows count from 1."""

    file: InputFile
    parquet: pq.ParquetFile = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the file."""
        return tuple(self.parquet.schema_arrow.names)

    @property
    def declared_rows(self) -> int:
        """Number of rows in the footer."""
        return int(self.parquet.metadata.num_rows)

    @classmethod
    def open(cls, file: InputFile) -> ParquetTable:
        """Read the schema; InputError if the footer points outside the file."""
        opened = guard(file.name, lambda: open_parquet(file.path, **OPTIONS))
        check_chunks(file.name, opened.metadata, file.size)
        return cls(file, opened)

    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns as they are stored."""
        names = [self.names[column] for column in chosen]
        # Parquet's reader takes columns by their names.
        if (alike := next((one for one in names if self.names.count(one) > 1), None)) is not None:
            raise InputError(COLUMNS_ALIKE.format(alike.strip()), file=self.name)
        stored = [*dict.fromkeys(names)]
        size = max(BATCH, MAX_VALUES // max(1, len(stored)))
        stream = self._open_with_dictionaries(stored).iter_batches(size, columns=stored)
        rows, read = self.parquet.metadata.num_rows, 0
        while True:
            try:
                batch = guard(self.name, lambda: next(stream))
            except StopIteration:
                break
            arrays = validate_arrays([batch.column(name) for name in names], self.name, read)
            read += batch.num_rows
            progress.part(read / max(rows, 1), self.file.size)
            yield arrays
        # A damaged row group may end early without an error; missing rows would be missing people.
        if stored and read != rows:
            what = Rule(
                "parquet-rows-differ", "The file has another number of rows than its footer says"
            )
            raise incomplete(self.name, what)

    def _open_with_dictionaries(self, stored: Sequence[str]) -> pq.ParquetFile:
        """Open the file again so that dictionary-encoded texts stay encoded."""
        footer, sizes = self.parquet.metadata, dict.fromkeys(stored, 0)
        for column in range(footer.num_columns):
            name = footer.schema.column(column).path
            if name in sizes and pa.types.is_string(self.parquet.schema_arrow.field(name).type):
                groups = (footer.row_group(i) for i in range(footer.num_row_groups))
                sizes[name] = sum(group.column(column).total_uncompressed_size for group in groups)
        # Dictionary-encoded codes are parsed once each instead of row by row.
        coded = [name for name, size in sizes.items() if 0 < size < CODED * footer.num_rows]
        if not coded:
            return self.parquet
        options = {**OPTIONS, "read_dictionary": coded}
        return guard(self.name, lambda: open_parquet(self.file.path, **options))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts from the footer."""
        return (
            Fact("format", "Parquet", "file"),
            Fact("records declared", str(self.parquet.metadata.num_rows), "file"),
        )
