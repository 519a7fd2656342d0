"""The rule of display: which counts are shown as ``<k``, and what stands beside them."""

import numpy as np
import pytest

from geodp.accuracy.interval import Estimate, Interval
from geodp.accuracy.interval_arithmetic import hide_figures
from geodp.cli.figures import list_estimates
from geodp.table.display import LARGEST, is_below, show_count, show_limit


@pytest.mark.parametrize("limit", [2, 10, LARGEST])
def test_counts_above_0_and_below_the_limit_are_shown_as_one_word(limit):
    shown = {show_count(count, limit) for count in {1, limit // 2, limit - 1}}
    assert shown == {show_limit(limit)} == {f"<{limit:,}"}
    assert [show_count(count, limit) for count in (0, -3, limit)] == ["0", "-3", f"{limit:,}"]
    assert show_count(limit - 1, None) == f"{limit - 1:,}"


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_arrays_are_asked_as_counts_are(dtype):
    count = np.array([-3, 0, 1, 9, 10, 11], dtype)
    assert is_below(count, 10).tolist() == [False, False, True, True, False, False]
    assert is_below(count, 10).tolist() == [bool(is_below(one, 10)) for one in count.tolist()]
    assert not is_below(count, None).any()


def test_real_counts_are_asked_before_they_are_rounded():
    assert show_count(9.96, 10, ",.1f") == show_count(0.04, 10, ",.1f") == "<10"
    assert show_count(10.04, 10, ",.1f") == "10.0"


def test_an_interval_does_not_tell_the_count_that_is_not_shown():
    for *ends, limit, said in (
        (7, 0.0, 14.0, 10, "–"),
        (12, 4.0, 20.0, 10, "<10 to 20"),
        (0, 0.0, 9.0, 10, "0 to <10"),
        (7, 0.0, 14.0, None, "0 to 14"),
    ):
        one = Estimate(*ends, 1.0, clamped=False)
        (row,) = list_estimates("town", {"count": one}, limit)
        assert row.cells("")[2] == said


def test_what_would_reveal_a_hidden_count_is_hidden():
    few, none, many = (Estimate(n, 0.0, n + 9.0, 1.0, clamped=False) for n in (7, 0, 50))
    mean = Interval(2.0, 1.0, 3.0)
    hidden = hide_figures({"persons": many, "households": few, "size": mean}, 10)
    assert hidden == {"persons": (False, True), "households": (True, True), "size": (True, False)}
    # The end of the sum would tell that of the count, which is shown as below the limit.
    assert hide_figures({"count": none, "sum": mean}, 10) == {
        "count": (False, False),
        "sum": (False, True),
    }
    assert not any(any(one) for one in hide_figures({"count": few, "sum": mean}, None).values())
