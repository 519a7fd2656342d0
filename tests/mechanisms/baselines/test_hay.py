"""Consistent trees over the keys and over boxes, against least squares by matrices."""

from fractions import Fraction
from math import ceil, inf, prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.baselines.hay import Hay
from geodp.mechanisms.baselines.hb import Branching, _average_error, _splits
from geodp.mechanisms.measure import laplace_noise
from geodp.mechanisms.trees.least_squares import (
    MAX_UNALIGNED,
    EvenTree,
    block_variances,
    prefix_sums,
    sums_of_runs,
    unaligned_variances,
    widths_of,
)
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from tests.mechanisms.baselines.cases import domain_of, masked, spent
from tests.reference import hierarchy as reference
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables

MASKED = masked((5, 6), np.add.outer(np.arange(5), np.arange(6)) % 3 > 0)
GRIDS = [
    Grid.regular((1,)),
    Grid.regular((2,)),
    Grid.regular((64,)),
    Grid.regular((50,)),
    Grid.regular((8, 4)),
    Grid.regular((5, 7)),
    Grid.regular((3, 2, 5)),
    Grid.regular((6,)).with_order(Order((0, 0, 0, 0), (2, 2, 2, 2))),
]
names = {"ids": lambda g: "x".join(map(str, g.shape))}
fanouts = st.lists(st.integers(2, 5), min_size=0, max_size=3).map(tuple)


@given(fanouts, st.data())
@settings(max_examples=30)
def test_two_passes_are_least_squares(splits, data):
    variances = data.draw(
        st.lists(st.floats(0.1, 100), min_size=len(splits) + 1, max_size=len(splits) + 1)
    )
    if splits and data.draw(st.booleans()):
        variances[0] = inf
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    levels = reference.nodes(splits)
    noisy = [
        None if v == inf else rng.integers(-50, 50, len(rows))
        for rows, v in zip(levels, variances, strict=True)
    ]
    tree = EvenTree(splits, tuple(variances))
    found = tree.estimate(noisy)
    expected = reference.least_squares(levels, noisy, variances)
    for estimates, rows in zip(found, levels, strict=True):
        assert estimates == pytest.approx(rows @ expected, abs=1e-6)
    cov = reference.covariance(levels, variances)
    nodes = [rows[0] @ cov @ rows[0] for rows in levels]
    assert tree.best().nodes() == pytest.approx(nodes, rel=1e-6)


def test_the_papers_example():
    """Hay et al. (2010), figure 2(b): noisy answers and what becomes of them."""
    noisy = [np.array([13]), np.array([3, 11]), np.array([4, 1, 12, 1])]
    found = EvenTree((2, 2), (1.0, 1.0, 1.0)).estimate(noisy)
    assert found[0] == pytest.approx([14])
    assert found[1] == pytest.approx([3, 11])
    assert found[2] == pytest.approx([3, 0, 11, 0])


@given(st.integers(1, 40), st.integers(1, 6))
def test_sums_of_runs(length, runs):
    values = np.arange(length * runs)
    assert (sums_of_runs(values, length) == values.reshape(runs, length).sum(axis=1)).all()


@pytest.mark.parametrize("fanout", [2, 3, 4, 16])
@pytest.mark.parametrize("nonnegative", [False, True])
@given(table=shaped_tables(), secret=secrets)
@settings(max_examples=10, deadline=None)
def test_hay_is_least_squares_of_its_noisy_counts(fanout, nonnegative, table, secret):
    assume(table.grid.bits <= 6)
    method = Hay(fanout=fanout, nonnegative=nonnegative)
    grid, n = table.grid, 1 << table.grid.bits
    used = spent(method, grid)
    splits = (fanout,) * method.height(grid)
    levels = reference.nodes(splits)
    counts = np.zeros(levels[0].size)
    counts[:n] = table.to_vector()
    noisy = [
        rows @ counts + laplace_noise(NoiseKey(secret), stage, used.scale, len(rows))
        for stage, rows in enumerate(levels)
    ]
    expected = reference.least_squares(levels, noisy, [1.0] * len(levels))
    if nonnegative:
        # Estimates are fractions of small integers: what should be 0 need not be so exactly.
        assume(min(abs(rows @ expected).min() for rows in levels) > 1e-9)
        expected = reference.without_negatives(levels, expected)
    found = method.release(table, used, NoiseKey(secret))
    assert found.to_vector() == pytest.approx(np.where(domain_of(grid), expected[:n], 0), abs=1e-8)
    assert (found.count > 0).all() or not nonnegative


