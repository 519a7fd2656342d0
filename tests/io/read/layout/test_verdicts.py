"""No single record turns what values say into its opposite."""

import pytest

from geodp.io.read.layout.recognise import (
    Verdict,
    choose,
    is_blank,
    is_count,
    is_number,
    is_time,
    judge,
    judge_values,
    possible,
)

STEPS = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)]


def test_one_record_never_turns_yes_into_no_or_no_into_yes():
    """Whether it is added, taken away, changed, or moves another one out of those looked at."""
    for good in range(41):
        for odd in range(13):
            for blank in range(0, 41, 4):
                verdict = judge(good, odd, blank)
                for step in STEPS:
                    after = [n + by for n, by in zip((good, odd, blank), step, strict=True)]
                    if min(after) >= 0:
                        assert abs(verdict - judge(*after)) <= 1


@pytest.mark.parametrize(
    ("good", "odd", "blank", "expected"),
    [
        (2, 0, 0, Verdict.YES),
        (1, 0, 0, Verdict.MAYBE),
        (0, 0, 9, Verdict.NO),
        (10, 2, 0, Verdict.MAYBE),
        (10, 3, 0, Verdict.NO),
        (180, 20, 0, Verdict.MAYBE),
        (179, 21, 0, Verdict.NO),
        (4, 0, 5, Verdict.MAYBE),
    ],
)
def test_what_decides_is_a_fixed_share(good, odd, blank, expected):
    assert judge(good, odd, blank) is expected


def test_a_choice_needs_that_nothing_else_comes_near():
    yes, maybe, no = Verdict.YES, Verdict.MAYBE, Verdict.NO
    assert choose({"a": yes, "b": no}) == "a"
    for others in ({"a": yes, "b": maybe}, {"a": yes, "b": yes}, {"a": maybe, "b": no}, {}):
        assert choose(others) is None
    assert possible({"a": yes, "b": no, "c": maybe}) == ["a", "c"]
    assert [one.opposite() for one in (yes, maybe, no)] == [no, maybe, yes]


def test_values_are_counted_by_their_form():
    assert judge_values(["1", "2", "-", ""], is_count) is Verdict.YES
    assert judge_values(["1", "x y", "3"], is_count) is Verdict.MAYBE


@pytest.mark.parametrize("text", ["0", "12", "1,234", "1.234.567", "12.0", "1 234", "1'234", " 7 "])
def test_these_are_whole_numbers(text):
    assert is_count(text)
    assert not is_count(f"{text.strip()}p")


@pytest.mark.parametrize("text", ["1.5", "1,23", "1e3", "abc", "12-14", "1.23.4"])
def test_these_are_not(text):
    assert not is_count(text)


@pytest.mark.parametrize(
    "text",
    [
        *("2020-10-01", "2020/1/5", "20201001", "2020", "2020-10", "08:00", "24:00", "7:30:15"),
        *("2020-10-01T08:00:00+09:00", "2020-10-01 08:00"),
    ],
)
def test_these_are_times(text):
    assert is_time(text)


@pytest.mark.parametrize("text", ["53394611", "5339", "20201301", "12", "25:00", "2020-13", "x"])
def test_these_are_no_times(text):
    assert not is_time(text)


def test_marks_of_missing_values_and_negative_numbers_say_nothing():
    assert all(map(is_blank, ["", "-", "–", "*", "NA", "nan", "..", "-1", "-99997"]))
    assert not any(map(is_blank, ["0", "12", "abc", "1-2"]))
    assert is_number("-43,5")
    assert not is_number("4-5")
