"""Persons and households from two streams of counts, of which one person changes one, by one.

The streams are the households, h, and the members beyond the first of each, q. Who opens a
household changes h by one, who joins one changes q by one, and nobody changes both: together the
two have the sensitivity of one table, and each is measured with the whole budget
(docs/proofs/households.md). The households are released by the pyramid; the other members are then
refined on the nodes that have households, between 0 and ``max_size - 1`` for each of these, so
that persons, h + q, are possible at every node. Noise of the two streams comes from two keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodp.features.households.kernels import fitting
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.descent import Descent
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, digest
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

HOUSEHOLDS = digest(b"geodp households stream 1", b"households")
"""Derives the key of the noise of households from that of the release."""

MEMBERS = digest(b"geodp households stream 1", b"members beyond the first")
"""Derives the key of the noise of the other members."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a level that have released households, in key order.

    Attributes
    ----------
    prefix : uint64[n]
    first : int64[n + 1]
        Where the children of each node lie on the level below; of the cells only zeros.
    cap : int64[n]
        Largest possible number of members beyond the first.
    z : float64[n]
        Noisy numbers of these members; later the estimates from below.
    """

    prefix: KeyArray
    first: IntArray
    cap: IntArray
    z: FloatArray


def release_streams(
    households: CountTable,
    members: CountTable,
    method: Pyramid,
    event: Measurement,
    key: NoiseKey,
    max_size: int,
) -> tuple[ReleasedTable, ReleasedTable]:
    """Release persons and households of one grid.

    Parameters
    ----------
    households, members : CountTable
        Households, and their members beyond the first.
    method : Pyramid
    event : Measurement
        That of the method on the grid: each stream is measured with all of it.
    key : NoiseKey
        From which the keys of the streams are derived.
    max_size : int
        Most persons of a household.

    Returns
    -------
    persons, households : ReleasedTable
        In every block of keys of a level, households <= persons <= max_size * households.
    """
    descent = method.descent(households.grid, event)
    own, other = key.derive(HOUSEHOLDS), key.derive(MEMBERS)
    try:
        released = method.release(households, event, own)
        levels = _measure(members, released, descent, other, max_size)
        count = _fit(levels, descent, other)
    finally:
        own.forget()
        other.forget()
    persons = ReleasedTable(released.grid, released.key, released.count + count, event)
    return persons, released


def _measure(
    members: CountTable, released: ReleasedTable, descent: Descent, key: NoiseKey, max_size: int
) -> list[Nodes]:
    """Measure the members of all nodes that have released households, the root first."""
    cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(members.count)])
    prefix, cap = released.key, np.asarray(released.count, np.int64) * (max_size - 1)
    first, levels = np.zeros(prefix.size + 1, np.int64), []
    fanouts = (1, *descent.fanouts)
    for i in reversed(range(len(descent.laws))):
        stride = np.uint64(descent.strides[i])
        start = np.searchsorted(members.key, prefix * stride)
        stop = np.searchsorted(members.key, prefix * stride + (stride - np.uint64(1)), "right")
        noise = NodeNoise(key, Stream.PYRAMID + i, descent.laws[i])
        # Whole until the noise is in.
        noisy = cumulative[stop] - cumulative[start] + noise.among_children(prefix, fanouts[i])
        levels.append(Nodes(prefix, first, cap, noisy.astype(np.float64)))
        above = prefix // np.uint64(fanouts[i])
        starts = np.flatnonzero(np.append(True, above[1:] != above[:-1])[: above.size])
        first = np.append(starts, above.size)
        prefix, cap = above[starts], np.add.reduceat(cap, starts) if starts.size else cap
    return levels[::-1]


def _fit(levels: list[Nodes], descent: Descent, key: NoiseKey) -> IntArray:
    """Fit whole members to the measurements, from the root to the cells; int64[cells]."""
    variances = [np.full(one.z.size, v) for one, v in zip(levels, descent.variances, strict=True)]
    steps = [*zip(pairwise(levels), pairwise(variances), descent.variances, strict=False)]
    for (above, below), (variance, spread), noise_variance in reversed(steps):
        fitting.combine(above.first, below.z, spread, noise_variance, above.z, variance)
    top = levels[0]
    # An empty root is the only child of nothing: it has no total to divide.
    rounding = _uniform(key, descent, 0, top.prefix)
    count = np.clip(np.floor(top.z + rounding).astype(np.int64), 0, top.cap)
    for i, (above, below) in enumerate(pairwise(levels), 1):
        total, count = count, np.empty(below.z.size, np.int64)
        rounding = _uniform(key, descent, i, above.prefix)
        fitting.apportion(above.first, total, rounding, below.z, variances[i], below.cap, count)
    return count


def _uniform(key: NoiseKey, descent: Descent, level: int, above: KeyArray) -> FloatArray:
    """Return the uniform numbers of nodes, which round what their children get: float64[n]."""
    blocks_per_node = -(-(1, *descent.fanouts)[level] // 16)
    noise = NodeNoise(key, Stream.PYRAMID + level, descent.laws[level])
    # The lowest four bits of a word decide nothing about its noise.
    nibbles = noise.words(above * np.uint64(blocks_per_node)) & np.uint32(15)
    shifts = np.uint64(4) * np.arange(16, dtype=np.uint64)[::-1]
    bits = np.bitwise_or.reduce(nibbles.astype(np.uint64) << shifts, axis=1)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53, np.float64)
