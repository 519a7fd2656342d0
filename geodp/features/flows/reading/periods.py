"""Units of privacy that are a person in a period: a day, a week or a month of local time."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import CodeError, Rule, UsageError

Unit: TypeAlias = Literal["person", "person-day", "person-week", "person-month"]

UNITS: dict[str, str] = {
    "person": "",
    "person-day": "%Y-%m-%d",
    "person-week": "%G-W%V",
    "person-month": "%Y-%m",
}
"""Units, and how the period of a date is written."""

TIME_FORM = Rule(
    "flows-time-form",
    "the time must be a date, or a date and a time, in ISO 8601, such as 2024-05-01T07:30, "
    "with an offset from UTC if time_zone is given and without one otherwise; records without a "
    "time are refused.",
)

TIME_ZONE = Rule(
    "flows-time-zone",
    "These times count from UTC, and days are local: give the time zone (--time-zone, time_zone=), "
    "such as Asia/Tokyo.",
)


def require_unit(unit: object, time: str | None) -> str:
    """Return a unit; UsageError for another, or for one of periods without a column of times."""
    if unit not in UNITS:
        raise UsageError(f"unit must be one of {', '.join(UNITS)}.", code="flows-unit-unknown")
    if UNITS[str(unit)] and time is None:
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
    local = read_local_times(times, zone)
    missing = local.is_null().to_numpy(zero_copy_only=False)
    if missing.any():
        raise CodeError(int(np.argmax(missing)), TIME_FORM)
    return pc.strftime(local, format=UNITS[unit])


def read_local_times(times: pa.Array, zone: str | None) -> pa.Array:
    """Return times as local timestamps; null where they have another form."""
    kind = times.type
    if pa.types.is_dictionary(kind):
        times, kind = times.cast(kind.value_type), kind.value_type
    if pa.types.is_date(kind):
        return times.cast(pa.timestamp("s"))
    if pa.types.is_timestamp(kind):
        return times if kind.tz is None and zone is None else _to_zone(times, zone)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise CodeError(0, TIME_FORM)
    text = pc.utf8_trim_whitespace(times.cast(pa.string()))
    # Of a second only the day counts; and an offset may have hours alone.
    text = pc.replace_substring_regex(text, "(:[0-9]{2})[.,][0-9]+(Z|[+-][0-9:]+)?$", r"\1\2")
    text = pc.replace_substring_regex(text, "(T.*[+-][0-9]{2})$", r"\1:00")
    with_offset = pc.match_substring_regex(text, "(Z|[+-][0-9]{2}:?[0-9]{2})$")
    dated = pc.match_substring_regex(text, "T|[0-9] ")
    moment = pc.and_(with_offset, dated)
    if zone is None:
        if pc.any(moment).as_py():
            raise UsageError(TIME_ZONE)
        return _parse(text, pa.timestamp("s"))
    # Without an offset it is not known which moment is meant.
    text = pc.if_else(moment, text, pa.scalar(None, pa.string()))
    return _to_zone(_parse(text, pa.timestamp("s", "UTC")), zone)


def _to_zone(times: pa.Array, zone: str | None) -> pa.Array:
    """Return moments as local times of a zone, with its summer time."""
    if zone is None:
        raise UsageError(TIME_ZONE)
    if times.type.tz is None:
        # Local already, or from UTC without saying so: nobody knows which.
        raise CodeError(0, TIME_FORM)
    try:
        return pc.local_timestamp(times.cast(pa.timestamp("s", zone), safe=False))
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
