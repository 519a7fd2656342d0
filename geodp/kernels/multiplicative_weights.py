"""Multiplicative weights on a piecewise constant density, for MWEM (Hardt et al. 2012)."""

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
    ``exp((t - e) / (2 total))``, where e is their current sum; then all pieces are scaled to
    add up to ``total``.

    Parameters
    ----------
    first, last : int64[q]
        Pieces [first, last) of every measurement.
    target : float64[q]
        The measurements.
    cells : float64[p]
        Cells of every piece; some may be 0, but not all.
    total : float
        Above 0.
    passes : int
    height : float64[p], read and written
        Logarithm of every piece's density, up to a constant; at the end the largest of pieces with
        cells is 0.
    """
    # Logarithms are stored, so that no density overflows, and none that underflows is lost.
    mass = np.empty(height.size)
    for _ in range(passes):
        for q in range(target.size):
            _fill(height, cells, mass)
            total_mass = 0.0
            held = 0.0
            for p in range(height.size):
                total_mass += mass[p]
                if first[q] <= p < last[q]:
                    held += mass[p]
            step = (target[q] - total * held / total_mass) / (2 * total)
            for p in range(first[q], last[q]):
                height[p] += step
    _fill(height, cells, mass)


@kernel
def _fill(
    height: NDArray[np.float64], cells: NDArray[np.float64], mass: NDArray[np.float64]
) -> None:
    """Shift the logarithms so that the largest is 0, and write the pieces' mass."""
    largest = -np.inf
    for p in range(height.size):
        if cells[p] > 0 and height[p] > largest:
            largest = height[p]
    for p in range(height.size):
        height[p] -= largest
        mass[p] = cells[p] * np.exp(height[p]) if cells[p] > 0 else 0.0
