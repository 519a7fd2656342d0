"""The same questions to every row of METHODS."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.accounting import NEIGHBOURS, event

METHODS = sorted(geodp.METHODS)


@pytest.fixture
def table():
    people = np.zeros((20, 30), int)
    people[5:12, 8:20] = np.random.default_rng(3).poisson(40, (7, 12))
    return geodp.CountTable.from_dense(people, geodp.Grid.regular((20, 30)))


def spent(method, grid):
    sensitivity = geodp.METHODS[method].sensitivity(grid)
    return event(method, Fraction(1), NEIGHBOURS[0], 1, False, sensitivity, "person", "fixed")


@pytest.mark.parametrize("method", METHODS)
class TestEveryMethod:
    def test_says_what_it_is(self, method):
        row = geodp.METHODS[method]
        assert row.name == method
        assert row.title
        assert row.citation
        assert row.guarantee.variant
        assert row.guarantee.precondition
        assert row.guarantee.source
        assert row.postprocessing

    def test_output_lies_in_the_domain_and_is_whole(self, method, table):
        release = geodp.publish(table, method=method, epsilon=1)
        assert table.grid.contains_keys(release.table.key).all()
        row = geodp.METHODS[method]
        assert release.table.count.dtype == (np.int64 if row.whole else np.float64)
        assert (release.table.count > 0).all() or not row.nonnegative
        assert (np.diff(release.table.key.astype(np.int64)) > 0).all()

    def test_same_key_same_release_other_key_other_release(self, method, table):
        runs = [
            geodp.publish(table, method=method, epsilon=1, key=geodp.NoiseKey(bytes([k]) * 32))
            for k in (1, 1, 2)
        ]
        same = [
            np.array_equal(runs[0].table.key, run.table.key)
            and np.array_equal(runs[0].table.count, run.table.count)
            for run in runs
        ]
        assert same == [True, True, False]

    def test_fresh_keys_give_fresh_noise(self, method, table):
        one, two = (geodp.publish(table, method=method, epsilon=1) for _ in range(2))
        assert not np.array_equal(one.table.to_dense(), two.table.to_dense())

    @pytest.mark.parametrize("neighbours", NEIGHBOURS)
    def test_sensitivity_scales_with_neighbours_and_contribution(self, method, neighbours, table):
        release = geodp.publish(
            table, method=method, epsilon="1/3", neighbours=neighbours, contribution=4
        )
        once = geodp.METHODS[method].sensitivity(table.grid)
        factor = 4 * (2 if neighbours == "replace-one" else 1)
        assert release.event.sensitivity == once * factor
        assert release.event.scale == Fraction(once * factor * 3)

    def test_an_empty_table_is_released_too(self, method, table):
        empty = geodp.CountTable.from_dense(np.zeros((20, 30), int), table.grid)
        release = geodp.publish(empty, method=method, epsilon=1)
        assert table.grid.contains_keys(release.table.key).all()

    def test_expected_error_is_there_before_any_data(self, method, table):
        if geodp.METHODS[method].variances(table.grid, spent(method, table.grid)) is None:
            pytest.skip("the error depends on the data")
        release = geodp.publish(table, method=method, epsilon=1)
        errors = release.standard_error([1, 4, 16])
        assert (errors > 0).all()
        half = geodp.publish(table, method=method, epsilon="1/2")
        assert np.allclose(half.standard_error([1, 4, 16]) / errors, 2, rtol=0.05)
