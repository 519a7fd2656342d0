"""What noisy flows say of true ones: priors that are learned from all pairs of a class.

Pairs of about the same expected flow differ: where trips go to few partners, most pairs have none
and a few have many; elsewhere all have about what is expected of them. Which of both it is, the
noisy flows of all pairs of a class show together. From them the prior of the class is learned
(:mod:`geodp.kinds.flows.kernels.deconvolution`), and a noisy flow is replaced by what it says of
the true one under this prior: a mean, or a quantile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import TypeAlias

import numpy as np

from geodp.kinds.flows.kernels import balancing, deconvolution
from geodp.typing import EntryArray, FloatArray, IntArray

Slabs: TypeAlias = Callable[[], Iterator[tuple[slice, FloatArray, FloatArray]]]
"""Yields some rows of expected flows at a time, with the noisy ones: slice, float64[., b] each."""

FINENESS = 6
"""Bins in a standard error of the noise."""

KNOWN = 40
"""Standard errors of the noise from which on a noisy flow is taken as it is."""

MOST = KNOWN * FINENESS
"""Number of the last bin."""

BINS = 2 * MOST + 2
"""Bins of a class."""

NOT_EXPECTED, MEASURED = balancing.CLASSES * BINS, balancing.CLASSES * BINS + 1
"""Entries after those of all classes."""

LEAST = 32
"""Pairs of a class below which it is joined with the next smaller one."""

GROWTH, SPARSENESS = 1.25, 1.5
"""Ratio of values of the support up to a standard error; and, of larger ones, parts of it between
two values."""

ROUNDS = 60
"""Rounds of expectation and maximisation."""

BEGIN = 0.02
"""Part of the prior that is spread over its support in the beginning."""

LEAST_MEAN = 1e-9
"""Least mean of a prior, which is divided by."""

LEAST_REST = 0.1
"""Least part of what is expected that is left for pairs whose noise may hide it."""

STEPS = 40
"""Steps in which the quantile is found at which flows have their total."""


@dataclass(frozen=True, eq=False)
class LearnedClass:
    """The posteriors of a class of pairs.

    Attributes
    ----------
    support : float64[k]
    count : int64[BINS - 1]
        Pairs in each bin.
    cumulated : float64[BINS - 1, k]
        Posterior of each bin, as cumulative sums.
    expected, apart : float
        Mean of true flows; and mean squared difference of noisy ones from it, beyond their noise,
        which may be below 0.
    """

    support: FloatArray = field(repr=False)
    count: IntArray = field(repr=False)
    cumulated: FloatArray = field(repr=False)
    expected: float
    apart: float

    @cached_property
    def posterior(self) -> FloatArray:
        """Posterior of each bin: float64[BINS - 1, k]."""
        return np.asarray(np.diff(self.cumulated, axis=1, prepend=0), np.float64)

    def quantile(self, level: float) -> FloatArray:
        """Return a quantile of each bin: float64[BINS - 1]."""
        found = np.empty(self.count.size)
        deconvolution.find_quantiles(self.cumulated, self.support, level, found)
        return found


@dataclass(frozen=True, eq=False)
class LearnedFlows:
    """What noisy flows of a level say of the true ones.

    Attributes
    ----------
    entry : uint16[a, b]
        Entry of each pair in the tables.
    mean, variance : float64[entries]
        Of the true flow. The mean is not a number where it is the noisy flow itself. The last
        entries are ``NOT_EXPECTED``, of pairs of which nothing is expected, and ``MEASURED``, of
        pairs that are taken as they were measured.
    step : float
        Width of a bin.
    classes : dict of int to LearnedClass
    """

    entry: EntryArray = field(repr=False)
    mean: FloatArray = field(repr=False)
    variance: FloatArray = field(repr=False)
    step: float
    classes: dict[int, LearnedClass] = field(repr=False)

    def bins(self) -> Iterator[tuple[slice, LearnedClass]]:
        """Yield the entries of each class but the last, whose flows are the noisy ones."""
        for number, one in self.classes.items():
            yield slice(number * BINS, (number + 1) * BINS - 1), one

    def concentrate(self) -> FloatArray:
        """Return flows that have the total of the means, and lie where trips most likely are.

        A mean spreads trips over all pairs that may have some. Here every flow is the same quantile
        of what it may be, so that each further trip is where it is most likely one of the true
        ones: where pairs have many trips or none, most get none.

        Returns
        -------
        float64[entries]
            Instead of the means.
        """
        total = sum(float(one.count @ self.mean[at]) for at, one in self.bins())
        low, high = 0.0, 1.0
        for _ in range(STEPS):
            level = (low + high) / 2
            reached = sum(float(one.count @ one.quantile(level)) for one in self.classes.values())
            low, high = (low, level) if reached > total else (level, high)
        found = self.mean.copy()
        for at, one in self.bins():
            found[at] = one.quantile((low + high) / 2)
        return found


def learn_flows(
    slabs: Slabs, shape: tuple[int, int], variance: float, *, normal: bool
) -> LearnedFlows:
    """Learn what noisy flows say of the true ones.

    Parameters
    ----------
    slabs
        Expected and noisy flows.
    shape : int, int
        Rows and columns of both.
    variance : float
        Of the noise, above 0.
    normal : bool
        Whether the noise is normal; otherwise it has the law of Laplace.
    """
    step = max(sqrt(variance) / FINENESS, 1.0)
    counts = np.zeros((balancing.CLASSES, BINS), np.int64)
    sums = np.zeros((balancing.CLASSES, 2))
    for _, expected, noisy in slabs():
        deconvolution.sum_bins(expected, noisy, step, counts, sums)
    merged = join_classes(counts.sum(axis=1))
    entries = MEASURED + 1
    tables = np.zeros(entries), np.zeros(entries)
    tables[0][MEASURED], tables[1][MEASURED] = np.nan, variance
    classes = dict[int, LearnedClass]()
    for number in np.unique(merged[counts.any(axis=1)]).tolist():
        own = merged == number
        one = learn_class(counts[own].sum(axis=0), sums[own].sum(axis=0), step, variance, normal)
        at = slice(number * BINS, (number + 1) * BINS - 1)
        deconvolution.find_moments(one.cumulated, one.support, tables[0][at], tables[1][at])
        tables[0][at.stop], tables[1][at.stop] = np.nan, variance
        classes[number] = one
    entry = np.empty(shape, np.uint16)
    for rows, expected, noisy in slabs():
        deconvolution.find_entries(expected, noisy, step, merged, MOST, entry[rows])
    return LearnedFlows(entry, *tables, step, classes)


def join_classes(number: IntArray) -> IntArray:
    """Join classes of few pairs with the next smaller one that has some: int64[CLASSES].

    Returns the number of the class whose table each one uses.
    """
    merged, waiting = np.arange(number.size), 0
    for at, below in pairwise(np.flatnonzero(number)[::-1].tolist()):
        waiting += int(number[at])
        if waiting < LEAST:
            merged[merged == at] = below
        else:
            waiting = 0
    return merged


def learn_class(
    counts: IntArray, sums: FloatArray, step: float, variance: float, normal: bool
) -> LearnedClass:
    """Learn the prior of a class, and the posteriors of its bins.

    Parameters
    ----------
    counts : int64[BINS]
        Pairs in each bin.
    sums : float64[2]
        Expected flows of all pairs, and noisy ones of those beyond the last bin.
    step : float
    variance : float
    normal : bool
    """
    count, number = counts[:-1], int(counts.sum())
    value = step * np.arange(-MOST, MOST + 1, dtype=np.float64)
    rest = int(count.sum())
    # What pairs that are known have is no longer expected of the others.
    left = max(sums[0] - sums[1], LEAST_REST * sums[0] * rest / number)
    mean = max(left / max(rest, 1), LEAST_MEAN)
    support = choose_support(value[count > 0], mean, sqrt(variance))
    likelihood = np.empty((value.size, support.size))
    deconvolution.fill_likelihood(value, support, variance, normal, likelihood)
    prior = np.full(support.size, BEGIN / support.size)
    prior[0] += (1 - BEGIN) / 2
    prior[np.argmin(np.abs(support - mean))] += (1 - BEGIN) / 2
    if rest:
        work = np.empty(support.size)
        deconvolution.learn_prior(likelihood, count, support, mean, ROUNDS, work, prior)
    cumulated = np.empty(likelihood.shape)
    deconvolution.cumulate(likelihood, prior, cumulated)
    expected = float(prior @ support)
    apart = float(count @ (value - expected) ** 2) / max(rest, 1) - variance
    return LearnedClass(support, count, cumulated, expected, apart)


def choose_support(value: FloatArray, mean: float, deviation: float) -> FloatArray:
    """Choose the values that a prior may have: float64[k], increasing, from 0 on.

    Small ones grow by a ratio; beyond a standard error of the noise they lie close enough for it,
    and only where noisy flows were measured. Noise of less than a trip tells whole numbers apart:
    there they are these.
    """
    most = max(float(value.max(initial=0.0)), 4 * mean) + deviation
    support = np.arange(most + 1, dtype=np.float64) if deviation < 1 else _grow(most, deviation)
    nearest = np.searchsorted(value, support)
    measured = np.concatenate([[-np.inf], value, [np.inf]])
    apart = np.minimum(support - measured[nearest], measured[nearest + 1] - support)
    kept = (apart <= deviation) | (support < 4 * deviation) | (np.abs(support - mean) < deviation)
    kept[-1] = True
    return np.asarray(support[kept], np.float64)


def _grow(most: float, deviation: float) -> FloatArray:
    """Return values from 0 on, up to the first that is not below the given one."""
    found = [0.0, min(1.0, deviation / 8)]
    while found[-1] < most:
        growth = (GROWTH - 1) * found[-1]
        near = found[-1] <= deviation
        found.append(found[-1] + (growth if near else min(growth, deviation / SPARSENESS)))
    return np.array(found)
