"""Residuals of predicted counts: a histogram of them, and shrinkage by tables.

All sums are integers, so that they are the same for any order, number of threads or partition of
the nodes. :mod:`geodp.mechanisms.learned` makes the tables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, kernel, part

STEPS = 32
"""Bins per octave of 1 + |residual|, in units of the noise's standard deviation."""

OCTAVES = 11
"""Beyond ``2**11`` standard deviations measurements are taken as they are."""

SIDE = OCTAVES * STEPS
"""Number of bins on each side of 0."""

CLASSES = 42
"""Size classes of predictions, two per octave. Class 0 is a prediction of 0, and classes 14 and 15
meet at one standard deviation of the noise."""

FINE = 256.0
"""Steps per standard deviation in which the sizes of residuals are added up."""

LOW_BITS = 31
"""Binary digits of the lower part of such a sum, which is stored in two parts: residuals can have
61 bits, and many of them would overflow one."""

_LARGEST = 2.0**61

_FRACTION = 52
_ONE = 1023
_PLACES = _FRACTION - 5
"""Layout of a float64: bits of the fraction, exponent of 1.0, and the fraction's bits within a bin.
With 32 bins an octave a float's own bits give the bin, without a logarithm whose last digit could
differ between machines."""

_ROOT = 0x6A09E667F3BCD
"""Fraction of the square root of 2, rounded up."""


@bare_inline
def size_class(size: float) -> int:
    """Return ``1 + floor(2 log2(size)) + 14`` between 1 and 41, exactly; 0 for a size of 0.

    ``size``: a prediction in standard deviations of the noise.
    """
    # From the bits of the float, as log2 may differ in the last digit between libraries.
    bits = np.float64(size).view(np.int64)
    half = int(2 * ((bits >> _FRACTION) - _ONE) + (bits & ((1 << _FRACTION) - 1) >= _ROOT))
    return min(max(half + 15, 1), CLASSES - 1) if size > 0 else 0


@bare_inline
def _locate(size: float) -> tuple[int, float]:
    """Return the bin of a size below ``2**OCTAVES - 1``, and its position there, in [0, 1)."""
    bits = np.float64(1.0 + size).view(np.int64)
    inside = float(bits & ((1 << _PLACES) - 1)) * 2.0**-_PLACES
    return int((bits >> _PLACES) - _ONE * STEPS), inside


@part
def note(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    even: NDArray[np.float64],
    inside: NDArray[np.bool_],
    unit: float,
    place: NDArray[np.int64],
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add residuals to a histogram, see :func:`gather`.

    Parameters
    ----------
    inside : bool[n] or bool[0]
        Which are added; size 0: all.
    unit : float
        One over the noise's standard deviation.
    place : int64[2, .], overwritten
        At least n columns.
    """
    limit, low = 2.0**OCTAVES - 1, (1 << LOW_BITS) - 1
    every, kind, where = inside.size == 0, place[0], place[1]
    high, rest, other, other_rest = 0, 0, 0, 0
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) * unit
        size = abs(residual)
        at = _locate(min(size, limit))[0] if size < limit else SIDE - 1
        where[i] = SIDE + at if residual >= 0 else SIDE - 1 - at
        kind[i] = size_class(predicted[i] * unit)
        # Sizes are rounded down to integers before they are summed, so the sums do not depend on
        # the order.
        steps = int(min(size * FINE, _LARGEST))
        evenly = int(min(abs(measured[i] - even[i]) * unit * FINE, _LARGEST))
        if not every:
            steps, evenly = (steps, evenly) if inside[i] else (0, 0)
        high += steps >> LOW_BITS
        rest += steps & low
        other += evenly >> LOW_BITS
        other_rest += evenly & low
    sums[0, 0] += high
    sums[0, 1] += rest
    sums[1, 0] += other
    sums[1, 1] += other_rest
    for n in range(measured.size):
        i = np.uint64(n)
        bins[np.uint64(kind[i]), np.uint64(where[i])] += 1 if every else np.int64(inside[i])


@kernel
def gather(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    even: NDArray[np.float64],
    sd: float,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add residuals to a histogram, and the sizes of the residuals of two predictions to sums.

    Parameters
    ----------
    measured, predicted, even : float64[n]
        Noisy counts, and two predictions of them.
    sd : float
        Standard deviation of the noise.
    bins : int64[CLASSES, 2 * SIDE], added to
        Residuals of ``predicted``, by size class of the prediction and by residual.
    sums : int64[2, 2], added to
        For ``predicted`` and ``even``: sizes of residuals in steps of ``sd / FINE``, as a sum of
        upper parts and a sum of the lower ``LOW_BITS`` digits.
    """
    place, every = np.empty((2, measured.size), np.int64), np.empty(0, np.bool_)
    note(measured, predicted, even, every, 1 / sd, place, bins, sums)


@part
def bring_nearer(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    sd: float,
    row: NDArray[np.int64],
    table: NDArray[np.float64],
    place: NDArray[np.int64],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Shrink residuals and look up factors of the variance, see :func:`shrink`.

    Parameters
    ----------
    place : int64[2, .], overwritten
        At least n columns.
    out : float64[n], float64[n], written
        The first may be ``measured``.
    """
    better, left = out
    unit, limit, kind, where = 1 / sd, 2.0**OCTAVES - 1, place[0], place[1]
    below = limit - 2.0**-41
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) * unit
        at, inside = _locate(min(abs(residual), below))
        kind[i] = size_class(predicted[i] * unit)
        where[i] = SIDE + at if residual >= 0 else SIDE - at
        # Positions first and table entries in a second loop, so that the first one, which reads no
        # table, can be vectorised.
        left[i] = inside
    one, keep, factor = np.uint64(1), np.uint64(0), np.uint64(1)
    for n in range(measured.size):
        i = np.uint64(n)
        r, here, inside = np.uint64(row[np.uint64(kind[i])]), np.uint64(where[i]), left[i]
        residual = (measured[i] - predicted[i]) * unit
        after = here + one if residual >= 0 else here - one
        shrunk = table[r, here, keep] + inside * (table[r, after, keep] - table[r, here, keep])
        part_left = table[r, here, factor]
        part_left += inside * (table[r, after, factor] - part_left)
        near = abs(residual) < limit
        better[i] = max(predicted[i] + shrunk * sd if near else measured[i], 0.0)
        left[i] = part_left if near else 1.0


@kernel
def shrink(
    measured: NDArray[np.float64],
    predicted: NDArray[np.float64],
    sd: float,
    row: NDArray[np.int64],
    table: NDArray[np.float64],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Compute estimates between measurements and predictions.

    Parameters
    ----------
    measured, predicted : float64[n]
    sd : float
        Unit of the tables.
    row : int64[CLASSES]
        Row of the tables for each size class.
    table : float64[r, 2 * SIDE + 1, 2]
        The shrunk residual in units of ``sd``, and the factor of the variance, at the ends of the
        bins; linear between them.
    out : float64[n], float64[n], written
        Estimates, not below 0, and factors of the variance.
    """
    place = np.empty((2, measured.size), np.int64)
    bring_nearer(measured, predicted, sd, row, table, place, out)
