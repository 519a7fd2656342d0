"""Digits are read as Python reads them; grouping is a dictionary's, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.kernels.records import CANONICAL, DIGITS, NONE, group, parse_digits

NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3))


def naive(number, count):
    found = {}
    for row, (own, more) in enumerate(zip(number, count, strict=True)):
        first, total, rows = found.get(own, (row, 0, 0))
        found[own] = first, total + more, rows + 1 + ((more != 0) << 32)
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


def parsed(texts):
    """What is found, and the numbers."""
    parts = [text.encode() for text in texts]
    start = np.cumsum([3, *map(len, parts)]).astype(np.int32)
    value = np.full(len(parts), -7)
    text = np.frombuffer(b"9x9" + b"".join(parts) + b"9", np.uint8)
    return parse_digits(start, text, value), value.tolist()


@given(st.lists(st.text("0123456789", min_size=1, max_size=18), max_size=40))
def test_digits(texts):
    found, value = parsed(texts)
    assert value == [int(text) for text in texts]
    assert found == (CANONICAL if all(str(int(text)) == text for text in texts) else DIGITS)


@pytest.mark.parametrize(
    "bad", ["", "1" * 19, "-1", "+1", " 1", "1 ", "1.0", "1e3", "/", ":", "１"]
)
def test_one_text_that_is_no_digits(bad):
    for texts in ([bad], ["1", "22", bad], [bad, "3"]):
        assert parsed(texts)[0] == NONE


def test_the_most_digits():
    assert parsed(["9" * 18, "0"]) == (CANONICAL, [10**18 - 1, 0])
