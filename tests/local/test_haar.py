"""One bit a device: equal to the naive twin, private as claimed, exact whatever the split."""

import math
from fractions import Fraction

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.kernels import tree as haar_kernels
from geodp.kernels.tree import BOTH
from geodp.local.coins import Coins, FixedCoins
from geodp.local.haar import TRANSFORM_BITS, Haar, Halves, descend, sum_at
from geodp.local.kernels import local_tree, oracles
from geodp.local.tree import draw_uniforms
from tests.reference import coins as naive_coins
from tests.reference import local_tree as reference

ONE = Fraction(1)
ALWAYS, NEVER = 0, 0xFFFFFFFF


def units_of(seed, n):
    return np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32)


def keys_of(seed, n, bits):
    return np.random.default_rng(seed).integers(0, 1 << bits, n).astype(np.uint64)


@pytest.fixture
def reports():
    """Reports of 3,000 devices on 2**6 cells by unequal weights, and what they were made of."""
    method, grid = Haar(weights="3-1-1-2-1-1"), Grid.regular((8, 8))
    asked = method.halves(grid, ONE)
    key, units = keys_of(1, 3000, 6), units_of(2, 20_000)
    return method, grid, asked, key, units, asked.randomize(key, FixedCoins(units))


def test_a_device_is_the_naive_one(reports):
    _, _, asked, key, units, found = reports
    turn, left = naive_coins.Chance(1, 1, ONE), naive_coins.Units(units.tolist())
    naive = [reference.haar_report(left, int(k), asked.parts, turn) for k in key]
    assert naive == [tuple(map(int, one)) for one in found]


def test_the_server_is_the_naive_one(reports):
    _, grid, asked, _, _, found = reports
    state = asked.aggregate(found)
    naive = reference.haar_details([tuple(map(int, r)) for r in found], asked.parts, 1)
    for level, nodes in enumerate(naive):
        every = np.arange(1 << level, dtype=np.uint64)
        np.testing.assert_allclose(asked.details(state, level, every), nodes, rtol=1e-12)
    cells = reference.haar_cells(3000, naive)
    np.testing.assert_allclose(asked.estimate(state), cells, rtol=1e-9)
    uniform = [draw_uniforms(i, np.arange(1 << i, dtype=np.uint64)).tolist() for i in range(6)]
    key, count, _ = descend(grid, asked, state)
    dense = np.zeros(64, np.int64)
    dense[key.astype(np.int64)] = count
    assert dense.tolist() == reference.clamp_cells(3000, naive, uniform)


def test_all_nodes_and_some_have_the_same_sums():
    asked = Halves(cells=1 << 14, epsilon=ONE)
    state = asked.aggregate(
        asked.randomize(keys_of(3, 30_000, 14), FixedCoins(units_of(4, 95_000)))
    )
    for level in (0, 1, 5, 11, 13):
        every = np.arange(1 << level, dtype=np.uint64)
        some = every[:: max(1, (1 << level) // 7)]
        assert np.array_equal(sum_at(state, level, every)[some], sum_at(state, level, some))


def test_shares_are_the_clamp_of_the_dense_refinement():
    bits, n = 18, 10**6
    rng = np.random.default_rng(5)
    weight = rng.pareto(0.7, 1 << bits)
    key = rng.choice(1 << bits, n, p=weight / weight.sum()).astype(np.uint64)
    truth = np.bincount(key.astype(np.int64), minlength=1 << bits)
    asked, grid = Halves(cells=1 << bits, epsilon=ONE), Grid.regular((512, 512))
    state = asked.aggregate(asked.randomize(key, FixedCoins(units_of(6, 3_200_000))))
    released, count, _ = descend(grid, asked, state)
    sparse = np.zeros(1 << bits, np.int64)
    sparse[released.astype(np.int64)] = count
    detail, nobody = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int64)
    for level in range(bits):
        every = np.arange(1 << level, dtype=np.uint64)
        detail[1 << level : 2 << level] = np.rint(asked.details(state, level, every))
    coin = rng.integers(0, 2, 1 << bits)
    branch = np.full(1 << bits, BOTH, np.int64)
    haar_kernels.refine_dense(n, detail, nobody, coin, branch)
    sums = np.zeros(2 << bits, np.int64)
    sums[1] = n
    haar_kernels.inverse_dense(detail, sums)
    for block in (1, 16, 256, 4096):
        errors = [
            np.sqrt(np.mean((x - truth).reshape(-1, block).sum(axis=1) ** 2.0))
            for x in (sparse, sums[1 << bits :])
        ]
        assert errors[0] == pytest.approx(errors[1], rel=0.01)
    assert sparse.sum() == sums[1 << bits :].sum() == n


def test_one_thread_or_two_give_the_same():
    asked, grid = Halves(cells=1 << 30, epsilon=ONE), Grid.regular((1 << 15, 1 << 15))
    state = asked.aggregate(
        asked.randomize(keys_of(7, 20_000, 30), FixedCoins(units_of(8, 90_000)))
    )
    one, two = (descend(grid, asked, state, threads) for threads in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one[:2], two[:2], strict=True))


