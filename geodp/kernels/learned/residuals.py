"""Residuals of predicted counts: gathered as whole numbers, and made smaller."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, kernel, part

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
    bits = np.float64(size).view(np.int64)
    half = int(2 * ((bits >> _FRACTION) - _ONE) + (bits & ((1 << _FRACTION) - 1) >= _ROOT))
    return min(max(half + 15, 1), CLASSES - 1) if size > 0 else 0


@bare_inline
def _locate(size: float) -> tuple[int, float]:
    """Bin of a size below ``2**OCTAVES - 1``, and how far inside of it that is, in [0, 1)."""
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
        Which are added; none: all.
    unit : float
        One over the noise's standard deviation.
    place : int64[2, .], overwritten
        Room for n.
    """
    most, low = 2.0**OCTAVES - 1, (1 << LOW_BITS) - 1
    every, kind, where = inside.size == 0, place[0], place[1]
    high, rest, other, other_rest = 0, 0, 0, 0
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) * unit
        size = abs(residual)
        at = _locate(min(size, most))[0] if size < most else SIDE - 1
        where[i] = SIDE + at if residual >= 0 else SIDE - 1 - at
        kind[i] = size_class(predicted[i] * unit)
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
    """Estimate, and look up factors of the variance, see :func:`shrink`.

    Parameters
    ----------
    place : int64[2, .], overwritten
        Room for n.
    out : float64[n], float64[n], written
        The first may be ``measured``.
    """
    better, left = out
    unit, most, kind, where = 1 / sd, 2.0**OCTAVES - 1, place[0], place[1]
    below = most - 2.0**-41
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) * unit
        at, inside = _locate(min(abs(residual), below))
        kind[i] = size_class(predicted[i] * unit)
        where[i] = SIDE + at if residual >= 0 else SIDE - at
        left[i] = inside
    one, keep, factor = np.uint64(1), np.uint64(0), np.uint64(1)
    for n in range(measured.size):
        i = np.uint64(n)
        r, here, inside = np.uint64(row[np.uint64(kind[i])]), np.uint64(where[i]), left[i]
        residual = (measured[i] - predicted[i]) * unit
        after = here + one if residual >= 0 else here - one
        kept = table[r, here, keep] + inside * (table[r, after, keep] - table[r, here, keep])
        part_left = table[r, here, factor]
        part_left += inside * (table[r, after, factor] - part_left)
        near = abs(residual) < most
        better[i] = max(predicted[i] + kept * sd if near else measured[i], 0.0)
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
    """Estimates between what is measured and what is predicted.

    Parameters
    ----------
    measured, predicted : float64[n]
    sd : float
        Unit of the tables.
    row : int64[CLASSES]
        Of the tables, for each size class.
    table : float64[r, 2 * SIDE + 1, 2]
        What is kept of a residual, in units of ``sd``, and the factor of the variance, at the bins'
        ends; between these they are straight.
    out : float64[n], float64[n], written
        Estimates, not below 0, and factors of the variance.
    """
    place = np.empty((2, measured.size), np.int64)
    bring_nearer(measured, predicted, sd, row, table, place, out)
