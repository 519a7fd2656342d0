"""What is counted and combined family by family: against the obvious way."""

import numpy as np
import pytest

from geodp.kernels.learned import families

DRAW = np.random.default_rng(1)


@pytest.mark.parametrize(("stride", "fanout"), [(1, 16), (4, 4), (16, 2), (3, 7)])
def test_children_are_counted_exactly(stride, fanout):
    keys = stride * fanout * 9
    dense = DRAW.poisson(0.5, keys)
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


def test_what_nodes_have_is_shared_out():
    held, total = np.array([3, 0, 1, 0]), np.array([8, 5])
    out = np.empty(8)
    families.share_out(held, total, (2, 2), 0.5, out)
    expected = [3.5 / 4 * 4, 3.5 / 4 * 4, 0.5, 0.5, 1.5 / 2 * 2.5, 1.5 / 2 * 2.5, 0.625, 0.625]
    np.testing.assert_allclose(out, expected)


def test_estimates_from_below_are_the_best_linear_ones():
    """A node's own measurement and the sum of its children, each with its variance."""
    fanout, own = 4, 2.0
    z, count = DRAW.normal(9, 3, 3 * fanout), DRAW.integers(0, 2, 3 * fanout)
    variance = np.where(DRAW.random(z.size) < 0.2, 0.0, 1.5)
    count[variance == 0] = 0
    sums = np.empty((2, 3))
    families.add_closed(z, variance, count, fanout, sums)
    above = np.array([[30.0, 40.0, 50.0], [0.0, 0.0, 0.0]])
    before = above[0].copy()
    opened, members = count > 0, count.reshape(3, fanout).sum(axis=1)
    families.combine(members, z[opened], variance[opened] / 2, sums, own, above)
    variance = np.where(opened, variance / 2, variance).reshape(3, fanout)
    spread, below = variance.sum(axis=1), np.where(variance > 0, z.reshape(3, 4), 0).sum(axis=1)
    best = (before / own + below / spread) / (1 / own + 1 / spread)
    np.testing.assert_allclose(above, [best, 1 / (1 / own + 1 / spread)])
