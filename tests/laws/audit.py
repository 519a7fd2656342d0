"""A divergence audit: which epsilon do two neighbours show that a mechanism has at least?

A mechanism releases two neighbouring tables many times, each time with a key of its own. Every
release is reduced to a few whole numbers in several ways (:data:`PROJECTIONS`): that is
post-processing, so none of them may show more than the claim. Half of the trials choose, for
each way, the set of outcomes that tells the two tables apart best; the other half tests that
set by exact (Clopper-Pearson) bounds of its two probabilities. A mechanism that keeps its
claim is accused with probability below 1e-6; one that does not is caught if the trials suffice.
"""

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms

RISK = 1e-6 / 20
"""Of each bound: two ways round, five projections, two bounds for each."""

LARGEST = 40
"""Values beyond are as good as this."""


def releases(release, table, spent, trials, first):
    """Released values of every key, trial by trial: float64[trials, keys]."""
    values = np.zeros((trials, 1 << table.grid.bits))
    for trial in range(trials):
        released = release(table, spent, NoiseKey((first + trial).to_bytes(32, "little")))
        values[trial, released.key.astype(np.int64)] = released.count
    return values


def floored(values):
    return np.clip(np.floor(values), -LARGEST, LARGEST).astype(np.int64)


def whole(runs, _changed):
    """All values at once: the finest outcomes, of use where they are few."""
    return [floored(run) for run in runs]


def changed_cells(runs, changed):
    return [floored(run[:, changed]) for run in runs]


def total(runs, _changed):
    centre = np.median(runs[0].sum(axis=1))
    return [floored(run.sum(axis=1, keepdims=True) - np.floor(centre)) for run in runs]


def signs(runs, _changed):
    return [np.sign(run).astype(np.int64) for run in runs]


def discriminant(runs, _changed):
    """Fisher's linear discriminant of the halves that choose, cut into 24 quantiles."""
    one, two = runs[0], runs[1]
    spread = np.cov(one.T) + np.cov(two.T) + 1e-9 * np.eye(one.shape[1])
    direction = np.linalg.solve(np.atleast_2d(spread), one.mean(axis=0) - two.mean(axis=0))
    lines = [run @ direction for run in runs]
    cuts = np.quantile(np.concatenate(lines[:2]), np.linspace(0, 1, 25)[1:-1])
    return [np.searchsorted(cuts, line)[:, None] for line in lines]


PROJECTIONS = (whole, changed_cells, total, signs, discriminant)


def counts_of(outcomes):
    """How often every outcome was seen in each run: int64[runs, outcomes]."""
    names, at, found = 0, 0, []
    for column in np.concatenate(outcomes).T:  # numbers of pairs, one column more at a time
        number = column - column.min()
        _, names = np.unique(names * (number.max() + 1) + number, return_inverse=True)
    for run in outcomes:
        found.append(np.bincount(names[at : at + len(run)], minlength=names.max() + 1))
        at += len(run)
    return np.array(found)


def shown(ones, twos, trials, delta=0.0):
    """Largest epsilon that is sure where a set was seen so often: ``log((P1 - delta) / P2)``."""
    low = stats.beta.ppf(RISK, ones, trials - ones + 1)
    high = stats.beta.isf(RISK, twos + 1, np.maximum(trials - twos, 1e-9))
    above = np.maximum(np.nan_to_num(low) - delta, 1e-300)
    return np.where(ones > 0, np.log(above / np.minimum(high, 1)), -np.inf)


def best_set(ones, twos, trials, delta=0.0):
    """Outcomes, by their ratio, that show most: a prefix of those with the largest ratios."""
    order = np.argsort(-(ones + 1) / (twos + 1), kind="stable")
    bounds = shown(np.cumsum(ones[order]), np.cumsum(twos[order]), trials, delta)
    return order[: int(np.argmax(bounds)) + 1]


def audited(
    release,
    mechanism,
    tables,
    neighbours,
    *,
    epsilon=Fraction(1),
    rho=None,
    delta=Fraction(0),
    trials=1000,
):
    """Lower bound of the epsilon that the mechanism has; above ``epsilon``, it broke its claim.

    Parameters
    ----------
    release : callable
        ``(table, event, key) -> ReleasedTable``: the mechanism's own, or a broken one.
    mechanism : Mechanism
        Whose sensitivity is claimed.
    tables : pair of CountTable
        Neighbours.
    rho, delta : Fraction
        Of Gaussian noise: the claim is then the epsilon that rho has at delta.
    trials : int
        Releases of each table in each half.
    """
    grid = tables[0].grid
    sensitivity = mechanism.sensitivity(grid)
    given = {"rho": rho, "delta": delta} if rho else {"epsilon": epsilon}
    terms = Terms.of(**given, neighbours=neighbours, contribution=1)
    spent = Measurement.of("audit", terms, sensitivity, "fixed")
    # The halves that choose, then those that test: of the one table, and of the other.
    runs = [
        releases(release, tables[number % 2], spent, trials, number * trials) for number in range(4)
    ]
    differ = np.flatnonzero(tables[0].to_vector() != tables[1].to_vector())
    found = -math.inf
    for projection in PROJECTIONS:
        counts = counts_of(projection(runs, differ))
        for one, two in ((0, 1), (1, 0)):
            chosen = best_set(counts[one], counts[two], trials, float(delta))
            ones, twos = counts[one + 2, chosen].sum(), counts[two + 2, chosen].sum()
            found = max(found, float(shown(ones, twos, trials, float(delta))))
    return found
