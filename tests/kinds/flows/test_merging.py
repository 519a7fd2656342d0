"""Collected counts are sorted in place, as a sort of all at once would sort them."""

import numpy as np
import pytest

from geodp.kernels import key_lists
from geodp.kinds.flows import estimator
from geodp.kinds.flows.estimator import Collector, sort_counts


@pytest.mark.parametrize("sizes", [(), (0,), (1, 0, 700), (5000, 3, 2000), (10_000,)], ids=str)
@pytest.mark.parametrize("most", [1 << 60, 20_000], ids=["far apart", "close"])
def test_collected_counts_are_sorted(monkeypatch, sizes, most):
    """Arrays grow several times, and parts that fit into no buffer are divided several times."""
    monkeypatch.setattr(estimator, "BLOCK", 700)
    monkeypatch.setattr(estimator, "SORTED", 3)
    draw = np.random.default_rng(sum(sizes))
    keys = draw.choice(20_000, sum(sizes), replace=False).astype(np.uint64) * np.uint64(
        most // 20_000
    )
    counts = draw.integers(1, 1 << 40, keys.size)
    collected, start = Collector(), 0
    for size in sizes:
        key, count = collected.add(size)
        key[:], count[:] = keys[start : start + size], counts[start : start + size]
        start += size
    key, count = collected.all()
    sort_counts(key, count)
    order = np.argsort(keys)
    assert np.array_equal(key, keys[order])
    assert np.array_equal(count, counts[order])


def test_keys_that_are_equal_stay_with_their_values():
    key, value = np.array([5, 5, 2, 5, 2], np.uint64), np.array([1, 2, 3, 4, 5])
    key_lists.sort_with_few(key, value, np.empty(1, np.uint64), np.empty(1, np.int64))
    assert key.tolist() == [2, 2, 5, 5, 5]
    assert sorted(value[:2].tolist()) == [3, 5]
