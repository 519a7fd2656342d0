"""docs/proofs/errata.md is right about four texts; the main paper's are in test_paper."""

import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from geodp.privacy.noise.law import DiscreteLaplace

HALF = 0.5


@pytest.mark.parametrize("share", [0, 0.2, 1])
@pytest.mark.parametrize(("first", "second"), [(0.8, 0.6), (0.9, 0.55)])
def test_15_and_16_of_the_blended_parameters(share, first, second):
    """Two groups of one size answer one question with their own probabilities of the truth."""
    truth = HALF * (first + second)
    yes = sum(HALF * (share * keep + (1 - share) * (1 - keep)) for keep in (first, second))
    assert yes == pytest.approx(2 * truth * share - share - truth + 1)
    assert yes != pytest.approx(2 * truth * share - share + truth + 1)


def test_the_smallest_estimated_variance_is_a_bad_rule():
    """A hundred people, half of whom have the attribute; 50 of them, drawn at random, tell the
    truth with 3/4, the others with 3/5. The law of both groups' answers is enumerated. The rule
    chooses among the estimates of each group and that of all answers together.
    """
    keep, people = (0.75, 0.6), 50
    told = np.arange(people + 1) / people

    def answers(holders, p):
        lying = people - holders
        truths, lies = (
            binom.pmf(range(holders + 1), holders, p),
            binom.pmf(range(lying + 1), lying, 1 - p),
        )
        return np.convolve(truths, lies)

    drawn = hypergeom.pmf(range(people + 1), 2 * people, people, people)
    law = sum(
        chance * np.outer(answers(holders, keep[0]), answers(people - holders, keep[1]))
        for holders, chance in enumerate(drawn)
    )
    first, second = ((told + p - 1) / (2 * p - 1) for p in keep)
    pooled, p = (told[:, None] + told) / 2, sum(keep) / 2
    candidates = [
        (first[:, None], told[:, None], people, keep[0]),
        (second[None], told[None], people, keep[1]),
        ((pooled + p - 1) / (2 * p - 1), pooled, 2 * people, p),
    ]
    variances, estimates = np.array(
        [
            [yes * (1 - yes) / (n - 1) / (2 * q - 1) ** 2 + 0 * law, found + 0 * law]
            for found, yes, n, q in candidates
        ]
    ).swapaxes(0, 1)
    best = variances.argmin(axis=0)[None]
    chosen = np.take_along_axis(estimates, best, axis=0)[0]
    inverse = [(2 * p - 1) ** 2 for p in keep]
    weighted = (inverse[0] * first[:, None] + inverse[1] * second) / sum(inverse)
    errors = [float((law * (found - HALF) ** 2).sum()) for found in (chosen, weighted)]
    assert [round(error, 4) for error in errors] == [0.0221, 0.0148]


def test_probabilities_of_rappor():
    """A decoder for probabilities of a 1 gives 30,000 - 2 N where they are those of a 0."""
    f, p, q = 0.5, 0.5, 0.75
    devices, holders = 100_000, 30_000
    kept = (1 - f / 2, f / 2)  # the permanent bit is 1: of who has the value, of others

    def ones(of_one, of_zero):
        chances = [bit * of_one + (1 - bit) * of_zero for bit in kept]
        return holders * chances[0] + (devices - holders) * chances[1]

    def decode(count):
        return (count - (p + f * (q - p) / 2) * devices) / ((1 - f) * (q - p))

    assert decode(ones(q, p)) == pytest.approx(holders)
    assert decode(ones(1 - p, 1 - q)) == pytest.approx(holders - 2 * devices)


def test_variance_of_the_discrete_law():
    law = DiscreteLaplace.of_scale(1)
    assert law.variance == pytest.approx(1 / (math.cosh(1) - 1))
    assert round(law.variance, 5) == 1.84135


def test_the_printed_means_are_all_but_impossible():
    """The sampling note's table 1: a rate of .1, counts below 10 suppressed, a mean loss of .7571.

    The loss of a class is ln(1 - rate) - ln(1 - s / n). Nobody who draws with that rate sees such
    losses in classes of 10 to 17 people, and the smaller the class, the rarer.
    """
    rate, k, mean = 0.1, 10, 0.7571
    share = 1 - (1 - rate) / math.exp(mean)
    assert round(share, 3) == 0.578
    for n in range(k, 18):
        needed = max(k, math.ceil(share * n))
        assert binom.sf(needed - 1, n, rate) < 1e-6
    assert binom.sf(k - 1, 18, rate) > 1e-6
