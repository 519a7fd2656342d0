"""What an error says of a difference, where there is one and where there is none."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from geodp.errors import UsageError
from geodp.tools.compare.difference import Difference, Hypothesis, adjust
from tests.refusals import refuses


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


pytestmark = pytest.mark.law

LISTS = [[], [0.2], [0.01, 0.04, 0.03], [0.0, 1.0, 0.5, 0.5], [0.02] * 5, [0.2, 0.001, 0.9, 0.03]]


@pytest.mark.parametrize("given", LISTS)
def test_holm_is_closed_testing_with_bonferroni(given):
    closed = [
        max(
            min(1, size * min(given[j] for j in group))
            for size in range(1, len(given) + 1)
            for group in combinations(range(len(given)), size)
            if i in group
        )
        for i in range(len(given))
    ]
    assert adjust(given).tolist() == pytest.approx(closed)


@pytest.mark.parametrize("given", LISTS[1:])
def test_false_discoveries_as_another_library_has_them(given):
    assert adjust(given, "benjamini-hochberg") == pytest.approx(false_discovery_control(given))


@pytest.mark.parametrize("correction", ["holm", "benjamini-hochberg"])
def test_tests_that_are_left_out_have_a_p_value_of_1(correction):
    given = [0.001, 0.02, 0.004]
    whole = adjust([*given, *[1.0] * 7], correction)
    assert adjust(given, correction, tests=10) == pytest.approx(whole[:3])


def test_any_false_finding_is_as_rare_as_asked():
    random = np.random.default_rng(3)
    any_found = [(adjust(random.random(20)) <= 0.05).any() for _ in range(20_000)]
    assert np.mean(any_found) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize(
    ("given", "asked", "said"),
    [
        ([1.1], {}, "p-values-form"),
        ([np.nan], {}, "p-values-form"),
        ([[0.1]], {}, "p-values-form"),
        ([0.1], {"correction": "bonferroni"}, "correction-unknown"),
        ([0.1, 0.2], {"tests": 1}, "tests-fewer-than-p-values"),
    ],
)
def test_what_is_refused(given, asked, said):
    with refuses(UsageError, said):
        adjust(given, **asked)
