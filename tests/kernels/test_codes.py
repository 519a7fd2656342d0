"""Kernels of codes equal Python's own reading and writing of numbers."""

import re

import numpy as np
import pytest

from geodp.kernels import codes as kernels

NONE = np.zeros(0, np.uint32)
MARKS = {
    "fixed": [
        [kernels.LITERAL, ord("N"), 0, 0, 0, 1, 0, 0, 0],
        [kernels.NUMBER, 0, 4, 4, 0, 5, 0, 0, 0],
        [kernels.NUMBER, 1, 3, 3, 7, 1, 0, 0, 0],
    ],
    "signed": [
        [kernels.NUMBER, 1, 0, 5, -50, 3, kernels.MINUS, 0, 0],
        [kernels.LITERAL, ord("/"), 0, 0, 0, 1, 0, 0, 0],
        [kernels.NUMBER, 0, 0, 6, 9, -2, kernels.MINUS, 0, 0],
    ],
}
REGEX = {"fixed": r"N(\d{4})(\d{3})", "signed": r"(-?\d{1,5})/(-?\d{1,6})"}
ORDER = {"fixed": (0, 1), "signed": (1, 0)}


def twin(kind, text):
    """Row and column of a text, one by one; None for no code."""
    found = re.fullmatch(REGEX[kind], text, re.ASCII)
    if found is None or "-0" in re.sub(r"-0+(?=\d)", "-", text):
        return None
    numbers = [mark for mark in MARKS[kind] if mark[0] == kernels.NUMBER]
    index = [0, 0]
    for axis, number, value in zip(ORDER[kind], numbers, map(int, found.groups()), strict=True):
        left, rest = divmod(value - number[4], number[5])
        if rest:
            return None
        index[axis] = left
    return tuple(index)


@pytest.mark.parametrize("kind", MARKS)
def test_reading_equals_its_slow_twin(kind):
    rng = np.random.default_rng(0)
    letters = list("0123456789N/-")
    texts = ["".join(rng.choice(letters, rng.integers(0, 14))) for _ in range(3000)]
    marks, index = np.array(MARKS[kind]), np.array([rng.integers(0, 900, 500)] * 2)
    written, done = np.zeros((500, 14), np.uint32), np.zeros(500, np.bool_)
    kernels.write_codes(index, marks, NONE, written, done)
    texts += written.view("U14").reshape(-1)[done].tolist()
    characters = np.array(texts, "U15").view(np.uint32).reshape(-1, 15)
    found, read = np.zeros((2, len(texts)), np.int64), np.zeros(len(texts), np.bool_)
    kernels.read_codes(characters, marks, NONE, found, read)
    expected = [twin(kind, text) for text in texts]
    assert read.tolist() == [one is not None for one in expected]
    assert [tuple(one) for one in found.T[read].tolist()] == [e for e in expected if e is not None]
    assert (found[:, 3000:] == index[:, done])[:, read[3000:]].all()
    assert done.any()


def test_what_has_too_many_digits_is_not_written():
    marks = np.array(MARKS["fixed"])
    index = np.array([[1999, 2000, -1, 1 << 40], [0, 0, 0, 0]])
    text, done = np.zeros((4, 8), np.uint32), np.zeros(4, np.bool_)
    kernels.write_codes(index, marks, NONE, text, done)
    assert done.tolist() == [True, False, False, False]


def test_codes_that_are_read_stay():
    text = np.array(["N0005007"], "U9").view(np.uint32).reshape(1, 9)
    index, done = np.full((2, 1), 42), np.ones(1, np.bool_)
    kernels.read_codes(text, np.array(MARKS["fixed"]), NONE, index, done)
    assert index.tolist() == [[42], [42]]


EDGES = [0, 1, 9, 10, 99, 12345, 2**31, 2**32, 2**62, 2**63 - 1, -1, -10, -(2**63)]


def as_texts(characters):
    return characters.view(f"U{characters.shape[1]}").reshape(-1).tolist()


def test_rows_and_columns_are_written_as_python_writes_them_and_read_again():
    pairs = [(row, col) for row in EDGES for col in EDGES]
    row, col = np.array(pairs, np.int64).T.copy()
    text = np.zeros((row.size, 41), np.uint32)
    kernels.write_pairs(row, col, text)
    assert as_texts(text) == [f"{a}_{b}" for a, b in pairs]
    read = np.array(EDGES[:-1])  # the least of all numbers is no row
    text = np.array([f"{a}_{a}" for a in read.tolist()], "U41").view(np.uint32).reshape(-1, 41)
    found = np.zeros((2, read.size), np.int64)
    assert kernels.read_pairs(text, *found) == read.size
    assert (found == read).all()


@pytest.mark.parametrize(
    "text",
    ["", "_", "1", "1_", "_1", "01_2", "1_02", "1_2_3", "1_2 ", "-0_1", "1-2", f"{2**63}_1", "١_2"],
)
def test_what_is_no_row_and_column_is_where_reading_ends(text):
    texts = ["3_4", text, "5_6"]
    characters = np.array(texts, "U24").view(np.uint32).reshape(3, -1)
    found = np.zeros((2, 3), np.int64)
    assert kernels.read_pairs(characters, *found) == 1
    assert found[:, 0].tolist() == [3, 4]


def test_digits_have_zeros_in_front():
    number = np.array([0, 7, 420, 999999])
    text = np.empty((4, 6), np.uint32)
    kernels.write_digits(number, text)
    assert as_texts(text) == ["000000", "000007", "000420", "999999"]


def test_texts_are_packed_one_after_the_other():
    texts = ["ab", "", "c", "abcd"]
    characters = np.array(texts, "U4").view(np.uint32).reshape(4, 4)
    ends, packed = np.empty(5, np.int32), np.zeros(16, np.uint8)
    kernels.pack(characters, ends, packed)
    assert ends.tolist() == [0, 2, 2, 3, 7]
    assert packed[:7].tobytes() == b"abcabcd"
