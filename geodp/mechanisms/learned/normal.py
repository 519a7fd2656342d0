"""Functions of the normal law that NumPy has not, in float64 and to its last digits."""

from __future__ import annotations

import math

import numpy as np

from geodp.typing import FloatArray

FAR, FARTHEST = 2.0, 50.0
"""From here on the scaled complement is a continued fraction, and one of five terms."""

TERMS = 60
"""Of that fraction: at ``FAR`` the rest is less than float64 can tell, and beyond it less still."""


def erfc(x: FloatArray) -> FloatArray:
    """Return the complement of the error function, as :func:`math.erfc` of every number.

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
    """Return ``exp(x**2) * erfc(x)``, which does not vanish where ``erfc(x)`` does.

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
    # Multiplied out in this order, as in SciPy: what is taken from it nearly cancels.
    square = far * far
    five = root * (square * (square + 4.5) + 2) / (far * (square * (square + 5) + 3.75))
    found = np.where(size > FARTHEST, five, root / rest)
    found = np.where(size < FAR, np.exp(near**2) * erfc(near), found)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(x < 0, 2 * np.exp(np.minimum(x, 0) ** 2) - found, found))


def log_normal(x: FloatArray) -> FloatArray:
    """Return logarithms of the standard normal law's distribution function at x of 0 or more.

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
