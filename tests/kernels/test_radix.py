"""Sorting by radix is NumPy's stable sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from geodp.kernels import key_lists


def check(key):
    key = np.asarray(key, np.uint64)
    before, value = key.copy(), np.arange(key.size)
    order = np.argsort(key, kind="stable")
    found, positions, *spare = key_lists.sort_pairs_into(key, value)
    assert (found == key[order]).all()
    assert (positions == order).all()
    assert (key == before).all()
    assert (value == np.arange(key.size)).all()
    assert all(array.size == key.size for array in spare)


@given(
    st.integers(1, 64).flatmap(
        lambda bits: arrays(np.uint64, st.integers(0, 300), elements=st.integers(0, 2**bits - 1))
    )
)
def test_any_keys(key):
    check(key)


@pytest.mark.parametrize("n", [0, 1, key_lists.FEW, key_lists.FEW + 1, 1024, 1025, 40_000, 150_000])
@pytest.mark.parametrize("bits", [1, 8, 10, 11, 20, 40, 63, 64])
def test_every_size_and_width(n, bits):
    rng = np.random.default_rng(n + bits)
    check(rng.integers(0, 2**bits, n, dtype=np.uint64, endpoint=False))


@pytest.mark.parametrize("n", [20, 5000, 70_000])
def test_keys_that_differ_in_some_bits_only(n):
    rng = np.random.default_rng(n)
    check(np.full(n, 2**64 - 1, np.uint64))
    check(np.zeros(n, np.uint64))
    high = np.uint64(2**63) + rng.integers(0, 4, n, dtype=np.uint64)
    check(high)  # one digit, at the low end
    check(rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(63))  # and at the high end
    check(rng.integers(0, 3, n, dtype=np.uint64) << np.uint64(40) | np.uint64(12345))
    check(np.arange(n, dtype=np.uint64)[::-1])


def test_clusters_of_very_different_sizes():
    """One cluster needs splitting again and again, others hold single keys."""
    rng = np.random.default_rng(7)
    tight = rng.integers(0, 2**12, 100_000, dtype=np.uint64) + np.uint64(5 << 50)
    middle = rng.integers(0, 2**30, 60_000, dtype=np.uint64)
    wide = rng.integers(0, 2**64, 1000, dtype=np.uint64, endpoint=False)
    check(rng.permutation(np.concatenate([tight, middle, wide, tight[:50_000]])))


def test_no_more_passes_than_the_bits_need():
    rng = np.random.default_rng(3)

    def moved(key):
        value, spare = np.arange(key.size), (np.empty_like(key), np.empty(key.size, np.int64))
        return key_lists.sort_pairs(key.copy(), value, *spare) / key.size

    n = 30_000
    assert moved(np.zeros(n, np.uint64)) == 0
    assert moved(rng.integers(0, 2**10, n, dtype=np.uint64) << np.uint64(30)) == 2
    assert moved(rng.integers(0, 2**40, n, dtype=np.uint64)) == 4
    assert moved(rng.integers(0, 2**40, 10 * n, dtype=np.uint64)) <= 6
