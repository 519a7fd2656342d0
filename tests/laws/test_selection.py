"""100,000 draws of each mechanism of selection against its enumerated law, and broken ones."""

from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from geodp.kinds.selection.mechanisms import SELECTORS
from geodp.kinds.selection.mechanisms.base import Candidates
from geodp.kinds.selection.mechanisms.permute_and_flip import PermuteAndFlip, permute_and_flip
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.selected import rate_of
from tests.keys import secret
from tests.reference import selection as reference

pytestmark = [pytest.mark.law, pytest.mark.timeout(600)]

COUNTS = np.array([5, 3, 3, 1, 0, 0, 0, 0, 0])
TRIALS = 20_000
SIGNIFICANCE = 1e-6


def fit(selector, listed, rate=F(1), trials=TRIALS):
    """Chi-square of draws against the law of the definition at epsilon 1."""
    define = getattr(reference, selector.name.replace("-", "_"))
    law = np.array(define(reference.chances(COUNTS.tolist(), rate_of(F(1), F(1), monotone=True))))
    candidates = Candidates(5 - COUNTS[:listed], rate, COUNTS.size - listed, 5)
    drawn = np.zeros(COUNTS.size, int)
    for number in range(trials):
        key = NoiseKey(secret(f"{selector.name} {listed} {number}"))
        drawn[selector.draw(candidates, key, Stream.SELECT)] += 1
    return stats.chisquare(drawn, trials * law).pvalue


@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
@pytest.mark.parametrize("listed", [9, 4])
def test_draws_follow_the_law(selector, listed):
    assert fit(selector, listed) > SIGNIFICANCE


def test_twice_the_rate_is_caught():
    assert fit(permute_and_flip, 4, rate=F(2), trials=2000) < SIGNIFICANCE


def test_unlisted_candidates_that_come_too_often_are_caught():
    class Eager(PermuteAndFlip):
        def draw(self, candidates, key, stream):
            found = super().draw(candidates, key, stream)
            again = super().draw(candidates, key, stream + 8)
            return max(found, again)

    assert fit(Eager(), 4, trials=2000) < SIGNIFICANCE
