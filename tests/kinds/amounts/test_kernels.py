"""Whole records and sums along the line of keys: within bounds, and near their streams."""

from math import floor

import numpy as np
import pytest

from geodp.kinds.amounts.kernels import LEAST, divide, merge, settle


def streams(draw, cells, span, largest):
    """Two streams, of which many cells have less than one record."""
    people = draw.integers(0, largest, cells) * (draw.random(cells) < 0.7)
    both = people * span + draw.integers(1, span + 1, cells)
    above = np.floor(both * draw.beta(0.5, 0.5, cells)).astype(np.int64)
    return above, both


def aligned(above, both, span, offset):
    number, total = np.empty_like(above), np.empty_like(above)
    settle(above, both - above, span, offset, number, total)
    return number, total


def slowly(above, both, span, offset):
    """The same in plain Python: the definition."""
    rest, owed, number, total = offset, 0, [], []
    for u, w in zip(above.tolist(), both.tolist(), strict=True):
        rest, owed = rest + w, owed + u
        number.append(rest // span)
        rest -= number[-1] * span
        kept = floor(float(rest - offset) * (u / max(w, 1)))
        total.append(min(max(owed - kept, 0), number[-1] * span))
        owed -= total[-1]
    return number, total


@pytest.mark.parametrize("sizes", [(0, 0), (0, 5), (5, 0), (1, 1), (40, 60)])
def test_cells_of_both_streams_are_merged(sizes):
    draw = np.random.default_rng(sum(sizes))
    for _ in range(20):
        some = [
            {int(key): int(draw.integers(1, 9)) for key in draw.choice(99, n, False)} for n in sizes
        ]
        arrays = []
        for one in some:
            keys = sorted(one)
            arrays += [np.array(keys, np.uint64), np.array([one[key] for key in keys], np.int64)]
        key, pair = np.empty(sum(sizes), np.uint64), np.empty((2, sum(sizes)), np.int64)
        size = merge(*arrays, key, pair)
        assert key[:size].tolist() == sorted({*some[0], *some[1]})
        expected = [[one.get(cell, 0) for cell in key[:size].tolist()] for one in some]
        assert pair[:, :size].tolist() == expected


@pytest.mark.parametrize("span", [1, 2, 7, 1000])
@pytest.mark.parametrize("largest", [1, 2, 300])
def test_sums_are_within_bounds_and_near_their_streams(span, largest):
    draw = np.random.default_rng(span + largest)
    for trial in range(20):
        above, both = streams(draw, 400, span, largest)
        offset = int(draw.integers(span))
        number, total = aligned(above, both, span, offset)
        assert [number.tolist(), total.tolist()] == [*slowly(above, both, span, offset)]
        assert (number >= 0).all()
        assert (total >= 0).all()
        assert (total <= number * span).all()
        # Of every run of keys, and so of every node of every tree.
        off = np.concatenate([[0], np.cumsum(number * span - both)])
        assert np.ptp(off) < span
        off = np.concatenate([[0], np.cumsum(total - above)])
        assert np.ptp(off) <= 3 * span, trial


def divided(weights, number):
    """Divide records among classes; both by cell."""
    classes = np.ascontiguousarray(weights.T)
    parts, near = np.empty_like(classes), np.maximum(classes.mean(axis=1), LEAST)
    divide(classes, number, near, np.zeros(len(classes)), parts)
    return parts.T


def measured(draw, cells=300, spread=2.0):
    """Measured records of five classes, and whole records that do not add up to them."""
    weights = draw.poisson(draw.exponential(3, (cells, 5)))
    error = np.rint(draw.normal(0, spread, cells)).astype(np.int64)
    return weights, np.maximum(weights.sum(axis=1) + error, 0)


def test_records_are_divided_among_classes():
    draw = np.random.default_rng(1)
    for _ in range(20):
        weights, number = measured(draw)
        parts = divided(weights, number)
        assert (parts >= 0).all()
        np.testing.assert_array_equal(parts.sum(axis=1), number)


def test_records_that_agree_with_their_classes_stay():
    weights, _ = measured(np.random.default_rng(2))
    np.testing.assert_array_equal(divided(weights, weights.sum(axis=1)), weights)


def test_classes_of_areas_follow_what_was_measured_of_them():
    draw = np.random.default_rng(4)
    errors = []
    for _ in range(40):
        weights, number = measured(draw, 1024, 6.0)
        # All records together are known well, and each class is its measured part of them.
        number[0] += max(int(weights.sum() - number.sum()), -int(number[0]))
        parts = divided(weights, number)
        errors.append(parts.sum(axis=0) - weights.sum(axis=0) * number.sum() / weights.sum())
    # A share of each cell's own would be off by the root of 1024 times 6 records times its noise.
    assert np.std(errors) < 6


def test_records_without_any_class_are_divided_evenly():
    parts = divided(np.zeros((50, 5), np.int64), np.full(50, 3))
    assert (parts.sum(axis=1) == 3).all()
    np.testing.assert_array_equal(parts.sum(axis=0), 30)
