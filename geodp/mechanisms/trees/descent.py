"""Parameters of the pyramid's passes: its levels, their noise, and the arrays of its kernels."""

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
from geodp.kernels.pyramid.layout import Levels, PassWorkspace, SharingWorkspace
from geodp.mechanisms.trees.levels import LevelScheme
from geodp.privacy.event import Measurement
from geodp.privacy.noise.law import Law

CHILDREN = 1 << 11
"""Most children of a block of families: their arrays fit the cache."""

NARROWEST = 8
"""Fewest families of a block: the cipher computes 8 blocks in the time of one."""

MIN_VARIANCE = 1e-12
"""Smallest variance of a measurement: 0 would mean that the child is outside the domain."""


def variance_of(law: Law) -> float:
    """Return the variance of a measurement, above 0 even if the budget leaves no noise."""
    return max(law.variance, MIN_VARIANCE)


@dataclass(frozen=True)
class Descent:
    """Levels of a pyramid, their noise, and thresholds.

    Attributes
    ----------
    fanouts, strides : tuple of int
        See :class:`geodp.mechanisms.trees.levels.LevelScheme`.
    laws : tuple of Law
        Noise of every level.
    min_counts : tuple of float
        Counts of every level below which children are dropped.
    passes : int
        1 or 2.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    laws: tuple[Law, ...]
    min_counts: tuple[float, ...]
    passes: int

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """Variances of the measurements of every level."""
        return tuple(variance_of(law) for law in self.laws)

    @cached_property
    def tables(self) -> tuple[NDArray[Any], ...]:
        """The laws' tables, concatenated over all levels; read-only."""
        parts = zip(*((*law.table, law.bucket) for law in self.laws), strict=True)
        tables = tuple(np.concatenate(part) for part in parts)
        for part in tables:
            part.flags.writeable = False
        return tables

    def levels(self, streams: Sequence[int]) -> Levels:
        """Return all levels in the kernels' form; ``streams``: the streams of their noise."""
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
        table = np.zeros((len(rows), len(self.laws) + 1), np.int64)
        for row, values in rows.items():
            table[row, : len(values)] = values
        spread = [
            spreads_of(variance, fanout_here)
            for variance, fanout_here in zip(self.variances, fanouts, strict=True)
        ]
        real = np.array([self.variances, self.min_counts])
        return Levels(table, real, np.concatenate(spread), *self.tables)

    @classmethod
    def of(cls, chain: LevelScheme, event: Measurement, prune: float, passes: int) -> Descent:
        """Make the parameters for an event; ``prune``: threshold in noise scales."""
        laws = tuple(event.law(share) for share in chain.shares)
        min_counts = tuple(prune * event.width(share) for share in chain.shares)
        return cls(chain.fanouts, chain.strides, laws, min_counts, passes)

    @property
    def last(self) -> int:
        """Level of the cells."""
        return len(self.fanouts)

    def is_short(self, cells: int, roots: int = 1) -> bool:
        """Test whether one thread is faster than several, by the number of occupied cells."""
        return min(roots * self.strides[0], cells * sum(self.fanouts)) <= FEW_NODES


FEW_NODES = 1 << 20
"""Approximate number of measured nodes up to which one thread is faster than several."""


def width_of(fanout: int) -> int:
    """Return the most families of a block, if each has ``fanout`` children."""
    return min(max(CHILDREN // (-(-fanout // ROWS) * ROWS), NARROWEST), chacha.LANES)


def count_before(sizes: Sequence[int]) -> list[int]:
    """Return where each of several consecutive arrays starts, and where the last one ends."""
    return list(accumulate(sizes, initial=0))


@lru_cache(maxsize=64)
def spreads_of(variance: float, number: int) -> NDArray[np.float64]:
    """Return the variances of sums of 0, 1, 2 ... measurements; read-only."""
    # Added one by one and not multiplied: kernels that add variances child by child then get the
    # same bits.
    sums = np.cumsum([0.0, *[variance] * number])
    sums.flags.writeable = False
    return sums


def make_workspace(levels: Levels) -> PassWorkspace:
    """Allocate the arrays of one thread: a block of every level."""
    table, lanes = levels.table, chacha.LANES
    size, max_fanout = int(table[layout.START, -1]), int(table[layout.FANOUT].max())
    parts = -(-table[layout.FANOUT] // ROWS) * table[layout.WIDTH]
    widest = int((-(-parts // edges.STEP) * edges.STEP * ROWS).max())
    return PassWorkspace(
        nodes=np.empty((5, size), np.int64),
        estimates=np.empty((2, size)),
        child=np.empty(size, np.uint16),
        lane=np.empty((table.shape[1] - 1, 3, lanes)),
        cipher=(align((16 * lanes,), np.uint32), align((widest,), np.uint64)),
        digits=align((2, lanes), np.uint32),
        noisy=align((widest,), np.int32),
        row=align((6, widest), np.int32),
        mask=align((widest,), np.uint32),
        scratch=np.empty((3, widest), np.int64),
        part=np.empty(widest, np.uint8),
        far=np.empty(widest, np.int64),
        family=(
            np.empty((4, max_fanout)),
            np.empty((2, max_fanout), np.uint64),
            np.empty(max_fanout, np.int64),
        ),
        measured=np.empty(max_fanout, np.int32),
    )


def align(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros in which every row starts at a cache line of its own."""
    # A vector across two lines is read and written in two steps. The pitch is an odd number of
    # lines, so that rows do not compete for the same sets of the cache.
    *above, last = shape
    line = layout.LINE // np.dtype(kind).itemsize
    pitch = (-(-last // line) | 1) * line
    size = math.prod(above) * pitch
    buffer = np.zeros(size + line, kind)
    address, _ = buffer.__array_interface__["data"]
    first = -(address // buffer.itemsize) % line
    return buffer[first : first + size].reshape(*above, pitch)


def make_sharing_workspace(levels: Levels) -> SharingWorkspace:
    """Allocate the arrays of a second pass."""
    size, max_fanout = int(levels.table[layout.START, -1]), int(levels.table[layout.FANOUT].max())
    family = (
        np.empty((3, max_fanout)),
        np.empty(max_fanout, np.uint64),
        np.empty(max_fanout, np.int64),
    )
    return SharingWorkspace(np.empty((2, size), np.int64), family)
