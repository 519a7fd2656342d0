"""Draw the streams of persons and households: households, and their members beyond the first.

Members are measured on every node that has released households, and fitted from the root to the
cells, so that persons of every area are possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from geodp.grid.tree import overlaps
from geodp.kinds.households import kernels
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.descent import Descent
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, digest
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.measured import sums_of
from geodp.typing import FloatArray, IntArray, KeyArray

HOUSEHOLDS = digest(b"geodp households stream 1", b"households")
"""Derives the key of the noise of households from that of the release."""

MEMBERS = digest(b"geodp households stream 1", b"members beyond the first")
"""Derives the key of the noise of the other members."""

OTHERS = digest(b"geodp households stream 1", b"persons outside households")
"""Derives the key of the noise of persons outside households."""

AT_ONCE = 1 << 20
"""Most children that are measured together, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class HouseholdNodes:
    """The nodes of a level that have released households, in key order.

    Attributes
    ----------
    cap : int64[n]
        Largest possible number of members beyond the first.
    z : float64[n]
        Noisy numbers of these members; later the estimates from below.
    """

    cap: IntArray
    z: FloatArray


@dataclass(frozen=True, eq=False)
class Families:
    """The children of the nodes of a level, of which some have released households.

    Attributes
    ----------
    first : int64[n + 1]
        Where the children with households of each node lie on the level below.
    closed, closed_number : float64[n], float64[n]
        Sum of the noisy members of the other children, and their number.
    uniform : float64[n]
        Random numbers in [0, 1) that round what the children get.
    """

    first: IntArray
    closed: FloatArray
    closed_number: FloatArray
    uniform: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredMembers:
    """Noisy members beyond the first of all nodes that have released households.

    Attributes
    ----------
    levels : list of Nodes
        The root first.
    families : list of Families
        Of the root alone as a child first, and then of the nodes of each level but the last.
    """

    levels: list[HouseholdNodes]
    families: list[Families]


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
    with key.derive(HOUSEHOLDS) as own, key.derive(MEMBERS) as other:
        released = method.release(households, event, own)
        measured = measure_members(members, released, descent, other, max_size)
        count = fit_members(measured, descent)
    persons = ReleasedTable(released.grid, released.key, released.count + count, event)
    return persons, released


def measure_members(
    members: CountTable, released: ReleasedTable, descent: Descent, key: NoiseKey, max_size: int
) -> MeasuredMembers:
    """Measure the members of all nodes that have released households, and of their siblings."""
    prefix, cap = released.key, np.asarray(released.count, np.int64) * (max_size - 1)
    levels, families = [], []
    for i in reversed(range(len(descent.laws))):
        fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
        noise = NodeNoise(key, Stream.PYRAMID + i, descent.laws[i])
        above = prefix // np.uint64(fanout)
        starts = np.flatnonzero(np.append(True, above[1:] != above[:-1])[: above.size])
        first, above = np.append(starts, prefix.size), above[starts]
        noisy, family = _measure_families(members, noise, (fanout, stride), prefix, above, first)
        levels.append(HouseholdNodes(cap, noisy.astype(np.float64)))
        families.append(family)
        prefix, cap = above, np.add.reduceat(cap, starts) if starts.size else cap
    return MeasuredMembers(levels[::-1], families[::-1])


def _measure_families(
    members: CountTable,
    noise: NodeNoise,
    shape: tuple[int, int],
    prefix: KeyArray,
    above: KeyArray,
    first: IntArray,
) -> tuple[IntArray, Families]:
    """Measure all children of nodes; return the listed ones, and sums of the others.

    ``shape``: children of a node, and keys of a child.
    """
    fanout, stride = shape
    sums = partial(sums_of, members.key, members.count)
    noisy = sums(prefix, stride)
    closed, uniform = sums(above, stride * fanout), np.empty(above.size)
    number = np.zeros(above.size, np.int64)
    step = max(1, AT_ONCE // fanout)
    for start in range(0, above.size, step):
        part = slice(start, min(start + step, above.size))
        children = slice(first[part.start], first[part.stop])
        drawn, uniform[part] = noise.families(above[part], fanout)
        inside = overlaps(members.grid, number_children(above[part], fanout), stride)
        row = np.repeat(np.arange(part.stop - part.start), np.diff(first[start : part.stop + 1]))
        child = prefix[children] - above[part][row] * np.uint64(fanout)
        # Whole until the noise is in.
        noisy[children] += drawn[row * fanout + child.astype(np.int64)]
        closed[part] += np.where(inside, drawn, 0).reshape(-1, fanout).sum(axis=1)
        number[part] = inside.reshape(-1, fanout).sum(axis=1)
    if above.size:
        closed -= np.add.reduceat(noisy, first[:-1])
        number -= np.diff(first)
    real = closed.astype(np.float64), number.astype(np.float64)
    return noisy, Families(first, *real, uniform)


def fit_members(measured: MeasuredMembers, descent: Descent) -> IntArray:
    """Fit whole members to the measurements, from the root to the cells; int64[cells]."""
    levels, families, noises = measured.levels, measured.families, descent.variances
    variances = [np.full(one.z.size, v) for one, v in zip(levels, noises, strict=True)]
    for i in reversed(range(len(levels) - 1)):
        above, below, family = levels[i], levels[i + 1], families[i + 1]
        # Children that have no released households were measured, too: without them, members of
        # households that were released as 0 would be missing from the sums.
        spread = family.closed_number * noises[i + 1]
        closed = family.closed, spread
        kernels.combine(
            family.first, below.z, variances[i + 1], *closed, noises[i], above.z, variances[i]
        )
    top = levels[0]
    count = np.clip(np.floor(top.z + families[0].uniform).astype(np.int64), 0, top.cap)
    for below, family, variance in zip(levels[1:], families[1:], variances[1:], strict=True):
        total, count = count, np.empty(below.z.size, np.int64)
        kernels.apportion(family.first, total, family.uniform, below.z, variance, below.cap, count)
    return count
