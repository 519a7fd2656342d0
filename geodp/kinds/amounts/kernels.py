"""Passes along the line of keys: whole sums and classes that go with whole records.

Sums of a run of keys, and so of every node of a tree over them, are off by little more than one
record, whatever the run's length.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare
from geodp.typing import FloatArray, IntArray, KeyArray

NEARBY = 64
"""Cells over which the shares of classes are averaged, those far away with smaller weights."""

LEAST = 1e-6
"""Least average of records of a class in a cell nearby: every class may have some."""


@bare
def merge(
    one: KeyArray,
    of_one: IntArray,
    other: KeyArray,
    of_other: IntArray,
    key: KeyArray,
    pair: IntArray,
) -> int:
    """Merge the cells of two streams, in key order.

    Parameters
    ----------
    one, other : uint64[n], uint64[m]
        Increasing.
    of_one, of_other : int64[n], int64[m]
        Counts of the cells.
    key : uint64[n + m], overwritten
        Cells of which either stream has something.
    pair : int64[2, n + m], overwritten
        Counts of both streams; 0 where a stream does not have the cell.

    Returns
    -------
    int
        Number of cells, which is how much of ``key`` and ``pair`` is written.
    """
    i, j, k = np.int64(0), np.int64(0), 0
    # Which stream has a cell follows no pattern: without branches nothing is guessed wrongly.
    while i < one.size and j < other.size:
        first, second = np.int64(one[i] <= other[j]), np.int64(other[j] <= one[i])
        key[k] = min(one[i], other[j])
        pair[0, k], pair[1, k] = first * of_one[i], second * of_other[j]
        i, j, k = i + first, j + second, k + 1
    for rest in range(i, one.size):
        key[k], pair[0, k], pair[1, k] = one[rest], of_one[rest], 0
        k += 1
    for rest in range(j, other.size):
        key[k], pair[0, k], pair[1, k] = other[rest], 0, of_other[rest]
        k += 1
    return k


@bare
def settle(
    above: IntArray, below: IntArray, span: int, offset: int, number: IntArray, total: IntArray
) -> None:
    """Make whole records of two streams, and sums within bounds, so that runs of keys follow both.

    Of what records lack so far, each cell's own share of the first stream stays owed, so that the
    rounding of records leaves its mean as it is.

    Parameters
    ----------
    above, below : int64[cells]
        The streams, 0 or more.
    span : int
        What both streams have of one record.
    offset : int
        Uniform on 0 to ``span - 1``.
    number, total : int64[cells], overwritten
        Records, and sums of 0 to ``span`` of each record; may be ``above`` and ``below``.
    """
    owed, run, records = np.int64(0), np.int64(offset), np.int64(0)
    for i in range(above.size):
        mine, both = above[i], above[i] + below[i]
        # Of the sums so far, so that no division waits for the one before it.
        run += both
        whole = run // span
        rest, here = run - whole * span, whole - records
        records = whole
        owed += mine
        share = float(mine) / float(max(both, np.int64(1)))
        kept = np.int64(np.floor(float(rest - offset) * share))
        number[i] = here
        total[i] = min(max(owed - kept, np.int64(0)), here * span)
        owed -= total[i]


@bare
def divide(
    classes: IntArray, number: IntArray, near: FloatArray, left: FloatArray, parts: IntArray
) -> None:
    """Divide whole records among classes, so that runs of keys follow the measured classes.

    Each class is owed what it was measured as, and its share nearby of what the records are more,
    or less, than all classes. The share of the cell itself would multiply the noise of the cell by
    that of its classes, and such products add up over areas.

    Parameters
    ----------
    classes : int64[k, cells]
        Measured records of each class, 0 or more.
    number : int64[cells]
        Records, 0 or more.
    near : float64[k], overwritten
        Records of each class in a cell before the first one, above 0: then those of cells nearby.
    left : float64[k], overwritten
        Zeros: then what each class is owed.
    parts : int64[k, cells], overwritten
        Records of each class, which add up to those of the cell.
    """
    for i in range(number.size):
        rest, around = number[i], 0.0
        for k in range(left.size):
            rest -= classes[k, i]
            around += near[k]
        positive = 0.0
        for k in range(left.size):
            left[k] += float(classes[k, i]) + float(rest) * (near[k] / around)
            near[k] += (float(classes[k, i]) - near[k]) / NEARBY
            near[k] = max(near[k], LEAST)
            positive += max(left[k], 0.0)
        whole = number[i]
        scale = min(float(whole) / positive, 1.0) if positive > 0.0 else 0.0
        for k in range(left.size):
            parts[k, i] = min(np.int64(np.floor(max(left[k], 0.0) * scale)), whole)
            whole -= parts[k, i]
            left[k] -= float(parts[k, i])
        # What is left goes to the largest remainders, one record after the other.
        while whole > 0:
            best = 0
            for k in range(left.size):
                if left[k] > left[best]:
                    best = k
            step = min(max(np.int64(np.floor(left[best])), np.int64(1)), whole)
            parts[best, i] += step
            whole -= step
            left[best] -= float(step)
