"""Units of privacy, such as a person in a day of local time, and the bound on the trips of each.

Which trips are kept depends on a unit's own trips and the key alone. Each trip gets a rank from the
key, the unit's name, the pair, and its number among the unit's trips of this pair. The lowest ranks
are kept: a uniform sample of the unit's trips, unless those between two zones are bounded, too. So
neither the order of rows nor trips of other units play a role, and a unit more or less changes the
kept trips by the unit's own.
"""

from __future__ import annotations

from contextlib import suppress
from numbers import Integral
from typing import Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError, require_none
from geodp.io.read.rows.arrow import decode
from geodp.io.read.rows.persons import WEIGHTS, hash_names
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.typing import IntArray, KeyArray

Unit: TypeAlias = Literal["person", "person-day", "person-week", "person-month"]

UNITS: dict[str, str] = {
    "person": "",
    "person-day": "%Y-%m-%d",
    "person-week": "%G-W%V",
    "person-month": "%Y-%m",
}
"""Units, and how the period of a date is written."""

MONDAY = 3
"""Days from the Monday of a week to 1 January 1970, from which days are numbered."""

SECONDS_A_DAY = 86_400
"""Seconds of a day."""

OFFSET = "(T|[0-9] ).*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
"""Pattern of a date with a time and an offset from UTC."""

TIME_FORM = Rule(
    "flows-time-form",
    "the time must be a date, or a date and a time, in ISO 8601, such as 2024-05-01T07:30, and "
    "with an offset from UTC, such as +09:00, if time_zone is given; records without a time are "
    "refused.",
)

TIME_ZONE = Rule(
    "flows-time-zone",
    "These times count from UTC, and days are local: give the time zone (--time-zone, time_zone=), "
    "such as Asia/Tokyo.",
)


def require_named_unit(unit: object) -> str:
    """Return a unit; UsageError for another."""
    if unit not in UNITS:
        raise UsageError(f"unit must be one of {', '.join(UNITS)}.", code="flows-unit-unknown")
    return str(unit)


def require_unit(unit: object, time: str | None) -> str:
    """Return a unit; UsageError for another, or for one of periods without a column of times."""
    if UNITS[require_named_unit(unit)] and time is None:
        raise UsageError(
            f"To protect one {unit}, name the column of the time at which a trip began (--time, "
            "time=).",
            code="flows-unit-needs-time",
        )
    return str(unit)


def name_periods(times: pa.Array, unit: str, zone: str | None) -> pa.Array:
    """Return the local period of every time, as text.

    Parameters
    ----------
    times : texts, dates or timestamps [n]
    unit : str
        One of ``UNITS`` with periods.
    zone : str or None
        Time zone of the days, for times that count from UTC; None: times are local already.

    Raises
    ------
    CodeError
        A time that is missing or written in another form.
    UsageError
        Times from UTC without a zone, or an unknown zone.
    """
    return name_numbers(number_periods(read_seconds(times, zone), unit, zone), unit)


def have_offsets(times: pa.Array) -> bool:
    """Whether some times say how they differ from UTC."""
    return bool(mark_offsets(times).any())


def mark_offsets(times: pa.Array) -> NDArray[np.bool_]:
    """Return which times say how they differ from UTC: bool[n]."""
    kind = times.type.value_type if pa.types.is_dictionary(times.type) else times.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return np.full(len(times), pa.types.is_timestamp(kind) and kind.tz is not None)
    text = pc.utf8_trim_whitespace(times.cast(pa.string()))
    marked = pc.fill_null(pc.match_substring_regex(text, OFFSET), False)
    return np.asarray(marked.to_numpy(zero_copy_only=False), np.bool_)


def have_local(times: pa.Array) -> bool:
    """Whether some times are in the right form, and do not say how they differ from UTC."""
    kind = times.type.value_type if pa.types.is_dictionary(times.type) else times.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None)
    text = pc.utf8_trim_whitespace(times.cast(pa.string()))
    moment = pc.match_substring_regex(text, OFFSET)
    local = _read_moments(pc.if_else(moment, pa.scalar(None, pa.string()), text), None)
    return bool(local.null_count < len(local))


def read_seconds(times: pa.Array, zone: str | None) -> IntArray:
    """Return times in seconds since 1970: int64[n].

    Parameters
    ----------
    times : texts, dates or timestamps [n]
    zone : str or None
        A zone, for times that count from UTC, as the seconds then do; None: times are local, and
        so are the seconds.

    Raises
    ------
    CodeError
        A time that is missing or written in another form.
    UsageError
        Times from UTC without a zone.
    """
    read = _read_moments(times, zone)
    require_none(read.is_null().to_numpy(zero_copy_only=False), TIME_FORM)
    return np.asarray(_floor(read).cast(pa.int64()).to_numpy(), np.int64)


