"""Recognition of the roles of columns: by their names if these are certain, else by first values.

A verdict has three values. A column has a form (``YES``) if all of its first values have it; it
does not (``NO``) if none has, or if more than a tenth, and more than two, have not; otherwise it
may (``MAYBE``). Changing, adding or removing one record changes each of these numbers by one at
most, so that it never turns YES into NO or NO into YES, only either of them into MAYBE. Verdicts
are combined by the smaller one (and), the larger one (or) and the opposite (not), which keep that
property. A reading is chosen only if it is YES and all others are NO. So one record can make a
reading ambiguous, which leads to a question; it cannot replace one reading by another.

Only the form is inferred, by this fixed rule: never bounds,
labels or the people counted. A name decides if exactly one column has one of words.toml, as names
are public. Otherwise values decide, and one record cannot change the decision, only whether there
is one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import IntEnum
from fnmatch import fnmatchcase, translate
from functools import cache
from importlib.resources import files
from typing import TypeVar
from unicodedata import normalize

from geodp.errors import UsageError, printable
from geodp.grid.codes.recognise import count_no_tokens, count_others, is_named_for
from geodp.grid.markers import HIDDEN, is_negative, is_placeholder
from geodp.io.read.rows.amount_titles import is_amount
from geodp.io.read.rows.names import find_attribute, fold

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


Names = Sequence[tuple[str, ...]]
"""Folded name of every column, and its label."""


def fold_columns(*names: Sequence[str]) -> list[tuple[str, ...]]:
    """Fold the names of all columns, and their labels if there are any, for :func:`find_named`."""
    return list(zip(*([_plain(one) for one in some] for some in names), strict=True))


def find_named(role: str, columns: Names) -> list[int]:
    """Return the columns whose names match a role; those of its first patterns come first.

    Parameters
    ----------
    role : str
        One of the roles in words.toml.
    columns : sequence of tuple of str
        Result of :func:`fold_columns`.

    Examples
    --------
    >>> find_named("code", fold_columns(["n", "Mesh_Code"]))
    [1]
    >>> find_named("longitude", fold_columns(["X", "経度（世界）"]))
    [1]
    """
    # The joint pattern rules out most columns at once; single patterns only give the order.
    every = _joint_pattern(role)
    some = [at for at, names in enumerate(columns) if any(map(every.match, names))]
    matches = [
        at
        for pattern in (_patterns_by_role()[role] if some else ())
        for at in some
        if any(_matches(name, pattern) for name in columns[at])
    ]
    return list(dict.fromkeys(matches))


def _plain(name: str) -> str:
    return fold(name).replace("-", "_").replace(".", "_")


def _matches(name: str, pattern: str) -> bool:
    # Most patterns are plain words, and compiling one takes longer than all comparisons.
    return fnmatchcase(name, pattern) if any(sign in pattern for sign in "*?[") else name == pattern


def is_size(name: str) -> bool:
    """Test whether a column is named for the size of a household.

    >>> is_size("HH_Size"), is_size("city_size")
    (True, False)
    """
    plain = fold(re.sub(r"[\W_]", "", normalize("NFKC", name)))
    return plain in _patterns_by_role()["household_size"]


def is_end(name: str, end: str, axis: str) -> bool:
    """Test whether a column is named for a coordinate of an end of a trip, such as pickup_lon.

    ``end``, ``axis``: roles in words.toml.

    >>> is_end("pickup_lon", "first_end", "longitude"), is_end("lat_to", "second_end", "latitude")
    (True, True)
    >>> is_end("slon", "first_end", "longitude")
    True
    >>> is_end("lon", "first_end", "longitude")
    False
    """
    words = [word for word in re.split(r"[\W_]+", _plain(name)) if word]
    if len(words) == 1:  # as in slon, where one letter stands for the end
        words = [words[0][:1], words[0][1:]]
    rest = [word for word in words if word not in _patterns_by_role()[end]]
    return len(rest) == len(words) - 1 and bool(find_named(axis, [("_".join(rest),)]))


def require_longitude_first(x: str, y: str) -> None:
    """Raise UsageError where columns are named for latitude and longitude, in this order.

    >>> require_longitude_first("pickup_lon", "pickup_lat")
    """
    ends = ("first_end", "second_end")
    is_swapped = [
        find_named(axis, fold_columns([name])) or any(is_end(name, end, axis) for end in ends)
        for name, axis in ((x, "latitude"), (y, "longitude"))
    ]
    if all(is_swapped):
        raise UsageError(
            f"{printable(x)} is named for a latitude and {printable(y)} for a longitude, and "
            f"coordinates are x, y: write longitude first ({printable(y)}, then {printable(x)}).",
            code="latitude-first",
        )


@cache
def _joint_pattern(role: str) -> re.Pattern[str]:
    """Return the pattern that any name of a role matches."""
    return re.compile("|".join(map(translate, _patterns_by_role()[role])))


@cache
def _patterns_by_role() -> dict[str, list[str]]:
    return tomllib.loads((files("geodp.io.read.layout") / "words.toml").read_text("utf-8"))


FAMILIES = {
    "RELI": "statpop",
    "CRS28992": "cbs",
    "C28992": "cbs",
    "SSBID": "ssb",
    "メッシュ": "jis",
    "QUADKEY": "quadkey",
    "GEOHASH": "geohash",
}
"""Prefixes of names of columns that belong to one family of codes; also within 標準地域メッシュ."""

NOT_COUNTED = ("no_count", "time", "longitude", "latitude", "code")
"""Roles in words.toml whose columns hold no counts."""

DEGREES, METRES = ("longitude", "latitude"), ("easting", "northing")
ROW_AND_COLUMN = ("row", "column")
"""Roles in words.toml of pairs of coordinates."""

FULL_CIRCLE = 360
"""Degrees around the Earth."""

UNSURE = "jis:quarter"
"""System whose codes look like those of another standard, for cells of 100 m."""


@dataclass(frozen=True)
class ColumnSample:
    """Name of a column, its second name if a file has one, and its first values as texts."""

    name: str
    label: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """Roles of columns, by their positions.

    Attributes
    ----------
    code : int or None
        Column of codes of cells or areas.
    codes : tuple of int
        All candidates for it, if values do not decide between them.
    origin, destination : int or None
        Columns of codes at both ends of a journey; there is no ``code`` then.
    grid : str or None
        Code system of the codes.
    grids : tuple of str
        All candidates for it.
    x, y : int or None
        Columns of longitudes and latitudes, or of coordinates in metres.
    count : int or None
        Column of counts.
    counts : tuple of int
        All candidates for it.
    times, persons : tuple of int
        Columns of times, and of identifiers of persons, by their names or, for times, values.
    amounts : tuple of int
        Columns named for money or measures, whose numbers are no counts.
    household, size : int or None
        Columns of identifiers of households, and of their sizes, by their names.
    households : int or None
        Column of numbers of households, by its name.
    ends : tuple of int
        Columns of longitude and latitude of both ends of a trip, or of coordinates in metres;
        empty without all four.
    cells_of_ends : tuple of int
        Columns of row and column of both ends of a trip, on a grid by number; empty without all
        four.
    is_plane : bool
        Whether ``x`` and ``y``, or ``ends``, are coordinates in metres.
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
    amounts: tuple[int, ...] = ()
    household: int | None = None
    size: int | None = None
    households: int | None = None
    ends: tuple[int, ...] = ()
    cells_of_ends: tuple[int, ...] = ()
    is_plane: bool = False


