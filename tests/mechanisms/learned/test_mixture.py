"""What is learned of predictions: known mixtures, and what the tables make of residuals."""

import numpy as np
import pytest

from geodp.mechanisms import learned
from geodp.mechanisms.learned import STEP, Reliability, Residuals, Tables

SD = 10.0


def draw(kind, n, rng):
    return rng.laplace(0, SD * learned.SCALE, n) if kind else rng.normal(0, SD, n)


def some_level(laplace, n=60_000, seed=3, empty=0.0):
    """Predictions of three sizes; seven of ten are right, the others off by four deviations."""
    rng = np.random.default_rng(seed)
    predicted = rng.choice([20.0, 400.0, 6000.0], n)
    change = np.where(rng.random(n) < 0.7, 0.0, rng.normal(0, 4 * SD, n))
    true = np.where(rng.random(n) < empty, 0.0, np.maximum(predicted + change, 0.0))
    return true, predicted, true + draw(laplace, n, rng)


def learn(measured, predicted, laplace, cells=False):
    even = np.full(measured.size, predicted.mean())
    found = Residuals.of(measured, predicted, even, SD)
    return Reliability.learn(found, sd=SD, laplace=laplace, cells=cells)


@pytest.mark.parametrize("laplace", [True, False])
def test_known_mixtures_are_found(laplace):
    _, predicted, measured = some_level(laplace)
    found = learn(measured, predicted, laplace)
    # The largest predictions, far from 0, where no change is cut off.
    assert found.weight.sum(axis=1) == pytest.approx(1)
    assert found.weight[0, learned.WIDTHS <= 1].sum() == pytest.approx(0.7, abs=0.05)
    near = (learned.WIDTHS >= 2) & (learned.WIDTHS <= 8)
    assert found.weight[0, near].sum() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("laplace", [True, False])
@pytest.mark.parametrize("cells", [True, False])
def test_estimates_are_nearer_than_either(laplace, cells):
    true, predicted, measured = some_level(laplace, empty=0.1)
    found = learn(measured, predicted, laplace, cells)
    estimate, factor = found.tables.apply(measured, predicted)
    wrong = np.abs(estimate - true).mean()
    assert wrong < 0.75 * np.abs(np.maximum(measured, 0) - true).mean()
    assert wrong < 0.75 * np.abs(predicted - true).mean()
    assert ((factor >= 0) & (factor <= 1)).all()


def test_cells_that_are_empty_now_are_found():
    """Where the cells are large against their class's width, being empty is no other change."""
    rng = np.random.default_rng(6)
    n = 40_000
    predicted = rng.choice([2.0, 60.0], n)
    true = np.where(rng.random(n) < 0.4, 0.0, predicted)
    found = learn(true + draw(True, n, rng), predicted, True, cells=True)
    assert found.weight[0, -1] == pytest.approx(0.4, abs=0.05)
    estimate, _ = found.tables.apply(np.array([0.0, 60.0]), np.array([60.0, 60.0]))
    np.testing.assert_allclose(estimate, [0.0, 60.0], atol=0.5 * SD)


def test_better_estimates_are_shrunk_less():
    _, predicted, measured = some_level(True)
    found = learn(measured, predicted, True)
    plain, better = found.tabulate(SD**2), found.tabulate(SD**2 / 4)
    residual = learned.knots() > 3
    assert (better.keep[:, residual] > plain.keep[:, residual]).all()


def test_a_residual_of_a_million_is_believed():
    rng = np.random.default_rng(4)
    n = 200_000
    predicted = np.full(n, 0.02)
    for cells in (False, True):
        found = learn(draw(True, n, rng), predicted, True, cells)
        if found is None:  # nobody and nothing to explain: by hand
            zero = Residuals.of(draw(True, n, rng), predicted, np.full(n, 1e6), SD)
            found = Reliability.learn(zero, sd=SD, laplace=True, cells=cells)
        tables = found.tables
        for far in (1e4, 2e4, 1e6, 1e12):
            estimate, factor = tables.apply(np.array([far]), np.array([0.02]))
            assert estimate[0] == pytest.approx(far, rel=0.01)
            assert factor[0] == pytest.approx(1, abs=0.01)


def test_predictions_that_explain_nothing_are_left_alone():
    rng = np.random.default_rng(5)
    true = rng.integers(0, 1000, 5000).astype(float)
    measured = true + draw(True, true.size, rng)
    mirrored = true[::-1].copy()
    assert learn(measured, mirrored, True) is None
    assert learn(measured, true, True) is not None


def test_gains_are_compared_in_whole_numbers():
    _, predicted, measured = some_level(True)
    seen = Residuals.of(measured, predicted, np.full(measured.size, predicted.mean()), SD)
    found = Reliability.learn(seen, sd=SD, laplace=True, cells=False)
    gain = found.gain(seen)
    factor = (found.tables.factor[:, 1:] + found.tables.factor[:, :-1])[found.row] / 2
    assert gain == pytest.approx(1 - (seen.bins * factor).sum() / seen.members)
    assert 0.5 < gain < 0.8
    hundredths = int(gain * 100)
    assert found.gains((hundredths, 100), seen)
    assert not found.gains((hundredths + 1, 100), seen)


def test_tables_are_whole_multiples_and_repeat():
    _, predicted, measured = some_level(False, 5000)
    first, again = (learn(measured, predicted, False, cells=True).tables for _ in range(2))
    for name in ("keep", "factor"):
        table = getattr(first, name)
        assert table.tobytes() == getattr(again, name).tobytes()
        assert (table / STEP == np.rint(table / STEP)).all()


def test_between_knots_tables_are_straight():
    knots = learned.knots()
    row = np.zeros(42, np.int64)
    tables = Tables(SD, row, knots[None] / 2, np.ones((1, knots.size)))
    measured = np.linspace(-3000.0, 3000.0, 601)
    estimate, _ = tables.apply(measured, np.full(measured.size, 5000.0))
    np.testing.assert_allclose(estimate, 5000 + (measured - 5000) / 2, rtol=1e-9)


def test_estimates_are_not_below_zero():
    tables = learn(*some_level(True)[2:0:-1], True).tables
    estimate, _ = tables.apply(np.array([-500.0, -1e7]), np.array([3.0, 3.0]))
    assert (estimate >= 0).all()