@pytest.mark.parametrize("fanout", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("grid", [*GRIDS, MASKED], **names)
def test_hay_variances_by_propagating_unit_noise(fanout, grid):
    method, n = Hay(fanout=fanout), 1 << grid.bits
    used = spent(method, grid)
    levels = reference.nodes((fanout,) * method.height(grid))
    cov = reference.covariance(levels, [1.0] * len(levels))
    keys = np.arange(len(cov))
    keys[n:] = -1
    expected = reference.block_variances(cov, keys, domain_of(grid), grid.bits)
    sigma2 = DiscreteLaplace.of_scale(used.scale).variance
    assert method.variances(grid, used) / sigma2 == pytest.approx(expected, rel=1e-9)
    every = np.arange(n, dtype=np.uint64)[domain_of(grid)]
    whole = method.tree_variance(grid, used).region(every)
    assert whole / sigma2 == pytest.approx(expected[0], rel=1e-9)


def test_both_ways_to_block_variances_agree():
    tree = EvenTree((4, 2, 8, 4), (3.0, 1.0, 5.0, 2.0, 0.5)).best()
    widths = [widths_of(tree.fanouts)]
    sizes = [(i,) for i in range(9)]
    for domain in (np.ones(256, bool), np.random.default_rng(1).random(256) < 0.7):
        found = block_variances(tree, 8, domain)
        assert found == pytest.approx(
            unaligned_variances(tree, [prefix_sums(domain)], widths, sizes)
        )
    assert block_variances(tree, 8, None) == pytest.approx(
        block_variances(tree, 8, np.ones(256, bool))
    )


def test_hay_settings():
    with refuses(UsageError, "method-setting-out-of-range"):
        Hay(fanout=1)
    assert Hay().with_settings("fanout=16,nonnegative=yes") == Hay(fanout=16, nonnegative=True)
    assert Hay(fanout=16, nonnegative=True).spec == "hay:nonnegative=yes,fanout=16"
    grid = Grid.regular((64,))
    assert Hay(nonnegative=True).variances(grid, spent(Hay(), grid)) is None
    assert Hay(nonnegative=True).nonnegative
    assert not Hay().nonnegative
    assert Hay(nonnegative=True).postprocessing != Hay().postprocessing
    assert [Hay(fanout=b).sensitivity(Grid.regular((512, 512))) for b in (2, 4, 8, 16)] == [
        19,
        10,
        7,
        6,
    ]
    assert spent(Hay(), grid, neighbours="replace-one").scale == 14


def test_large_grids_are_refused():
    grid = Grid.regular((1 << 13, 1 << 13))
    assert Hay().unsupported(grid) is None
    assert "choose a smaller fan-out." in Hay(fanout=3).unsupported(grid)
    for method in (Hay(), Branching()):
        assert "at most" in method.unsupported(Grid.regular((1 << 13, 1 << 14)))
    line = Grid.regular((2 * MAX_UNALIGNED,))
    assert Hay(fanout=3).variances(line, spent(Hay(fanout=3), line)) is None
    assert Hay(fanout=2).variances(line, spent(Hay(fanout=2), line)) is not None


# --- HB


@pytest.mark.parametrize("n", [1, 2, 5, 16, 100, 256, 300, 512, 1000, 4096])
def test_the_fan_out_of_a_line_is_the_best_of_all(n):
    def error(b):
        h = 1
        while b**h < n:
            h += 1
        return Fraction((b - 1) * h**3) - Fraction(2 * (b + 1) * h**2, 3)

    splits = Branching().splits(Grid.regular((n,)))
    height = len(splits)
    best = min(error(b) for b in range(2, max(n, 2) + 1))
    assert min(error(b) for b in range(2, max(n, 2) + 1) if b**height >= n) == best
    assert n <= prod(parts for (parts,) in splits) < n * 2


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (9,), (8, 2), (2, 2, 4), (5, 1)])
@pytest.mark.parametrize("height", [1, 2, 3])
def test_average_error_counts_nodes_of_all_boxes(shape, height):
    fanout = next(b for b in range(2, 99) if b**height >= max(shape))
    splits = _splits(shape, fanout, height)
    average = reference.average_nodes(splits) * height**2
    if len(shape) > 1:
        assert float(_average_error(shape, fanout, height)) == pytest.approx(average)
    else:  # the paper's formula is for long lines
        b, h = fanout, height
        assert _average_error(shape, b, h) == (b - 1) * h**3 - Fraction(2 * (b + 1) * h**2, 3)


