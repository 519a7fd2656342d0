"""Residuals of predicted counts: gathered as whole numbers, fitted, and made smaller."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

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

SLIGHT = 1e-9
"""Parts of a mixture that are less likely do not move a median."""

NEAR = 2.0**-20
"""How near a median is found."""

FAR = 64.0
"""Residuals beyond are of wide changes, whose medians are as good as their means."""

_LARGEST = 2.0**61


@inline
def size_class(predicted: float, sd: float) -> int:
    """``1 + floor(2 log2(predicted / sd)) + 14`` between 1 and 41, exactly; 0 of nothing."""
    if not predicted > 0:
        return 0
    mantissa, exponent = math.frexp(predicted / sd)
    half = 2 * exponent - (2 if mantissa < 0.7071067811865476 else 1)
    return min(max(half + 15, 1), CLASSES - 1)


@inline
def _locate(size: float) -> tuple[int, float]:
    """Bin of a size below ``2**OCTAVES - 1``, and how far inside of it that is, in [0, 1)."""
    mantissa, exponent = math.frexp(1.0 + size)
    at = (2 * mantissa - 1) * STEPS
    whole = int(at)
    return (exponent - 1) * STEPS + whole, at - whole


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
    most, low = 2.0**OCTAVES - 1, (1 << LOW_BITS) - 1
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) / sd
        size = abs(residual)
        place = _locate(size)[0] if size < most else SIDE - 1
        place = SIDE + place if residual >= 0 else SIDE - 1 - place
        bins[size_class(predicted[i], sd), place] += 1
        steps = np.int64(min(size * FINE, _LARGEST))
        sums[0, 0] += steps >> LOW_BITS
        sums[0, 1] += steps & low
        steps = np.int64(min(abs((measured[i] - even[i]) / sd) * FINE, _LARGEST))
        sums[1, 0] += steps >> LOW_BITS
        sums[1, 1] += steps & low


@kernel
def fit_weights(
    count: NDArray[np.float64],
    likelihood: NDArray[np.float64],
    more: NDArray[np.float64],
    rounds: int,
) -> NDArray[np.float64]:
    """Weights of a mixture by expectation and maximisation, from even ones on.

    Parameters
    ----------
    count : float64[n]
        How often each value was seen.
    likelihood : float64[n, k]
        Of each value under each part, up to a factor of the value's own.
    more : float64[k]
        Pseudo-counts of the parts.
    rounds : int

    Returns
    -------
    float64[k]
    """
    parts = likelihood.shape[1]
    weight, own = np.full(parts, 1.0 / parts), np.empty(parts)
    for _ in range(rounds):
        found, total = more.copy(), 0.0
        for i in range(count.size):
            if count[i] == 0:
                continue
            whole = 0.0
            for k in range(parts):
                own[k] = likelihood[i, k] * weight[k]
                whole += own[k]
            if whole > 0:
                share = count[i] / whole
                for k in range(parts):
                    found[k] += share * own[k]
        for k in range(parts):
            total += found[k]
        for k in range(parts):
            weight[k] = found[k] / total
    return weight


@inline
def _below(
    change: float,
    middle: float,
    own: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
) -> float:
    """Probability that a change is not above one; ``own`` as in :func:`medians`."""
    widths = sd.size
    found = own[0] if change >= 0 else 0.0
    if change >= -middle:
        found += own[widths]
    for k in range(1, widths):
        if own[k] > SLIGHT:
            found += own[k] * 0.5 * math.erfc((mean[k] - change) / sd[k] * 0.7071067811865476)
    return found


@kernel
def medians(
    value: NDArray[np.float64],
    share: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    middle: float,
    out: NDArray[np.float64],
) -> None:
    """Medians of changes: a mixture of none, of normal ones, and of cells that are empty now.

    Parameters
    ----------
    value : float64[n]
        Residuals: the medians lie between them, 0 and ``-middle``.
    share : float64[n, k + 1]
        Probabilities: of no change, of the widths' changes, of cells that are empty now.
    mean : float64[n, k]
        Of the changes by width; the first is not looked at.
    sd : float64[k]
    middle : float
        What cells that are empty now have lost.
    out : float64[n], changed
        Means; afterwards medians within ``2**-20``, but where residuals are large.
    """
    for n in range(value.size):
        if abs(value[n]) > FAR:
            continue
        low, high = min(value[n], -middle) - 1.0, max(value[n], 0.0) + 1.0
        while high - low > NEAR:
            change = (low + high) / 2
            if _below(change, middle, share[n], mean[n], sd) < 0.5:
                low = change
            else:
                high = change
        out[n] = high


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
    keep, factor = tables
    most = 2.0**OCTAVES - 1
    for n in range(measured.size):
        i = np.uint64(n)
        residual = (measured[i] - predicted[i]) / sd
        size = abs(residual)
        if not size < most:
            out[0][i], out[1][i] = max(measured[i], 0.0), 1.0
            continue
        r, (place, inside) = row[size_class(predicted[i], sd)], _locate(size)
        at, step = (SIDE + place, 1) if residual >= 0 else (SIDE - place, -1)
        kept = keep[r, at] + inside * (keep[r, at + step] - keep[r, at])
        out[0][i] = max(predicted[i] + kept * sd, 0.0)
        out[1][i] = factor[r, at] + inside * (factor[r, at + step] - factor[r, at])
