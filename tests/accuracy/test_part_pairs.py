"""Ratios and differences of parts of one total: by definition, and in simulation."""

from dataclasses import replace

import numpy as np
import pytest

from geodp.accuracy.interval import Interval
from geodp.accuracy.part_pairs import PartSum, correlate, divide_parts, subtract_parts

PEOPLE = np.array([1000.0])


def total(margin):
    return Interval(PEOPLE, PEOPLE - margin, PEOPLE + margin)


def side(count, margin, share=None):
    share = count / PEOPLE if share is None else np.array([share])
    one = np.array([float(margin)])
    return PartSum(np.array([float(count)]), share, one, one, (one / 1.96) ** 2)


OPPOSITE = np.array([-1.0])


def test_the_error_of_the_total_cancels_in_a_share_and_counts_in_a_difference():
    part, rest = side(300, 20), side(700, 20)
    ends = [
        divide_parts(part, rest, total(margin), OPPOSITE, inside=True) for margin in (0.0, 50.0)
    ]
    assert ends[0].high == pytest.approx(0.32)
    assert ends[1].high == pytest.approx(ends[0].high, abs=1e-3)
    # Of the total, 400 in 1,000 more are of the larger part: 20 of 50; and the parts are opposite.
    apart = subtract_parts(rest, part, total(50.0), OPPOSITE)
    assert apart.high - apart.value == pytest.approx(np.hypot(40, 20))


def test_what_one_part_has_more_the_others_have_less():
    part, rest = side(300, 20), side(700, 20)
    share, other = (
        divide_parts(*both, total(9.0), OPPOSITE, inside=True)
        for both in ((part, rest), (rest, part))
    )
    assert share.value + other.value == pytest.approx(1)
    assert share.low + other.high == pytest.approx(1)
    # All parts together are the total, which has no error given itself.
    nothing = np.zeros(1)
    assert correlate(part, rest, 4 * part.variance) == -1
    assert correlate(part, side(600, 20), 2 * part.variance) == 0
    assert correlate(part, replace(rest, variance=nothing), part.variance) == 0


def test_a_ratio_is_not_estimable_where_nobody_may_be_in_the_divisor():
    few = side(3, 20)
    assert np.isnan(divide_parts(side(300, 20), few, total(9.0), np.zeros(1), inside=False).value)
    assert np.isnan(divide_parts(few, few, total(1000.0), OPPOSITE, inside=True).value)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.5])
def test_intervals_hold_as_often_as_they_say(inside, correlation):
    draw, n, error, spread = np.random.default_rng(3), 4000, 15.0, 25.0
    law = [[1, correlation], [correlation, 1]]
    people = 1000 + error * draw.normal(size=n)
    given = spread * draw.multivariate_normal([0, 0], law, n).T
    first, second = (
        PartSum(
            share * people + off, np.full(n, share), *(np.full(n, 1.96 * spread),) * 2, people * 0
        )
        for share, off in zip((0.2, 0.5), given, strict=True)
    )
    around = Interval(people, people - 1.96 * error, people + 1.96 * error)
    r = np.full(n, correlation)
    ratio = divide_parts(first, second, around, r, inside=inside)
    true = 200 / 700 if inside else 200 / 500
    apart = subtract_parts(first, second, around, r)
    for one, value in ((ratio, true), (apart, -300.0)):
        assert 0.94 < np.mean((one.low <= value) & (value <= one.high)) < 0.96