@pytest.mark.parametrize("shape", [(512, 512), (20, 30), (1, 5), (7, 100, 3), (1,)])
@pytest.mark.parametrize("fanout", [2, 3, 8])
def test_splits_hold_every_axis_and_waste_little(shape, fanout):
    height = max(1, ceil(np.log(max(shape)) / np.log(fanout) - 1e-9))
    splits = _splits(shape, fanout, height)
    assert len(splits) == height
    for axis, size in enumerate(shape):
        parts = [level[axis] for level in splits]
        assert size <= prod(parts) < 2 * size + (size == 1)
        assert all(p <= fanout for p in parts)


class Fixed(Branching):
    """HB with a given tree."""

    def splits(self, grid):
        return _splits(grid.shape, 2 if max(grid.shape) < 5 else 3, 4)


@pytest.mark.parametrize("method", [Branching(), Fixed()], ids=["best", "fixed"])
@given(table=shaped_tables(), secret=secrets)
@settings(max_examples=25, deadline=None)
def test_hb_is_least_squares_of_its_noisy_counts(method, table, secret):
    grid = table.grid
    padded, levels = reference.box_rows(method.splits(grid))
    assume(np.prod(padded) <= 300)
    used = spent(method, grid)
    box = tuple(slice(size) for size in grid.shape)
    counts = np.zeros(padded)
    counts[box] = table.to_dense()
    noisy = [
        rows @ counts.reshape(-1) + laplace_noise(NoiseKey(secret), stage, used.scale, len(rows))
        for stage, rows in enumerate(levels)
    ]
    expected = reference.least_squares(levels, [None, *noisy[1:]], [1.0] * len(levels))
    found = method.release(table, used, NoiseKey(secret)).to_dense()
    assert found == pytest.approx(expected.reshape(padded)[box], abs=1e-8)


@pytest.mark.parametrize("method", [Branching(), Fixed()], ids=["best", "fixed"])
@pytest.mark.parametrize("grid", [g for g in GRIDS if g.bits < 6], **names)
def test_hb_variances_by_propagating_unit_noise(method, grid):
    padded, levels = reference.box_rows(method.splits(grid))
    cov = reference.covariance(levels[1:], [1.0] * len(levels[1:]))
    index = np.indices(padded).reshape(len(padded), -1)
    inside = grid.in_extent(index)
    keys = np.where(inside, grid.order.encode(np.where(inside, index, 0)).astype(int), -1)
    expected = reference.block_variances(cov, keys, domain_of(grid), grid.bits)
    used = spent(method, grid)
    sigma2 = DiscreteLaplace.of_scale(used.scale).variance
    assert method.variances(grid, used) / sigma2 == pytest.approx(expected, rel=1e-9)
    tree = method.tree_variance(grid, used)
    assert (tree is None) == (len(grid.shape) > 1)
    if tree is not None:
        every = np.arange(grid.size, dtype=np.uint64)
        assert tree.region(every) / sigma2 == pytest.approx(expected[0], rel=1e-9)


def test_hb_does_not_say_what_is_not_worked_out():
    tens = Grid.regular((10, 10)).with_order(Order((0, 1, 0, 1), (2, 2, 5, 5)))
    for grid in (MASKED, tens):
        assert Branching().unsupported(grid) is None
        assert Branching().variances(grid, spent(Branching(), grid)) is None


@pytest.mark.parametrize("method", [Hay(), Hay(fanout=4), Branching(), Fixed()])
def test_one_person_changes_one_node_on_every_level(method):
    """The noise is taken off again, so what is left is what was measured."""
    grid = Grid.regular((6, 5))
    used = spent(method, grid)
    tree = method.tree(grid, 1.0)
    leaves = prod(tree.fanouts)
    one = np.zeros(leaves, np.int64)
    one[11] = 1
    runs = [
        tree.noisy(counts, [used.scale] * len(tree.variances), NoiseKey(bytes(32)))
        for counts in (np.zeros(leaves, np.int64), one)
    ]
    changes = [
        0 if before is None else int(np.abs(after - before).sum())
        for before, after in zip(*runs, strict=True)
    ]
    assert sum(changes) == method.sensitivity(grid)
    assert max(changes) == 1
