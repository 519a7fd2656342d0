"""Functions of the normal law that NumPy lacks, accurate to the last digits of float64.

SciPy has them, but takes long to import.
"""

from __future__ import annotations

import math

import numpy as np

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
