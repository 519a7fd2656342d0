"""What the first values of a column say of its form, so that no single record decides anything.

A verdict has three values. A column has a form (``YES``) if all of its first values have it; it
does not (``NO``) if none has, or if more than a tenth, and more than two, have not; otherwise it
may (``MAYBE``). Changing, adding or removing one record changes each of these numbers by one at
most, so that it never turns YES into NO or NO into YES, only either of them into MAYBE. Verdicts
are combined by the smaller one (and), the larger one (or) and the opposite (not), which keep that
property. A reading is chosen only if it is YES and all others are NO. So one record can make a
reading ambiguous, which is asked about; it cannot replace one reading by another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from enum import IntEnum
from typing import TypeVar

Name = TypeVar("Name")

SAMPLE = 200
"""First records that are looked at."""

MOST_ODD = 2
"""Values of another form that a column which may have a form has at most; or a tenth, if more."""


class Verdict(IntEnum):
    """Whether something is so; see the module."""

    NO = 0
    MAYBE = 1
    YES = 2

    def opposite(self) -> Verdict:
        """Return whether it is not so."""
        return Verdict(2 - self)


def judge(good: int, odd: int, blank: int = 0) -> Verdict:
    """Return whether a column has a form.

    Parameters
    ----------
    good, odd, blank : int
        How many of its first values have the form, have another, and are blank.

    Examples
    --------
    >>> judge(200, 0).name, judge(199, 1).name, judge(3, 3).name, judge(1, 0).name
    ('YES', 'MAYBE', 'NO', 'MAYBE')
    """
    if not good or odd > max(MOST_ODD, (good + odd) // 10):
        return Verdict.NO
    sure = not odd and good > 1 and good >= blank
    return Verdict.YES if sure else Verdict.MAYBE


def judge_values(values: Iterable[str], has_form: Callable[[str], object]) -> Verdict:
    """Return whether texts have a form, of which ``has_form`` tells for one that is not blank."""
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
    """Return the one that is YES where all others are NO; None where that is not so.

    >>> choose({"a": Verdict.YES, "b": Verdict.NO}), choose({"a": Verdict.YES, "b": Verdict.MAYBE})
    ('a', None)
    """
    near = possible(verdicts)
    return near[0] if len(near) == 1 and verdicts[near[0]] is Verdict.YES else None


def possible(verdicts: Mapping[Name, Verdict]) -> list[Name]:
    """Return all that are not NO."""
    return [name for name, verdict in verdicts.items() if verdict is not Verdict.NO]


BLANKS = frozenset(
    ("", "-", "–", "—", "−", "*", "x", ".", "..", "...", ":", "na", "n/a", "nan", "null", "none")
)
"""Spellings of a missing value, in small letters."""

LONGEST_MARK = 17
"""Characters of a negative whole number that may stand for a missing value."""

_COUNT = re.compile(r"\d+(?:[.,]0*)?|\d{1,3}(?:[.,' \u00a0\u202f\u2019]\d{3})+")
_DAY = re.compile(r"(\d{4})(-|/|\.|)(\d\d?)\2(\d\d?)(?:[T ].*)?")
_MONTH_OR_TIME = re.compile(r"\d{4}[-/.](?:0?[1-9]|1[0-2])|(?:[01]?\d|2[0-4]):[0-5]\d(?::.*)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


def is_blank(value: str) -> bool:
    """Whether a text stands for a missing value, or a negative number, which often does.

    Whole numbers of 17 digits and more are ids of 64 bits, which a sign makes negative.

    >>> is_blank("-99"), is_blank(" NA "), is_blank("-8520148331287019520"), is_blank("7")
    (True, True, False, False)
    """
    small = value.strip().casefold()
    if small[:1] != "-" or (small[1:].isdecimal() and len(small) > LONGEST_MARK):
        return small in BLANKS
    return small in BLANKS or small[1:].replace(".", "", 1).isdecimal()


def is_count(value: str) -> bool:
    """Whether a text is a whole number, perhaps with marks of thousands or zeros behind a mark.

    >>> is_count("12"), is_count("1,234"), is_count("12.0"), is_count("1.5")
    (True, True, True, False)
    """
    return _COUNT.fullmatch(value.strip()) is not None


def is_number(value: str) -> bool:
    """Whether a text is a number with a decimal point or comma.

    >>> is_number("139.7"), is_number("-43,5"), is_number("a")
    (True, True, False)
    """
    try:
        float(value.replace(",", ".", 1))
    except ValueError:
        return False
    return "_" not in value  # Python's own mark of thousands, which codes have


def is_time(value: str) -> bool:
    """Whether a text is a date, a year of 1900 to 2100, a month, a time of day, or several of them.

    >>> [is_time(one) for one in ("2020-10-01T08:00", "20201001", "2020", "08:00", "5339")]
    [True, True, True, True, False]
    """
    text = value.strip()
    if _MONTH_OR_TIME.fullmatch(text) or _YEAR.fullmatch(text):
        return True
    found = _DAY.fullmatch(text)
    if found is None or (not found[2] and len(text) < 8):
        return False
    try:
        return 1900 <= date(int(found[1]), int(found[3]), int(found[4])).year <= 2100
    except ValueError:
        return False
