"""Columns of counts side by side, one for each period: pop_202301, 2023-01 or 1月.

Names of columns are public, and so are the periods that they say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from unicodedata import normalize

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.io.read.rows.span import is_name

STAR = "*"
"""Stands for the period in the name of a column."""

FEWEST = 3
"""Fewest columns that are taken for those of periods by their names alone."""

PATTERN = Rule(
    "period-columns-form",
    "Columns of periods (--period-columns) are named with one * for the period: 'pop_*' for "
    "pop_202301, or '*' for 2023-01.",
)

NO_COLUMNS = Rule(
    "period-columns-missing",
    "No two columns {} have a year, month, day or hour in the place of the *.",
)

NO_COLUMN = Rule(
    "period-column-missing",
    "No column {} is that of {}; name the first and the last period that columns have (--periods).",
)

NO_YEAR = Rule(
    "period-columns-without-year",
    "The names of the columns {} do not say the whole period, such as its year: name the first and "
    "the last one (--periods 2023-01..2023-12).",
)

LIKE_DATA = Rule(
    "period-columns-like-data",
    "The first row may be data, of which no period is taken: name the first and the last period of "
    "the columns {} (--periods 2015..2020).",
)

TWICE = Rule("period-columns-alike", "Two columns {} are of the same period; remove one.")

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WORD = re.compile(r"[a-z]{3,9}")
_TEXT = re.compile(r"\d[\d\-_/. 年月日時]*(?:t\d{2})?(?::00)*")
_RUNS = {4: (4,), 6: (4, 2), 8: (4, 2, 2), 10: (4, 2, 2, 2)}
"""Digits of year, month, day and hour that are written together, by their number."""

_FORMS = ("{:04}", "-{:02}", "-{:02}", "T{:02}")

_IN_NAME = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?:[-_./年]?(?:1[0-2]|0?[1-9])(?!\d)月?)?年?(?!\d)"
    r"|(?<!\d)(?:1[0-2]|0?[1-9])月"
)
"""A year, a month of one, or a month in the name of a column."""


def read_parts(text: str) -> tuple[int, ...] | None:
    """Read year, month, day and hour of a text, or the last of them alone; None for another text.

    Examples
    --------
    >>> [read_parts(one) for one in ("2023年1月", "202301", "Jan 2023", "1月", "2023-01-31", "a1")]
    [(2023, 1), (2023, 1), (2023, 1), (1,), (2023, 1, 31), None]
    """
    plain = _WORD.sub(_number_month, _plain(text).strip())
    if not _TEXT.fullmatch(plain):
        return None
    runs = re.findall(r"\d+", plain)
    if len(runs) == 1 and len(runs[0]) in _RUNS:
        at, digits = 0, runs[0]
        runs = []
        for width in _RUNS[len(digits)]:
            runs.append(digits[at : at + width])
            at += width
    parts = tuple(map(int, runs))
    has_year_last = len(parts) in (2, 3) and parts[0] < 1000 <= parts[-1]
    return parts[::-1] if has_year_last else parts


def _number_month(word: re.Match[str]) -> str:
    name = word[0][:3]
    return str(_MONTHS.index(name) + 1) if name in _MONTHS else word[0]


def write_period(parts: Sequence[int]) -> str:
    """Write a period as series have it.

    >>> write_period((2023, 1))
    '2023-01'
    """
    return "".join(form.format(part) for form, part in zip(_FORMS, parts, strict=False))


def match_periods(names: Sequence[str], pattern: str) -> dict[str, tuple[int, ...]]:
    """Return the columns whose names have a period in the place of the *, with its parts.

    Raises UsageError for a pattern without one *.
    """
    if pattern.count(STAR) != 1:
        raise UsageError(PATTERN)
    before, after = map(_plain, pattern.strip().split(STAR))
    parts_by_name = {}
    for name in names:
        plain = _plain(name.strip())
        if plain.startswith(before) and plain.endswith(after):
            parts = read_parts(plain[len(before) : len(plain) - len(after)])
            if parts is not None:
                parts_by_name[name] = parts
    return parts_by_name


def _plain(text: str) -> str:
    return normalize("NFKC", text).casefold()


def find_period_columns(
    names: Sequence[str], pattern: str, times: Sequence[str] | None, file: str
) -> dict[str, str]:
    """Find the column of counts of each period, by its time.

    Parameters
    ----------
    names : sequence of str
        All columns of the file.
    pattern : str
        With a * for the period.
    times : sequence of str or None
        The periods; None: those that the names say.
    file : str
        For errors.

    Raises
    ------
    UsageError, InputError
        A pattern without one *, no such columns, two of one period, none of a time, or names that
        do not say all of it, or may be data, where no times are given.

    Examples
    --------
    >>> find_period_columns(["code", "pop_202301", "pop_202302"], "pop_*", None, "a.csv")
    {'2023-01': 'pop_202301', '2023-02': 'pop_202302'}
    >>> find_period_columns(["1月", "2月"], "*", ["2023-01", "2023-02"], "a.csv")
    {'2023-01': '1月', '2023-02': '2月'}
    """
    shown = printable(pattern)
    parts_by_name = match_periods(names, pattern)
    if len(parts_by_name) < 2:
        raise InputError(NO_COLUMNS.format(shown), file=file)
    if times is None:
        if not are_names(names):
            raise UsageError(LIKE_DATA.format(shown))
        if min(parts_by_name.values())[0] < 1000:
            raise UsageError(NO_YEAR.format(shown))
        named = {name: write_period(parts) for name, parts in parts_by_name.items()}
    else:
        named = _match_times(parts_by_name, times)
    columns: dict[str, str] = {}
    for name, time in named.items():
        if time in columns:
            raise InputError(TWICE.format(shown), file=file)
        columns[time] = name
    for time in times or ():
        if time not in columns:
            raise InputError(NO_COLUMN.format(shown, time), file=file)
    return dict(sorted(columns.items()))


def _match_times(
    parts_by_name: Mapping[str, tuple[int, ...]], times: Sequence[str]
) -> dict[str, str]:
    """Return the time of each column that has one, by its name: in whole, or its last part."""
    full = {tuple(map(int, re.split("[-T]", time))): time for time in times}
    short = {parts[-1:]: time for parts, time in full.items()}
    # The last part alone says a period only where all others are the same.
    by_parts = full | (short if len({parts[:-1] for parts in full}) == 1 else {})
    return {name: by_parts[parts] for name, parts in parts_by_name.items() if parts in by_parts}


def find_pattern(names: Sequence[str]) -> tuple[str, bool] | None:
    """Find the pattern of columns of counts that are called by periods; None without at least 3.

    Returns
    -------
    (str, bool)
        With a * for the period, and whether names say the whole period.

    Examples
    --------
    >>> find_pattern(["code", "pop_202301", "pop_202302", "pop_202303"])
    ('pop_*', True)
    >>> find_pattern(["code", "1月", "2月", "3月"]), find_pattern(["code", "a", "b"])
    (('*', False), None)
    """
    patterns: dict[str, list[tuple[int, ...]]] = {}
    for name in names:
        for one in list(_IN_NAME.finditer(name))[:1]:
            parts = read_parts(one[0])
            pattern = f"{name[: one.start()]}{STAR}{name[one.end() :]}"
            if parts is not None:
                patterns.setdefault(pattern, []).append(parts)
    fitting = [pattern for pattern, parts in patterns.items() if _are_periods(parts)]
    if len(fitting) != 1:
        return None
    return fitting[0], patterns[fitting[0]][0][0] >= 1000


def _are_periods(parts: Sequence[tuple[int, ...]]) -> bool:
    """Test whether parts are consecutive periods of one step."""
    if len(parts) < FEWEST or len({*map(len, parts)}) > 1:
        return False
    steps = [12 * one[0] + one[1] if len(one) > 1 else one[0] for one in parts]
    return all(later == earlier + 1 for earlier, later in pairwise(steps))


def are_names(names: Sequence[str]) -> bool:
    """Test whether a header consists of names, or of names and consecutive months.

    No row of data has consecutive months side by side.

    Examples
    --------
    >>> are_names(["code", "2023-01", "2023-02", "2023-03"]), are_names(["a", "2001", "2002"])
    (True, False)
    """
    others = [name.strip() for name in names if not is_name(name)]
    parts = [read_parts(name) for name in others]
    months = [one for one in parts if one is not None and (len(one) > 1 or "月" in others[0])]
    return len(months) == len(others) and (not others or _are_periods(months))
