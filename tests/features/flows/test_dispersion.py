"""How flows differ from expected ones by their size: what was put in is what is learned."""

import numpy as np
import pytest

from geodp.features.flows.dispersion import (
    FEW,
    MIDDLES,
    NO_DISPERSION,
    Dispersion,
    _fit_positive,
    fit_dispersion,
)
from geodp.features.flows.kernels import balancing

NUMBER = np.where((MIDDLES > 0.01) & (MIDDLES < 5_000), 200.0, 0.0)


def test_middles_are_in_their_classes():
    assert [balancing.class_of(float(one)) for one in MIDDLES] == list(range(balancing.CLASSES))


@pytest.mark.parametrize(("linear", "squared"), [(30.0, 0.04), (10.0, 0.0), (0.0, 0.5), (0.0, 0.0)])
def test_exact_classes_give_their_terms(linear, squared):
    known = Dispersion(linear, squared)
    found = fit_dispersion(known.vary(MIDDLES, 0), NUMBER, 1250.0)
    assert found.linear == pytest.approx(linear, abs=1e-6)
    assert found.squared == pytest.approx(squared, abs=1e-9)


@pytest.mark.parametrize(("linear", "squared"), [(30.0, 0.05), (10.0, 0.4)])
def test_noisy_pairs_tell_both_terms(linear, squared):
    """Pairs of all sizes with a true variance and Laplace noise, as they are measured."""
    draw, known, found = np.random.default_rng(3), Dispersion(linear, squared), []
    expected = np.exp(draw.uniform(-4, 7.5, 60_000))
    for _ in range(5):
        true = expected + np.sqrt(known.vary(expected, 0)) * draw.standard_normal(expected.size)
        noisy = (true + draw.laplace(0, 25, expected.size)).reshape(200, 300)
        squares, number = np.empty(balancing.CLASSES), np.empty(balancing.CLASSES)
        balancing.sum_classes(expected.reshape(200, 300), noisy, squares, number)
        found.append(fit_dispersion(squares / np.maximum(number, 1) - 1250, number, 1250.0))
    assert np.mean([one.linear for one in found]) == pytest.approx(linear, rel=0.15)
    assert np.mean([one.squared for one in found]) == pytest.approx(squared, rel=0.15)


def test_no_term_is_below_zero():
    for beyond in (-MIDDLES, MIDDLES - 0.1 * MIDDLES**2, MIDDLES**2 - 40 * MIDDLES):
        found = fit_dispersion(beyond, NUMBER, 100.0)
        assert found.linear >= 0
        assert found.squared >= 0


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_the_best_of_a_grid(seed):
    draw = np.random.default_rng(seed)
    terms, weights = draw.uniform(0.1, 1, (6, 2)), draw.uniform(0.1, 1, 6)
    values = draw.normal(0, 1, 6)

    def apart(fit):
        return float((weights * (terms @ fit - values) ** 2).sum())

    found = apart(_fit_positive(terms, values, weights))
    tried = np.linspace(0, 4, 161)
    assert found <= min(apart(np.array([a, b])) for a in tried for b in tried) + 1e-12


def test_few_pairs_tell_nothing():
    for number in (np.full(MIDDLES.size, FEW - 1.0), 50.0 * np.eye(MIDDLES.size)[40]):
        assert fit_dispersion(MIDDLES, number, 10.0) == NO_DISPERSION


def test_the_linear_term_is_at_least_what_is_said():
    flow = np.array([0.0, 2.0, 10.0])
    assert Dispersion(3.0, 0.5).vary(flow, 2).tolist() == [0, 8, 80]
    assert Dispersion(3.0, 0.5).vary(flow, 7).tolist() == [0, 16, 120]
