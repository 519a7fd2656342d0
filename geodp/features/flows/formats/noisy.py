"""Noisy pairs of blocks as Parquet, one file for each size of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.zones import Blocks
from geodp.io.folder.manifest import sha256
from geodp.io.opening import open_parquet
from geodp.io.write.parquet import MEDIA_TYPE
from geodp.table.card import File
from geodp.typing import IntArray

COLUMNS = ("origin_row", "origin_col", "destination_row", "destination_col", "noisy")
"""Places of both blocks, counted in blocks, and the noisy trips between them."""


def name_file(side: int) -> str:
    """Return the name of the file of a side."""
    return f"pairs-{side}.parquet"


def write_noisy(noisy: Sequence[NoisyPairs], folder: Path) -> tuple[File, ...]:
    """Write the noisy pairs of every side; return the entries of their files in the index."""
    entries = []
    for one in noisy:
        path = folder / name_file(one.blocks.side)
        pa.parquet.write_table(_table(one), path, compression="zstd")
        entries.append(
            File(
                name=path.name,
                media_type=MEDIA_TYPE,
                what=f"noisy trips between all blocks of {one.blocks.side} by {one.blocks.side} "
                "zones, before any estimate: unbiased, and often below 0",
                extras={"columns": COLUMNS},
                sha256=sha256(path),
            )
        )
    return tuple(entries)


def _table(one: NoisyPairs) -> pa.Table:
    """Return the noisy pairs as columns, the origin varying slowest."""
    blocks, number = one.blocks, one.blocks.number
    places = (
        np.repeat(blocks.row, number),
        np.repeat(blocks.column, number),
        np.tile(blocks.row, number),
        np.tile(blocks.column, number),
    )
    columns = [pa.array(place.astype(np.int32)) for place in places]
    return pa.table([*columns, pa.array(one.noisy.reshape(-1))], names=[*COLUMNS])


def _schema() -> pa.Schema:
    """Return the columns of a file, and their types."""
    kinds = [pa.int32()] * (len(COLUMNS) - 1) + [pa.int64()]
    return pa.schema([*zip(COLUMNS, kinds, strict=True)])


def read_noisy(path: Path, blocks: Blocks, variance: float) -> NoisyPairs:
    """Read the noisy pairs of a file; ValueError if they are of other blocks."""
    rows = open_parquet(path).read()
    if rows.schema != _schema() or any(rows[name].null_count for name in COLUMNS):
        raise ValueError("The file has other columns.")
    columns = [np.asarray(rows[name].to_numpy(), np.int64) for name in COLUMNS]
    noisy: IntArray = columns[-1]
    if noisy.size != blocks.number**2:
        raise ValueError("The file lists other pairs.")
    one = NoisyPairs(blocks, noisy.reshape(blocks.number, -1), variance)
    expected = _table(one)
    if not all(
        expected[name].to_numpy().tolist() == rows[name].to_numpy().tolist() for name in COLUMNS[:4]
    ):
        raise ValueError("The file lists other pairs.")
    return one
