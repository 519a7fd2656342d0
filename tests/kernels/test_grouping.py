"""Grouping is a dictionary's, row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from geodp.kernels.grouping import group

NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))


def naive(number, count):
    found = {}
    for row, (own, more) in enumerate(zip(number, count, strict=True)):
        first, total, rows = found.get(own, (row, 0, 0))
        found[own] = first, total + more, rows + 1
    return [(first, own, total, rows) for own, (first, total, rows) in found.items()]


def grouped(number, count):
    n = len(number)
    slots = np.zeros(1 << max(1, (2 * n).bit_length()), np.int32)
    written = [np.full(n, -7) for _ in range(4)]
    found = group(np.array(number, np.int64), np.array(count, np.int64), slots, *written)
    return [*zip(*(column[:found].tolist() for column in written), strict=True)]


@given(st.lists(st.tuples(NUMBERS, st.integers(0, 2**40)), max_size=300))
def test_any_numbers(rows):
    number, count = [one for one, _ in rows], [other for _, other in rows]
    assert grouped(number, count) == naive(number, count)


def test_numbers_that_begin_at_one_place_and_a_full_table():
    draw = np.random.default_rng(3)
    number = (draw.integers(0, 50, 20_000) << 58).tolist()
    assert grouped(number, [1] * len(number)) == naive(number, [1] * len(number))
    number = draw.permutation(20_000).tolist()
    assert grouped(number, number) == naive(number, number)
