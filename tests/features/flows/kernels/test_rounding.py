"""Dependent rounding: exact margins, means that stay, and no entry off by one or more."""

import numpy as np
import pytest

from geodp.features.flows.kernels.rounding import UNITS
from geodp.features.flows.rounding import round_table


def made(seed, rows=9, columns=7, most=40):
    """Whole margins, and a real table that nearly has them."""
    draw = np.random.default_rng(seed)
    whole = draw.poisson(draw.gamma(0.3, 3, (rows, columns))).clip(0, most)
    margins = whole.sum(axis=1), whole.sum(axis=0)
    value = draw.gamma(1, 1, whole.shape) + 1e-3
    value *= np.outer(margins[0] > 0, margins[1] > 0)
    for _ in range(200):
        for axis, margin in enumerate(margins):
            sums = value.sum(axis=1 - axis)
            factor = np.where(sums > 0, margin / np.maximum(sums, 1e-300), 0)
            value *= factor[:, None] if axis == 0 else factor
    return value, margins


def rounded(value, margins, seed=5):
    ends = np.nonzero(np.ones(value.shape))
    row, column, count = round_table(ends, value[ends], margins, np.array([seed]))
    out = np.zeros(value.shape, np.int64)
    np.add.at(out, (row, column), count)
    assert (count > 0).all()
    return out


@pytest.mark.parametrize("seed", range(30))
def test_margins_are_exact_and_entries_are_next_to_what_was_expected(seed):
    value, margins = made(seed)
    out = rounded(value, margins)
    assert np.array_equal(out.sum(axis=1), margins[0])
    assert np.array_equal(out.sum(axis=0), margins[1])
    # What margins lacked after balancing is filled in, which is next to nothing.
    assert (np.abs(out - value) < 1 + 1e-6).all()


def test_every_entry_keeps_its_mean():
    value, margins = made(3, rows=4, columns=5)
    trials = 4000
    mean = np.mean([rounded(value, margins, seed) for seed in range(trials)], axis=0)
    assert np.abs(mean - value).max() < 6 * 0.5 / np.sqrt(trials)


def test_what_a_table_lacks_is_filled_in():
    margins = np.array([3, 2]), np.array([1, 4])
    out = rounded(np.zeros((2, 2)), margins)
    assert out.sum(axis=1).tolist() == [3, 2]
    assert out.sum(axis=0).tolist() == [1, 4]


def test_a_table_that_has_too_much_is_lowered():
    margins = np.array([3, 2]), np.array([1, 4])
    out = rounded(np.full((2, 2), 50.0), margins)
    assert (out.sum(axis=1).tolist(), out.sum(axis=0).tolist()) == ([3, 2], [1, 4])


def test_no_trips_are_no_entries():
    none = np.zeros(2, np.int64)
    assert rounded(np.zeros((2, 2)), (none, none)).sum() == 0
    assert UNITS == 1 << 30
