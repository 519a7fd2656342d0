"""Logistic regression with private labels, against a plain maximiser and simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from geodp.errors import UsageError
from geodp.tools.compare.logit import logit
from tests.refusals import refuses

pytestmark = pytest.mark.law

TRUE = np.array([-0.5, 1.0, -2.0])


def drawn(seed, n, epsilon):
    """Features, and labels that each device has randomised once."""
    random = np.random.default_rng(seed)
    x = random.uniform(-1, 1, (n, 2))
    y = random.random(n) < 1 / (1 + np.exp(-(TRUE[0] + x @ TRUE[1:])))
    return x, y ^ (random.random(n) < 1 / (1 + math.exp(epsilon)))


def test_standard_errors_of_200_000_labels():
    x, y = drawn(0, 200_000, 1)
    found = logit(x, y, 1)
    assert found.standard_errors == pytest.approx([0.0134, 0.0238, 0.0283], rel=0.02)
    assert (np.abs(found.coefficients - TRUE) < 4 * found.standard_errors).all()
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(found.standard_errors)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_it_is_the_largest_likelihood(epsilon):
    x, y = drawn(1, 4000, epsilon)
    found = logit(x, y, epsilon)
    keep = 1 / (1 + math.exp(-epsilon))

    def unlikely(b):
        s = 1 / (1 + np.exp(-(b[0] + x @ b[1:])))
        chance = keep * s + (1 - keep) * (1 - s)
        return -np.log(np.where(y, chance, 1 - chance)).sum()

    best = minimize(unlikely, np.zeros(3), method="BFGS")
    assert found.coefficients == pytest.approx(best.x, abs=2e-4)
    assert -found.log_likelihood == pytest.approx(best.fun, abs=1e-6)


def test_estimates_scatter_as_stated():
    fits = [logit(*drawn(seed, 4000, 2), 2) for seed in range(300)]
    found = np.array([fit.coefficients for fit in fits])
    stated = np.mean([fit.standard_errors for fit in fits], axis=0)
    assert found.std(axis=0) == pytest.approx(stated, rel=0.15)
    assert (np.abs(found.mean(axis=0) - TRUE) < 4 * stated / math.sqrt(300) + 0.01).all()


def test_without_an_intercept():
    x, y = drawn(2, 4000, 3)
    whole = logit(np.column_stack([np.ones(4000), x]), y, 3, intercept=False)
    assert whole.coefficients == pytest.approx(logit(x, y, 3).coefficients)
    assert len(logit(x, y, 3, intercept=False).coefficients) == 2
    assert set(whole.to_dict()) == {"coefficients", "standard_errors", "log_likelihood"}


X, Y = drawn(4, 40, 1)


@pytest.mark.parametrize(
    ("x", "y", "epsilon", "said"),
    [
        (X, Y[:-1], 1, "features-form"),
        (X[:, 0], Y, 1, "features-form"),
        (np.where(X > 0.9, np.nan, X), Y, 1, "features-form"),
        (X, Y + 1, 1, "labels-not-binary"),
        (np.column_stack([X, X[:, 0]]), Y, 1, "features-dependent"),
        (X[:3], Y[:3], 1, "features-dependent"),
        (X, Y, 0, "budget-number-not-positive"),
        (np.linspace(-1, 1, 40)[:, None], np.arange(40) >= 20, 30, "labels-separable"),
    ],
)
def test_what_is_refused(x, y, epsilon, said):
    with refuses(UsageError, said):
        logit(x, y, epsilon)
