"""What children of a block of families are above: fewer are left to be looked at one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import part
from geodp.kernels.pyramid.edges import NOWHERE, ROWS, length_of, pitch_of
from geodp.kernels.pyramid.layout import ABOVE, ACTIVE, THRESHOLDS

ROUNDS = 3
"""Projections at most; few families need more, and what is left is done one by one."""


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
    pitch, own, before = pitch_of(fanout, size), spread[np.uint64(1)], np.int64(-1)
    least, full = np.int64(np.sqrt(own)), np.int64(0)
    for f in range(size):
        full += np.int64(total[np.uint64(f)] > least)
    if 2 * full < size:
        return
    for _ in range(ROUNDS):
        for n in range(pitch):
            i = np.uint64(n)
            row[ABOVE, i], row[ACTIVE, i] = np.int32(0), np.int32(0)
        for r in range(min(ROWS, fanout)):
            start = np.uint64(r * pitch)
            for n in range(length_of(r, fanout, (size, pitch))):
                i = np.uint64(n)
                one = noisy[start + i]
                some = one > row[THRESHOLDS, i]
                row[ABOVE, i] += one if some else np.int32(0)
                row[ACTIVE, i] += np.int32(some)
        for other in range(size, parts * size):
            i, more = np.uint64(other % size), np.uint64(other)
            row[ABOVE, i] += row[ABOVE, more]
            row[ACTIVE, i] += row[ACTIVE, more]
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
