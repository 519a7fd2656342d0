"""Noisy pairs of blocks, noisy trips by label, and a prior, as Parquet: a file of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.labels import NoisyLabels
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.zones import Blocks, Zones
from geodp.grid.axes import Attribute
from geodp.io.folder.manifest import sha256
from geodp.io.opening import open_parquet
from geodp.io.write.parquet import MEDIA_TYPE
from geodp.table.card import File
from geodp.typing import IntArray

COLUMNS = ("origin_row", "origin_col", "destination_row", "destination_col", "noisy")
"""Places of both blocks, counted in blocks, and the noisy trips between them."""

PRIOR = "prior.parquet"
"""Name of the file of the flows of a prior."""

PRIOR_COLUMNS = (*COLUMNS[:4], "trips")
"""Places of both zones, and the trips of the prior between them."""


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


def name_labels(ends: str) -> str:
    """Return the name of the file of trips by label of a kind of cells."""
    return f"labels-{ends}.parquet"


def write_labels(
    labels: Sequence[NoisyLabels],
    zones: Zones,
    attributes: tuple[Attribute, ...],
    folder: Path,
) -> tuple[File, ...]:
    """Write the noisy trips by label of every kind; return the entries of their files."""
    entries = []
    for one in labels:
        path, table = folder / name_labels(one.ends), _table_of_labels(one, zones, attributes)
        pa.parquet.write_table(table, path, compression="zstd")
        cells = "pairs of blocks" if one.ends == "pairs" else f"blocks of {one.ends}"
        entries.append(
            File(
                name=path.name,
                media_type=MEDIA_TYPE,
                what=f"noisy trips by label of all {cells} of {one.side} by {one.side} zones, "
                "before any estimate: unbiased, and often below 0",
                extras={"columns": tuple(table.column_names)},
                sha256=sha256(path),
            )
        )
    return tuple(entries)


def _table_of_labels(one: NoisyLabels, zones: Zones, attributes: tuple[Attribute, ...]) -> pa.Table:
    """Return noisy trips by label as columns, the cell varying slowest."""
    blocks, labels = zones.blocks(one.side), one.noisy.shape[1]
    number = blocks.number
    if one.ends == "pairs":
        names = [*COLUMNS[:4]]
        places = [
            *(np.repeat(axis, number) for axis in (blocks.row, blocks.column)),
            *(np.tile(axis, number) for axis in (blocks.row, blocks.column)),
        ]
    else:
        names = [*COLUMNS[:2]] if one.ends == "origins" else [*COLUMNS[2:4]]
        places = [blocks.row, blocks.column]
    columns = [pa.array(np.repeat(place, labels).astype(np.int32)) for place in places]
    listed = [*product(*(attribute.labels for attribute in attributes))]
    for part in zip(*listed, strict=True):
        texts = pa.array(part, pa.string()).dictionary_encode()
        indices = np.tile(texts.indices.to_numpy(), one.noisy.shape[0])
        columns.append(pa.DictionaryArray.from_arrays(indices, texts.dictionary).cast(pa.string()))
    columns.append(pa.array(one.noisy.reshape(-1)))
    named = [attribute.name for attribute in attributes]
    return pa.table(columns, names=[*names, *named, COLUMNS[-1]])


def read_labels(
    path: Path, empty: NoisyLabels, zones: Zones, attributes: tuple[Attribute, ...]
) -> NoisyLabels:
    """Read the noisy trips of a file; ValueError if they are of other cells or labels.

    ``empty``: counts of the right kind and shape, with the variance of their noise.
    """
    file = open_parquet(path)
    # Before as many are made again as the index states.
    if file.metadata.num_rows != empty.noisy.size:
        raise ValueError("The file lists other cells.")
    rows = file.read()
    expected = _table_of_labels(empty, zones, attributes)
    if rows.schema != expected.schema:
        raise ValueError("The file lists other cells.")
    if rows.drop_columns("noisy") != expected.drop_columns("noisy") or rows["noisy"].null_count:
        raise ValueError("The file lists other cells.")
    noisy = np.asarray(rows["noisy"].to_numpy(), np.int64).reshape(empty.noisy.shape)
    return replace(empty, noisy=noisy)


def write_prior(prior: FlowsPrior | None, zones: Zones, folder: Path) -> tuple[File, ...]:
    """Write the flows of a prior, if there is one; return the entry of its file in the index."""
    if prior is None:
        return ()
    path = folder / PRIOR
    ends = (prior.origin, prior.destination)
    places = [axis[end].astype(np.int32) for end in ends for axis in (zones.row, zones.column)]
    columns = [pa.array(one) for one in (*places, prior.count)]
    pa.parquet.write_table(pa.table(columns, names=[*PRIOR_COLUMNS]), path, compression="zstd")
    what = "trips between zones of the public prior that the flows were estimated with"
    extras = {"columns": PRIOR_COLUMNS}
    return (
        File(name=path.name, media_type=MEDIA_TYPE, what=what, extras=extras, sha256=sha256(path)),
    )


def read_prior(path: Path, zones: Zones, source: str) -> FlowsPrior:
    """Read the flows of a prior; ValueError if they are no flows between zones, in their order."""
    rows = open_parquet(path).read()
    kinds = [pa.int32()] * (len(PRIOR_COLUMNS) - 1) + [pa.int64()]
    if rows.schema != pa.schema([*zip(PRIOR_COLUMNS, kinds, strict=True)]):
        raise ValueError("The file has other columns.")
    if any(rows[name].null_count for name in PRIOR_COLUMNS):
        raise ValueError("The file has other columns.")
    *places, count = (np.asarray(rows[name].to_numpy(), np.int64) for name in PRIOR_COLUMNS)
    index, shape = np.stack(places).reshape(2, 2, -1), np.array(zones.grid.shape)[:, None]
    if not count.size or not ((index >= 0) & (index < shape)).all() or count.min() < 1:
        raise ValueError("The file lists other pairs.")
    ends = [np.searchsorted(zones.key, zones.grid.encode(one)) for one in index]
    if not (np.diff(ends[0] * zones.number + ends[1]) > 0).all():
        raise ValueError("The file lists pairs in another order.")
    return FlowsPrior(zones.number, ends[0], ends[1], count, source)
