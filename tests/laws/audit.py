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
"""Risk of each bound: two directions, five projections, two bounds for each."""

STEPS = (1 / 16, 1 / 4, 1)
"""Parts of the trials after which an audit that is to catch something looks whether it has."""

LARGEST = 40
"""Values beyond are as good as this."""

QUANTILES = np.linspace(0, 1, 25)[1:-1]


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


def discriminant(runs, _changed, quantiles=QUANTILES):
    """Fisher's linear discriminant of the halves that choose, cut at quantiles."""
    one, two = runs[0], runs[1]
    spread = np.cov(one.T) + np.cov(two.T) + 1e-9 * np.eye(one.shape[1])
    apart = one.mean(axis=0) - two.mean(axis=0)
    direction = np.linalg.lstsq(np.atleast_2d(spread), apart)[0]  # few runs of many cells: singular
    lines = [run @ direction for run in runs]
    cuts = np.quantile(np.concatenate(lines[:2]), quantiles)
    return [np.searchsorted(cuts, line)[:, None] for line in lines]


PROJECTIONS = (whole, changed_cells, total, signs, discriminant)


def counts_of(outcomes):
    """How often every outcome was seen in each run: int64[runs, outcomes]."""
    names, names_end, at, found = 0, 1, 0, []
    for column in np.concatenate(outcomes).T:  # one number for all columns so far
        number = column - column.min()
        size = int(number.max()) + 1
        if names_end * size >= 2**62:
            names = np.unique(names, return_inverse=True)[1]
            names_end = int(names.max()) + 1
        names, names_end = names * size + number, names_end * size
    if names_end > 2**20:
        names = np.unique(names, return_inverse=True)[1]
    for run in outcomes:
        found.append(np.bincount(names[at : at + len(run)], minlength=names.max() + 1))
        at += len(run)
    counts = np.array(found)
    return counts[:, counts.any(axis=0)]


def shown(ones, twos, trials, delta=0.0, risk=RISK):
    """Largest epsilon that is sure where a set was seen so often: ``log((P1 - delta) / P2)``."""
    low = stats.beta.ppf(risk, ones, trials - ones + 1)
    high = stats.beta.isf(risk, twos + 1, np.maximum(trials - twos, 1e-9))
    above = np.maximum(np.nan_to_num(low) - delta, 1e-300)
    return np.where(ones > 0, np.log(above / np.minimum(high, 1)), -np.inf)


def best_set(ones, twos, trials, delta=0.0):
    """Outcomes, by their ratio, that show most: all of those with the largest ratios."""
    ratio = (ones + 1) / (twos + 1)
    order = np.argsort(-ratio, kind="stable")
    last = np.flatnonzero(np.append(np.diff(ratio[order]) != 0, True))
    bounds = shown(np.cumsum(ones[order])[last], np.cumsum(twos[order])[last], trials, delta)
    return order[: last[np.argmax(bounds)] + 1]


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
    risk=RISK,
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
    risk : float
        Of each bound.
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
            found = max(found, float(shown(ones, twos, trials, float(delta), risk)))
    return found


def caught(release, mechanism, tables, neighbours, claim, *, trials, **given):
    """Whether an audit shows more than the claim; it stops as soon as it does.

    It looks up to three times, each time at a third of the risk and at other releases, so a
    mechanism that keeps its claim is still accused with probability below 1e-6.
    """
    for part in STEPS:
        found = audited(
            release,
            mechanism,
            tables,
            neighbours,
            trials=max(40, round(part * trials)),
            risk=RISK / len(STEPS),
            **given,
        )
        if found > claim:
            return True
    return False
