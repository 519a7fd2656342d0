"""How the pyramid descends: its levels, their noise, and what is dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.pyramid import edges, layout
from geodp.kernels.pyramid.edges import ROWS
from geodp.kernels.pyramid.layout import Below, Desk, Levels
from geodp.mechanisms.trees.levels import LevelScheme
from geodp.privacy.event import Measurement
from geodp.privacy.noise.law import Law

CHILDREN = 1 << 11
"""Most children of a block of families: they and all that is done to them stay in the cache."""

NARROWEST = 8
"""Families of a block at least, as the cipher makes so many blocks at the price of one."""

LEAST_VARIANCE = 1e-12
"""Noise of less is as good as none; a variance of 0 is that of a child that cannot be."""


def variance_of(law: Law) -> float:
    """Return the variance of a measurement, above 0 even where so large a budget leaves none."""
    return max(law.variance, LEAST_VARIANCE)


@dataclass(frozen=True)
class Descent:
    """How to descend: the levels, their noise, and what is dropped.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Of a :class:`geodp.mechanisms.trees.levels.LevelScheme`.
    laws : tuple of Law
        Noise of every level.
    least : tuple of float
        Children below it are dropped.
    passes : int
        1 or 2.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    laws: tuple[Law, ...]
    least: tuple[float, ...]
    passes: int

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """Of the measurements of every level."""
        return tuple(variance_of(law) for law in self.laws)

    @cached_property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """The laws' tables, each part of all levels together; read-only."""
        parts = zip(*((*law.table, law.bucket) for law in self.laws), strict=True)
        found = tuple(np.concatenate(part) for part in parts)
        for part in found:
            part.flags.writeable = False
        return found

    def levels(self, streams: Sequence[int]) -> Levels:
        """Return what the kernel asks of all levels; ``streams``: of their noise."""
        fanouts, first = (1, *self.fanouts), [law.table.first.size for law in self.laws]
        widths = [width_of(fanout) for fanout in fanouts]
        rows = {
            layout.FANOUT: fanouts,
            layout.STRIDE: self.strides,
            layout.WIDTH: widths,
            layout.START: count_before([a * b for a, b in zip(fanouts, widths, strict=True)]),
            layout.SPREADS: count_before([fanout + 1 for fanout in fanouts]),
            layout.LAW: count_before(first),
            layout.GUIDE: count_before([law.table.guide.size for law in self.laws]),
            layout.STREAM: streams,
            layout.LONG: [a * b >= layout.WIDE for a, b in zip(fanouts, first, strict=True)],
        }
        found = np.zeros((len(rows), len(self.laws) + 1), np.int64)
        for row, values in rows.items():
            found[row, : len(values)] = values
        spread = [spreads_of(own, most) for own, most in zip(self.variances, fanouts, strict=True)]
        real = np.array([self.variances, self.least])
        return Levels(found, real, np.concatenate(spread), *self.tables)

    @classmethod
    def of(cls, chain: LevelScheme, event: Measurement, prune: float, passes: int) -> Descent:
        """With an event's noise; ``prune`` in noise scales."""
        laws = tuple(event.law(share) for share in chain.shares)
        least = tuple(prune * event.width(share) for share in chain.shares)
        return cls(chain.fanouts, chain.strides, laws, least, passes)

    @property
    def last(self) -> int:
        """The cells' level."""
        return len(self.fanouts)

    def is_short(self, cells: int, roots: int = 1) -> bool:
        """Whether one thread is done before several have begun, with so many occupied cells."""
        return min(roots * self.strides[0], cells * sum(self.fanouts)) <= FEW_NODES


FEW_NODES = 1 << 20
"""That are measured, about, up to which one thread is done before several have begun."""


def width_of(fanout: int) -> int:
    """Return the most families of a block, of so many children each."""
    return min(max(CHILDREN // (-(-fanout // ROWS) * ROWS), NARROWEST), chacha.LANES)


def count_before(sizes: Sequence[int]) -> list[int]:
    """Return where each of several pieces starts, and where the last one ends."""
    return list(accumulate(sizes, initial=0))


@lru_cache(maxsize=64)
def spreads_of(own: float, most: int) -> NDArray[np.float64]:
    """Return the variances of sums of 0, 1, 2 ... measurements, added up one by one; read-only."""
    found = np.cumsum([0.0, *[own] * most])
    found.flags.writeable = False
    return found


def desk_of(levels: Levels) -> Desk:
    """Return room for a block of every level."""
    table, lanes = levels.table, chacha.LANES
    size, most = int(table[layout.START, -1]), int(table[layout.FANOUT].max())
    parts = -(-table[layout.FANOUT] // ROWS) * table[layout.WIDTH]
    widest = int((-(-parts // edges.STEP) * edges.STEP * ROWS).max())
    return Desk(
        nodes=np.empty((5, size), np.int64),
        estimates=np.empty((2, size)),
        child=np.empty(size, np.uint16),
        lane=np.empty((table.shape[1] - 1, 3, lanes)),
        room=(align((16 * lanes,), np.uint32), align((widest,), np.uint64)),
        digits=align((2, lanes), np.uint32),
        noisy=align((widest,), np.int32),
        row=align((6, widest), np.int32),
        mask=align((widest,), np.uint32),
        scratch=np.empty((3, widest), np.int64),
        part=np.empty(widest, np.uint8),
        far=np.empty(widest, np.int64),
        family=(np.empty((4, most)), np.empty((2, most), np.uint64), np.empty(most, np.int64)),
        whole=np.empty(most, np.int32),
    )


def align(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros of which every row starts with a line of the cache, and no two rows alike.

    A vector that lies across two lines is read and written in two steps.
    """
    *above, last = shape
    line = layout.LINE // np.dtype(kind).itemsize
    pitch = (-(-last // line) | 1) * line
    size = math.prod(above) * pitch
    room = np.zeros(size + line, kind)
    address, _ = room.__array_interface__["data"]
    first = -(address // room.itemsize) % line
    return room[first : first + size].reshape(*above, pitch)


def below_of(levels: Levels) -> Below:
    """Return room for a second pass."""
    size, most = int(levels.table[layout.START, -1]), int(levels.table[layout.FANOUT].max())
    family = np.empty((3, most)), np.empty(most, np.uint64), np.empty(most, np.int64)
    return Below(np.empty((2, size), np.int64), family)
