"""Priors of true flows from noisy ones (deconvolution), and what noisy flows say under them.

Pairs of a class have about the same expected flow. Their noisy flows are counted in bins; the prior
of the class is a distribution on a few values, its support, with a given mean, that makes these
counts most likely: a non-parametric maximum likelihood (Kiefer and Wolfowitz 1956) by expectation
and maximisation.
"""

from __future__ import annotations

import math

from geodp.kernels.jit import bare, bare_inline
from geodp.kinds.flows.kernels.balancing import class_of
from geodp.typing import EntryArray, FloatArray, IntArray

HALVINGS = 50
"""Steps in which a multiplier is found, to a relative error of 2**-50."""


@bare_inline
def bin_of(noisy: float, step: float, most: int) -> int:
    """Return the bin of a noisy flow: from ``-most`` to ``most``, or ``most + 1`` beyond."""
    if noisy > (most + 0.5) * step:
        return most + 1
    return max(math.floor(noisy / step + 0.5), -most)


@bare
def sum_bins(
    expected: FloatArray,
    noisy: FloatArray,
    step: float,
    counts: IntArray,
    sums: FloatArray,
) -> None:
    """Count the pairs of each class by bin, and sum what is expected of them and lies beyond.

    Parameters
    ----------
    expected : float64[a, b]
        Pairs of which nothing is expected are left out.
    noisy : float64[a, b]
    step : float
        Width of a bin.
    counts : int64[CLASSES, 2 * most + 2]
        Added to; the last bin is of all pairs beyond.
    sums : float64[CLASSES, 2]
        Added to: expected flows of all pairs, and noisy flows of those beyond.
    """
    most = counts.shape[1] // 2 - 1
    for i in range(expected.shape[0]):
        for j in range(expected.shape[1]):
            if expected[i, j] > 0.0:
                which = class_of(expected[i, j])
                at = bin_of(noisy[i, j], step, most) + most
                counts[which, at] += 1
                sums[which, 0] += expected[i, j]
                if at == counts.shape[1] - 1:
                    sums[which, 1] += noisy[i, j]


@bare
def density(apart: float, variance: float, normal: bool) -> float:
    """Return the density of noise, up to a factor: of a normal law, or of one of Laplace."""
    if normal:
        return math.exp(-0.5 * apart * apart / variance)
    return math.exp(-abs(apart) / math.sqrt(0.5 * variance))


@bare
def fill_likelihood(
    value: FloatArray, support: FloatArray, variance: float, normal: bool, out: FloatArray
) -> None:
    """Fill in how likely noisy flows are of each true one: float64[values, support].

    Each row is divided by its largest entry, which changes no posterior.
    """
    for i in range(value.size):
        least = math.inf
        for k in range(support.size):
            least = min(least, abs(value[i] - support[k]))
        most = density(least, variance, normal)
        for k in range(support.size):
            if most > 0.0:
                out[i, k] = density(value[i] - support[k], variance, normal) / most
            else:
                out[i, k] = 1.0 if abs(value[i] - support[k]) == least else 0.0


@bare
def learn_prior(
    likelihood: FloatArray,
    count: IntArray,
    support: FloatArray,
    mean: float,
    rounds: int,
    work: FloatArray,
    prior: FloatArray,
) -> None:
    """Improve a prior by expectation and maximisation, and keep its mean.

    Parameters
    ----------
    likelihood : float64[bins, support]
        See :func:`fill_likelihood`.
    count : int64[bins]
        Pairs in each bin.
    support : float64[support]
        Increasing, from 0 on.
    mean : float
        Mean of the prior, above 0 and below the last value of the support.
    rounds : int
    work : float64[support]
        Overwritten.
    prior : float64[support]
        Overwritten: what it is before is where it begins.
    """
    number = 0.0
    for i in range(count.size):
        number += count[i]
    for _ in range(rounds):
        work[:] = 0.0
        for i in range(count.size):
            if count[i] > 0:
                total = 0.0
                for k in range(support.size):
                    total += likelihood[i, k] * prior[k]
                if total > 0.0:
                    for k in range(support.size):
                        work[k] += count[i] * likelihood[i, k] * prior[k] / total
        for k in range(support.size):
            work[k] /= number
        keep_mean(work, support, mean, prior)


@bare
def keep_mean(weight: FloatArray, support: FloatArray, mean: float, prior: FloatArray) -> None:
    """Fill in the most likely prior with a mean, given weights of its values: float64[support].

    It is ``weight / (1 + t (support - mean))``, divided by its sum, for the one ``t`` that gives
    the mean.
    """
    low = -1.0 / (support[support.size - 1] - mean)
    high = 1.0 / mean
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        apart = 0.0
        for k in range(support.size):
            beyond = support[k] - mean
            apart += weight[k] * beyond / (1.0 + middle * beyond)
        if apart > 0.0:
            low = middle
        else:
            high = middle
    total = 0.0
    for k in range(support.size):
        prior[k] = weight[k] / (1.0 + 0.5 * (low + high) * (support[k] - mean))
        total += prior[k]
    for k in range(support.size):
        prior[k] /= total


