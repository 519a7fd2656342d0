"""A divergence audit: does a mechanism keep the epsilon that it claims on two neighbours?

Half of the trials choose the set of outcomes on which the two tables differ most beyond
exp(epsilon); the other half tests that set. A mechanism that keeps its claim is accused with
probability below 1e-6; one that does not is caught if the trials suffice.
"""

import math
from collections import Counter

import numpy as np

from geodp.accounting import event
from geodp.randomness import NoiseKey


def outcomes(release, table, spent, trials, first):
    """Released counts of every cell, trial by trial, each with a key of its own."""
    for trial in range(first, first + trials):
        released = release(table, spent, NoiseKey(trial.to_bytes(32, "little")))
        counts = np.zeros(1 << table.grid.bits, np.int64)
        counts[released.key.astype(np.int64)] = released.count
        yield tuple(np.clip(counts, -40, 40).tolist())


def worst_set(one: Counter, two: Counter, epsilon: float) -> set:
    """Outcomes that ``one`` shows more than exp(epsilon) times as often as ``two``."""
    bound = math.exp(epsilon)
    return {outcome for outcome, n in one.items() if n > bound * two.get(outcome, 0)}


def excess(one: Counter, two: Counter, chosen: set, trials: int, epsilon: float) -> float:
    """P1(set) - exp(epsilon) P2(set) in standard errors."""
    p = sum(one[outcome] for outcome in chosen) / trials
    q = sum(two[outcome] for outcome in chosen) / trials
    bound = math.exp(epsilon)
    variance = (p * (1 - p) + bound**2 * q * (1 - q)) / trials
    return (p - bound * q) / math.sqrt(variance + 1 / trials**2)


def violation(release, mechanism, tables, epsilon, neighbours, trials=8_000) -> float:
    """The audit's statistic: above 5, the claim is refuted (one-sided, p < 3e-7)."""
    grid = tables[0].grid
    spent = event(
        "audit", epsilon, neighbours, 1, False, mechanism.sensitivity(grid), "person", "fixed"
    )
    halves = []
    for number, table in enumerate(tables):
        start = 4 * number * trials
        halves.append(
            [
                Counter(outcomes(release, table, spent, trials, start + half * trials))
                for half in (0, 1)
            ]
        )
    statistics = []
    for a, b in ((0, 1), (1, 0)):
        chosen = worst_set(halves[a][0], halves[b][0], float(epsilon))
        statistics.append(excess(halves[a][1], halves[b][1], chosen, trials, float(epsilon)))
    return max(statistics)
