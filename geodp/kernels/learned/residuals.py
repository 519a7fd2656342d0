"""Residuals of predicted counts: a histogram, mixtures of distributions that fit it, and shrinkage.

All sums are integers, so that they are the same for any order, number of threads or partition of
the nodes. :mod:`geodp.mechanisms.learned` makes the tables of shrinkage from the mixtures,
whose distributions have different widths.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, inline, kernel, part

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


SLIGHT = 1e-9
"""Components that are less likely than this are left out of a median."""

NEAR = 2.0**-20
"""Tolerance of a median: the grid of the tables, see ``mixture.STEP``."""

POSITIONS = 12
"""Most steps of the method of false position before the bisection."""

FAR = 64.0
"""Residuals beyond this belong to wide components, whose medians nearly equal their means."""

OUTSIDE = 6.1
"""Beyond this many times ``sqrt(2)`` standard deviations a normal law has less than 1e-17."""

MARGIN = 1 / 32
"""Fraction of the distance of two knots by which a median may differ from a straight line."""


@kernel
def fit_weights(
    count: NDArray[np.float64],
    likelihood: NDArray[np.float64],
    more: NDArray[np.float64],
    rounds: int,
) -> NDArray[np.float64]:
    """Fit the weights of a mixture by expectation maximisation, starting from equal ones.

    Parameters
    ----------
    count : float64[n]
        How often each value occurs.
    likelihood : float64[k, n]
        Likelihood of each value under each component, up to a factor of the value.
    more : float64[k]
        Pseudo-counts of the components.
    rounds : int

    Returns
    -------
    float64[k]
    """
    parts, values = likelihood.shape
    weight, updated = np.full(parts, 1.0 / parts), np.empty(parts)
    share, step = np.empty(values), np.uint64(4)
    for _ in range(rounds):
        share[:] = 0.0
        for k in range(parts):
            for i in range(values):
                share[i] += likelihood[k, i] * weight[k]
        for i in range(values):
            share[i] = count[i] / share[i] if share[i] > 0 else 0.0
        total = 0.0
        for k in range(parts):
            # Four partial sums in a fixed order: faster than one, and the same on every machine.
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            at, one = np.uint64(0), np.uint64(1)
            for _ in range(values // 4):
                a += share[at] * likelihood[k, at]
                b += share[at + one] * likelihood[k, at + one]
                c += share[at + one + one] * likelihood[k, at + one + one]
                d += share[at + one + one + one] * likelihood[k, at + one + one + one]
                at += step
            for j in range(values // 4 * 4, values):
                a += share[j] * likelihood[k, j]
            updated[k] = more[k] + weight[k] * ((a + b) + (c + d))
            total += updated[k]
        for k in range(parts):
            weight[k] = updated[k] / total
    return weight


@kernel
def expect(
    likelihood: NDArray[np.float64],
    mean: NDArray[np.float64],
    factor: NDArray[np.float64],
    weight: NDArray[np.float64],
    empty: tuple[NDArray[np.float64], float],
    share: NDArray[np.float64],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Compute the expected change at each residual, and the factor of its variance.

    Parameters
    ----------
    likelihood, mean : float64[n, k]
        Likelihood of each residual under each width, up to a factor of the residual, and the
        expected change given both.
    factor : float64[k]
        Factor of the variance for each width.
    weight : float64[k] or float64[k + 1]
        Weights of the widths, then that of cells that have become empty.
    empty : float64[n], float
        Likelihoods of such cells, read if they have a weight; and the count that they have lost.
    share : float64[n, k or k + 1], written
        Probabilities of the components.
    out : float64[n], float64[n], written
        Expected changes, and factors of the variance.
    """
    # Sums run over the components in order, so that they are the same on every machine.
    widths, parts = factor.size, weight.size
    for i in range(likelihood.shape[0]):
        total, left, change = 0.0, 0.0, 0.0
        for k in range(widths):
            share[i, k] = likelihood[i, k] * weight[k]
            total += share[i, k]
        if parts > widths:
            share[i, widths] = empty[0][i] * weight[widths]
            total += share[i, widths]
        for k in range(widths):
            share[i, k] /= total
            left += share[i, k] * factor[k]
            change += share[i, k] * mean[i, k]
        if parts > widths:
            share[i, widths] /= total
            change -= share[i, widths] * empty[1]
        out[0][i], out[1][i] = change, left