def test_what_is_visited_grows_with_reports_and_not_with_cells():
    visited = []
    for bits in (24, 48):
        asked = Halves(cells=1 << bits, epsilon=ONE)
        grid = Grid.regular((1 << (bits // 2),) * 2)
        key = keys_of(9, 20_000, 10) << np.uint64(bits - 10)
        state = asked.aggregate(asked.randomize(key, FixedCoins(units_of(10, 90_000))))
        visited.append(descend(grid, asked, state)[2])
    assert visited[1] < 48 * 20_000 / 100
    assert bits > TRANSFORM_BITS


def test_the_total_is_that_of_the_reports_also_on_a_domain_with_edges():
    grid, method = Grid.regular((21, 13)), Haar()
    key = grid.encode(np.stack([np.arange(3000) % 21, np.arange(3000) % 13]))
    oracles = method.oracles(grid, ONE)
    state = method.aggregate(oracles, method.randomize(oracles, key, FixedCoins(units_of(1, 9999))))
    table = method.refine(grid, method.event(ONE, reports=3000), state)
    assert table.total == 3000
    assert grid.contains_keys(table.key).all()


def test_the_closed_form_of_equal_weights():
    grid, method = Grid.regular((32, 32)), Haar()
    tree = method.tree_variance(grid, method.event(ONE, reports=10**6))
    c2 = ((math.e + 1) / (math.e - 1)) ** 2
    for j, variance in enumerate(tree.nodes()):
        assert variance == pytest.approx(10 * 10**6 * c2 * (1 - 4.0**-j) / 3)
    asked = method.halves(grid, ONE)
    assert asked.variance(10**6) == pytest.approx(tree.nodes()[-1])


def test_grids_that_cannot_be_asked_about():
    assert Haar().unsupported(Grid.regular((4, 4))) is None
    for grid in (
        Grid.regular((4, 4)).with_attribute("sex", ("m", "f")),
        Grid.regular((4, 4)).pairs(),
        Grid.regular((16,)),
        Grid.regular((1, 1)),
    ):
        assert Haar().unsupported(grid)
    europe = Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4300000, 3200000))
    assert Haar().unsupported(europe.with_official_order())


def test_the_operating_system_is_asked_for_coins():
    asked, key = Halves(cells=1 << 10, epsilon=ONE), keys_of(1, 5000, 10)
    one, two = asked.randomize(key), asked.randomize(key, Coins())
    assert not np.array_equal(one, two)
    assert np.bincount(one["level"]).min() > 350


@pytest.mark.parametrize("largest", [1, 3, 500])
def test_sums_at_values_are_those_of_every_row_by_itself(largest):
    rng = np.random.default_rng(largest)
    row = np.unique(rng.integers(0, 1 << 20, 700).astype(np.uint64))
    total = rng.integers(-largest, largest + 1, row.size)
    value = rng.integers(0, 1 << 20, 60).astype(np.uint64)
    out = np.empty(60, np.int64)
    local_tree.multiply(row, total, 20, value, out)
    naive = [
        sum(
            int(t) * (-1) ** reference.odd(int(r) & int(v)) for r, t in zip(row, total, strict=True)
        )
        for v in value
    ]
    assert out.tolist() == naive
    again = np.empty(60, np.int64)
    oracles.correlate(row, total, value, again)
    assert np.array_equal(again, out)
