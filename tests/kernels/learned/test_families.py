"""What is counted and combined family by family: against the obvious way."""

import numpy as np
import pytest

from geodp.kernels.learned import families

DRAW = np.random.default_rng(1)


@pytest.mark.parametrize("mean", [0.1, 2.0])
@pytest.mark.parametrize(("stride", "fanout"), [(1, 16), (4, 4), (16, 2), (3, 7)])
def test_children_are_counted_exactly(stride, fanout, mean):
    """Few keys are compared one by one; more than four a child are searched."""
    keys = stride * fanout * 9
    dense = DRAW.poisson(mean, keys)
    dense[-1] = 1 << 59
    key = np.flatnonzero(dense).astype(np.uint64)
    cumulative = np.append(0, np.cumsum(dense[dense > 0]))
    prefix = np.array([0, 3, 4, 8], np.uint64)
    out = np.full(prefix.size * fanout, 5, np.int64)
    families.count_children(prefix, np.uint64(stride), fanout, key, cumulative, out)
    every = dense.reshape(9, fanout, stride).sum(axis=2)
    assert out.tolist() == (every[prefix.astype(int)] + 5).reshape(-1).tolist()


def test_the_last_keys_of_64_bits_are_counted():
    key = np.array([0, 2**63, 2**64 - 1], np.uint64)
    out = np.zeros(4, np.int64)
    prefix, cumulative = np.array([0, 1], np.uint64), np.array([0, 1, 3, 7])
    families.count_children(prefix, np.uint64(2**62), 2, key, cumulative, out)
    assert out.tolist() == [1, 0, 2, 4]
    many = np.arange(2**64 - 20, 2**64, dtype=np.uint64)
    out, last = np.zeros(2, np.int64), np.array([2**63 - 1], np.uint64)
    families.count_children(last, np.uint64(1), 2, many, np.arange(21), out)
    assert out.tolist() == [1, 1]


def test_nobody_is_nowhere_by_a_prior():
    share, whole = np.empty(8), np.empty(2)
    families.share_prior(np.array([3, 0, 1, 0]), (2, 2), 0.5, share, whole)
    assert share.tolist() == [1.75, 1.75, 0.25, 0.25, 0.75, 0.75, 0.25, 0.25]
    assert whole.tolist() == [4, 2]


@pytest.mark.parametrize("alike", [False, True])
def test_estimates_from_below_are_the_best_linear_ones(alike):
    """A node's own measurement and the sum of its children, each with its variance."""
    fanout, own = 4, 2.0
    z, count = DRAW.normal(9, 3, (3, fanout)), DRAW.integers(0, 2, (3, fanout))
    count[0, :2] = 1
    measured = np.where((DRAW.random(z.shape) < 0.3) & (count == 0), 0.0, 1.5)
    opened = count > 0
    closed = (measured > 0) & ~opened
    sums = np.array([(z * closed).sum(axis=1), (measured * closed).sum(axis=1)])
    better = np.full(1, 0.75) if alike else np.linspace(0.5, 1, int(opened.sum()))
    before = np.array([30.0, 40.0, 50.0])
    above = before.copy(), np.empty(3)
    families.combine(opened.sum(axis=1), z[opened], better, sums, own, above)
    variance = measured.copy()
    variance[opened] = better
    spread, below = variance.sum(axis=1), np.where(variance > 0, z, 0).sum(axis=1)
    best = (before / own + below / spread) / (1 / own + 1 / spread)
    np.testing.assert_allclose(above, [best, 1 / (1 / own + 1 / spread)])
