"""Passes along the line of keys: whole sums and classes that go with whole records.

Sums of a run of keys, and so of every node of a tree over them, are off by little more than one
record, whatever the run's length.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import bare
from geodp.typing import IntArray


@bare
def follow(
    above: IntArray,
    both: IntArray,
    rest: IntArray,
    low: IntArray,
    high: IntArray,
    total: IntArray,
) -> None:
    """Round sums of the first of two streams within bounds, so that runs of keys follow it.

    Records were rounded before; of what they lack so far, each cell's own share of the first
    stream stays owed, so that the rounding of records leaves its mean as it is.

    Parameters
    ----------
    above, both : int64[cells]
        The first stream, and both together, above 0.
    rest : int64[cells]
        What both streams had more than the records that were made of the first k cells.
    low, high : int64[cells]
        Smallest and largest sums.
    total : int64[cells], overwritten
    """
    owed = np.int64(0)
    for i in range(above.size):
        owed += above[i]
        kept = np.int64(np.floor(float(rest[i]) * (float(above[i]) / float(both[i]))))
        total[i] = min(max(owed - kept, low[i]), high[i])
        owed -= total[i]


@bare
def divide(classes: IntArray, number: IntArray, left: IntArray, parts: IntArray) -> None:
    """Divide whole records among classes in proportion to weights, so that runs of keys follow.

    Parameters
    ----------
    classes : int64[k, cells]
        Weights; a cell without any gives its records to the classes that are owed most.
    number : int64[cells]
        Records, 0 or more.
    left : int64[k], overwritten
        Zeros: then what each class is owed, in units of ``2**-20`` records.
    parts : int64[k, cells], overwritten
        Records of each class, which add up to those of the cell.
    """
    for i in range(number.size):
        weights, whole = np.int64(0), number[i]
        for k in range(left.size):
            weights += classes[k, i]
        for k in range(left.size):
            if weights > 0:
                part = float(classes[k, i]) * float(number[i]) / float(weights)
                left[k] += np.int64(np.floor(part * 1048576.0))
            parts[k, i] = min(max(left[k] >> 20, np.int64(0)), whole)
            whole -= parts[k, i]
            left[k] -= parts[k, i] << 20
        # What is left goes to the largest remainders, one record after the other.
        while whole > 0:
            best, step = 0, np.int64(1)
            for k in range(left.size):
                if left[k] > left[best]:
                    best = k
            # All classes are owed together what is left, so that one of them is owed its part.
            step = max(left[best] >> 20, np.int64(1))
            step = min(step, whole)
            parts[best, i] += step
            whole -= step
            left[best] -= step << 20
