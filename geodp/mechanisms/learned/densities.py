"""Noise on top of a normal change, in closed form; everything in units of the noise's deviation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from geodp.kernels.learned.residuals import OCTAVES, SIDE, STEPS
from geodp.mechanisms.learned.normal import erfcx, log_normal
from geodp.typing import FloatArray

SCALE = 1 / math.sqrt(2)
"""Of Laplace noise whose standard deviation is 1."""

WIDTHS = np.concatenate([[0.0], 2.0 ** np.arange(-4, 13)])
"""Standard deviations of the changes that predictions do not know of, the mixture's parts."""


@lru_cache(maxsize=1)
def knots() -> FloatArray:
    """Return the ends of the bins of residuals, increasing: float64[705], read-only."""
    step = np.arange(SIDE + 1)
    size = 2.0 ** (step // STEPS) * (1 + step % STEPS / STEPS) - 1
    size[-1] = 2.0**OCTAVES - 1
    found = np.concatenate([-size[:0:-1], size])
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1)
def middles() -> FloatArray:
    """Return the middles of the bins: float64[704], read-only."""
    found = (knots()[1:] + knots()[:-1]) / 2
    found.flags.writeable = False
    return found


def log_density(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Return logarithms of the density of a change of every width with noise on top.

    Parameters
    ----------
    value : float64[n]
    laplace : bool
        Laplace noise, whose variance is 1; otherwise normal noise.
    variance : float
        Of normal noise.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        spread = variance + WIDTHS**2
        return np.asarray(-0.5 * value[:, None] ** 2 / spread - 0.5 * np.log(2 * np.pi * spread))
    found = np.empty((value.size, WIDTHS.size))
    found[:, 0] = -np.abs(value) / SCALE - math.log(2 * SCALE)
    upper, lower = _log_parts(value)
    found[:, 1:] = np.logaddexp(upper, lower) - math.log(2 * SCALE)
    return found


def posterior_mean(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Return the expected change, given it and the noise together, for every width.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        return np.asarray(value[:, None] * (WIDTHS**2 / (WIDTHS**2 + variance)))
    found, width = np.zeros((value.size, WIDTHS.size)), WIDTHS[1:]
    upper, lower = _log_parts(value)
    # The change is normal around +drift below the size and around -drift above it, cut off there.
    above, below = _ends(value)
    drift, factor = width**2 / SCALE, width * math.sqrt(2 / math.pi)
    first = drift - factor / erfcx(-above / math.sqrt(2))
    second = factor / erfcx(-below / math.sqrt(2)) - drift
    share = np.exp(upper - np.logaddexp(upper, lower))
    found[:, 1:] = np.sign(value)[:, None] * (share * first + (1 - share) * second)
    return found


def _ends(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the two normal pieces of such a density are cut off, in their own units."""
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    return size / width - width / SCALE, -size / width - width / SCALE


def _log_parts(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithms of both pieces of a Laplace density convolved with normal ones of all widths.

    With the scaled complement of the error function, as large numbers would cancel otherwise.
    """
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    above, below = _ends(value)
    rest, tilt = -0.5 * (size / width) ** 2 - math.log(2), (width / SCALE) ** 2 / 2 - size / SCALE
    near = rest + np.log(erfcx(-np.minimum(above, 0) / math.sqrt(2)))
    upper = np.where(above > 0, tilt + log_normal(np.maximum(above, 0)), near)
    return upper, rest + np.log(erfcx(-below / math.sqrt(2)))
