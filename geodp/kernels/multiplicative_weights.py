"""Multiplicative weights on a piecewise constant density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel


@kernel
def fit(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    target: NDArray[np.float64],
    cells: NDArray[np.float64],
    total: float,
    passes: int,
    height: NDArray[np.float64],
) -> None:
    """Repeat multiplicative-weights updates over all measurements, one after the other.

    A measurement t of the pieces first to last - 1 multiplies their density by
    ``exp((t - e) / (2 total))``, where e is what they hold now; then all pieces are scaled to
    hold ``total`` together. Logarithms are kept, so that no density over- or underflows for good.

    Parameters
    ----------
    first, last : int64[q]
        Pieces [first, last) of every measurement.
    target : float64[q]
        What was measured.
    cells : float64[p]
        Cells of every piece; 0 is allowed, not everywhere.
    total : float
        Above 0.
    passes : int
    height : float64[p], read and written
        Logarithm of every piece's density, up to a constant; largest 0 at the end, if the piece
        has a cell.
    """
    mass = np.empty(height.size)
    for _ in range(passes):
        for q in range(target.size):
            _fill(height, cells, mass)
            whole = 0.0
            held = 0.0
            for p in range(height.size):
                whole += mass[p]
                if first[q] <= p < last[q]:
                    held += mass[p]
            step = (target[q] - total * held / whole) / (2 * total)
            for p in range(first[q], last[q]):
                height[p] += step
    _fill(height, cells, mass)


@kernel
def _fill(
    height: NDArray[np.float64], cells: NDArray[np.float64], mass: NDArray[np.float64]
) -> None:
    """Shift the logarithms so that the largest is 0, and write the pieces' mass."""
    most = -np.inf
    for p in range(height.size):
        if cells[p] > 0 and height[p] > most:
            most = height[p]
    for p in range(height.size):
        height[p] -= most
        mass[p] = cells[p] * np.exp(height[p]) if cells[p] > 0 else 0.0