@inline
def _below(
    change: float,
    middle: float,
    chances: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
) -> float:
    """Return the probability of at most this change; ``chances``: a row of ``share``."""
    widths = sd.size
    probability = chances[0] if change >= 0 else 0.0
    if change >= -middle:
        probability += chances[widths]
    for k in range(1, widths):
        if chances[k] > SLIGHT:
            away = (mean[k] - change) / sd[k] * 0.7071067811865476
            if away < -OUTSIDE:
                probability += chances[k]
            elif away < OUTSIDE:
                probability += chances[k] * 0.5 * math.erfc(away)
    return probability


@inline
def _enclose(
    ends: tuple[float, float],
    near: tuple[float, float],
    middle: float,
    chances: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
) -> tuple[float, float]:
    """Enclose a median: exactly at a jump, otherwise by the method of false position.

    Below the first result the probability is below one half, from the second on it is not.
    ``near``: an interval that is likely to contain the median.
    """
    # The distribution function jumps at 0 (no change) and at -middle (cells that became empty):
    # the median is often there, where false position would not converge.
    under, over = ends
    less, more = -0.5, 0.5
    for k in range(2):
        point = near[k]
        if not under < point < over:
            continue
        upto = _below(point, middle, chances, mean, sd) - 0.5
        if upto < 0:
            under, less = point, upto
        else:
            over, more = point, upto
    for k in range(2):
        point, jump = (-middle, chances[sd.size]) if k else (0.0, chances[0])
        if not under < point < over:
            continue
        upto = _below(point, middle, chances, mean, sd) - 0.5
        if upto < 0:
            under, less = point, upto
            continue
        over, more = point, upto - jump
        if more < SLIGHT:
            return (point, point) if more < -SLIGHT else (under, over)
    side = 0
    for _ in range(POSITIONS):
        if over - under <= NEAR:
            break
        change = under + (over - under) * (less / (less - more))
        upto = _below(change, middle, chances, mean, sd) - 0.5
        if upto < 0:
            under, less = change, upto
            more, side = more / 2 if side < 0 else more, -1
        else:
            over, more = change, upto
            less, side = less / 2 if side > 0 else less, 1
    return under, over


@kernel
def medians(
    value: NDArray[np.float64],
    share: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    middle: float,
    out: NDArray[np.float64],
) -> None:
    """Compute medians of changes: a mixture of no change, normal changes, and emptied cells.

    Parameters
    ----------
    value : float64[n]
        Residuals, increasing: the medians lie between them, 0 and ``-middle``.
    share : float64[n, k + 1]
        Probabilities of no change, of the widths' changes, and of cells that have become empty.
    mean : float64[n, k]
        Means of the changes by width; the first is not read.
    sd : float64[k]
    middle : float
        The count that emptied cells have lost.
    out : float64[n], changed
        Means; afterwards medians within ``2**-20``, except where residuals are large.
    """
    # The bisection alone decides the result, and the enclosure only saves evaluations of ``erfc``:
    # so results lie on one grid of halvings, and its last digits hardly ever matter.
    seen, slope = -1, 0.0
    for n in range(value.size):
        if abs(value[n]) > FAR:
            continue
        low, high = min(value[n], -middle) - 1.0, max(value[n], 0.0) + 1.0
        near = low, high
        if seen >= 0:  # the medians of neighbours lie on a line, nearly
            step = value[n] - value[seen]
            likely, margin = out[seen] + slope * step, MARGIN * step
            near = likely - margin, likely + margin
        under, over = _enclose((low, high), near, middle, share[n], mean[n], sd)
        while high - low > NEAR:
            change = (low + high) / 2
            if change < under:
                low = change
            elif change >= over or _below(change, middle, share[n], mean[n], sd) >= 0.5:
                high = change
            else:
                low = change
        out[n] = high
        if seen >= 0:
            slope = (out[n] - out[seen]) / (value[n] - value[seen])
        seen = n
