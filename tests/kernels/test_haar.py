import numpy as np
import pytest
import pywt
from hypothesis import given
from hypothesis import strategies as st

from geodp.grid.grid import Grid
from geodp.kernels import tree as kernels
from geodp.table.counts import CountTable
from tests.strategies import binary_tables


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 5)), max_size=40))
def test_duplicates_are_summed_and_zeros_dropped(rows):
    expected = {}
    for key, count in rows:
        expected[key] = expected.get(key, 0) + count
    keys = np.array([k for k, _ in rows], np.uint64)
    table = CountTable.from_keys(Grid.regular((16,)), keys, np.array([c for _, c in rows], int))
    found = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    assert found == {k: v for k, v in sorted(expected.items()) if v}
    assert table.key.tolist() == sorted(found)


def forward(leaves):
    """Total of dense leaves, and their details in heap order."""
    sums = np.concatenate([np.zeros(leaves.size, np.int64), leaves])
    detail = np.zeros(leaves.size, np.int64)
    kernels.forward_dense(sums, detail)
    return sums[1] if leaves.size > 1 else leaves[0], detail


def naive_details(leaves):
    """Details by node in heap order, straight from left - right."""
    n = len(leaves)
    sums = {n + i: int(v) for i, v in enumerate(leaves)}
    details = {}
    for node in range(n - 1, 0, -1):
        sums[node] = sums[2 * node] + sums[2 * node + 1]
        details[node] = sums[2 * node] - sums[2 * node + 1]
    return sums[1], details


@given(binary_tables(most_bits=8))
def test_the_haar_transform_equals_the_definition_and_inverts(table):
    bits = table.grid.bits
    leaves = table.to_dense()
    total, details = naive_details(leaves)
    approx, detail = forward(leaves)
    assert approx == total
    assert detail.tolist() == [0, *(details[node] for node in range(1, 1 << bits))]
    sums = np.zeros(2 * leaves.size, np.int64)
    sums[1] = approx
    kernels.inverse_dense(detail, sums)
    assert (sums[leaves.size :] == leaves).all()


@pytest.mark.parametrize("bits", range(1, 11))
def test_haar_is_that_of_pywavelets_but_for_its_scale(bits):
    """Theirs is orthonormal: a node of ``2**i`` cells is divided by ``2**(i/2)``."""
    leaves = np.random.default_rng(bits).integers(0, 1000, 1 << bits)
    top, *levels = pywt.wavedec(leaves.astype(float), "haar", level=bits)
    total, detail = forward(leaves)
    assert top == pytest.approx([total / 2 ** (bits / 2)])
    for level, theirs in enumerate(levels):
        ours = detail[1 << level : 2 << level]
        assert theirs * 2 ** ((bits - level) / 2) == pytest.approx(ours)
