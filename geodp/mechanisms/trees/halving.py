"""What the clamp takes where a node's people lie in one of its halves, in noise scales."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from geodp.typing import FloatArray


@lru_cache(maxsize=256)
def lose(above: float, gaussian: bool) -> tuple[float, float]:
    """Return mean and standard deviation of ``-min(E, (E + N) / 2)``.

    Parameters
    ----------
    above : float
        E has so many times N's law.
    gaussian : bool
        The law of N; otherwise Laplace.
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
    """Return bias and root-mean-square error of a lone cell under a total that is known.

    E is 0 at the root and becomes ``min(E, (E + N) / 2)`` on every level, N normal.

    Parameters
    ----------
    spreads : tuple of float
        Standard deviations of N, the root's level first; the scale is 1 at most.
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
    """Return the law of (E + N) / 2 where N < E: chances on the same lattice as both."""
    # It has twice the resolution; every second point is shared out.
    half = np.zeros(2 * error.size - 1)
    for i in np.flatnonzero(error > 1e-12):
        half[i : 2 * i] += error[i] * noise[:i]
    moved = half[::2].copy()
    moved[1:] += half[1::2] / 2
    moved[:-1] += half[1::2] / 2
    return moved
