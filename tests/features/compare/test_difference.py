"""What an error says of a difference, where there is one and where there is none."""

import math

import pytest

from geodp.features.compare.difference import Difference, Hypothesis


@pytest.mark.parametrize(
    ("difference", "alternative", "p_value"),
    [(0, "two-sided", 1), (5, "two-sided", 0), (5, "greater", 0), (5, "less", 1), (0, "less", 1)],
)
def test_without_an_error_a_difference_is_certain(difference, alternative, p_value):
    found = Difference.of_error(difference, 0.0, Hypothesis(alternative=alternative))
    assert found.p_value == p_value
    assert (found.low, found.high) == (difference, difference)


def test_the_continuity_correction_is_half_a_step():
    found = Difference.of_error(3, 2.0, Hypothesis(alternative="greater"), step=1)
    assert found.p_value == pytest.approx(math.erfc(2.5 / 2 / math.sqrt(2)) / 2)
    less = Difference.of_error(3, 2.0, Hypothesis(alternative="less"), step=1)
    assert less.p_value == pytest.approx(math.erfc(-3.5 / 2 / math.sqrt(2)) / 2)
    assert Difference.of_error(0, 2.0, Hypothesis(), step=1).p_value == 1


@pytest.mark.parametrize(("excess", "half"), [(0, 1.959964), (1, math.log(20) / math.sqrt(2))])
def test_intervals_are_as_wide_as_the_tails_are_long(excess, half):
    found = Difference.of_error(10, 3.0, Hypothesis(), excess)
    assert found.high - 10 == pytest.approx(3 * half, rel=1e-5)
    wider = Difference.of_error(10, 3.0, Hypothesis(alpha=0.01), excess)
    assert wider.high - wider.low > found.high - found.low
    outside = Difference.of_error(10, 3.0, Hypothesis(null=found.high), excess)
    assert outside.p_value == pytest.approx(0.05, rel=1e-5)
