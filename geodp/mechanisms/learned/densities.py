"""Noise on top of a normal change, in closed form; everything in units of the noise's deviation.

Functions of the normal law are accurate to the last digits of float64. SciPy has them, too, but
takes long to import.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from geodp.kernels.learned.residuals import OCTAVES, SIDE, STEPS
from geodp.typing import FloatArray

FAR, FARTHEST = 2.0, 50.0
"""Sizes from which the scaled complement is computed as a continued fraction, and as one of five
terms."""

TERMS = 60
"""Terms of that fraction: from ``FAR`` on the remainder is below the precision of float64."""


def erfc(x: FloatArray) -> FloatArray:
    """Compute the complementary error function of every number with :func:`math.erfc`.

    Parameters
    ----------
    x : float64[...]

    Returns
    -------
    float64[...]
    """
    values = [math.erfc(one) for one in x.ravel().tolist()]
    return np.array(values, np.float64).reshape(x.shape)


def erfcx(x: FloatArray) -> FloatArray:
    """Compute ``exp(x**2) * erfc(x)``, which does not underflow where ``erfc(x)`` does.

    Parameters
    ----------
    x : float64[...]
        Below -26 the value is beyond float64, and infinite.

    Returns
    -------
    float64[...]

    Examples
    --------
    >>> erfcx(np.array([-30.0, 0.0, 1.0, 1e6])).round(12).tolist()
    [inf, 1.0, 0.427583576156, 5.6419e-07]
    """
    size, root = np.abs(x), 1 / math.sqrt(math.pi)
    near, far = np.minimum(size, FAR), np.maximum(size, FAR)
    rest = far.copy()
    for k in range(TERMS, 0, -1):
        rest = far + k / 2 / rest
    # Multiplied out in this order, as in SciPy: callers subtract nearly equal numbers from it.
    square = far * far
    five = root * (square * (square + 4.5) + 2) / (far * (square * (square + 5) + 3.75))
    result = np.where(size > FARTHEST, five, root / rest)
    result = np.where(size < FAR, np.exp(near**2) * erfc(near), result)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(x < 0, 2 * np.exp(np.minimum(x, 0) ** 2) - result, result))


def log_normal(x: FloatArray) -> FloatArray:
    """Compute logarithms of the standard normal distribution function at non-negative x.

    Parameters
    ----------
    x : float64[...]
        Not below 0.

    Returns
    -------
    float64[...]

    Examples
    --------
    >>> log_normal(np.array([0.0, 1.959963984540054])).round(6).tolist()
    [-0.693147, -0.025318]
    """
    return np.asarray(np.log1p(-0.5 * erfc(x / math.sqrt(2))))


SCALE = 1 / math.sqrt(2)
"""Scale of Laplace noise with standard deviation 1."""

WIDTHS = np.concatenate([[0.0], 2.0 ** np.arange(-4, 13)])
"""Standard deviations of the mixture's components: of changes since the prediction was made."""


@lru_cache(maxsize=1)
def knots() -> FloatArray:
    """Compute the ends of the bins of residuals, increasing: float64[705], read-only."""
    # The bins of geodp.kernels.learned.residuals: their ends are exact floats.
    step = np.arange(SIDE + 1)
    size = 2.0 ** (step // STEPS) * (1 + step % STEPS / STEPS) - 1
    size[-1] = 2.0**OCTAVES - 1
    ends = np.concatenate([-size[:0:-1], size])
    ends.flags.writeable = False
    return ends


@lru_cache(maxsize=1)
def middles() -> FloatArray:
    """Compute the middles of the bins: float64[704], read-only."""
    centres = (knots()[1:] + knots()[:-1]) / 2
    centres.flags.writeable = False
    return centres


def log_density(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Compute log densities of a change of every width plus noise.

    Parameters
    ----------
    value : float64[n]
    laplace : bool
        Laplace noise, whose variance is 1; otherwise normal noise.
    variance : float
        Variance of normal noise.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        spread = variance + WIDTHS**2
        return np.asarray(-0.5 * value[:, None] ** 2 / spread - 0.5 * np.log(2 * np.pi * spread))
    densities = np.empty((value.size, WIDTHS.size))
    densities[:, 0] = -np.abs(value) / SCALE - math.log(2 * SCALE)
    upper, lower = _log_parts(value)
    densities[:, 1:] = np.logaddexp(upper, lower) - math.log(2 * SCALE)
    return densities


def posterior_mean(value: FloatArray, laplace: bool, variance: float = 1.0) -> FloatArray:
    """Compute the expected change for every width, given the sum of change and noise.

    Returns
    -------
    float64[n, 18]
    """
    if not laplace:
        return np.asarray(value[:, None] * (WIDTHS**2 / (WIDTHS**2 + variance)))
    means, width = np.zeros((value.size, WIDTHS.size)), WIDTHS[1:]
    upper, lower = _log_parts(value)
    # The change is normal around +drift below the size and around -drift above it, cut off there.
    above, below = _ends(value)
    drift, factor = width**2 / SCALE, width * math.sqrt(2 / math.pi)
    first = drift - factor / erfcx(-above / math.sqrt(2))
    second = factor / erfcx(-below / math.sqrt(2)) - drift
    share = np.exp(upper - np.logaddexp(upper, lower))
    means[:, 1:] = np.sign(value)[:, None] * (share * first + (1 - share) * second)
    return means


def _ends(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return where the two normal pieces of such a density are cut off, in their own units."""
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    return size / width - width / SCALE, -size / width - width / SCALE


def _log_parts(value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the logarithms of both pieces of a Laplace density convolved with normal ones."""
    # By the scaled complementary error function: otherwise large numbers would cancel.
    width, size = WIDTHS[1:], np.abs(value)[:, None]
    above, below = _ends(value)
    rest, tilt = -0.5 * (size / width) ** 2 - math.log(2), (width / SCALE) ** 2 / 2 - size / SCALE
    near = rest + np.log(erfcx(-np.minimum(above, 0) / math.sqrt(2)))
    upper = np.where(above > 0, tilt + log_normal(np.maximum(above, 0)), near)
    return upper, rest + np.log(erfcx(-below / math.sqrt(2)))
