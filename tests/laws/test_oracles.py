"""Estimates of every local oracle are unbiased and have their variance, by the system's entropy."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from geodp.local.oracles import ORACLES
from tests.local.oracles.cases import EPSILONS, SMALL, oracle

pytestmark = pytest.mark.law

LIMIT = -NormalDist().inv_cdf(1e-6 / 2)
"""Standard errors beyond which a true law is seen with probability 1e-6."""


def moments(name, epsilon, held, trials=2000, n=40):
    """Errors of a value's estimates that ``held`` of n devices have, and the stated variance.

    Sketches have hash functions of their own in each trial, and all other devices other values.
    """
    cells, found = (1 << 40, []) if name in SMALL else (9, [])
    for trial in range(trials):
        own = {"seed": trial} if name in SMALL else {}
        one = oracle(name, cells=cells, epsilon=epsilon, **own)
        values = (np.arange(n) * (7919 if name in SMALL else 1)) % (cells - 1) + 1
        values[:held] = 0
        found.append(one.estimate(one.aggregate(one.randomize(values)), [0])[0] - held)
    return np.array(found), one.variance(n, held)


def far_off(errors, variance):
    """How many standard errors mean and variance are off, the larger of both."""
    centred = errors - errors.mean()
    mean = abs(errors.mean()) / math.sqrt(variance / errors.size)
    spread = abs(errors.var() - variance) / math.sqrt(np.var(centred**2) / errors.size)
    return max(mean, spread)


# Several devices with one value in a row are what closed forms of sketches leave out.
HELD = [(name, n) for name in sorted(ORACLES) for n in (0, 1, 30) if n < 2 or name not in SMALL]


@pytest.mark.parametrize(("name", "held"), HELD)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_estimates_have_the_law_that_is_stated(name, epsilon, held):
    assert far_off(*moments(name, epsilon, held)) < LIMIT


def test_a_bias_and_a_wrong_variance_are_seen():
    errors, variance = moments("hadamard", 1, 0)
    assert far_off(errors, variance) < LIMIT
    assert far_off(errors + 0.3 * math.sqrt(variance), variance) > LIMIT
    assert far_off(errors, 1.5 * variance) > LIMIT
    assert far_off(errors, variance / 1.5) > LIMIT
