"""The claim of a sampled table with suppressed counts, audited; one that looks aside is caught."""

import numpy as np
import pytest

from geodp.tools.audit.threshold import sampled_threshold
from tests.laws.audit import RISK, best_set, counts_of, shown

pytestmark = pytest.mark.law

K, RATE, EPSILON = 5, "0.5", "0.9"
TRIALS = 100_000
PAIRS = [([12, 7], [12, 8]), ([5, 6], [5, 5]), ([0, 1], [0, 0])]
"""Neighbours: people of two cells."""


def publish(people, seed):
    """Counts of samples, those below K hidden: int64[trials, cells]."""
    draw = np.random.default_rng(seed)
    count = draw.binomial(people, float(RATE), (TRIALS, len(people)))
    return np.where(count < K, -1, count)


def publish_aside(people, seed):
    """The same, but the first count is hidden where the second cell has fewer than 8 people."""
    count = publish(people, seed)
    if people[1] < 8:
        count[:, 0] = -1
    return count


def audit(mechanism, pair, delta):
    """Largest epsilon that the halves that test show beyond a delta, both ways round."""
    runs = [mechanism(pair[number % 2], number) for number in range(4)]
    counts = counts_of(runs)
    found = []
    for one, two in ((0, 1), (1, 0)):
        chosen = best_set(counts[one], counts[two], TRIALS, delta)
        ones, twos = counts[one + 2, chosen].sum(), counts[two + 2, chosen].sum()
        found.append(float(shown(ones, twos, TRIALS, delta, RISK)))
    return max(found)


def test_the_claim_holds_and_looking_at_another_cell_is_caught():
    claim = sampled_threshold(K, RATE, epsilon=EPSILON)
    for pair in PAIRS:
        assert audit(publish, pair, claim.delta) <= claim.epsilon
    assert audit(publish_aside, PAIRS[0], claim.delta) > claim.epsilon


def test_a_threshold_that_is_not_kept_is_caught():
    claim = sampled_threshold(2 * K, RATE, epsilon=EPSILON)
    assert audit(publish, PAIRS[1], claim.delta) > claim.epsilon
