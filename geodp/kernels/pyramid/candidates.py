"""Which children of a block of families may be above 0: only they are looked at one by one.

Rows are gone through two at a time where both are whole: what is kept of each place is then read
and written once for both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, part
from geodp.kernels.pyramid.edges import NOWHERE, ROWS, length_of, pitch_of
from geodp.kernels.pyramid.layout import (
    ABOVE,
    ACTIVE,
    CANDIDATES,
    LOST,
    SEVERAL,
    SUMS,
    THRESHOLDS,
)
from geodp.kernels.pyramid.rows import wrap

ROUNDS = 3
"""Projections at most; few families need more, and what is left is done one by one."""


@bare_inline
def pairs_of(fanout: int) -> int:
    """Return how many rows are gone through by two: those before have all parts' children."""
    return ((fanout - 1) % ROWS + 1) // 2 * 2


@bare
def find_candidates(
    total: NDArray[np.int64],
    fanout: int,
    noisy: NDArray[np.int32],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Mark the children that are not below 0 for every tau that can be, and add all of them up.

    The largest child of a family gets no more than the total, so tau is at least the rest. All have
    the same variance: the same as :func:`geodp.kernels.pyramid.shares.could_be_above_zero`, in
    whole numbers.

    Parameters
    ----------
    total : int64[n]
        Of the families.
    fanout : int
    noisy : int32[.]
        Counts with noise; ``NOWHERE``: the child holds no cell.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], written
        ``SUMS``: of each family's children modulo ``2**32``, those that are nowhere too; and
        ``CANDIDATES``.
    mask : uint32[.], written
        Word w of family f at ``w * n + f``.
    """
    size, parts = total.size, -(-fanout // ROWS)
    _add_rows(size, fanout, noisy, row)
    own = spread[np.uint64(1)]
    for f in range(size):
        i = np.uint64(f)
        excess = np.int64(row[THRESHOLDS, i]) - total[i]
        least = np.int32(excess) if excess > 0 else np.int32(NOWHERE)
        lost = np.int64(row[LOST, i])
        every = np.float64(wrap(np.int64(row[SUMS, i]) + (lost << 31)))
        tau = (every - np.float64(total[i])) / spread[np.uint64(fanout - lost)]
        row[THRESHOLDS, i] = max(least, np.int32(max(np.floor(tau * own), np.float64(NOWHERE))))
    for n in range(size, parts * size):
        row[THRESHOLDS, np.uint64(n)] = row[THRESHOLDS, np.uint64(n - size)]
    raise_thresholds(total, fanout, noisy, spread, row)
    _mark_rows(size, fanout, noisy, row, mask)


@part
def _add_rows(size: int, fanout: int, noisy: NDArray[np.int32], row: NDArray[np.int32]) -> None:
    """Write the largest child of every family to ``THRESHOLDS``, and the sums."""
    pitch, pairs = pitch_of(fanout, size), pairs_of(fanout)
    for n in range(pitch):
        i = np.uint64(n)
        row[THRESHOLDS, i], row[SUMS, i] = noisy[i], np.int32(0)
    for r in range(0, pairs, 2):
        here, there = np.uint64(r * pitch), np.uint64((r + 1) * pitch)
        for n in range(pitch):
            i = np.uint64(n)
            one, other = noisy[here + i], noisy[there + i]
            row[THRESHOLDS, i] = max(max(one, other), row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(one) + np.int64(other))
    for r in range(pairs, min(ROWS, fanout)):
        here = np.uint64(r * pitch)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            one = noisy[here + i]
            row[THRESHOLDS, i] = max(one, row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(one))
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            row[THRESHOLDS, i] = max(row[THRESHOLDS, part + i], row[THRESHOLDS, i])
            row[SUMS, i] = wrap(np.int64(row[SUMS, i]) + np.int64(row[SUMS, part + i]))


@part
def raise_thresholds(
    total: NDArray[np.int64],
    fanout: int,
    noisy: NDArray[np.int32],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
) -> None:
    """Raise the thresholds of a block's families by the first rounds of their projections.

    The rounds of :func:`geodp.kernels.pyramid.shares.project`, which goes on from there: the same
    sums, as they are of whole numbers, and the same tau. A whole number is above tau times the
    variance where it is above that rounded down, and tau never falls.

    Parameters
    ----------
    total : int64[n]
        Of the families, above 0: so one child at least stays above every threshold.
    fanout : int
    noisy : int32[.]
        Counts with noise, by rows; sums of any of them fit 32 bits.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], changed
        ``THRESHOLDS`` are there, once for each of a family's parts.
    """
    size, parts = total.size, -(-fanout // ROWS)
    own, before = spread[np.uint64(1)], np.int64(-1)
    least, full = np.int64(np.sqrt(own)), np.int64(0)
    for f in range(size):
        full += np.int64(total[np.uint64(f)] > least)
    if 2 * full < size:
        return
    for _ in range(ROUNDS):
        _sum_above_thresholds(size, fanout, noisy, row)
        active = np.int64(0)
        for f in range(size):
            i = np.uint64(f)
            above, goal = np.float64(row[ABOVE, i]), np.float64(total[i])
            tau = (above - goal) / spread[np.uint64(row[ACTIVE, i])]
            floor = np.int32(max(np.floor(tau * own), np.float64(NOWHERE)))
            row[THRESHOLDS, i] = max(row[THRESHOLDS, i], floor)
            active += np.int64(row[ACTIVE, i])
        for n in range(size, parts * size):
            row[THRESHOLDS, np.uint64(n)] = row[THRESHOLDS, np.uint64(n - size)]
        if active == before:
            return
        before = active


@part
def _sum_above_thresholds(
    size: int, fanout: int, noisy: NDArray[np.int32], row: NDArray[np.int32]
) -> None:
    """Write sum and number of every family's children above its threshold."""
    pitch, pairs = pitch_of(fanout, size), pairs_of(fanout)
    for n in range(pitch):
        i = np.uint64(n)
        row[ABOVE, i], row[ACTIVE, i] = np.int32(0), np.int32(0)
    for r in range(0, pairs, 2):
        here, there = np.uint64(r * pitch), np.uint64((r + 1) * pitch)
        for n in range(pitch):
            i = np.uint64(n)
            one, other, bar = noisy[here + i], noisy[there + i], row[THRESHOLDS, i]
            row[ABOVE, i] += one if one > bar else np.int32(0)
            row[ABOVE, i] += other if other > bar else np.int32(0)
            row[ACTIVE, i] += np.int32(one > bar)
            row[ACTIVE, i] += np.int32(other > bar)
    for r in range(pairs, min(ROWS, fanout)):
        here = np.uint64(r * pitch)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            one = noisy[here + i]
            row[ABOVE, i] += one if one > row[THRESHOLDS, i] else np.int32(0)
            row[ACTIVE, i] += np.int32(one > row[THRESHOLDS, i])
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            row[ABOVE, i] += row[ABOVE, part + i]
            row[ACTIVE, i] += row[ACTIVE, part + i]


