"""Intervals of all cells at once are those that are asked for one by one."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.closed_form import keys_of_domain
from geodp.grid.region import Region
from geodp.release.opening import errors_of
from geodp.table.counts import ReleasedTable
from tests.grids import half, in_regions, masked
from tests.laws.side_by_side import GRIDS

TINY = {**GRIDS, "one cell": geodp.Grid.regular((1, 1)), "four axes": geodp.Grid.regular((2,) * 4)}
ODD = {
    "box": geodp.Grid.regular((50, 37)),
    "masked": masked(geodp.Grid.regular((40, 33)), half((40, 33), 5)),
    "regions": in_regions(),
    "attribute": geodp.Grid.regular((20, 17)).with_attribute("age", ["child", "adult", "old"]),
}


def table_of(grid, mean, seed):
    """Few cells with many people, more with some, most with nobody; nobody at all for 0."""
    rng = np.random.default_rng(seed)
    key = np.sort(keys_of_domain(grid))
    count = rng.poisson(mean, key.size) * (rng.random(key.size) < 0.3)
    count *= 1 + 20 * (rng.random(key.size) < 0.1)
    return geodp.CountTable.from_keys(grid, key[count > 0], count[count > 0])


PLANS = ["pyramid", "pyramid:passes=1,setting=flat", "topdown"]
BUDGETS = {"pure": {"epsilon": "0.3"}, "gaussian": {"rho": "1/20"}}
MEANS = [0, 0.05, 200]
CASES = [  # all pairs: the number of the form turns what it meets
    pytest.param(form, PLANS[i], BUDGETS[budget], MEANS[(i + j + n) % 3], id=f"{form}-{i}-{budget}")
    for n, form in enumerate(TINY | ODD)
    for i in range(3)
    for j, budget in enumerate(BUDGETS)
]


@pytest.mark.law
@pytest.mark.parametrize(("form", "method", "budget", "mean"), CASES)
def test_every_cell_has_the_interval_of_its_region(form, method, budget, mean):
    grid = (TINY | ODD)[form]
    if method == "topdown" and not grid.order.is_binary:
        pytest.skip("takes no such grid")
    table = table_of(grid, mean, 1)
    release = geodp.publish(table, method=method, contribution=1, allow_empty=True, **budget)
    key = np.sort(keys_of_domain(grid))
    low, high = release.errors().intervals.of(key)
    for i in np.random.default_rng(2).choice(key.size, min(10, key.size), replace=False):
        one = release.estimate(Region(release.grid, key[i : i + 1]))
        assert (low[i], high[i]) == pytest.approx((one.low, one.high), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", ["laplace", "geometric", "privelet", "quadtree", "hay"])
def test_cells_of_methods_that_do_not_clamp_too(method):
    grid = geodp.Grid.regular((8, 8))
    release = geodp.publish(table_of(grid, 3, 1), method=method, epsilon=1, contribution=1)
    key = np.arange(grid.size, dtype=np.uint64)
    low, high = release.errors().intervals.of(key)
    for i in range(0, grid.size, 7):
        one = release.estimate(Region(release.grid, key[i : i + 1]))
        assert (low[i], high[i]) == pytest.approx((one.low, one.high), rel=1e-9)


@pytest.mark.parametrize(
    "method", [f"pyramid:setting=R{pruned}" for pruned in ("", ",prune=3", ",prune=6")]
)
def test_a_part_of_a_release_has_the_intervals_of_the_whole(method):
    grid = geodp.Grid.regular((64, 64))
    release = geodp.publish(table_of(grid, 30, 3), method=method, epsilon=1, contribution=1)
    key, count = release.table.key, release.table.count
    stride = 256
    node, first = np.unique(key // np.uint64(stride), return_index=True)
    tops = (stride, node, np.add.reduceat(count, first))
    whole = errors_of(release.view()).intervals()
    for first in (0, 1024, 3072):
        here = (key >= first) & (key < first + 1024)
        part = ReleasedTable(grid, key[here], count[here], release.event)
        cells = np.arange(first, first + 1024, dtype=np.uint64)
        found = geodp.Release(part).errors(tops).intervals.of(cells)
        np.testing.assert_allclose(found, whole.of(cells), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["pyramid", "topdown", "laplace", "geometric"])
def test_a_count_beside_one_that_no_float_holds_is_within_its_ends(method):
    """Sums in floats would lose the 1 beside 2^59 + 65; ends as floats would miss the latter."""
    grid = geodp.Grid.regular((4, 4))
    people = np.array([300] * 9 + [2**59 + 65] + [300] * 6)
    truth = geodp.CountTable.from_keys(grid, np.arange(16, dtype=np.uint64), people)
    for _ in range(5):
        release = geodp.publish(truth, method=method, epsilon=1, contribution=1)
        key, count = release.table.key, release.table.count
        low, high = release.errors().intervals.of(key)
        for i in range(key.size):
            exact = count[i].item()
            assert low[i].item() <= exact <= high[i].item()  # of Python: a whole number stays one
            one = release.estimate(Region(grid, key[i : i + 1]))
            assert one.low <= exact <= one.high
            assert high[i] - low[i] < (1000 if exact < 2**50 else 1e4)


def test_files_hold_counts_between_their_ends(tmp_path):
    import pyarrow.parquet

    grid = geodp.Grid.mesh("jis:half", bounds=(139.5, 35.5, 139.7, 35.7))
    release = geodp.publish(table_of(grid, 30, 3), epsilon=1, contribution=1)
    release.write(tmp_path / "out")
    rows = pyarrow.parquet.read_table(tmp_path / "out/public/population.parquet")
    low, count, high = (rows[name].to_numpy() for name in ("low", "population", "high"))
    assert (low <= count).all()
    assert (count <= high).all()
    assert (low < high).all()
    expected = release.errors().intervals.of(release.table.key)
    np.testing.assert_allclose((low, high), expected, atol=0.001)


@pytest.mark.parametrize("method", ["hay", "privelet", "privelet-2d", "laplace"])
def test_more_cells_than_are_worked_out_one_by_one_have_intervals_too(method):
    grid = geodp.Grid.regular((2048, 1024))
    table = geodp.CountTable.from_index(grid, np.array([[5, 9], [7, 1]]), [900, 50])
    release = geodp.publish(table, method=method, epsilon=1, contribution=1)
    errors = release.errors()
    key = np.array([0, 3, 1 << 20], np.uint64)
    low, high = errors.intervals.of(key)
    count = release.table.count[np.searchsorted(release.table.key, key)]
    np.testing.assert_allclose((high + low) / 2, count, atol=1e-6)
    np.testing.assert_allclose((high - low) / 2, 2.118 * errors.standard_error)
