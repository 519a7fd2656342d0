"""Roots and what is below them: parts of them, and what they show of themselves."""

from dataclasses import replace
from sys import getsizeof

import numpy as np

from geodp.mechanisms.learned import Residuals
from geodp.mechanisms.trees.layer import Held, Layer, Roots, Seen, Stage, Subtrees, fill_counts

PREFIX = np.array([2, 5, 9, 11], np.uint64)
ROOTS = Roots(PREFIX, np.array([7, 1, 3, 8]), np.arange(4.0), np.arange(4.0) + 10)
NOBODY = np.empty(0, np.uint64), np.empty(0, np.int64)


def held(estimates: int) -> Subtrees:
    layer = Layer.of_open(PREFIX, np.zeros(estimates))
    return Subtrees(ROOTS, NOBODY, Held(Stage(0, (layer,), ROOTS.count, ()), (np.zeros(3),)))


def test_ranges_have_about_the_same_count():
    roots = replace(ROOTS, count=np.array([7, 3, 4, 7]))
    first, some, last = roots.divide(3)
    assert (first.prefix.tolist(), last.prefix.tolist()) == ([2], [11])
    assert some.prefix.tolist() == [5, 9]
    assert (some.count.tolist(), some.z.tolist(), some.variance.tolist()) == (
        [3, 4],
        [1, 2],
        [11, 12],
    )
    heavy = replace(ROOTS, count=np.array([1, 90, 1, 8]))
    assert [part.prefix.tolist() for part in heavy.divide(4)] == [[2, 5], [9, 11]]
    nobody = Roots.of_counts(*NOBODY)
    assert [part.prefix.size for part in nobody.divide(4)] == [0]
    assert ROOTS.counts_of(some).tolist() == [1, 3]
    assert replace(ROOTS, count=ROOTS.count * 2).counts_of(some).tolist() == [2, 6]


def test_counts_of_all_roots_where_some_have_none():
    assert fill_counts(ROOTS, (PREFIX[[1, 3]], np.array([4, 6]))).tolist() == [0, 4, 0, 6]
    assert fill_counts(ROOTS, NOBODY).tolist() == [0, 0, 0, 0]


def test_nothing_is_shown_and_all_bytes_are_told():
    """As a scheduler logs arguments of tasks, and plans by their sizes."""
    few, many = held(10), held(1010)
    assert repr(few) == "Subtrees(noisy)"
    assert repr(ROOTS) == "Roots(noisy)"
    assert repr(few.records) == "Held(noisy)"
    assert repr(few.records.stage) == "Stage(noisy)"
    assert repr(Seen(3, Residuals.none())) == "Seen(noisy)"
    assert getsizeof(many) - getsizeof(few) == 8000
    assert getsizeof(ROOTS) >= 4 * 4 * 8