@bare
def cumulate(likelihood: FloatArray, prior: FloatArray, out: FloatArray) -> None:
    """Fill in the posterior of every noisy flow, as cumulative sums: float64[bins, support]."""
    for i in range(out.shape[0]):
        total = 0.0
        for k in range(prior.size):
            total += likelihood[i, k] * prior[k]
            out[i, k] = total
        for k in range(prior.size):
            out[i, k] = out[i, k] / total if total > 0.0 else 1.0


@bare
def find_moments(
    cumulated: FloatArray, support: FloatArray, mean: FloatArray, variance: FloatArray
) -> None:
    """Fill in means and variances of posteriors: float64[bins] each."""
    for i in range(cumulated.shape[0]):
        first, square, before = 0.0, 0.0, 0.0
        for k in range(support.size):
            part = cumulated[i, k] - before
            before = cumulated[i, k]
            first += part * support[k]
            square += part * support[k] * support[k]
        mean[i] = first
        variance[i] = max(square - first * first, 0.0)


@bare
def find_quantiles(
    cumulated: FloatArray, support: FloatArray, level: float, out: FloatArray
) -> None:
    """Fill in a quantile of posteriors: float64[bins].

    Between two values of the support the cumulative sum is interpolated.
    """
    for i in range(cumulated.shape[0]):
        k = 0
        while k < support.size - 1 and cumulated[i, k] < level:
            k += 1
        if k == 0:
            out[i] = support[0]
            continue
        before = cumulated[i, k - 1]
        part = cumulated[i, k] - before
        share = min((level - before) / part, 1.0) if part > 0.0 else 1.0
        out[i] = support[k - 1] + share * (support[k] - support[k - 1])


@bare
def find_entries(
    expected: FloatArray,
    noisy: FloatArray,
    step: float,
    merged: IntArray,
    most: int,
    entry: EntryArray,
) -> None:
    """Fill in the entry of every pair in tables by class and bin: uint16[a, b].

    ``merged``: int64[CLASSES], the class whose table each class uses. Pairs of which nothing is
    expected have an entry of their own, after all others.
    """
    size = 2 * most + 2
    for i in range(expected.shape[0]):
        for j in range(expected.shape[1]):
            if expected[i, j] > 0.0:
                at = bin_of(noisy[i, j], step, most) + most
                entry[i, j] = merged[class_of(expected[i, j])] * size + at
            else:
                entry[i, j] = merged.size * size


@bare
def look_up(noisy: FloatArray, entry: EntryArray, table: FloatArray, out: FloatArray) -> None:
    """Fill in flows from a table: float64[a, b].

    Parameters
    ----------
    noisy : float64[a, b]
    entry : uint16[a, b]
        See :func:`find_entries`.
    table : float64[entries]
        Not a number: the flow is the noisy one.
    out : float64[a, b]
    """
    for i in range(noisy.shape[0]):
        for j in range(noisy.shape[1]):
            value = table[entry[i, j]]
            out[i, j] = noisy[i, j] if math.isnan(value) else value


@bare
def rake_columns(
    value: FloatArray,
    entry: EntryArray,
    variance: FloatArray,
    factor: FloatArray,
    sums: FloatArray,
) -> None:
    """Add to some rows of flows multiples of their variances, from 0 on, and sum what they become.

    Parameters
    ----------
    value : float64[a, b]
        Overwritten.
    entry : uint16[a, b]
    variance : float64[entries]
    factor : float64[b]
        Multiple of each column.
    sums : float64[a, 2]
        Overwritten: sums of rows, and of their variances.
    """
    for i in range(value.shape[0]):
        total, spread = 0.0, 0.0
        for j in range(value.shape[1]):
            some = variance[entry[i, j]]
            value[i, j] = max(value[i, j] + factor[j] * some, 0.0)
            total += value[i, j]
            spread += some
        sums[i, 0], sums[i, 1] = total, spread


@bare
def rake_rows(
    value: FloatArray,
    entry: EntryArray,
    variance: FloatArray,
    factor: FloatArray,
    sums: FloatArray,
) -> None:
    """Do as :func:`rake_columns` does with a multiple of each row, and sum what columns become.

    ``factor``: float64[a]; ``sums``: float64[2, b], added to: columns, and their variances.
    """
    for i in range(value.shape[0]):
        for j in range(value.shape[1]):
            some = variance[entry[i, j]]
            value[i, j] = max(value[i, j] + factor[i] * some, 0.0)
            sums[0, j] += value[i, j]
            sums[1, j] += some
