"""Mixtures against their definitions: expected changes, and medians by plain bisection."""

import numpy as np
import pytest
from scipy.special import ndtr

from geodp.kernels.learned import residuals

DRAW = np.random.default_rng(11)
SD = np.array([0.0, 0.5, 2.0, 8.0])
VALUE = np.concatenate([-(2.0 ** np.arange(7)[::-1]), [0.0], np.linspace(0.05, 70, 90)])


def some_shares(parts):
    share = DRAW.random((VALUE.size, parts)) ** 3
    return share / share.sum(axis=1, keepdims=True)


def below(change, share, mean, middle):
    """The definition: jumps at 0 and where all is lost, normal laws between."""
    found = share[0] * (change >= 0) + share[-1] * (change >= -middle)
    return found + share[1:-1] @ ndtr((change - mean[1:]) / SD[1:])


@pytest.mark.parametrize("middle", [0.0, 3.0, 40.0])
def test_medians_are_those_of_bisection(middle):
    share, mean = some_shares(SD.size + 1), VALUE[:, None] * (SD**2 / (1 + SD**2))
    expected = VALUE * 0.75
    out = expected.copy()
    residuals.medians(VALUE, share, mean, SD, middle, out)
    for n, value in enumerate(VALUE):
        low, high = min(value, -middle) - 1, max(value, 0) + 1
        while high - low > residuals.NEAR:
            change = (low + high) / 2
            if below(change, share[n], mean[n], middle) >= 0.5:
                high = change
            else:
                low = change
        if abs(value) <= residuals.FAR:
            expected[n] = high
    assert out == pytest.approx(expected, abs=2 * residuals.NEAR)
    assert (out[np.abs(VALUE) > residuals.FAR] == expected[np.abs(VALUE) > residuals.FAR]).all()


@pytest.mark.parametrize("cells", [False, True])
def test_expectations_are_sums_over_the_parts(cells):
    likelihood, mean = DRAW.random((20, 4)), DRAW.normal(size=(20, 4))
    kept, weight, empty = DRAW.random(4), DRAW.random(4 + cells), DRAW.random(20)
    chance = np.hstack([likelihood, empty[:, None]])[:, : weight.size] * weight
    chance /= chance.sum(axis=1, keepdims=True)
    share, out = np.empty((20, weight.size)), (np.empty(20), np.empty(20))
    residuals.expect(likelihood, mean, kept, weight, (empty, 7.0), share, out)
    np.testing.assert_allclose(share, chance)
    lost = 7.0 * chance[:, 4] if cells else 0.0
    np.testing.assert_allclose(out[0], (chance[:, :4] * mean).sum(axis=1) - lost)
    np.testing.assert_allclose(out[1], chance[:, :4] @ kept)


def test_weights_of_parts_that_lie_apart_are_their_frequencies():
    likelihood = np.array([[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    count, more = np.array([10.0, 8.0, 5.0, 7.0, 6.0, 7.0]), np.array([0.0, 2.0])
    found = residuals.fit_weights(count, likelihood, more, 3)
    assert found == pytest.approx([0.75, 0.25], rel=1e-12)


@pytest.mark.parametrize("values", [3, 4, 30])
def test_weights_are_those_of_the_definition(values):
    likelihood, count, more = DRAW.random((5, values)), DRAW.random(values), DRAW.random(5)
    weight = np.full(5, 0.2)
    for _ in range(9):
        own = likelihood * weight[:, None]
        weight = more + (own / own.sum(axis=0) * count).sum(axis=1)
        weight /= weight.sum()
    np.testing.assert_allclose(residuals.fit_weights(count, likelihood, more, 9), weight)