def recognise(
    columns: Sequence[ColumnSample],
    grid: str | None = None,
    code: int | None = None,
    named: Collection[int] = (),
    reaches: Callable[[str], bool] | None = None,
) -> Roles:
    """Recognise the roles of columns.

    Parameters
    ----------
    columns : sequence of ColumnSample
    grid : str, optional
        Code system, if it is known; "" if the grid has no codes.
    code : int, optional
        Column of codes, if it is known.
    named : collection of int
        Columns that are known to hold neither codes nor counts.
    reaches : function of str, optional
        Whether a code system has cells in the area that the call states, by its name.

    Examples
    --------
    >>> zones = ColumnSample("zone", values=("53394611", "53394612"))
    >>> roles = recognise([zones, ColumnSample("n", values=("3", "5"))])
    >>> roles.code, roles.grid, roles.count
    (0, 'jis:basic', 1)
    """
    by_name = _ColumnNames([one.name for one in columns], [one.label for one in columns])
    systems = [_judge_systems(one, grid) for one in columns]
    # A column is one of codes as surely as the best system says.
    verdicts = {at: max(judged.values(), default=Verdict.NO) for at, judged in enumerate(systems)}
    ends = (None, None) if code is not None else by_name.pair()
    if code is None and None in ends:
        code = by_name.only("code", first=True)
    on_plane, plane_ends = (_on_plane(columns, at(METRES)) for at in (by_name.point, by_name.ends))
    near, pair_ends = list[int](), by_name.ends(DEGREES) or plane_ends
    named = {*named, *plane_ends, *on_plane, *by_name.ends(ROW_AND_COLUMN)}
    if code is None and None in ends:
        free_codes = {at: verdict for at, verdict in verdicts.items() if at not in named}
        code, near = choose(free_codes), possible(free_codes)
        if not near:
            code = by_name.area(nowhere=not (pair_ends or on_plane or by_name.all("longitude")))
    places = {at for at in (code, *ends) if at is not None}
    grids = _judge_grids([systems[at] for at in sorted(places)], by_name, places, reaches)
    # Tokens of S2 match many hexadecimal texts, so they are considered only if no system fits.
    of_areas = not places.isdisjoint(by_name.all("area_code"))
    if grid is None and not (possible(grids) or by_name.families(places) or of_areas):
        grids = _judge_tokens([columns[at] for at in sorted(places)])
    # Beside codes, coordinates in metres are those of the cells.
    point = by_name.point(DEGREES) or (() if places or near or pair_ends else on_plane)
    # A column has one role, and places come first as their names are the most distinctive.
    taken = {*places, *point}
    times = {at: judge_values(one.values, is_time) for at, one in enumerate(columns)}
    persons = [at for at in by_name.all("person") if at not in taken]
    household, size = by_name.only("household", first=True), by_name.size()
    homes = {household, size} - {None} if household is not None else set()
    hidden = {*taken, *named, *persons, *pair_ends, *homes}.union(*map(by_name.all, NOT_COUNTED))
    hidden |= {at for at, one in enumerate(columns) if _is_attribute(one.name)}
    amounts = {at for at, one in enumerate(columns) if is_amount(one.name, one.label)} - hidden
    free = {
        at: min(times[at].opposite(), verdicts[at].opposite())
        for at, one in enumerate(columns)
        if at not in (*hidden, *amounts) and one.name.strip()
    }
    counts = _judge_counts(columns, free)
    timed = {*by_name.all("time"), *(at for at in times if times[at] is Verdict.YES)}
    return Roles(
        code=code,
        codes=tuple(near) if code is None else (),
        origin=ends[0],
        destination=ends[1],
        grid=choose(grids),
        grids=tuple(possible(grids)),
        x=point[0] if point else None,
        y=point[1] if point else None,
        count=_choose_count(counts, by_name.all("population")),
        counts=tuple(possible(counts)),
        times=tuple(sorted(timed - taken)),
        persons=tuple(persons),
        amounts=tuple(sorted(amounts)),
        household=household,
        size=size,
        households=by_name.only("households"),
        ends=pair_ends,
        cells_of_ends=by_name.ends(ROW_AND_COLUMN),
        is_plane=not {*point, *pair_ends}.isdisjoint({*on_plane, *plane_ends}),
    )


