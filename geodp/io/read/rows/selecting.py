"""Row filters: compare a column with a value by meaning.

The stored type decides how values compare; for text columns, the form of the operator's value does.
The number of rows that match has no influence.

| value | matches |
|---|---|
| ``"01"``, in quotation marks | this very text |
| nothing | missing values: null, NaN, a blank text |
| a number: ``1``, ``01``, ``1.0`` | numbers, and texts, that are this number |
| ``true``, ``false`` | truth values, and these words in letters of either case |
| a date: ``2024-05-31``, ``2024/5/31`` | that date, and the first moment of that day |
| a date and time | that moment; with an offset, among times with offsets or a zone |
| a month: ``2024-05`` | texts and numbers of it: ``2024-5``, ``202405``, ``2024年5月`` |
| anything else | this very text |

Texts are compared without surrounding blanks and in composed form (NFC). A number or month that
one file writes in two ways, such as 1 and 01, may stand for two codes and is refused.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, Rule, UsageError
from geodp.io.read.rows.arrow import is_ascii, map_values
from geodp.io.read.rows.fields import as_text

Value: TypeAlias = str | int | float | bool | datetime.date | datetime.time
"""A value to compare a column with; it means the same as its text."""

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_MOMENT = re.compile(
    r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})"
    r"(?:(?:T| +)([0-9]{1,2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?"
    r"(?: *(Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?",
    re.IGNORECASE,
)
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?")
_MONTH = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})")
_SHORT_DATE = re.compile(r"[0-9]{1,2}[-/. ]([0-9]{1,2}|[A-Za-z]{3,9})[-/. ][0-9]{2,4}")

DAY = 86_400 * 10**9
"""Nanoseconds in a day."""

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

LARGEST = 400
"""Longest number, in digits, that texts may write without an exponent."""

SAMPLE = 1 << 12
"""Number of texts from which the share of distinct values and their form are estimated."""

BLANKS = r"[\s\p{Z}]*"


@dataclass(frozen=True)
class Moment:
    """A date, or a date and time.

    Attributes
    ----------
    ns : int
        Nanoseconds since 1970: of the local time, or with an offset of universal time.
    zoned : bool
        Whether it has an offset.
    is_date : bool
        Whether it is a day without a time.
    """

    ns: int
    zoned: bool
    is_date: bool


def parse_moment(text: str) -> Moment | None:
    """Parse a date, or date and time, that begins with the year; None for other texts.

    Examples
    --------
    >>> parse_moment("2024/5/31") == parse_moment("2024-05-31")
    True
    >>> parse_moment("2024-05-31T24:00").ns == parse_moment("2024-06-01 00:00").ns
    True
    >>> parse_moment("31.05.2024") is None
    True
    """
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    year, _, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        days = datetime.date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        return None
    if hour is None:
        return Moment(days * DAY, zoned=False, is_date=True)
    time = _nanoseconds(hour, minute, second, fraction)
    if time is None:
        return None
    ahead = 0
    if zone is not None and zone.upper() not in ("Z", "UTC"):
        digits = zone[1:].replace(":", "").ljust(4, "0")
        ahead = (int(digits[:2]) * 60 + int(digits[2:])) * (-1 if zone[0] == "-" else 1)
        # No time zone is more than 18 hours away from UTC.
        if int(digits[2:]) > 59 or abs(ahead) > 18 * 60:
            return None
    return Moment(days * DAY + time - ahead * 60 * 10**9, zone is not None, is_date=False)


_EPOCH = datetime.date(1970, 1, 1).toordinal()


def _nanoseconds(
    hour: str, minute: str | None, second: str | None, fraction: str | None
) -> int | None:
    """Return nanoseconds since midnight, up to 24:00; None for an invalid time."""
    h, m, s = int(hour), int(minute or 0), int(second or 0)
    part = int((fraction or "").ljust(9, "0"))
    # 24:00 is the end of a day in ISO 8601, and 24:00:01 does not exist.
    if m > 59 or s > 59 or h > 24 or (h == 24 and (m or s or part)):
        return None
    return ((h * 60 + m) * 60 + s) * 10**9 + part


@dataclass(frozen=True)
class TermMatch:
    """Values of a column that match a term.

    Attributes
    ----------
    mask : bool[n]
        True where a value matches; without nulls.
    spellings : dict of str to int
        How often each spelling of the value occurs.
    """

    mask: pa.Array
    spellings: dict[str, int]


@dataclass(frozen=True)
class Term:
    """A condition on rows: a column and the value that it must have.

    Attributes
    ----------
    column : str
    value : str
        As the operator wrote it.
    """

    column: str
    value: str

    @classmethod
    def of(cls, column: str, value: object) -> Term:
        """Create a term from a value of any type; UsageError for None."""
        if value is None:
            raise UsageError(
                f"The value of {column} is None; rows without a value are those of an empty text "
                f"(--where {column}=, where={{'{column}': ''}}).",
                code="where-value-none",
            )
        return cls(column, str(value).strip())

    def __str__(self) -> str:
        return f"{self.column}={self.value}"

    @property
    def quoted(self) -> str | None:
        """The text between quotation marks, which is compared literally; None without them."""
        bare = len(self.value) > 1 and self.value[0] == self.value[-1] == '"'
        return self.value[1:-1].strip() if bare else None

    @cached_property
    def number(self) -> Decimal | None:
        """The value as a number, or None."""
        return parse_number(self.value)

    @cached_property
    def moment(self) -> Moment | None:
        """The value as a date, or date and time, or None."""
        return parse_moment(self.value)

    @property
    def month(self) -> str | None:
        """A pattern of texts of the month that the value names, or None."""
        match = _MONTH.fullmatch(self.value)
        if match is None or self.number is not None or not 1 <= int(match[2]) <= 12:
            return None
        month = int(match[2])
        return rf"{match[1]}(?:[-/.]0?{month}|年0?{month}月|{month:02})"

    @property
    def truth(self) -> bool | None:
        """The value as a boolean, or None."""
        return {"true": True, "false": False}.get(self.value.lower())

    @property
    def has_one_spelling(self) -> bool:
        """Whether another spelling of the value may be a different code."""
        return self.quoted is None and (self.number is not None or self.month is not None)

    @property
    def two_spellings(self) -> str:
        """The rule that is broken if the value is spelled in two ways."""
        return Rule(
            "where-spelt-variously",
            f"the value of --where {self} is written in several ways, such as with zeros before it "
            "and without, which may be different codes. Choose one in quotation marks, as it is "
            f"written (--where '{self.column}=\"...\"', where={{'{self.column}': '\"...\"'}}), or "
            "write all of them in one way.",
        )

    def match(self, array: pa.Array) -> TermMatch:
        """Return which values of a column match the term.

        Raises
        ------
        UsageError
            A value that cannot be compared with a column of this type.
        CodeError
            At a value that cannot be compared: bytes that are not UTF-8, times with an offset where
            the term has none or the other way round, other times of the day of a date.
        """
        kind = array.type
        # Each distinct text of a dictionary is compared once, whatever the number of rows.
        if pa.types.is_dictionary(kind):
            if pa.types.is_string(kind.value_type):
                return self._match_texts(array.dictionary, array.indices)
            array, kind = array.cast(kind.value_type), kind.value_type
        if not self.value:
            return self._unspelled_match(_missing(array))
        if pa.types.is_null(kind):
            return self._unspelled_match(_never(array))
        if _is_text(kind):
            return self._match_column(as_text(array))
        if self.quoted is not None:
            raise UsageError(
                f"Column {self.column} is {kind} and no text; write its value without quotation "
                "marks (--where, where=).",
                code="where-not-text",
            )
        return self._unspelled_match(pc.fill_null(self._match_typed(array), False))

    def _unspelled_match(self, mask: pa.Array) -> TermMatch:
        """Return the match of a typed column, whose values have one spelling."""
        return TermMatch(mask, {self.value: mask.true_count})

    def _needs(self, what: str, kind: pa.DataType, code: str) -> UsageError:
        """Return the error for a value that a column of a type cannot have."""
        return UsageError(
            f"Column {self.column} is {kind}; give {what} (--where, where=).", code=code
        )

    def _match_typed(self, array: pa.Array) -> pa.Array:
        """Compare a column that is not text."""
        kind = array.type
        if pa.types.is_boolean(kind):
            return self._match_truth(array)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            number = self.number
            if self.month is not None:  # 202405 for 2024-05
                year, month = re.split("[-/.]", self.value)
                number = Decimal(f"{year}{int(month):02}")
            if number is None:
                raise self._needs("a number", kind, "where-needs-number")
            return _match_number(array, number)
        if pa.types.is_date(kind):
            if self.moment is None or self.moment.zoned:
                raise self._needs("a date, such as 2024-05-31", kind, "where-needs-date")
            if pa.types.is_date64(kind):  # milliseconds, of which a date has whole days alone
                return self._match_timestamps(array.cast(pa.timestamp("ms")))
            # Compared as integers of the column's unit, so that no value is rounded to another one.
            return _match_int(array.view(pa.int32()), self.moment.ns, DAY)
        if pa.types.is_timestamp(kind):
            return self._match_timestamps(array)
        if pa.types.is_time(kind):
            match = _TIME.fullmatch(self.value)
            time = None if match is None else _nanoseconds(*match.groups())
            if time is None:
                such = "a time, such as 09:30 or 09:30:15"
                raise self._needs(such, kind, "where-needs-time")
            width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
            return _match_int(array.view(width), time, _UNITS[kind.unit])
        described = "nested" if pa.types.is_nested(kind) else str(kind)
        raise UsageError(
            f"Column {self.column} is {described}, a type by which rows cannot be selected "
            "(--where, where=).",
            code="where-type-unselectable",
        )

    def _match_truth(self, array: pa.Array) -> pa.Array:
        """Compare a boolean column."""
        wanted = self.truth
        if wanted is None and self.number in (0, 1):
            wanted = self.number == 1
        if wanted is None:
            raise self._needs("true or false", array.type, "where-needs-bool")
        return pc.equal(array, wanted)

    def _match_timestamps(self, array: pa.Array) -> pa.Array:
        """Compare a column of timestamps, with or without a time zone."""
        kind, wanted = array.type, self.moment
        if wanted is None:
            such = f"a date and time, such as 2024-05-31T09:30:00{'+09:00' if kind.tz else ''}"
            raise self._needs(such, kind, "where-needs-date-time")
        # A local time and a moment cannot be compared without a time zone, which is unknown.
        if wanted.zoned != (kind.tz is not None):
            more = (
                "its times are moments; give one with its offset, such as "
                "2024-05-31T09:30:00+09:00 or 2024-05-31T00:30:00Z"
                if kind.tz
                else "its times have no zone; give one without an offset, such as 2024-05-31T09:30"
            )
            raise UsageError(
                f"Column {self.column} is {kind}: {more} (--where, where=).",
                code="where-value-unfit",
            )
        number, unit = array.view(pa.int64()), _UNITS[kind.unit]
        if wanted.is_date:
            day_length = DAY // unit
            day = wanted.ns // unit
            later = pc.and_(pc.greater(number, day), pc.less(number, day + day_length))
            self._refuse(later, OTHER_TIMES)
        return _match_int(number, wanted.ns, unit)

    def _match_column(self, texts: pa.Array) -> TermMatch:
        """Compare texts; preselect candidates if most of the texts differ."""
        sample = texts[:SAMPLE]
        # A dictionary pays if values repeat. In a column of distinct texts it costs more than a
        # regular expression over all of them.
        if len(sample.unique()) * 4 <= len(sample):
            coded = texts.dictionary_encode()
            return self._match_texts(coded.dictionary, coded.indices)
        maybe = pc.fill_null(self._may_match(texts), False).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(maybe)
        coded = texts.take(pa.array(places)).dictionary_encode()
        try:
            match = self._match_texts(coded.dictionary, coded.indices)
        except CodeError as error:
            position, rule = int(places[error.position]), error.rule
        else:
            mask = np.zeros(len(texts), np.bool_)
            mask[places] = match.mask.to_numpy(zero_copy_only=False)
            return TermMatch(pa.array(mask), match.spellings)
        raise CodeError(position, rule)

    def _may_match(self, texts: pa.Array) -> pa.Array:
        """Return a superset of the texts that match the value: bool[n]."""
        pattern = None
        if self.quoted is None:
            if self.number is not None:
                pattern = _pattern_of(self.number)
            elif self.moment is not None:
                pattern = _days_around(self.moment)
            else:
                pattern = self.month
        if pattern is not None:
            return pc.match_substring_regex(texts, f"^{BLANKS}{pattern}{BLANKS}$")
        wanted = self.value if self.quoted is None else self.quoted
        if wanted.isascii():
            return pc.match_substring(texts, wanted, ignore_case=self.truth is not None)
        return pc.equal(_compose(texts), normalize("NFC", wanted))

    def _match_texts(self, values: pa.Array, at: pa.Array) -> TermMatch:
        """Compare distinct texts string[m], each once, that rows refer to by int[n]."""
        texts = _compose(values)
        matches = pc.fill_null(self._match_written(texts, at), False)
        mask = pc.fill_null(matches.take(at), False)
        spellings: dict[str, int] = {}
        if self.value:
            for occurrence in pc.value_counts(at.filter(mask)):
                written = values[occurrence["values"].as_py()].as_py().strip()
                spellings[written] = spellings.get(written, 0) + occurrence["counts"].as_py()
        # The empty value also matches nulls, which a dictionary holds as missing indices.
        elif at.null_count or mask.true_count:
            mask = pc.or_(mask, pc.is_null(matches.take(at)))
            spellings[""] = mask.true_count
        return TermMatch(mask, spellings)

    def _match_written(self, texts: pa.Array, at: pa.Array) -> pa.Array:
        """Return which distinct texts match the value: bool[m]."""
        if self.quoted is not None:
            return pc.equal(texts, normalize("NFC", self.quoted))
        if self.number is not None:
            # The pattern is a cheap filter; the exact comparison is by Decimal.
            maybe = pc.match_substring_regex(texts, f"^{_pattern_of(self.number)}$")
            matches = pc.fill_null(maybe, False).to_numpy(zero_copy_only=False).copy()
            for i in np.flatnonzero(matches):
                matches[i] = parse_number(texts[int(i)].as_py()) == self.number
            return pa.array(matches)
        if self.moment is not None:
            return self._match_moments(texts, at, self.moment)
        if self.month is not None:
            return pc.match_substring_regex(texts, f"^{self.month}$")
        if self.truth is not None:
            return pc.equal(pc.utf8_lower(texts), self.value.lower())
        return pc.equal(texts, normalize("NFC", self.value))

    def _match_moments(self, texts: pa.Array, at: pa.Array, wanted: Moment) -> pa.Array:
        """Compare texts with a moment; CodeError if offsets or times make it ambiguous."""
        maybe = pc.match_substring_regex(texts, f"^{_days_around(wanted)}$")
        maybe = pc.fill_null(maybe, False)
        places = np.flatnonzero(maybe.to_numpy(zero_copy_only=False))
        moments = [parse_moment(texts[int(i)].as_py()) for i in places]

        def holds(test: Callable[[Moment], bool]) -> pa.Array:
            matches = np.zeros(len(texts), np.bool_)
            matches[places] = [moment is not None and test(moment) for moment in moments]
            return pa.array(matches)

        if wanted.zoned:
            self._refuse(holds(lambda moment: not moment.zoned).take(at), NO_OFFSET)
        else:
            self._refuse(holds(lambda moment: moment.zoned).take(at), OFFSET)
        if wanted.is_date:
            later = holds(lambda moment: 0 < moment.ns - wanted.ns < DAY)
            self._refuse(later.take(at), OTHER_TIMES)
        return holds(lambda moment: moment.ns == wanted.ns)

    def _refuse(self, wrong: pa.Array, rule: str) -> None:
        """Raise CodeError at the first value marked as wrong, bool[n]."""
        wrong = pc.fill_null(wrong, False)
        if wrong.true_count:
            raise CodeError(int(wrong.to_numpy(zero_copy_only=False).argmax()), rule)


OTHER_TIMES = Rule(
    "where-other-times",
    "the column holds times within the day that --where names, and a date matches midnight only; "
    "give a date and time, such as 2024-05-31T09:30 (--where, where=), or a column of dates.",
)
OFFSET = Rule(
    "where-offset",
    "the column holds a time with an offset; give the moment with its offset, such as "
    "2024-05-31T09:30:00+09:00 (--where, where=).",
)
NO_OFFSET = Rule(
    "where-no-offset",
    "the column holds a time without an offset, and --where names a moment; give a time without "
    "one (--where, where=), or write the column with offsets.",
)


def parse_number(text: str) -> Decimal | None:
    """Parse a number in ASCII digits; None for other texts.

    >>> parse_number("01") == parse_number("1.0") == parse_number("1e0")
    True
    """
    if re.fullmatch(NUMBER, text):
        with suppress(InvalidOperation):  # an exponent of twenty digits
            return Decimal(text)
    return None


def describe_form(array: pa.Array) -> str:
    """Describe how a column is written, without quoting a value.

    Examples
    --------
    >>> describe_form(pa.array(["01", "02"]))
    'text of 2 digits'
    >>> describe_form(pa.array([1, 2]))
    'int64'
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.dictionary, kind.value_type
    if pa.types.is_nested(kind):
        return "nested"
    if not _is_text(kind):
        return str(kind)
    texts = pc.utf8_trim_whitespace(as_text(array[:SAMPLE]).drop_null())
    forms = {_form_of(text) for text in texts.unique().to_pylist() if text}
    if not forms:
        return "blank"
    if len(forms) == 1:
        return forms.pop()
    alike = all(re.fullmatch("text of [0-9]+ digits?", form) for form in forms)
    return "text of several numbers of digits" if alike else "text of several forms"


