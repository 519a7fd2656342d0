"""Deconvolution: its law against the definition, and counts that it gives back."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

import geodp
from geodp.features.statistics.deconvolution import (
    Deconvolved,
    deconvolve,
    find_strata,
    fit_shares,
    tabulate_law,
)
from geodp.table.measured import NodeLevel
from tests.features.statistics.test_unmixing import GRID, villages

KEY = geodp.NoiseKey(bytes(range(32)))


def measured(table, epsilon=2, **given):
    release = geodp.publish(
        table,
        method="pyramid:setting=R",
        epsilon=epsilon,
        key=KEY,
        contribution=1,
        measurements="cell",
        **given,
    )
    return release.measurements


def test_the_law_is_that_of_people_and_noise():
    level = NodeLevel(12, 6, "count", ("discrete Laplace", Fraction(2)), 8.0)
    law, low = tabulate_law(level, np.array([0, 1, 3, 30]), 2.0)
    assert low == -17
    q = exp(-1 / 2)
    assert law[0, 5 - low] == pytest.approx((1 - q) / (1 + q) * q**5)
    assert law[1, 5 - low] == pytest.approx((1 - q) / (1 + q) * (q**4 + q**3) / 2)  # 1 or 2 people
    assert law[0, 0] == pytest.approx(q**17 / (1 + q))  # so few or fewer
    assert law[-1].tolist() == [0.0] * (law.shape[1] - 1) + [1.0]
    np.testing.assert_allclose(law.sum(axis=1), 1)


def test_a_gaussian_law_has_its_variance():
    level = NodeLevel(12, 6, "count", ("discrete Gaussian", Fraction(9)), 9.0)
    law, low = tabulate_law(level, np.array([0, 1, 2]), 9**0.5)
    at = low + np.arange(law.shape[1])
    assert law[0] @ at**2 == pytest.approx(9, rel=1e-4)
    assert law[1] @ at == pytest.approx(1, rel=1e-4)


def test_shares_are_those_that_made_the_values():
    level = NodeLevel(12, 6, "count", ("discrete Laplace", Fraction(1)), 1.84)
    law, _ = tabulate_law(level, np.arange(8), 0.96)
    share = np.array([[0.8, 0, 0, 0.2, 0, 0, 0, 0], [0.3, 0.1, 0, 0.4, 0, 0.2, 0, 0]])
    found = fit_shares(law, 1e6 * (share @ law), tied=False)
    np.testing.assert_allclose(found, share, atol=0.02)
    tied = fit_shares(law, 1e6 * (share @ law), tied=True)
    some = tied[:, 1:] / tied[:, 1:].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(some[0], some[1])


def test_strata_go_by_nodes_above_and_empty_ones_are_the_first():
    people = np.zeros((64, 64), np.int64)
    people[:32, :32], people[32:, 32:] = 3, 40
    taken = measured(geodp.CountTable.from_dense(people, GRID))
    found = find_strata(GRID, taken.levels[:-1], taken.levels[-1])
    index = GRID.decode(taken.levels[-1].node).astype(np.int64)
    at = found[np.argsort(index[0] * 64 + index[1])].reshape(64, 64)
    assert (at[:32, 32:] == 0).mean() > 0.9
    assert (at[:32, :32] > 0).all()
    assert at[32:, 32:].min() > at[:32, :32].max()


def test_cells_of_so_many_people_are_given_back_with_an_error():
    table = villages(2)
    found = deconvolve(GRID, measured(table), (1, 20))
    counts = found.list_counts(found.cells)
    assert counts.size == GRID.size
    assert counts.sum() == pytest.approx(table.count.sum(), rel=0.01)
    (inhabited, error), (large, _) = (
        found.estimate(lambda cells, least=least: float((cells >= least).sum()))
        for least in (1, 20)
    )
    assert 0 < error < 0.1 * table.key.size
    assert abs(inhabited - table.key.size) < 3 * error
    assert large == pytest.approx((table.count >= 20).sum(), abs=3)


def test_values_too_large_for_the_fit_stay_as_they_are():
    cells = np.array([[[2.0, 3.0]], [[1.0, 4.0]]])
    found = Deconvolved(
        np.array([0, 1, 4]), cells[0], np.repeat(cells, 9, 0), np.array([70, 90]), 7, 2.0, False
    )
    assert sorted(found.list_counts(cells[0])) == [0, 0, 1, 2, 3, 70, 90]
    assert found.estimate(lambda counts: float((counts >= 71).sum()))[1] > 0.1  # noise decides


def test_without_counts_of_all_cells_there_is_nothing_to_deconvolve():
    release = geodp.publish(villages(1), epsilon=3, key=KEY, contribution=1, measurements=16)
    assert deconvolve(GRID, release.measurements, (1, 20)) is None
