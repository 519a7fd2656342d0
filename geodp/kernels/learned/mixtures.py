"""Mixtures of widths: fitted to residuals, and what they make of every residual."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

SLIGHT = 1e-9
"""Parts of a mixture that are less likely do not move a median."""

NEAR = 2.0**-20
"""How near a median is found."""

POSITIONS = 12
"""Most false positions that are tried before."""

FAR = 64.0
"""Residuals beyond are of wide changes, whose medians are as good as their means."""

OUTSIDE = 6.1
"""Beyond so many times the root of 2 deviations a normal law has less than 1e-17."""

MARGIN = 1 / 32
"""Of a knot's distance to the one before: about so near to a straight line the next median is."""


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
    likelihood : float64[k, n]
        Of each value under each part, up to a factor of the value's own.
    more : float64[k]
        Pseudo-counts of the parts.
    rounds : int

    Returns
    -------
    float64[k]
    """
    parts, values = likelihood.shape
    weight, found = np.full(parts, 1.0 / parts), np.empty(parts)
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
            a, b, c, d = 0.0, 0.0, 0.0, 0.0  # four sums side by side: none waits for another
            at, one = np.uint64(0), np.uint64(1)
            for _ in range(values // 4):
                a += share[at] * likelihood[k, at]
                b += share[at + one] * likelihood[k, at + one]
                c += share[at + one + one] * likelihood[k, at + one + one]
                d += share[at + one + one + one] * likelihood[k, at + one + one + one]
                at += step
            for j in range(values // 4 * 4, values):
                a += share[j] * likelihood[k, j]
            found[k] = more[k] + weight[k] * ((a + b) + (c + d))
            total += found[k]
        for k in range(parts):
            weight[k] = found[k] / total
    return weight


@kernel
def expect(
    likelihood: NDArray[np.float64],
    mean: NDArray[np.float64],
    kept: NDArray[np.float64],
    weight: NDArray[np.float64],
    empty: tuple[NDArray[np.float64], float],
    share: NDArray[np.float64],
    out: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Work out expected changes at residuals, and which part of their variance is left.

    Sums are taken one part after the other, in the same order on every machine.

    Parameters
    ----------
    likelihood, mean : float64[n, k]
        Of each residual under each width, up to a factor of the residual's own, and what is
        expected of the change then.
    kept : float64[k]
        Part of the variance that is left.
    weight : float64[k] or float64[k + 1]
        Of the widths, and at last of cells that are empty now.
    empty : float64[n], float
        Likelihoods of such cells, looked at where there is a weight of them; what they have lost.
    share : float64[n, k or k + 1], written
        Probabilities of the parts.
    out : float64[n], float64[n], written
        Expected changes, and parts of the variance.
    """
    widths, parts = kept.size, weight.size
    for i in range(likelihood.shape[0]):
        whole, left, change = 0.0, 0.0, 0.0
        for k in range(widths):
            share[i, k] = likelihood[i, k] * weight[k]
            whole += share[i, k]
        if parts > widths:
            share[i, widths] = empty[0][i] * weight[widths]
            whole += share[i, widths]
        for k in range(widths):
            share[i, k] /= whole
            left += share[i, k] * kept[k]
            change += share[i, k] * mean[i, k]
        if parts > widths:
            share[i, widths] /= whole
            change -= share[i, widths] * empty[1]
        out[0][i], out[1][i] = change, left


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
            away = (mean[k] - change) / sd[k] * 0.7071067811865476
            if away < -OUTSIDE:
                found += own[k]
            elif away < OUTSIDE:
                found += own[k] * 0.5 * math.erfc(away)
    return found


@inline
def _enclose(
    ends: tuple[float, float],
    near: tuple[float, float],
    middle: float,
    own: NDArray[np.float64],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
) -> tuple[float, float]:
    """Return two changes between which a median lies: at a jump, or by false positions.

    Below the first the probability is below one half, from the second on it is not. ``near``:
    between which two it is likely to lie.
    """
    under, over = ends
    less, more = -0.5, 0.5
    for k in range(2):
        point = near[k]
        if not under < point < over:
            continue
        upto = _below(point, middle, own, mean, sd) - 0.5
        if upto < 0:
            under, less = point, upto
        else:
            over, more = point, upto
    for k in range(2):
        point, jump = (-middle, own[sd.size]) if k else (0.0, own[0])
        if not under < point < over:
            continue
        upto = _below(point, middle, own, mean, sd) - 0.5
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
        upto = _below(change, middle, own, mean, sd) - 0.5
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
    """Medians of changes: a mixture of none, of normal ones, and of cells that are empty now.

    Parameters
    ----------
    value : float64[n]
        Residuals, increasing: the medians lie between them, 0 and ``-middle``.
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