def _form_of(text: str) -> str:
    """Describe the form of one text."""
    if re.fullmatch("[0-9]+", text):
        return f"text of {len(text)} digit{'s' if len(text) > 1 else ''}"
    if parse_number(text) is not None:
        return "number with a sign, a point or an exponent"
    if (moment := parse_moment(text)) is not None:
        sort = "date" if moment.is_date else "date and time"
        offset = " with an offset" if moment.zoned else ""
        return f"{sort}{offset}, year first"
    if _SHORT_DATE.match(text):
        return "date that does not begin with its year"
    if _MONTH.fullmatch(text):
        return "year and month"
    if text.lower() in ("true", "false"):
        return "true and false"
    return "text"


def _pattern_of(number: Decimal) -> str:
    """Return a pattern that covers all texts of a number."""
    ways = [r"[+-]?[0-9.]+[eE][+-]?[0-9]+"]
    if not number or abs(number.adjusted()) <= LARGEST:
        integer, _, part = (f"{abs(number):f}" if number else "0").partition(".")
        integer, part = integer.lstrip("0"), part.rstrip("0")
        sign = "-" if number < 0 else r"\+?" if number else "[+-]?"
        ways.append(rf"{sign}0*{integer}\.{part}0*" if part else rf"{sign}0*{integer}(\.0*)?")
    return f"({'|'.join(ways)})"


