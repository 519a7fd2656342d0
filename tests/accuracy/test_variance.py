"""Closed-form variances against explicit covariance matrices."""

from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from geodp.accuracy.closed_form import IrregularTree
from geodp.accuracy.interval import NodeSums, Reach
from geodp.accuracy.reach import RegionKeys, reach
from geodp.accuracy.variance import TreeVariance, fourths_from_below, from_below
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms import mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable
from tests.reference.blocks import largest_variances, shared_out


def covariance(fanouts, own):
    """Covariance of the cells' least-squares estimates (pinned to nothing), by pinv."""
    rows = []
    n = int(np.prod(fanouts))
    width = n
    for level, variance in enumerate(own):
        if level:
            width //= fanouts[level - 1]
        for start in range(0, n, width):
            row = np.zeros(n)
            row[start : start + width] = 1
            rows.append(row / np.sqrt(variance))
    a = np.array(rows)
    return np.linalg.inv(a.T @ a)


@pytest.mark.parametrize(
    ("fanouts", "own"),
    [((2, 2, 2), (3.0, 1.0, 2.0, 5.0)), ((4, 3), (1.0, 2.0, 0.5)), ((8,), (7.0, 2.0))],
)
def test_two_passes_are_least_squares(fanouts, own):
    exact = covariance(fanouts, own)
    tree = TreeVariance(fanouts, from_below(fanouts, own))
    n = exact.shape[0]
    generator = np.random.default_rng(1)
    for _ in range(20):
        region = np.flatnonzero(generator.random(n) < 0.5)
        indicator = np.zeros(n)
        indicator[region] = 1
        expected = indicator @ exact @ indicator
        assert tree.region(region.astype(np.uint64)) == pytest.approx(expected)


def test_blocks_are_regions():
    tree = TreeVariance((2, 8, 4), (9.0, 4.0, 2.0, 3.0))
    for i, variance in enumerate(tree.blocks()):
        block = np.arange(64 >> i, dtype=np.uint64) + np.uint64(64 - (64 >> i))
        assert tree.region(block) == pytest.approx(variance)


def test_nodes_are_blocks():
    tree = TreeVariance((2, 8, 4), (9.0, 4.0, 2.0, 3.0))
    assert tree.nodes() == pytest.approx(tree.blocks()[[0, 1, 4, 6]])


def test_no_cell_no_variance():
    assert TreeVariance((4, 4), (1.0, 1.0, 1.0)).region(np.zeros(0, np.uint64)) == 0


