"""Sums of sparse cells over many rectangles, for evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel


@kernel
def sums(
    index: NDArray[np.int64],
    value: NDArray[Any],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Add up the cells inside each rectangle.

    Parameters
    ----------
    index : int64[d, n]
        Indices of cells, sorted by the first axis.
    value : int64[n] or float64[n]
    low, high : int64[d, r]
        Lowest and highest index of each rectangle, both inclusive.
    out : value's type [r], written
    """
    for r in range(low.shape[1]):
        start = np.searchsorted(index[0], low[0, r])
        stop = np.searchsorted(index[0], high[0, r] + 1)
        total = value[:0].sum()
        for i in range(start, stop):
            inside = True
            for axis in range(1, index.shape[0]):
                at = index[axis, i]
                inside &= (at >= low[axis, r]) & (at <= high[axis, r])
            if inside:
                total += value[i]
        out[r] = total
