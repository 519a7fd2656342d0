"""Residuals as whole numbers: the same of parts in any order as of the whole."""

import numpy as np

from geodp.mechanisms.learned import FEWEST, Residuals


def some_children(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    predicted = np.where(rng.random(n) < 0.1, 0.0, 2.0 ** rng.uniform(-9, 16, n))
    measured = np.rint(predicted + rng.laplace(0, 3, n) * 10 ** rng.uniform(0, 4, n))
    return measured, predicted, np.full(n, predicted.mean())


def test_parts_in_any_order_are_the_whole():
    columns = some_children()
    whole = Residuals.of(*columns, 2.5)
    order = np.random.default_rng(2).permutation(7)
    pieces = np.array_split(np.arange(columns[0].size), 7)
    parts = Residuals.none()
    for i in order:
        parts = parts + Residuals.of(*(column[pieces[i]] for column in columns), 2.5)
    assert parts.bins.tobytes() == whole.bins.tobytes()
    assert parts.sizes == whole.sizes


def test_sums_hold_what_int64_does_not():
    huge = np.full(5000, 2.0**60)
    found = Residuals.of(huge, np.zeros(5000), np.zeros(5000), 1.0)
    assert found.sizes[0] == found.sizes[1] == 5000 << 61
    assert found.bins[0, -1] == 5000


def test_groups_are_made_from_the_largest_class_down():
    found = Residuals.none()
    for k, members in {30: 40, 28: 25, 20: 100, 3: 30, 2: 20}.items():
        found.bins[k, 352] = members
    row, bins = found.group()
    assert bins.sum(axis=1).tolist() == [65, 150]
    assert set(row[28:].tolist()) == {0}
    assert set(row[:28].tolist()) == {1}
    assert bins.sum() == found.members


def test_of_few_children_nothing_is_learned():
    few, some = FEWEST - 1, FEWEST
    for n, learned in ((few, False), (some, True)):
        measured = np.full(n, 100.0)
        found = Residuals.of(measured, measured, np.zeros(n), 1.0)
        assert found.explain((97, 100)) is learned


def test_the_guard_compares_whole_numbers():
    n = 100
    found = Residuals.of(np.full(n, 97.0), np.zeros(n), np.full(n, -3.0), 1.0)
    assert found.sizes == (97 * 256 * n, 100 * 256 * n)
    assert found.explain((97, 100))
    assert not found.explain((96, 100))