def test_prefixes_are_blocks_of_any_digits():
    tree = TreeVariance((2, 8, 4), (9.0, 4.0, 2.0, 3.0))
    assert tree.prefixes((2,) * 6) == pytest.approx(tree.blocks())
    tree = TreeVariance((6, 15), (9.0, 4.0, 1.0))
    found = tree.prefixes((3, 2, 5, 3))
    for variance, size in zip(found, (90, 30, 15, 3, 1), strict=True):
        assert tree.region(np.arange(size, dtype=np.uint64)) == pytest.approx(variance)


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((11, 6), None),
        ((5, 3, 3), None),
        ((17, 23), Order((0, 1, 0, 1), (2, 3, 10, 10), (3, 4))),
        ((9, 10), Order((0, 1, 0, 1, 0, 1), (3, 3, 2, 2, 3, 3), (5, 0))),
    ],
)
def test_largest_of_a_box_is_that_of_its_blocks(shape, order):
    grid = Grid.regular(shape)
    grid = grid if order is None else grid.with_order(order)
    radices = grid.order.radices
    half = len(radices) // 2
    fanouts = (int(np.prod(radices[:half])), int(np.prod(radices[half:])))
    tree = TreeVariance(fanouts, (9.0, 4.0, 1.0))
    found = tree.largest(grid)
    key = np.arange(int(np.prod(radices)), dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    covariance = shared_out(key, tree.fanouts, tree.variances)
    assert found == pytest.approx(largest_variances(covariance, key, radices))
    for digits, variance in enumerate(found):
        block = key // np.uint64(np.prod(radices[digits:], dtype=int))
        each = [tree.region(key[block == b], grid) for b in np.unique(block)]
        assert max(each) == pytest.approx(variance)
    assert (tree._bound(radices) >= found - 1e-9).all()


def test_what_is_stated_at_the_edges_bounds_least_squares():
    """Two passes weigh what is measured below a node by the children that it really has."""
    grid = Grid.regular((11, 6))
    method = mechanism("pyramid:chain=1-3-3,shares=2-1-2-3")
    use = Measurement.of(method.spec, Terms.of(epsilon=Fraction(1, 10), contribution=1), 1, "fixed")
    chain = method.levels(grid)
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    rows = []
    for stride, share in zip(chain.strides, chain.shares, strict=True):
        node = key // np.uint64(stride)
        rows += [(node == n) / np.sqrt(use.law(share).variance) for n in np.unique(node)]
    exact = np.linalg.inv(np.array(rows).T @ np.array(rows))
    for digits, variance in enumerate(method.variances(grid, use)):
        block = key >> np.uint64(grid.bits - digits)
        each = [(block == b) @ exact @ (block == b) for b in np.unique(block)]
        assert 0.5 * variance <= max(each) <= variance


def one(found):
    """What was found of the only region."""
    return Reach(*(np.asarray(getattr(found, field.name))[..., 0] for field in fields(found)))


def everybody(grid):
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    return ReleasedTable(grid, key, np.full(key.size, 10**6), None)


@pytest.mark.parametrize("size", [1, 3, 8, 40])
def test_moments_of_a_region_are_those_of_its_noises(size):
    """Variance and fourth cumulant by the weight of every single noise of a one-pass tree."""
    grid, fanouts, own = Grid.regular((64,)), (4, 16), (50.0, 30.0, 8.0)
    tree = TreeVariance(fanouts, own, fourths_from_below(fanouts, own, own))
    assert tree.fourths == pytest.approx([3 * v**2 for v in own])
    inside = np.arange(64) < size
    parts = [inside.reshape(n, -1).mean(axis=1) for n in (1, 4, 64)]
    weights = [parts[0]]
    for above, below, fanout in zip(parts[:-1], parts[1:], fanouts, strict=True):
        weights.append(below - np.repeat(above, fanout))
    cells = RegionKeys.of([np.flatnonzero(inside).astype(np.uint64)])
    found = one(reach(tree, NodeSums(everybody(grid)), cells, np.array([3.0])))
    assert not found.clamped
    fourth = sum(3 * v**2 * (w**4).sum() for v, w in zip(own, weights, strict=True))
    variance = sum(v * (w**2).sum() for v, w in zip(own, weights, strict=True))
    assert found.fourth == pytest.approx([fourth] * 3)
    assert found.variance == pytest.approx([variance] * 3)
    assert found.count.tolist() == [size * 10**6] * 3


def test_outer_and_inner_approximations_are_regions():
    """Zeros beside a region join its outer; zeros inside leave its inner."""
    grid = Grid.regular((16,))
    tree = TreeVariance((4, 4), (9.0, 4.0, 1.0))
    count = np.array([900, 0, 0, 2, 0, 0, 0, 0, 800, 700, 600, 500, 3, 0, 0, 0])
    key = np.flatnonzero(count).astype(np.uint64)
    table = ReleasedTable(grid, key, count[count > 0], None)
    cells = np.array([0, 1, 8], np.uint64)
    found = one(reach(tree, NodeSums(table), RegionKeys.of([cells]), np.array([3.0])))
    outer = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15], np.uint64)
    inner = np.array([0, 8], np.uint64)
    assert found.count.tolist() == [1700, 1705, 1700]
    expected = [tree.region(region) for region in (cells, outer, inner)]
    assert found.variance == pytest.approx(expected)
    assert found.losing.tolist() == [1, 1]
    assert found.gaining.tolist() == [0, 1]
    low, high = found.interval()
    assert low < 1700 < high


def test_a_sum_of_estimates_has_the_sum_of_their_variances():
    one = TreeVariance((4, 4), (9.0, 4.0, 1.0), (5.0, 2.0, 0.5))
    key = np.array([0, 3, 7], np.uint64)
    both = one.scaled(1 + 9, 1 + 81)  # of one estimate, and of three times another
    assert both.region(key) == pytest.approx(10 * one.region(key))
    assert both.fourths == (410.0, 164.0, 41.0)
    measured = IrregularTree((4,), (2.0, 1.0), (), (), (3.0, 1.0)).scaled(2, 2)
    assert measured.measured == (6.0, 2.0)


def test_noise_on_every_node_is_added_to_its_estimate():
    one = TreeVariance((4, 4), (9.0, 4.0, 1.0), (5.0, 2.0, 0.5))
    both = one.with_noise(0.5)
    assert (both.variances, both.fourths) == ((9.5, 4.5, 1.5), one.fourths)
    whole = np.arange(16, dtype=np.uint64)
    assert both.region(whole) == pytest.approx(one.region(whole) + 0.5)
    measured = IrregularTree((4,), (2.0, 1.0), (), (), (3.0, 1.0)).with_noise(0.5)
    assert (measured.variances, measured.measured) == ((2.5, 1.5), (3.5, 1.5))
