"""The pyramid on all nodes of all levels, for what the sparse one gives to be held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.kernels.workspace import Workspace
from geodp.mechanisms.trees.descent import Descent, Level, with_edges
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable

LARGEST_DENSE = 1 << 22
"""Most keys of a domain that the dense twin takes."""


def dense(table: CountTable, descent: Descent, key: NoiseKey) -> NDArray[np.int64]:
    """All nodes of all levels: bit for bit the counts of
    :func:`geodp.mechanisms.trees.descent.refine`.

    Returns
    -------
    int64[keys]
        In key order. Raises UsageError for more than 2**22 keys.
    """
    n = descent.strides[0]
    if n > LARGEST_DENSE:
        raise UsageError("The grid is too large for the dense form; use the sparse one.")
    truth = np.zeros(n, np.int64)
    truth[table.key.astype(np.int64)] = table.count
    levels = [
        _every(table.grid, truth, descent, i, NodeNoise(key, Stream.PYRAMID + i, law))
        for i, law in enumerate(descent.laws)
    ]
    held = np.maximum(levels[0].z, 0).astype(np.int64)
    opened = [held > 0]
    for level, few in zip(levels[1:], descent.least[1:], strict=True):
        held = _share(level, held, few)
        opened.append(held > 0)
    if descent.passes == 1:
        return held
    for i in range(len(levels) - 2, -1, -1):
        above, level = levels[i], levels[i + 1]
        at = np.arange(above.z.size)
        z, variance = above.z.copy(), above.variance.copy()
        own = descent.variances[i]
        kernels.combine(level.z, level.variance, level.fanout, own, at, z, variance)
        above.z = np.where(opened[i], z, above.z)
        above.variance = np.where(opened[i], variance, above.variance)
    held = np.where(
        opened[0], np.maximum(np.floor(levels[0].z + levels[0].uniform), 0).astype(np.int64), 0
    )
    for level, some, few in zip(levels[1:], opened[1:], descent.least[1:], strict=True):
        level.variance = np.where(some, level.variance, 0.0)
        held = _share(level, held, few)
    return held


def draw_nodes(
    descent: Descent, key: NoiseKey, level: int, node: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """Return the noise of any nodes of a level, which both forms add to their counts: int64[n]."""
    noise = NodeNoise(key, Stream.PYRAMID + level, descent.laws[level])
    return noise.among_children(node, (1, *descent.fanouts)[level])


def _share(level: Level, total: NDArray[np.int64], least: float) -> NDArray[np.int64]:
    out = np.empty(level.z.size, np.int64)
    level.share(total, least, out)
    return out


def _every(
    grid: Grid, truth: NDArray[np.int64], descent: Descent, i: int, noise: NodeNoise
) -> Level:
    """All nodes of level i."""
    fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
    above = np.arange(truth.size // (stride * fanout), dtype=np.uint64)
    level = Level.of(
        with_edges(grid), above, fanout, stride, noise, descent.variances[i], Workspace()
    )
    level.z[:] = truth.reshape(-1, stride).sum(axis=1) + level.noisy
    return level
