"""Joined counts are sorted, as a sort of all at once would sort them."""

from itertools import pairwise

import numpy as np
import pytest

from geodp.kinds.flows import estimator
from geodp.kinds.flows.estimator import merge


@pytest.mark.parametrize("sizes", [(), (0,), (1, 0, 700), (5000, 3, 2000), (10_000,)], ids=str)
@pytest.mark.parametrize("most", [1 << 60, 20_000], ids=["far apart", "close"])
def test_parts_are_joined_in_order(monkeypatch, sizes, most):
    monkeypatch.setattr(estimator, "AT_ONCE", 1000)
    draw = np.random.default_rng(sum(sizes))
    keys = draw.choice(20_000, sum(sizes), replace=False).astype(np.uint64) * np.uint64(
        most // 20_000
    )
    counts = draw.integers(1, 1 << 40, keys.size)
    ends = np.cumsum((0, *sizes))
    some = [slice(*pair) for pair in pairwise(ends)]
    key, count = merge([(keys[s].copy(), counts[s].copy()) for s in some])
    order = np.argsort(keys)
    assert np.array_equal(key, keys[order])
    assert np.array_equal(count, counts[order])
    assert (key.dtype, count.dtype) == (np.uint64, np.int64)


def test_parts_are_sorted_where_they_are():
    key, count = np.array([7, 2], np.uint64), np.array([1, 5])
    merge([(key, count)])
    assert (key.tolist(), count.tolist()) == ([2, 7], [5, 1])