@part
def _mark_rows(
    size: int,
    fanout: int,
    noisy: NDArray[np.int32],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Mark the children above their thresholds, and write ``CANDIDATES``."""
    pitch, pairs, unit = pitch_of(fanout, size), pairs_of(fanout), SEVERAL // 2
    for n in range(pitch):
        i = np.uint64(n)
        mask[i], row[CANDIDATES, i] = np.uint32(0), np.int32(0)
    for r in range(0, pairs, 2):
        here, bit, one = np.uint64(r * pitch), np.uint32(1 << r), np.int32(unit + r)
        there, second, other = np.uint64((r + 1) * pitch), np.uint32(2 << r), np.int32(one + 1)
        for n in range(pitch):
            i = np.uint64(n)
            bar = row[THRESHOLDS, i]
            some, more = noisy[here + i] > bar, noisy[there + i] > bar
            mask[i] |= bit if some else np.uint32(0)
            mask[i] |= second if more else np.uint32(0)
            row[CANDIDATES, i] += one if some else np.int32(0)
            row[CANDIDATES, i] += other if more else np.int32(0)
    for r in range(pairs, min(ROWS, fanout)):
        here, bit, one = np.uint64(r * pitch), np.uint32(1 << r), np.int32(unit + r)
        for n in range(length_of(r, fanout, (size, pitch))):
            i = np.uint64(n)
            some = noisy[here + i] > row[THRESHOLDS, i]
            mask[i] |= bit if some else np.uint32(0)
            row[CANDIDATES, i] += one if some else np.int32(0)
    for p in range(1, -(-fanout // ROWS)):
        part = np.uint64(p * size)
        for f in range(size):
            i = np.uint64(f)
            more_here = row[CANDIDATES, part + i]
            many = np.int32(more_here // np.int32(unit))
            row[CANDIDATES, i] += np.int32(more_here + many * np.int32(ROWS * p))
