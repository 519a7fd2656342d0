"""Loss by the clamp if all people of a node are in one of its halves, in noise scales.

With E the node's error and N the noise, the error of the occupied half is ``min(E, (E + N) / 2)``:
the empty half cannot become negative. Distributions are computed on a lattice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from geodp.typing import FloatArray


@lru_cache(maxsize=256)
def lose(above: float, gaussian: bool) -> tuple[float, float]:
    """Compute mean and standard deviation of ``-min(E, (E + N) / 2)``.

    Parameters
    ----------
    above : float
        E is distributed as this many times N.
    gaussian : bool
        Whether N is normal; otherwise it is Laplace noise.
    """
    noise = np.arange(-10, 10.05, 0.1)
    weight = np.exp(-(noise**2) / 2 if gaussian else -np.abs(noise))
    weight /= weight.sum()
    error = above * noise[:, None]
    lost = -np.minimum(error, (error + noise) / 2)
    mean = weight @ lost @ weight
    return float(mean), float((weight @ lost**2 @ weight - mean**2) ** 0.5)


@lru_cache(maxsize=128)
def isolate(spreads: tuple[float, ...]) -> tuple[float, float]:
    """Compute bias and root-mean-square error of an isolated cell if the total is exact.

    E is 0 at the root and becomes ``min(E, (E + N) / 2)`` on every level, with normal N.

    Parameters
    ----------
    spreads : tuple of float
        Standard deviations of N, the root's level first; at most 1.
    """
    step, reach = 1 / 40, 8.0
    value = np.arange(-reach, reach + step / 2, step)
    error = (np.abs(value) < step / 2).astype(np.float64)
    for spread in spreads:
        noise = np.exp(-((value / spread) ** 2) / 2)
        noise /= noise.sum()
        above = noise[::-1].cumsum()[::-1]  # P(N >= value)
        error = error * above + halve_sums(error, noise)
    return float(error @ value), float(np.sqrt(error @ value**2))


def halve_sums(error: FloatArray, noise: FloatArray) -> FloatArray:
    """Compute the part of the law of (E + N) / 2 with N < E, on the lattice of both laws."""
    # The half sum has twice the resolution; the probability of every second point is divided
    # between its neighbours, which keeps the mean.
    half = np.zeros(2 * error.size - 1)
    for i in np.flatnonzero(error > 1e-12):
        half[i : 2 * i] += error[i] * noise[:i]
    moved = half[::2].copy()
    moved[1:] += half[1::2] / 2
    moved[:-1] += half[1::2] / 2
    return moved
