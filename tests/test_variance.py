"""Closed-form variances against explicit covariance matrices."""

import numpy as np
import pytest

from geodp.variance import TreeVariance, from_below


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
