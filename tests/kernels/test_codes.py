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
