"""Places in a sorted list are those of NumPy's search."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodp.kernels.key_lists import find

KEYS = st.one_of(st.integers(0, 2**63), st.integers(0, 40))


@given(st.lists(KEYS, max_size=200, unique=True), st.lists(KEYS, max_size=200))
def test_any_values_in_any_order(values, wanted):
    values, wanted = np.array(sorted(values), np.uint64), np.array(wanted, np.uint64)
    assert np.array_equal(find(values, wanted), np.searchsorted(values, wanted))


def test_long_steps_both_ways_and_values_that_are_there():
    draw = np.random.default_rng(7)
    values = np.unique(draw.integers(0, 2**40, 5_000).astype(np.uint64))
    near = np.sort(draw.choice(values, 2_000)) + draw.integers(0, 2, 2_000).astype(np.uint64)
    for wanted in (near, near[::-1].copy(), draw.permutation(near), values, values + np.uint64(1)):
        assert np.array_equal(find(values, wanted), np.searchsorted(values, wanted))
