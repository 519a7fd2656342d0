"""Residuals of predicted counts: gathered as whole numbers, and made smaller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, kernel

STEPS = 32
"""Bins of an octave of 1 + |residual|, a residual in units of the noise's standard deviation."""

OCTAVES = 11
"""Beyond ``2**11`` standard deviations all residuals are alike: they are believed."""

SIDE = OCTAVES * STEPS
"""Bins on either side of 0."""

CLASSES = 42
"""Size classes of predictions, two an octave: 0 for those of 0, 14.5 for one standard deviation."""

FINE = 256.0
"""Steps of a standard deviation in which sizes of residuals are added up."""

LOW_BITS = 31
"""Binary digits of the lower part of such a sum."""

_LARGEST = 2.0**61

_FRACTION = 52
_ONE = 1023
_PLACES = _FRACTION - 5
"""Of a float64: bits of its fraction, exponent of 1, and the fraction's bits within a bin."""

_ROOT = 0x6A09E667F3BCD
"""Fraction of the square root of 2, rounded up."""


@bare_inline
def size_class(size: float) -> int:
    """``1 + floor(2 log2(size)) + 14`` between 1 and 41, exactly; 0 of nothing.

    ``size``: of a prediction, in standard deviations of the noise.
    """
    if not size > 0:
        return 0
    bits = np.float64(size).view(np.int64)
    half = int(2 * ((bits >> _FRACTION) - _ONE) + (bits & ((1 << _FRACTION) - 1) >= _ROOT))
    return min(max(half + 15, 1), CLASSES - 1)


@bare_inline
def _locate(size: float) -> tuple[int, float]:
    """Bin of a size below ``2**OCTAVES - 1``, and how far inside of it that is, in [0, 1)."""
    bits = np.float64(1.0 + size).view(np.int64)
    inside = float(bits & ((1 << _PLACES) - 1)) * 2.0**-_PLACES
    return int((bits >> _PLACES) - _ONE * STEPS), inside


@bare_inline
def note(
    measured: float,
    predictions: tuple[float, float],
    unit: float,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add a residual to a histogram, see :func:`gather`; ``unit``: one over the deviation."""
    most, low = 2.0**OCTAVES - 1, (1 << LOW_BITS) - 1
    predicted, even = predictions
    residual = (measured - predicted) * unit
    size = abs(residual)
    place = _locate(size)[0] if size < most else SIDE - 1
    place = SIDE + place if residual >= 0 else SIDE - 1 - place
    bins[size_class(predicted * unit), place] += 1
    steps = np.int64(min(size * FINE, _LARGEST))
    sums[0, 0] += steps >> LOW_BITS
    sums[0, 1] += steps & low
    steps = np.int64(min(abs(measured - even) * unit * FINE, _LARGEST))
    sums[1, 0] += steps >> LOW_BITS
    sums[1, 1] += steps & low


@kernel
def gather(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    even: NDArray[np.float64],
    sd: float,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add residuals to a histogram, and their sizes to those of another prediction.

    Parameters
    ----------
    measured, predicted, even : float64[n]
        Counts with noise; what two predictions say of them.
    sd : float
        Standard deviation of the noise.
    bins : int64[CLASSES, 2 * SIDE], added to
        Residuals of ``predicted`` by its size class and their own size.
    sums : int64[2, 2], added to
        Of ``predicted`` and of ``even``: sizes of residuals in steps of ``sd / FINE``, as a sum of
        upper parts and one of the lower ``LOW_BITS`` digits.
    """
    unit = 1 / sd
    for n in range(measured.size):
        i = np.uint64(n)
        note(measured[i], (predicted[i], even[i]), unit, bins, sums)


@bare_inline
def bring_nearer(
    measured: float,
    predicted: float,
    sd: float,
    row: NDArray[np.int64],
    tables: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[float, float]:
    """Return an estimate and the factor of its variance, see :func:`shrink`."""
    keep, factor = tables
    unit = 1 / sd
    residual = (measured - predicted) * unit
    size = abs(residual)
    if not size < 2.0**OCTAVES - 1:
        return max(measured, 0.0), 1.0
    r, (place, inside) = row[size_class(predicted * unit)], _locate(size)
    at, step = (SIDE + place, 1) if residual >= 0 else (SIDE - place, -1)
    kept = keep[r, at] + inside * (keep[r, at + step] - keep[r, at])
    left = factor[r, at] + inside * (factor[r, at + step] - factor[r, at])
    return max(predicted + kept * sd, 0.0), left


@kernel
def shrink(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    sd: float,
    row: NDArray[np.int64],
    tables: tuple[NDArray[np.float64], NDArray[np.float64]],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Estimates between what is measured and what is predicted.

    Parameters
    ----------
    measured, predicted : float64[n]
    sd : float
        Unit of the tables.
    row : int64[CLASSES]
        Of the tables, for each size class.
    tables : float64[r, 2 * SIDE + 1], float64[r, 2 * SIDE + 1]
        What is kept of a residual, in units of ``sd``, and the factor of the variance, at the bins'
        ends; between these they are straight.
    out : float64[n], float64[n], written
        Estimates, not below 0, and factors of the variance.
    """
    for n in range(measured.size):
        i = np.uint64(n)
        out[0][i], out[1][i] = bring_nearer(measured[i], predicted[i], sd, row, tables)