def number_periods(seconds: IntArray, unit: str, zone: str | None) -> IntArray:
    """Return the numbers of the local periods of times: int64[n], one more for the next period.

    Parameters
    ----------
    seconds : int64[n]
        What :func:`read_seconds` returns for this zone.
    unit : str
        One of ``UNITS`` with periods.
    zone : str or None
        Time zone of the days; UsageError if it is unknown.
    """
    days = np.floor_divide(localise(seconds, zone), SECONDS_A_DAY)
    if unit == "person-month":
        return np.asarray(days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64))
    return np.asarray((days + MONDAY) // 7 if unit == "person-week" else days, np.int64)


def localise(seconds: IntArray, zone: str | None) -> IntArray:
    """Return times in seconds of local time since 1970: int64[n].

    The parameters are those of :func:`number_periods`; UsageError for an unknown zone.
    """
    if zone is None:
        return seconds
    moments = pa.array(seconds).cast(pa.timestamp("s", "UTC"))
    return np.asarray(_to_zone(moments, zone).cast(pa.int64()).to_numpy(), np.int64)


def name_numbers(numbers: IntArray, unit: str) -> pa.Array:
    """Return numbered periods as :func:`name_periods` writes them: texts [n]."""
    once, at = np.unique(numbers, return_inverse=True)
    if unit == "person-month":
        first = once.astype("datetime64[M]")
    else:
        first = (once * 7 - MONDAY if unit == "person-week" else once).astype("datetime64[D]")
    names = pc.strftime(pa.array(first.astype("datetime64[s]")), format=UNITS[unit])
    return names.take(pa.array(at))


def _read_moments(times: pa.Array, zone: str | None) -> pa.Array:
    """Return times as timestamps, of UTC if there is a zone; null where they have another form."""
    times = decode(times)
    kind = times.type
    if pa.types.is_timestamp(kind) and (kind.tz is None) == (zone is None):
        return times
    if pa.types.is_timestamp(kind) and zone is None:
        raise UsageError(TIME_ZONE)
    if pa.types.is_date(kind) and zone is None:
        return _floor(times.cast(pa.timestamp("ms")))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        # Of local times, or times from UTC that do not say so, nobody knows the moment.
        raise CodeError(0, TIME_FORM)
    wanted = pa.timestamp("s", None if zone is None else "UTC")
    # Most texts are in a form that Arrow knows, which is much faster than what follows.
    with suppress(pa.ArrowInvalid):
        return times.cast(wanted)
    text = pc.utf8_trim_whitespace(times.cast(pa.string()))
    # Of a second only the day counts; and an offset may have hours alone.
    text = pc.replace_substring_regex(text, "(:[0-9]{2})[.,][0-9]+(Z|[+-][0-9:]+)?$", r"\1\2")
    text = pc.replace_substring_regex(text, "((T|[0-9] ).*[+-][0-9]{2})$", r"\1:00")
    moment = pc.match_substring_regex(text, OFFSET)
    if zone is None:
        if pc.any(moment).as_py():
            raise UsageError(TIME_ZONE)
        return _parse(text, wanted)
    # Without an offset it is not known which moment is meant.
    text = pc.if_else(moment, text, pa.scalar(None, pa.string()))
    return _parse(text, wanted)


def _floor(times: pa.Array) -> pa.Array:
    """Return timestamps in the whole seconds that they lie in, also before 1970.

    A cast would cut their fractions off towards 1970, and so into the next second before it.
    """
    # Computed without a zone, whose name need not be known yet.
    numbers = times.cast(pa.int64()).cast(pa.timestamp(times.type.unit))
    seconds = pc.floor_temporal(numbers, unit="second").cast(pa.timestamp("s"))
    return seconds.cast(pa.int64()).cast(pa.timestamp("s", times.type.tz))


def _to_zone(times: pa.Array, zone: str) -> pa.Array:
    """Return moments as local times of a zone, with its summer time."""
    try:
        return pc.local_timestamp(_floor(times).cast(pa.timestamp("s", zone)))
    except pa.ArrowInvalid:
        pass
    raise UsageError(
        "The time zone is unknown: write it as the IANA database does, such as Europe/Berlin.",
        code="flows-time-zone-unknown",
    )


def _parse(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """Parse texts as times; null where one has another form."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        pass
    # One by one, as Arrow does not say which text it could not parse.
    values = []
    for one in text:
        try:
            values.append(one.cast(kind).as_py())
        except pa.ArrowInvalid:
            values.append(None)
    return pa.array(values, kind)


TRIPS_MISSING = Rule(
    "flows-trips-missing",
    "Say how many trips of a person are kept (--trips N, trips=N). geodp flows plan shows what "
    "they cost.",
)

MOST_TRIPS = 10_000
"""Most trips that may be kept of one person: noise for more would hide every flow."""

RANKS = digest(b"geodp flows trips kept of a person 1")
"""Derives the key of the ranks of trips."""

NAMES = digest(b"geodp flows names of persons 1")
"""Derives the key of the weights that hash names."""


class TripBound:
    """Choice of at most ``trips`` trips of a person, and of at most ``per_pair`` between two zones.

    Parameters
    ----------
    trips, per_pair : int
    secret : NoiseKey or None
        Key of the ranks; None: a fresh one, which is forgotten.
    """

    def __init__(self, trips: int, per_pair: int, secret: NoiseKey | None = None) -> None:
        self._trips, self._per_pair = require_bounds(trips, per_pair)
        secret = NoiseKey.generate() if secret is None else secret
        with secret.derive(NAMES) as weights:
            lines = blocks(weights, Stream.SAMPLE, np.arange(WEIGHTS, dtype=np.uint64))
        self._weights = np.ascontiguousarray(lines[0])
        # Odd, so that different pairs, and different trips of one pair, have different addresses.
        self._factors = lines[1, :2] | np.uint64(1)
        self._ranks = secret.derive(RANKS)

    def keep(
        self, names: pa.Array, key: KeyArray, weight: IntArray | None = None
    ) -> NDArray[np.intp]:
        """Find the trips that are kept: their positions, int[m], in any order.

        Parameters
        ----------
        names : texts [n]
            Persons; all trips of each of them are here.
        key : uint64[n]
            Pairs of the trips.
        weight : int64[n], optional
            As how many each trip counts. Of the trips of one pair, any may be kept.
        """
        if not key.size:
            return np.empty(0, np.intp)
        encoded = names.dictionary_encode()
        person = encoded.indices.to_numpy().astype(np.int64)
        # Trips of one pair are numbered by their weights, so that the order of rows plays no role.
        order = np.lexsort((key, person) if weight is None else (weight, key, person))
        person, key = person[order], key[order]
        number = number_runs((person[1:] != person[:-1]) | (key[1:] != key[:-1])).astype(np.uint64)
        address = hash_names(encoded.dictionary, self._weights)[person]
        address = address + key * self._factors[0] + number * self._factors[1]
        rank = blocks(self._ranks, Stream.SAMPLE, address)[0]
        if self._per_pair < self._trips:
            # The lowest ranks of each pair: all trips of it are candidates, not its first ones.
            within = np.lexsort((rank, key, person))
            person, key, rank = person[within], key[within], rank[within]
            place = number_runs((person[1:] != person[:-1]) | (key[1:] != key[:-1]))
            some = place < self._per_pair
            person, rank, order = person[some], rank[some], order[within][some]
        # Stable: equal ranks, which practically never occur, stay in the order of pair and number.
        best = np.lexsort((rank, person))
        place = number_runs(person[best][1:] != person[best][:-1])
        return np.asarray(order[best[place < self._trips]], np.intp)


def trips_of_units(names: pa.Array, key: KeyArray, of_pair: int) -> IntArray:
    """Return the numbers of trips of all units that have any: int64[units].

    Parameters
    ----------
    names : texts [n]
        Units of trips; all trips of each are here.
    key : uint64[n]
        Pairs of the trips.
    of_pair : int
        Most trips of a unit between two zones that count.
    """
    person = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    order = np.lexsort((key, person))
    person, key = person[order], key[order]
    new = np.append(True, (person[1:] != person[:-1]) | (key[1:] != key[:-1]))[: person.size]
    start = np.flatnonzero(new)
    found = np.zeros(person.size, np.int64)
    np.add.at(found, person[start], np.minimum(np.diff(np.append(start, person.size)), of_pair))
    return found[found > 0]


def number_runs(new: NDArray[np.bool_]) -> IntArray:
    """Count the items of each run from 0: int64[n + 1]; ``new``: where item i + 1 begins one."""
    starts = np.flatnonzero(np.append(True, new))
    size = new.size + 1
    return np.asarray(np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size))))


def require_bounds(trips: object, per_pair: object) -> tuple[int, int]:
    """Return both bounds; UsageError unless they are whole numbers from 1 on."""
    for name, value in (("trips", trips), ("per_pair", per_pair)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise UsageError(
                f"{name} must be a whole number of at least 1.", code="flows-bound-form"
            )
    most, of_pair = int(cast(int, trips)), int(cast(int, per_pair))
    if most > MOST_TRIPS:
        raise UsageError(
            f"trips must be at most {MOST_TRIPS:,}: the noise grows with it, and would hide every "
            "flow.",
            code="flows-trips-too-many",
        )
    return most, min(of_pair, most)
