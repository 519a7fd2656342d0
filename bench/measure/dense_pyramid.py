"""The dense form of the pyramid: it visits all nodes of all levels, occupied or not.

Noise is a function of the node, so the dense and the sparse form give the same bytes. It is timed
beside the sparse form, and tests compare both on domains that are too large for the reference in
``tests/reference/pyramid.py``, which imports nothing of geodp and has the definition; the dense
form shares kernels with the sparse one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels.pyramid import shares as kernels
from geodp.kernels.pyramid.reweighting import reweight_all
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.descent import Descent
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import CountTable


@dataclass(eq=False)
class DenseLevel:
    """The children of all nodes of a level, those of one node next to each other.

    Attributes
    ----------
    fanout : int
    z : float64[n * fanout]
        Noisy counts; with two passes later the estimates from below.
    variance : float64[n * fanout]
        Variance of z; 0 outside the domain.
    uniform : float64[n]
        The parents' uniform numbers.
    """

    fanout: int
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    uniform: NDArray[np.float64]

    @classmethod
    def of(
        cls, grid: Grid, truth: NDArray[np.int64], descent: Descent, i: int, noise: NodeNoise
    ) -> DenseLevel:
        """Measure all nodes of level i; ``truth``: counts of all keys."""
        fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
        above = np.arange(truth.size // (stride * fanout), dtype=np.uint64)
        drawn, uniform = noise.families(above, fanout)
        z = (truth.reshape(-1, stride).sum(axis=1) + drawn).astype(np.float64)
        inside = overlaps(grid, number_children(above, fanout), stride)
        return cls(fanout, z, np.where(inside, descent.variances[i], 0.0), uniform)

    def share(self, total: NDArray[np.int64], min_count: float) -> NDArray[np.int64]:
        """Apportion their parents' totals to the children."""
        members, out = np.full(self.uniform.size, self.fanout), np.empty(self.z.size, np.int64)
        kernels.share(self.z, self.variance, members, total, self.uniform, min_count, out)
        return out

    def combine(
        self,
        below: DenseLevel,
        opened: NDArray[np.bool_],
        some: NDArray[np.bool_],
        noise_variance: float,
    ) -> None:
        """Improve the estimates of some nodes from their children's."""
        # Closed children are added first, then the open ones: floating-point sums in the order of
        # the sparse form, so that both agree bit for bit. cumsum adds one after the other; sum
        # would add pairwise.
        order = np.argsort(opened.reshape(-1, below.fanout), axis=1, kind="stable")
        z = np.where(below.variance > 0, below.z, 0.0).reshape(-1, below.fanout)
        spread = np.take_along_axis(below.variance.reshape(z.shape), order, 1).cumsum(axis=1)[:, -1]
        summed = np.take_along_axis(z, order, 1).cumsum(axis=1)[:, -1]
        weight = spread / (spread + noise_variance)
        self.z = np.where(some, weight * self.z + (1 - weight) * summed, self.z)
        self.variance = np.where(some, weight * noise_variance, self.variance)


def refine_dense(
    table: CountTable, method: Pyramid, event: Measurement, key: NoiseKey
) -> NDArray[np.int64]:
    """Release from all nodes of all levels, bit for bit as the sparse form.

    See :func:`geodp.mechanisms.central.pyramid.refine`.

    Returns
    -------
    int64[keys]
        In key order.
    """
    descent = method.descent(table.grid, event)
    n = descent.strides[0]
    truth = np.zeros(n, np.int64)
    truth[table.key.astype(np.int64)] = table.count
    levels = [
        DenseLevel.of(table.grid, truth, descent, i, NodeNoise(key, Stream.PYRAMID + i, law))
        for i, law in enumerate(descent.laws)
    ]
    held = np.maximum(levels[0].z, 0).astype(np.int64)
    opened = [held > 0]
    for level, few in zip(levels[1:], descent.min_counts[1:], strict=True):
        held = level.share(held, few)
        opened.append(held > 0)
    if descent.passes == 1:
        return held
    for i in range(len(levels) - 2, -1, -1):
        levels[i].combine(levels[i + 1], opened[i + 1], opened[i], descent.variances[i])
    held = np.where(
        opened[0], np.maximum(np.floor(levels[0].z + levels[0].uniform), 0).astype(np.int64), 0
    )
    for i, (level, some) in enumerate(zip(levels[1:], opened[1:], strict=True), 1):
        level.variance = np.where(some, level.variance, 0.0)
        members, family = np.full(held.size, level.fanout), (level.fanout, i < descent.last)
        reweight_all(level.z, level.variance, members, held, family)
        held = level.share(held, descent.min_counts[i])
    return held
