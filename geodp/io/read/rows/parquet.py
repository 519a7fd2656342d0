"""Parquet files, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from geodp import progress
from geodp.io.opening import open_parquet
from geodp.io.read.rows.arrow import BATCH, checked
from geodp.io.read.rows.sources import Source, guard

BUFFER = 1 << 20
"""Bytes of a column of Parquet that are read at once."""


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file; its rows count from 1."""

    source: Source
    file: pq.ParquetFile = field(repr=False)

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.file.schema_arrow.names)

    @classmethod
    def open(cls, source: Source) -> ParquetTable:
        """Read the schema."""
        # Streams: a map would count as memory, and whole chunks of columns may not fit.
        options = {"buffer_size": BUFFER, "pre_buffer": False}
        return cls(source, guard(source.name, lambda: open_parquet(source.name, **options)))

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns as they are stored."""
        names = [self.columns[column] for column in chosen]
        stream = self.file.iter_batches(BATCH, columns=list(dict.fromkeys(names)))
        rows, read = max(self.file.metadata.num_rows, 1), 0
        while True:
            try:
                batch = guard(self.name, lambda: next(stream))
            except StopIteration:
                return
            arrays = checked([batch.column(name) for name in names], self.name, read)
            read += batch.num_rows
            progress.part(read / rows, self.source.size)
            yield arrays

    def line(self, record: int) -> int:
        """Row, counted from 1."""
        return record + 1