def _days_around(moment: Moment) -> str:
    """Return a pattern of texts that may lie in the day of a moment, in any time zone."""
    today = datetime.date.fromordinal(moment.ns // DAY + _EPOCH)
    days = [today]
    for near in (-1, 1):  # where times have offsets, or 24:00 is written
        with suppress(OverflowError):
            days.append(today + datetime.timedelta(near))
    dates = "|".join(f"{one.year:04}[-/.]0?{one.month}[-/.]0?{one.day}" for one in days)
    return f"({dates})([Tt ].*)?"


def _compose(texts: pa.Array) -> pa.Array:
    """Strip texts and compose their letters (NFC)."""
    texts = pc.utf8_trim_whitespace(texts)
    if is_ascii(texts):
        return texts
    # Before version 25, utf8_normalize of pyarrow left letters decomposed, so that rows of
    # composed ones were not selected. Each different text is composed once.
    return map_values(texts, partial(normalize, "NFC"))


def _match_number(array: pa.Array, number: Decimal) -> pa.Array:
    """Compare a numeric column in its own type."""
    kind = array.type
    try:
        if pa.types.is_floating(kind):
            return pc.equal(array, pa.scalar(float(number), pa.float64()).cast(kind))
        if pa.types.is_decimal(kind):
            return pc.equal(array, pa.scalar(number, kind))
        # Beyond the range of int64 and uint64, and too long to expand for an exponent of thousands.
        if abs(number.adjusted()) > 20 or number != int(number):
            return _never(array)
        return pc.equal(array, pa.scalar(int(number), kind))
    except (pa.ArrowInvalid, OverflowError):  # beyond the column's type, or its digits
        return _never(array)


def _match_int(array: pa.Array, ns: int, unit: int) -> pa.Array:
    """Compare integers of a unit with a number of nanoseconds."""
    if ns % unit or abs(ns // unit) >= 1 << 63:
        return _never(array)
    try:
        return pc.equal(array, pa.scalar(ns // unit, array.type))
    except (pa.ArrowInvalid, OverflowError):
        return _never(array)


def _missing(array: pa.Array) -> pa.Array:
    """Return which values are missing: null, NaN or blank."""
    if pa.types.is_floating(array.type):
        return pc.is_null(array, nan_is_null=True)
    if not _is_text(array.type):
        return pc.is_null(array)
    return pc.fill_null(pc.equal(pc.utf8_trim_whitespace(as_text(array)), ""), True)


def _never(array: pa.Array) -> pa.Array:
    return pa.array(np.zeros(len(array), np.bool_))


def _is_text(kind: Any) -> bool:
    tests: Iterable[Any] = (
        *(pa.types.is_string, pa.types.is_large_string),
        *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary),
    )
    return any(test(kind) for test in tests)


class RowFilter:
    """Apply the terms to one file, batch by batch, and compare spellings across batches.

    Parameters
    ----------
    terms : sequence of Term
    """

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = terms
        self._first: dict[Term, str] = {}

    def match(self, term: Term, array: pa.Array) -> TermMatch:
        """Return which values of a batch match one of the terms.

        Raises CodeError as :meth:`Term.match` does, and at a value that is spelled differently from
        earlier rows, if that may be another code.
        """
        match = term.match(array)
        if term.has_one_spelling and match.spellings:
            # The first spelling in the file is the reference; a second one may be another code.
            first = self._first.setdefault(term, next(iter(match.spellings)))
            if {*match.spellings} != {first}:
                texts = pc.utf8_trim_whitespace(as_text(array))
                other = pc.and_(match.mask, pc.fill_null(pc.not_equal(texts, first), False))
                row = int(other.to_numpy(zero_copy_only=False).argmax())
                raise CodeError(row, term.two_spellings)
        return match
