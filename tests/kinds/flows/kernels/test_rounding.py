"""Rounding of tables: exact margins, and means that nearly stay."""

import numpy as np
import pytest

from geodp.kinds.flows.estimator import round_table
from geodp.kinds.flows.kernels import rounding


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
    row, column, count = round_table(value, margins, np.array([seed]))
    out = np.zeros(value.shape, np.int64)
    out[row, column] = count
    assert (count > 0).all()
    return out


@pytest.mark.parametrize("seed", range(30))
def test_margins_are_exact_and_whole_parts_are_kept(seed):
    value, margins = made(seed)
    out = rounded(value, margins)
    assert np.array_equal(out.sum(axis=1), margins[0])
    assert np.array_equal(out.sum(axis=0), margins[1])
    # Of the last rows a column may take what it lacks, so that a few entries are further off.
    assert np.mean(np.abs(out - value) < 1) > 0.9


def test_every_entry_nearly_keeps_its_mean():
    value, margins = made(3, rows=40, columns=5)
    trials = 4000
    mean = np.mean([rounded(value, margins, seed) for seed in range(trials)], axis=0)
    # Columns that are full take no more, so that single entries are off, and all together are not.
    assert np.abs(mean - value).max() < 0.4
    assert np.abs(mean - value).mean() < 0.03


def test_neighbouring_columns_together_get_what_is_expected():
    draw = np.random.default_rng(1)
    value = draw.random((50, 64))
    value *= 8 / value.sum(axis=1, keepdims=True)
    columns = np.full(64, 6)
    columns[: 400 - 64 * 6] += 1
    for _ in range(100):
        value *= columns / value.sum(axis=0)
        value *= 8 / value.sum(axis=1, keepdims=True)
    out = rounded(value, (np.full(50, 8), columns))
    apart = (out - value).reshape(50, 8, 8).sum(axis=2)
    # Alone, 8 fractions would be off by about 1 together.
    assert np.abs(apart[:40]).max() < 2
    assert apart[:40].std() < 0.6


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


def test_random_numbers_are_those_of_splitmix64():
    state = np.array([1234567])
    words = []
    with np.errstate(over="ignore"):  # as words of 64 bits do
        for _ in range(3):
            words.append(rounding.next_uniform.py_func(state) * 2**53)
    # The first outputs of the published generator for this seed, without their last 11 bits.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert words == [word >> 11 for word in expected]
