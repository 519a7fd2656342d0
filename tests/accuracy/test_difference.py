"""Intervals of differences: by definition, and in simulation for every correlation."""

import numpy as np
import pytest

from geodp.accuracy.interval import Interval
from geodp.accuracy.interval_arithmetic import subtract

FIRST, SECOND = Interval(10.0, 7.0, 14.0), Interval(20.0, 16.0, 25.0)


def test_margins_are_those_of_the_sides_that_make_it_smaller_or_larger():
    one = subtract(FIRST, SECOND)
    assert one.value == 10
    assert one.low == pytest.approx(10 - np.hypot(4, 4))
    assert one.high == pytest.approx(10 + np.hypot(5, 3))
    both = subtract(FIRST, SECOND, 1.0)
    assert (both.low, both.high) == (10 - 8, 10 + 8)
    assert both.is_certain
    assert not subtract(FIRST, FIRST).is_certain


def test_to_subtract_the_other_way_round_turns_the_interval():
    one, back = subtract(FIRST, SECOND, 0.3), subtract(SECOND, FIRST, 0.3)
    assert (back.value, back.low, back.high) == (-one.value, -one.high, -one.low)


@pytest.mark.parametrize("correlation", [0.0, -0.5, -0.9])
def test_intervals_hold_where_errors_are_opposite(correlation):
    draw = np.random.default_rng(1)
    errors = draw.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 4000)
    held = []
    for a, b in errors.tolist():
        first, second = (Interval(error, error - 1.96, error + 1.96) for error in (a, b))
        one = subtract(first, second, -correlation)
        held.append(one.low <= 0 <= one.high)
    assert 0.94 < np.mean(held) < 0.96
