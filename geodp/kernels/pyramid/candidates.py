"""Candidates: the children of a block of families that may be above 0.

Only these are projected one by one. Rows are processed two at a time where both are complete: the
values of each position are then read and written once for both.
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
"""Most rounds of projections here; few families need more, and these continue one by one."""


@bare_inline
def pairs_of(fanout: int) -> int:
    """Return the number of rows that are processed in pairs: those with children of all parts."""
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
    """Select the children that some possible tau leaves above 0, and sum all children.

    Parameters
    ----------
    total : int64[n]
        Totals of the families.
    fanout : int
    noisy : int32[.]
        Noisy counts; ``NOWHERE``: the child contains no cell.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], written
        ``SUMS``: sums of each family's children modulo ``2**32``, including those with
        ``NOWHERE``; and ``CANDIDATES``.
    mask : uint32[.], written
        Word w of family f at ``w * n + f``.
    """
    # A family's largest child gets at most the total, so tau is at least the excess. With one
    # variance for all this is `shares.could_be_above_zero` in integers, with the same result.
    size, parts = total.size, -(-fanout // ROWS)
    _add_rows(size, fanout, noisy, row)
    noise_variance = spread[np.uint64(1)]
    for f in range(size):
        i = np.uint64(f)
        excess = np.int64(row[THRESHOLDS, i]) - total[i]
        minimum = np.int32(excess) if excess > 0 else np.int32(NOWHERE)
        lost = np.int64(row[LOST, i])
        every = np.float64(wrap(np.int64(row[SUMS, i]) + (lost << 31)))
        tau = (every - np.float64(total[i])) / spread[np.uint64(fanout - lost)]
        row[THRESHOLDS, i] = max(
            minimum, np.int32(max(np.floor(tau * noise_variance), np.float64(NOWHERE)))
        )
    for n in range(size, parts * size):
        row[THRESHOLDS, np.uint64(n)] = row[THRESHOLDS, np.uint64(n - size)]
    raise_thresholds(total, fanout, noisy, spread, row)
    _set_mask(size, fanout, noisy, row, mask)


@part
def _add_rows(size: int, fanout: int, noisy: NDArray[np.int32], row: NDArray[np.int32]) -> None:
    """Find the largest child of every family, as ``THRESHOLDS``, and the sums."""
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

    Parameters
    ----------
    total : int64[n]
        Totals of the families, above 0: so at least one child stays above every threshold.
    fanout : int
    noisy : int32[.]
        Noisy counts, by rows; sums of any of them fit 32 bits.
    spread : float64[fanout + 1]
        Variances of sums of 0, 1, 2 ... to all children's measurements.
    row : int32[6, .], changed
        With ``THRESHOLDS``, once for each of a family's parts.
    """
    # The same rounds as in `shares.project`, which continues from here: sums of integers are exact
    # in any order, so tau is the same. An integer is above tau times the variance exactly if it is
    # above that product rounded down, and tau never falls.
    size, parts = total.size, -(-fanout // ROWS)
    noise_variance, before = spread[np.uint64(1)], np.int64(-1)
    noise_sd, full = np.int64(np.sqrt(noise_variance)), np.int64(0)
    for f in range(size):
        full += np.int64(total[np.uint64(f)] > noise_sd)
    # Families with totals below the noise have few candidates already.
    if 2 * full < size:
        return
    for _ in range(ROUNDS):
        _sum_above_thresholds(size, fanout, noisy, row)
        active = np.int64(0)
        for f in range(size):
            i = np.uint64(f)
            above, goal = np.float64(row[ABOVE, i]), np.float64(total[i])
            tau = (above - goal) / spread[np.uint64(row[ACTIVE, i])]
            floor = np.int32(max(np.floor(tau * noise_variance), np.float64(NOWHERE)))
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
    """Sum and count every family's children above its threshold."""
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
def _set_mask(
    size: int,
    fanout: int,
    noisy: NDArray[np.int32],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Set the mask's bits of the children above their thresholds, and write ``CANDIDATES``."""
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
