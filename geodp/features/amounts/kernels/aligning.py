"""Passes along the line of keys: whole sums and classes that go with whole records.

Sums of a run of keys, and so of every node of a tree over them, are off by little more than one
record, whatever the run's length.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare
from geodp.typing import FloatArray, IntArray

NEARBY = 64
"""Cells over which the shares of classes are averaged, those far away with smaller weights."""

LEAST = 1e-6
"""Least average of records of a class in a cell nearby: every class may have some."""


@bare
def follow(
    above: IntArray,
    both: IntArray,
    rest: IntArray,
    most: IntArray,
    total: IntArray,
) -> None:
    """Round sums of the first of two streams within bounds, so that runs of keys follow it.

    Records were rounded before; of what they lack so far, each cell's own share of the first
    stream stays owed, so that the rounding of records leaves its mean as it is.

    Parameters
    ----------
    above, both : int64[cells]
        The first stream, 0 or more, and both together, above 0 and no less than the first.
    rest : int64[cells]
        What both streams had more than the records that were made of the first k cells.
    most : int64[cells]
        Largest sums; the smallest are 0.
    total : int64[cells], overwritten
    """
    owed = np.int64(0)
    for i in range(above.size):
        owed += above[i]
        share = float(above[i]) / float(both[i])
        kept = np.int64(np.floor(float(rest[i]) * share))
        total[i] = min(max(owed - kept, np.int64(0)), most[i])
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
