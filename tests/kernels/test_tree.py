"""Which children of a node hold a cell, against a look at every key."""

import numpy as np
import pytest

from geodp.kernels.tree import branches, cover

HEIGHT = 3
"""Nodes of the tests cover eight keys of a line."""


def ranges_of(inside):
    """Sorted, disjoint ranges of the keys that are inside."""
    ends = np.flatnonzero(np.diff(np.r_[False, inside, False].astype(np.int8)))
    return ends.reshape(-1, 2).astype(np.uint64)


@pytest.mark.parametrize("seed", range(20))
def test_children_that_overlap_the_ranges(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(9, 64))
    inside = np.zeros(64, bool)
    inside[:size] = rng.random(size) < rng.choice([0.1, 0.5, 0.95])
    nodes = np.flatnonzero(inside.reshape(8, 8).any(axis=1)).astype(np.int64)
    found, whole = np.zeros(nodes.size, np.int64), np.zeros(nodes.size, bool)
    limit, every_bit = np.uint64(size - 1), np.uint64(63)
    branches(nodes, HEIGHT, every_bit, limit, ranges_of(inside), found)
    cover(nodes, HEIGHT, ranges_of(inside), whole)
    left, right = inside.reshape(8, 2, 4).any(axis=2)[nodes].T
    assert found.tolist() == (left + 2 * right).tolist()
    assert whole.tolist() == inside.reshape(8, 8).all(axis=1)[nodes].tolist()


def test_without_ranges_the_whole_box_is_the_domain():
    nodes, found = np.arange(3, dtype=np.int64), np.zeros(3, np.int64)
    none = np.empty((0, 2), np.uint64)
    branches(nodes, HEIGHT, np.uint64(63), np.uint64(19), none, found)  # keys 0 to 19 of 64
    assert found.tolist() == [3, 3, 1]
