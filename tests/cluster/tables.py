"""A confidential table as partitions, and digests of released ones."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import geodp
from geodp.cluster.api import Partitions
from tests.keys import secret

GRID = geodp.Grid.mesh("inspire:1km", bounds=(4_000_000, 2_500_000, 4_600_000, 3_000_000))
KEY = secret("town")

ONCE = {"epsilon": 1, "contribution": 1}
"""Files of keys are summed, so that somebody must vouch for how often a person is counted."""


def town(people: int = 20_000) -> geodp.CountTable:
    rng = np.random.default_rng(5)
    index = rng.normal([[250], [250]], [[40], [60]], (2, people)).astype(np.int64)
    index = np.clip(index, 0, 499)
    return geodp.CountTable.from_index(GRID, index, rng.integers(1, 50, people))


def split(table: geodp.CountTable, folder, partitions: int, seed: int = 0) -> Partitions:
    """Files of keys in any order, where some cells' counts are spread over several files."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    here = rng.integers(0, partitions, table.key.size)
    there = rng.integers(0, partitions, table.key.size)
    less = np.where(rng.random(table.key.size) < 0.2, table.count // 2, 0)
    paths = []
    for number in range(partitions):
        key = np.concatenate([table.key[here == number], table.key[there == number]])
        count = np.concatenate([(table.count - less)[here == number], less[there == number]])
        order = rng.permutation(key.size)
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table({"key": key[order], "count": count[order]}), paths[-1])
    return Partitions.of_keys(paths, grid=table.grid)


def kept() -> geodp.NoiseKey:
    return geodp.NoiseKey(KEY)


def sha256(table) -> str:
    """Hash the key and count arrays."""
    return hashlib.sha256(table.key.tobytes() + table.count.tobytes()).hexdigest()
