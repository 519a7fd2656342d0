"""Verdicts on the form of a column by its first values, which no single record can decide.

A verdict has three values. A column has a form (``YES``) if all of its first values have it; it
does not (``NO``) if none has, or if more than a tenth, and more than two, have not; otherwise it
may (``MAYBE``). Changing, adding or removing one record changes each of these numbers by one at
most, so that it never turns YES into NO or NO into YES, only either of them into MAYBE. Verdicts
are combined by the smaller one (and), the larger one (or) and the opposite (not), which keep that
property. A reading is chosen only if it is YES and all others are NO. So one record can make a
reading ambiguous, which leads to a question; it cannot replace one reading by another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from enum import IntEnum
from typing import TypeVar

from geodp.grid.markers import HIDDEN, is_negative, is_placeholder

Name = TypeVar("Name")

SAMPLE = 200
"""Number of first records that are examined."""

MAX_ODD = 2
"""Largest number of values of another form for MAYBE; or a tenth of all values, if that is more."""


class Verdict(IntEnum):
    """Degree of certainty; see the module."""

    NO = 0
    MAYBE = 1
    YES = 2

    def opposite(self) -> Verdict:
        """Return the verdict on the negation."""
        return Verdict(2 - self)


def judge(good: int, odd: int, blank: int = 0) -> Verdict:
    """Judge whether a column has a form.

    Parameters
    ----------
    good, odd, blank : int
        Numbers of first values that have the form, have another, and are blank.

    Examples
    --------
    >>> judge(200, 0).name, judge(199, 1).name, judge(3, 3).name, judge(1, 0).name
    ('YES', 'MAYBE', 'NO', 'MAYBE')
    """
    # YES needs two good values and allows no other; NO needs three others or no good one: a single
    # record never leads from one to the other.
    if not good or odd > max(MAX_ODD, (good + odd) // 10):
        return Verdict.NO
    sure = not odd and good > 1 and good >= blank
    return Verdict.YES if sure else Verdict.MAYBE


def judge_values(values: Iterable[str], has_form: Callable[[str], object]) -> Verdict:
    """Judge whether texts have a form; ``has_form`` tests one text that is not blank."""
    good, odd, blank = 0, 0, 0
    for value in values:
        if is_blank(value):
            blank += 1
        elif has_form(value):
            good += 1
        else:
            odd += 1
    return judge(good, odd, blank)


def choose(verdicts: Mapping[Name, Verdict]) -> Name | None:
    """Return the one that is YES if all others are NO; None otherwise.

    >>> choose({"a": Verdict.YES, "b": Verdict.NO}), choose({"a": Verdict.YES, "b": Verdict.MAYBE})
    ('a', None)
    """
    near = possible(verdicts)
    return near[0] if len(near) == 1 and verdicts[near[0]] is Verdict.YES else None


def possible(verdicts: Mapping[Name, Verdict]) -> list[Name]:
    """Return the names of all verdicts that are not NO."""
    return [name for name, verdict in verdicts.items() if verdict is not Verdict.NO]


_COUNT = re.compile(r"\d+(?:[.,]0*)?|\d{1,3}(?:[.,' \u00a0\u202f\u2019]\d{3})+")
_DAY = re.compile(r"(\d{4})(-|/|\.|)(\d\d?)\2(\d\d?)(?:[T ].*)?")
_MONTH_OR_TIME = re.compile(r"\d{4}[-/.](?:0?[1-9]|1[0-2])|(?:[01]?\d|2[0-4]):[0-5]\d(?::.*)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


def is_blank(value: str) -> bool:
    """Test whether a text stands for a missing value, or is a negative number, which often does.

    >>> is_blank("-99"), is_blank(" NA "), is_blank("-8520148331287019520"), is_blank("7")
    (True, True, False, False)
    """
    text = value.strip()
    hidden = not text or text.casefold() in HIDDEN
    return hidden or is_placeholder(text) or is_negative(text)


def is_count(value: str) -> bool:
    """Test whether a text is an integer, possibly with separators or zero decimals.

    >>> is_count("12"), is_count("1,234"), is_count("12.0"), is_count("1.5")
    (True, True, True, False)
    """
    return _COUNT.fullmatch(value.strip()) is not None


def is_number(value: str) -> bool:
    """Test whether a text is a number with a decimal point or comma.

    >>> is_number("139.7"), is_number("-43,5"), is_number("a")
    (True, True, False)
    """
    try:
        float(value.replace(",", ".", 1))
    except ValueError:
        return False
    # float() takes underscores as separators of thousands, but in data they occur in codes.
    return "_" not in value


def is_time(value: str) -> bool:
    """Test whether a text is a date, a year from 1900 to 2100, a month or a time of day.

    >>> [is_time(one) for one in ("2020-10-01T08:00", "20201001", "2020", "08:00", "5339")]
    [True, True, True, True, False]
    """
    text = value.strip()
    if _MONTH_OR_TIME.fullmatch(text) or _YEAR.fullmatch(text):
        return True
    match = _DAY.fullmatch(text)
    if match is None or (not match[2] and len(text) < 8):
        return False
    try:
        return 1900 <= date(int(match[1]), int(match[3]), int(match[4])).year <= 2100
    except ValueError:
        return False