def _on_plane(columns: Sequence[ColumnSample], positions: tuple[int, ...]) -> tuple[int, ...]:
    """Return columns of pairs of coordinates if no pair may be in degrees; else nothing."""
    pairs = zip(positions[::2], positions[1::2], strict=True)
    metres = all(_are_metres(columns[x].values, columns[y].values) for x, y in pairs)
    return positions if metres else ()


def _are_metres(xs: Sequence[str], ys: Sequence[str]) -> bool:
    """Test whether one coordinate of every point is a number beyond any degrees."""
    points = zip(xs, ys, strict=True)
    numbers = [
        [float(one.replace(",", ".", 1)) for one in pair if is_number(one)] for pair in points
    ]
    beyond = sum(any(abs(one) > FULL_CIRCLE for one in pair) for pair in numbers)
    return judge(beyond, len(numbers) - beyond) is Verdict.YES


class _ColumnNames:
    """Names of columns that identify their roles."""

    def __init__(self, *names: Sequence[str]) -> None:
        self._names = names
        self._folded = fold_columns(*names)

    def all(self, role: str) -> list[int]:
        return find_named(role, self._folded)

    def only(self, role: str, *, first: bool = False) -> int | None:
        """Return the only column of a role; with `first` the first one by the order of patterns."""
        columns = self.all(role)
        return columns[0] if len(columns) == 1 or (first and columns) else None

    def area(self, *, nowhere: bool) -> int | None:
        """Return the column of codes of areas, or of any codes.

        ``nowhere``: whether nothing else locates rows, so that names of areas do.
        """
        codes = (self.only(role, first=True) for role in ("area_code", "any_code"))
        position = next((at for at in codes if at is not None), None)
        return self.only("area") if position is None and nowhere else position

    def size(self) -> int | None:
        """Return the first column that is named for the size of a household."""
        return next((at for at, names in enumerate(self._folded) if is_size(names[0])), None)

    def pair(self) -> tuple[int | None, int | None]:
        """Return the columns of codes of both ends of a journey; None without them."""
        ends = self.only("origin"), self.only("destination")
        # 発地メッシュコード (mesh code of origin) also counts as a name of codes. If there is a
        # further column of codes, that one locates the rows, and the ends are attributes.
        if None in ends or ends[0] == ends[1] or not {*self.all("code")} <= {*ends}:
            return None, None
        return ends

    def point(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Return the columns of both coordinates of a point; empty without both."""
        positions = [at for at in map(self.only, axes) if at is not None]
        return tuple(positions) if len({*positions}) == len(axes) else ()

    def ends(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Return the columns of both coordinates of both ends of a trip; empty without."""
        candidates = [
            [at for at, names in enumerate(self._folded) if is_end(names[0], end, axis)]
            for end in ("first_end", "second_end")
            for axis in axes
        ]
        return (
            tuple(one[0] for one in candidates) if all(len(one) == 1 for one in candidates) else ()
        )

    def families(self, columns: Collection[int]) -> list[str]:
        """Return the families of codes to which names of some columns belong."""
        return [family for start, family in FAMILIES.items() if self._any_starts(columns, start)]

    def _any_starts(self, columns: Collection[int], start: str) -> bool:
        """Return whether a name of one of some columns starts with a prefix, in capital letters.

        In scripts without blanks, the word may occur anywhere.
        """
        anywhere = not start.isascii()
        return any(
            name.startswith(start) or (anywhere and start in name) for name in self._of(columns)
        )

    def are_of(self, columns: Collection[int], system: str) -> bool:
        """Return whether publishers of a code system use the name of one of some columns."""
        return any(is_named_for(system, name) for name in self._of(columns))

    def have(self, columns: Collection[int], size: str) -> bool:
        """Return whether a name of one of some columns contains a size such as "500m" or "1km"."""
        # Sizes are compared in both spellings, as headers have 1km as well as 1000m.
        metres = re.sub(r"(\d+)KM", r"\g<1>000M", size.upper())
        pattern = re.compile(rf"(?<![1-9])(?<![1-9]0)({size.upper()}|{metres})(?![A-Z0-9])")
        return any(pattern.search(name) for name in self._of(columns))

    def _of(self, columns: Collection[int]) -> list[str]:
        return [names[at].strip().upper() for names in self._names for at in columns]


def _judge_systems(column: ColumnSample, grid: str | None) -> dict[str, Verdict]:
    """Judge of which code systems a column may hold codes; empty for a grid without codes."""
    if grid == "":
        return {}
    verdicts = _judge_codes(
        column, lambda full, limit: count_others(full, limit, column.name, grid)
    )
    if grid is None and UNSURE in verdicts:
        verdicts[UNSURE] = min(verdicts[UNSURE], Verdict.MAYBE)
    return verdicts


def _judge_codes(
    column: ColumnSample, count: Callable[[list[str], int], Mapping[str, int]]
) -> dict[str, Verdict]:
    """Judge code systems by how many values of a column are not codes of each."""
    full = [value for value in column.values if not is_blank(value)]
    blank = len(column.values) - len(full)
    counts = count(full, max(MAX_ODD, len(full) // 10))
    return {system: judge(len(full) - odd, odd, blank) for system, odd in counts.items()}


def _judge_tokens(columns: Sequence[ColumnSample]) -> dict[str, Verdict]:
    """Judge of which levels of S2 columns may hold cells, never with certainty.

    Many texts of hexadecimal digits, and many numbers, are cells of S2.
    """
    judged = [_judge_codes(one, count_no_tokens) for one in columns]
    if not judged:
        return {}
    return {
        name: min(Verdict.MAYBE, *(verdicts.get(name, Verdict.NO) for verdicts in judged))
        for name in judged[0]
    }


def _judge_grids(
    systems: Sequence[Mapping[str, Verdict]],
    named: _ColumnNames,
    places: set[int],
    reaches: Callable[[str], bool] | None,
) -> dict[str, Verdict]:
    """Judge which code systems all columns of places may have, as far as names allow them.

    Of several, those decide for which publishers use the name, then those that reach the area.
    """
    if not systems:
        return {}
    every = {
        name: min(verdicts.get(name, Verdict.NO) for verdicts in systems) for name in systems[0]
    }
    for family in named.families(places):
        every = {name: v for name, v in every.items() if name.startswith(f"{family}:")}
    near = possible(every)
    if len(near) > 1:
        near = [name for name in near if named.are_of(places, name)] or near
    if len(near) > 1 and reaches is not None:
        near = [name for name in near if reaches(name)] or near
    every = {name: every[name] for name in near}
    sizes = {name: v for name, v in every.items() if named.have(places, name.rpartition(":")[2])}
    return sizes or every


def _is_attribute(name: str) -> bool:
    """Test whether a name is one of an attribute, whose numbers are labels and not counts.

    One or two letters of ASCII, such as hh, may abbreviate anything.
    """
    plain = name.strip()
    short = plain.isascii() and len(plain) <= len("hh")
    return not short and find_attribute(plain) is not None


def _judge_counts(
    columns: Sequence[ColumnSample], free: Mapping[int, Verdict]
) -> dict[int, Verdict]:
    """Judge which of the columns without another role may hold counts.

    Columns of integers are counts; if no column may hold integers, any nonnegative numbers are.
    Beside a column of integers, fractions are only a possibility, as modelled counts have some.
    """
    integers = {at: min(free[at], judge_values(columns[at].values, is_count)) for at in free}
    none = max(integers.values(), default=Verdict.NO).opposite()
    cap = max(none, Verdict.MAYBE)
    fractions = {at: min(cap, free[at], judge_values(columns[at].values, is_number)) for at in free}
    return {at: max(integers[at], fractions[at]) for at in free}


def _choose_count(counts: Mapping[int, Verdict], population: Sequence[int]) -> int | None:
    """Return the only candidate for counts, or the one whose name means population.

    If names leave only one candidate, its values need not prove that they are counts.
    """
    if len(counts) == 1:
        return next(iter(possible(counts)), None)
    named = [at for at in population if at in counts]
    if len(named) == 1 and counts[named[0]] is Verdict.YES:
        return named[0]
    return choose(counts)
