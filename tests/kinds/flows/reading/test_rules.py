"""Rules of stays: durations, distances and speeds, and what of them is refused."""

import pytest

from geodp import UsageError
from geodp.kinds.flows.reading.rules import (
    StayRules,
    read_duration,
    require_accuracy,
    say_duration,
)
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10 min", 600), ("2h", 7200), ("1d", 86_400), (5, 5)]
)
def test_durations_are_read_and_written(text, seconds):
    assert read_duration(text) == seconds
    assert read_duration(say_duration(seconds)) == seconds


@pytest.mark.parametrize("wrong", ["", "10", "ten min", "-1s", "0s", 0, 1.5, True, "367d", "1.5h"])
def test_other_durations_are_refused(wrong):
    with refuses(UsageError, "flows-duration-form"):
        read_duration(wrong)


def test_rules_have_defaults_in_whole_units():
    rules = StayRules.of(None, None, None, None)
    assert rules.limits == (20_000, 27_778, 600, 7200)
    assert "within 200 m" in rules.state("person")[0]


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), "200", True, 200_000])
def test_amounts_are_numbers_within_limits(wrong):
    with refuses(UsageError, "flows-amount-form"):
        StayRules.of(wrong, None, None, None)
    with refuses(UsageError, "flows-amount-form"):
        StayRules.of(None, None, None, wrong)


def test_the_largest_accuracy_is_the_radius():
    rules = StayRules.of(300, None, None, None)
    assert require_accuracy(None, "a", rules) == 300
    assert require_accuracy(50, "a", rules) == 50
    with refuses(UsageError, "flows-accuracy-missing"):
        require_accuracy(50, None, rules)
