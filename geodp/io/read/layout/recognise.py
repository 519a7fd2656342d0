"""Which column of a table holds what: by its name where that tells, otherwise by its first values.

Only the form is inferred, by the fixed rule of :mod:`geodp.io.read.layout.verdicts`: never bounds,
labels or who is counted. A name decides where one column has one of words.toml, as names are
public. Values decide otherwise, and one record cannot change what they decide, only whether.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from geodp.grid.codes.recognise import count_no_tokens, count_others
from geodp.io.read.layout.verdicts import (
    MOST_ODD,
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
from geodp.io.read.layout.words import find_named, fold_columns
from geodp.io.read.rows.known_attributes import find_attribute

FAMILIES = {
    "RELI": "statpop",
    "CRS28992": "cbs",
    "C28992": "cbs",
    "SSBID": "ssb",
    "メッシュ": "jis",
}
"""Beginnings of names of columns that are of one family of codes only; 標準地域メッシュ, too."""

UNSURE = "jis:quarter"
"""A system whose codes look like those of another standard, for cells of 100 m."""


@dataclass(frozen=True)
class Column:
    """The name of a column, its second name where a file has one, and its first values as texts."""

    name: str
    label: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """What columns hold, by their positions.

    Attributes
    ----------
    code : int or None
        Codes of cells or areas.
    codes : tuple of int
        All that may be codes where values do not tell which.
    origin, destination : int or None
        Codes at both ends of a journey; there is no ``code`` then.
    grid : str or None
        Code system of the codes.
    grids : tuple of str
        All that the codes may be of.
    x, y : int or None
        Longitudes and latitudes.
    count : int or None
        The counts.
    counts : tuple of int
        All columns that may be counts.
    times, persons : tuple of int
        Columns of times, and of identifiers of persons, by their names or, of times, values.
    """

    code: int | None = None
    codes: tuple[int, ...] = ()
    origin: int | None = None
    destination: int | None = None
    grid: str | None = None
    grids: tuple[str, ...] = ()
    x: int | None = None
    y: int | None = None
    count: int | None = None
    counts: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    persons: tuple[int, ...] = ()


def recognise(
    columns: Sequence[Column],
    grid: str | None = None,
    code: int | None = None,
    named: Collection[int] = (),
) -> Roles:
    """Return what columns hold.

    Parameters
    ----------
    columns : sequence of Column
    grid : str, optional
        Code system, where it is known; "" where rows lie on a grid without codes.
    code : int, optional
        Column of codes, where it is known.
    named : collection of int
        Columns that hold neither codes nor counts, where it is known.

    Examples
    --------
    >>> zones = Column("zone", values=("53394611", "53394612"))
    >>> found = recognise([zones, Column("n", values=("3", "5"))])
    >>> found.code, found.grid, found.count
    (0, 'jis:basic', 1)
    """
    by_name = _Named([one.name for one in columns], [one.label for one in columns])
    systems = [_judge_systems(one, grid) for one in columns]
    verdicts = {at: max(own.values(), default=Verdict.NO) for at, own in enumerate(systems)}
    ends: tuple[int | None, int | None] = None, None
    if code is None:
        ends = by_name.only("origin"), by_name.only("destination")
        # 発地メッシュコード is a word for codes, too; codes beside both ends are the places.
        if None in ends or ends[0] == ends[1] or not {*by_name.all("code")} <= {*ends}:
            ends = None, None
    if code is None and None in ends:
        code = by_name.only("code", first=True)
    near: list[int] = []
    if code is None and None in ends:
        free_codes = {at: verdict for at, verdict in verdicts.items() if at not in named}
        code, near = choose(free_codes), possible(free_codes)
        if not near:
            code = by_name.only("any_code", first=True)
    places = {at for at in (code, *ends) if at is not None}
    grids = _judge_grids([systems[at] for at in sorted(places)], by_name, places)
    if grid is None and not possible(grids):
        grids = _judge_tokens([columns[at] for at in sorted(places)])
    x, y = by_name.only("longitude"), by_name.only("latitude")
    if x is None or y is None or x == y:
        x = y = None
    taken = places | {at for at in (x, y) if at is not None}
    times = {at: judge_values(one.values, is_time) for at, one in enumerate(columns)}
    persons = [at for at in by_name.all("person") if at not in taken]
    hidden = {*taken, *named, *persons, *by_name.all("no_count"), *by_name.all("time")}
    hidden |= {*by_name.all("longitude"), *by_name.all("latitude"), *by_name.all("code")}
    hidden |= {at for at, one in enumerate(columns) if _is_attribute(one.name)}
    free = {
        at: min(times[at].opposite(), verdicts[at].opposite())
        for at, one in enumerate(columns)
        if at not in hidden and one.name.strip()
    }
    counts = _judge_counts(columns, free)
    return Roles(
        code=code,
        codes=tuple(near) if code is None else (),
        origin=ends[0],
        destination=ends[1],
        grid=choose(grids),
        grids=tuple(possible(grids)),
        x=x,
        y=y,
        count=_choose_count(counts, by_name.all("population")),
        counts=tuple(possible(counts)),
        times=tuple(
            at
            for at in sorted({*by_name.all("time"), *(a for a in times if times[a] is Verdict.YES)})
            if at not in taken
        ),
        persons=tuple(persons),
    )


class _Named:
    """Columns whose names tell what they hold."""

    def __init__(self, *names: Sequence[str]) -> None:
        self._names = names
        self._folded = fold_columns(*names)

    def all(self, role: str) -> list[int]:
        return find_named(role, self._folded)

    def only(self, role: str, *, first: bool = False) -> int | None:
        """Return the only column of a role; with `first` that of its first pattern."""
        found = self.all(role)
        return found[0] if len(found) == 1 or (first and found) else None

    def any_starts(self, columns: Collection[int], start: str) -> bool:
        """Return whether a name of one of some columns begins so, in capital letters.

        In scripts that write no blanks, a word may stand anywhere.
        """
        anywhere = not start.isascii()
        return any(
            name.startswith(start) or (anywhere and start in name) for name in self._of(columns)
        )

    def have(self, columns: Collection[int], size: str) -> bool:
        """Return whether a name of one of some columns holds a size such as "500m" or "1km"."""
        metres = re.sub(r"(\d+)KM", r"\g<1>000M", size.upper())
        pattern = re.compile(rf"(?<![1-9])(?<![1-9]0)({size.upper()}|{metres})(?![A-Z0-9])")
        return any(pattern.search(name) for name in self._of(columns))

    def _of(self, columns: Collection[int]) -> list[str]:
        return [names[at].strip().upper() for names in self._names for at in columns]


def _judge_systems(column: Column, grid: str | None) -> dict[str, Verdict]:
    """Return the code systems that a column may hold codes of; none where the grid has no codes."""
    if grid == "":
        return {}
    verdicts = _judge_codes(column, lambda full, most: count_others(full, most, column.name, grid))
    if grid is None and UNSURE in verdicts:
        verdicts[UNSURE] = min(verdicts[UNSURE], Verdict.MAYBE)
    return verdicts


def _judge_codes(
    column: Column, count: Callable[[list[str], int], Mapping[str, int]]
) -> dict[str, Verdict]:
    """Return the code systems that a column may hold codes of, by how many are no codes of each."""
    full = [value for value in column.values if not is_blank(value)]
    blank = len(column.values) - len(full)
    found = count(full, max(MOST_ODD, len(full) // 10))
    return {system: judge(len(full) - odd, odd, blank) for system, odd in found.items()}


def _judge_tokens(columns: Sequence[Column]) -> dict[str, Verdict]:
    """Return the levels of S2 that columns of places may hold cells of, without being sure of it.

    Many texts of hexadecimal digits, and many numbers, are cells of S2.
    """
    found = [_judge_codes(one, count_no_tokens) for one in columns]
    if not found:
        return {}
    return {
        name: min(Verdict.MAYBE, *(own.get(name, Verdict.NO) for own in found)) for name in found[0]
    }


def _judge_grids(
    systems: Sequence[Mapping[str, Verdict]], named: _Named, places: set[int]
) -> dict[str, Verdict]:
    """Return the code systems that all columns of places may have, as far as names allow them."""
    if not systems:
        return {}
    every = {name: min(own.get(name, Verdict.NO) for own in systems) for name in systems[0]}
    for start, family in FAMILIES.items():
        if named.any_starts(places, start):
            every = {name: v for name, v in every.items() if name.startswith(f"{family}:")}
    sizes = {name: v for name, v in every.items() if named.have(places, name.rpartition(":")[2])}
    return sizes or every


def _is_attribute(name: str) -> bool:
    """Whether a name is one of an attribute, whose numbers are labels and no counts.

    One or two letters of ASCII, such as hh, may be short for anything.
    """
    plain = name.strip()
    short = plain.isascii() and len(plain) <= len("hh")
    return not short and find_attribute(plain) is not None


def _judge_counts(columns: Sequence[Column], free: Mapping[int, Verdict]) -> dict[int, Verdict]:
    """Return which of the columns that hold nothing else may hold counts.

    Whole numbers are; where no column may hold whole numbers, any that are not negative are.
    Beside whole numbers those with fractions may be, as modelled counts have some.
    """
    whole = {at: min(free[at], judge_values(columns[at].values, is_count)) for at in free}
    none = max(whole.values(), default=Verdict.NO).opposite()
    most = max(none, Verdict.MAYBE)
    parts = {at: min(most, free[at], judge_values(columns[at].values, is_number)) for at in free}
    return {at: max(whole[at], parts[at]) for at in free}


def _choose_count(counts: Mapping[int, Verdict], population: Sequence[int]) -> int | None:
    """Return the only column that may be counts, or the one whose name is a word for population.

    Where names leave no more than one, its values need not show that they are counts.
    """
    if len(counts) == 1:
        return next(iter(possible(counts)), None)
    own = [at for at in population if at in counts]
    if len(own) == 1 and counts[own[0]] is Verdict.YES:
        return own[0]
    return choose(counts)
