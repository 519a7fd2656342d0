"""The quadtree against least squares by matrices."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.baselines.quadtree import Quadtree, spread
from geodp.mechanisms.measure import laplace_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable
from tests.mechanisms.baselines.cases import domain_of, masked
from tests.reference import hierarchy as trees
from tests.reference import quadtree as reference
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables

METHODS = [Quadtree(), Quadtree(budget="uniform"), Quadtree(height=2), Quadtree(height=1)]
every = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.spec)


def spent(grid, epsilon=Fraction(1), neighbours=NEIGHBOURS[0]):
    return Measurement.of(
        "quadtree", Terms.of(epsilon=epsilon, neighbours=neighbours, contribution=1), 1, "fixed"
    )


def naive(method, table, key, scale):
    """The release, by the definition: float64[2**bits]."""
    grid, n = table.grid, 1 << table.grid.bits
    widths = reference.level_widths(grid.order.axes, method.height)
    counts = table.to_vector()
    levels = [np.kron(np.eye(n // width), np.ones(width)) for width in widths]
    shares = reference.shares(len(widths), method.budget)
    exact = method.shares(len(widths))
    noisy, variances = [], []
    for stage, (rows, share) in enumerate(zip(levels, exact, strict=True)):
        assert float(share) == pytest.approx(shares[stage], abs=2e-5)
        noisy.append(rows @ counts + laplace_noise(key, stage, scale / share, len(rows)))
        variances.append(DiscreteLaplace.of_scale(scale / share).variance)
    leaf = widths[-1]
    onto_leaves = [rows[:, ::leaf] for rows in levels]
    estimates = trees.least_squares(onto_leaves, noisy, variances)
    inside = domain_of(grid)
    out = np.zeros(n)
    for i, value in enumerate(estimates):
        cells = np.flatnonzero(inside[i * leaf : (i + 1) * leaf]) + i * leaf
        out[cells] = value / max(cells.size, 1)
    return out


@every
@given(table=shaped_tables(), secret=secrets)
@settings(max_examples=25, deadline=None)
def test_release_is_least_squares_and_even_leaves(method, table, secret):
    assume(table.grid.bits <= 6)
    found = method.release(table, spent(table.grid), NoiseKey(secret))
    expected = naive(method, table, NoiseKey(secret), Fraction(1))
    assert found.to_vector() == pytest.approx(expected, abs=1e-8)


@every
def test_a_masked_grid(method):
    inside = np.add.outer(np.arange(7), np.arange(6)) % 4 > 0
    inside[:4, :4] = False
    grid = masked((7, 6), inside)
    table = CountTable.from_dense(7 * inside, grid)
    found = method.release(table, spent(grid), NoiseKey(bytes(32)))
    expected = naive(method, table, NoiseKey(bytes(32)), Fraction(1))
    assert found.to_vector() == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("levels", [1, 2, 3, 10, 11, 27])
@pytest.mark.parametrize("budget", ["geometric", "uniform"])
def test_shares_are_exact_and_grow_by_the_cube_root_of_two(levels, budget):
    shares = Quadtree(budget=budget).shares(levels)
    assert sum(shares) == 1
    assert min(shares) > 0
    assert all(share.denominator <= 1 << 20 for share in shares)
    ratio = 2 ** (1 / 3) if budget == "geometric" else 1
    for above, below in pairwise(shares):
        assert float(below / above) == pytest.approx(ratio, rel=5e-3)


@pytest.mark.parametrize(
    ("shape", "fanouts"),
    [
        ((512, 512), (4,) * 9),
        ((8,), (2, 2, 2)),
        ((8, 2), (2, 2, 4)),
        ((2, 8), (2, 2, 4)),
        ((4, 4, 4), (8, 8)),
        ((1, 1), ()),
    ],
)
def test_levels(shape, fanouts):
    grid = Grid.regular(shape)
    assert Quadtree().fanouts(grid) == fanouts
    widths = reference.level_widths(grid.order.axes, 10)
    assert [a // b for a, b in pairwise(widths)] == list(fanouts)


def test_the_height_caps_the_levels():
    grid = Grid.regular((2048, 2048))
    assert Quadtree().fanouts(grid) == (4,) * 10
    assert Quadtree(height=3).fanouts(grid) == (4,) * 3
    assert Quadtree().variances(grid, spent(grid)) is None
    assert Quadtree(height=11).variances(grid, spent(grid)) is not None


@pytest.mark.parametrize("budget", ["geometric", "uniform"])
@pytest.mark.parametrize(
    "grid",
    [
        Grid.regular((8, 8)),
        Grid.regular((5, 7)),
        Grid.regular((3, 2, 5)),
        Grid.regular((13,)),
        Grid.regular((1,)),
        masked((5, 6), np.add.outer(np.arange(5), np.arange(6)) % 3 > 0),
    ],
    ids=lambda g: "x".join(map(str, g.shape)),
)
def test_variances_by_propagating_the_noise(budget, grid):
    method, used = Quadtree(budget=budget), spent(grid)
    tree, scales = method.plan(grid, used.scale)
    levels = trees.nodes(tree.fanouts)
    own = [DiscreteLaplace.of_scale(scale).variance for scale in scales]
    cov = trees.covariance(levels, own)
    keys = np.arange(len(cov))
    expected = trees.block_variances(cov, keys, domain_of(grid), grid.bits)
    assert method.variances(grid, used) == pytest.approx(expected, rel=1e-9)
    region = np.arange(1 << grid.bits, dtype=np.uint64)[domain_of(grid)]
    assert method.tree_variance(grid, used).region(region) == pytest.approx(expected[0], rel=1e-9)


@every
def test_one_person_spends_exactly_the_budget(method):
    """A count changes on every level, by 1, against noise of 1 / (share * epsilon)."""
    grid = Grid.regular((6, 9))
    used = spent(grid, Fraction(1, 3))
    tree, scales = method.plan(grid, used.scale)
    leaves = int(np.prod(tree.fanouts))
    one = np.zeros(leaves, np.int64)
    one[-1] = 1
    runs = [
        tree.noisy(counts, scales, NoiseKey(bytes(32)))
        for counts in (np.zeros(leaves, np.int64), one)
    ]
    changes = [int(np.abs(b - a).sum()) for a, b in zip(*runs, strict=True)]
    assert changes == [1] * len(scales)
    assert sum(change / scale for change, scale in zip(changes, scales, strict=True)) == Fraction(
        1, 3
    )
    twice = spent(grid, Fraction(1, 3), "replace-one")
    assert method.plan(grid, twice.scale)[1] == [2 * scale for scale in scales]


def test_leaves_are_spread_over_cells_of_the_domain_only():
    domain = np.array([1, 0, 1, 1, 0, 0, 0, 0], bool)
    assert spread(np.array([9.0, 5.0]), domain, 4).tolist() == [3, 0, 3, 3, 0, 0, 0, 0]
    assert spread(np.array([8.0]), None, 2).tolist() == [4, 4]


def test_settings_and_refusals():
    for wrong in ({"height": 0}, {"height": 64}, {"budget": "fair"}):
        with refuses(UsageError, "method-setting-out-of-range"):
            Quadtree(**wrong)
    assert Quadtree().with_settings("height=4,budget=uniform") == Quadtree(4, "uniform")
    tens = Grid.regular((10,)).with_order(Order((0, 0), (2, 5)))
    assert Quadtree().unsupported(tens).endswith("splits every node in two.")
    assert "at most" in Quadtree().unsupported(Grid.regular((1 << 13, 1 << 14)))
