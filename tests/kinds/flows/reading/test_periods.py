"""Local days, weeks and months of times, with summer time and across midnight."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from geodp import CodeError, UsageError
from geodp.kinds.flows.reading.units import (
    SECONDS_A_DAY,
    UNITS,
    have_local,
    have_offsets,
    localise,
    name_numbers,
    name_periods,
    number_periods,
    read_seconds,
    require_unit,
)
from tests.refusals import refuses


def days(times, zone=None, unit="person-day"):
    return name_periods(pa.array(times), unit, zone).to_pylist()


def test_local_times_are_taken_as_they_are():
    assert days(["2024-05-01", "2024-05-01T23:59", "2024-05-02 00:00:01"]) == [
        "2024-05-01",
        "2024-05-01",
        "2024-05-02",
    ]
    assert days([datetime.date(2024, 12, 30)], unit="person-week") == ["2025-W01"]
    assert days(["2024-12-30"], unit="person-month") == ["2024-12"]


def test_days_follow_summer_time():
    # Clocks go forward on 31 March 2024: at 22:30 UTC it is 23:30 before, and 00:30 after.
    texts = ["2024-03-30T22:30:00Z", "2024-03-31T22:30:00Z"]
    assert days(texts, "Europe/Berlin") == ["2024-03-30", "2024-04-01"]
    moments = pa.array([datetime.datetime(2024, 3, 31, 22, 30)], pa.timestamp("s", "UTC"))
    assert name_periods(moments, "person-day", "Europe/Berlin").to_pylist() == ["2024-04-01"]
    assert days(["2024-05-01T20:00+00:00"], "Asia/Tokyo") == ["2024-05-02"]


def test_parts_of_seconds_and_short_offsets_are_read():
    texts = ["2024-05-01T23:30:00.123", "2024-05-01T23:30:00,5", "2024-05-01T23:30:00.000000"]
    assert days(texts) == ["2024-05-01"] * 3
    texts = ["2024-05-01T20:00:00.000Z", "2024-05-01T20:00:00.5+00:00", "2024-05-01T20:00+00"]
    assert days(texts, "Asia/Tokyo") == ["2024-05-02"] * 3


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize(
    ("kind", "zone"), [(None, None), ("UTC", "Asia/Tokyo"), ("+09:00", "Europe/Berlin")]
)
def test_parts_of_seconds_before_1970_are_of_the_second_that_they_lie_in(unit, kind, zone):
    """As of texts, whose fractions are cut off: a time is never moved into the next second."""
    second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    parts = [-1, -second // 2, -second, -second - 1, 0, 1, second - 1, -SECONDS_A_DAY * second - 1]
    times = pa.array(parts, pa.int64()).cast(pa.timestamp(unit, kind))
    wanted = [part // second for part in parts]
    assert read_seconds(times, zone).tolist() == wanted
    shift = localise(np.zeros(1, np.int64), zone)[0]
    assert localise(read_seconds(times, zone), zone).tolist() == [one + shift for one in wanted]
    texts = ["1969-12-31T23:59:59.999", "1969-12-31T23:59:59.5", "1969-12-31T23:59:59"]
    if zone is None:
        assert read_seconds(pa.array(texts), None).tolist() == [-1, -1, -1]
        assert days(pa.array([-1], pa.int64()).cast(pa.timestamp(unit))) == ["1969-12-31"]
    else:
        assert read_seconds(pa.array([f"{one}Z" for one in texts]), zone).tolist() == [-1, -1, -1]


def test_dates_of_64_bits_may_have_a_time():
    dates = pa.array([-1, -86_400_000, 86_400_001], pa.int64()).view(pa.date64())
    assert read_seconds(dates, None).tolist() == [-1, -86_400, 86_400]
    assert days(dates) == ["1969-12-31", "1969-12-31", "1970-01-02"]


@pytest.mark.parametrize(
    ("times", "zone", "code"),
    [
        (pa.array(["2024-05-01T20:00:00Z"]), None, "flows-time-zone"),
        (pa.array(["2024-05-01T20:00+09"]), None, "flows-time-zone"),
        (pa.array([0], pa.timestamp("s", "UTC")), None, "flows-time-zone"),
        (pa.array(["2024-05-01T20:00:00Z"]), "Mars/Olympus", "flows-time-zone-unknown"),
    ],
    ids=str,
)
def test_moments_need_a_zone(times, zone, code):
    with refuses(UsageError, code):
        name_periods(times, "person-day", zone)


@pytest.mark.parametrize("wrong", ["", "yesterday", "2024-13-01", "1714521600", None])
def test_other_forms_are_refused_with_their_place(wrong):
    with refuses(CodeError, "flows-time-form") as refused:
        days(["2024-05-01", wrong])
    assert refused.value.position == 1


@pytest.mark.parametrize(
    "times",
    [
        pa.array(["2024-05-01T20:00"]),
        pa.array([0], pa.timestamp("s")),
        pa.array([0], pa.int32()).cast(pa.date32()),
        pa.array([0], pa.int64()).view(pa.date64()),
        pa.array([1714521600]),
    ],
    ids=str,
)
def test_local_times_are_refused_where_a_zone_is_named(times):
    with refuses(CodeError, "flows-time-form"):
        name_periods(times, "person-day", "Asia/Tokyo")


def test_units_are_those_with_periods():
    assert require_unit("person", None) == "person"
    assert [require_unit(unit, "t") for unit in UNITS] == [*UNITS]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/Sao_Paulo"])
@pytest.mark.parametrize("unit", [one for one in UNITS if UNITS[one]])
def test_numbers_of_periods_are_their_names(unit, zone):
    seconds = np.random.default_rng(1).integers(-(10**9), 4 * 10**9, 5000)
    times = pa.array(seconds).cast(pa.timestamp("s", zone and "UTC"))
    assert np.array_equal(read_seconds(times, zone), seconds)
    names = name_periods(times, unit, zone)
    numbers = number_periods(seconds, unit, zone)
    assert name_numbers(numbers, unit).equals(names)
    # One more for the next period.
    assert np.unique(numbers).size == len(names.unique())


@pytest.mark.parametrize(
    ("times", "offsets", "local"),
    [
        (pa.array([None, "2024-05-01T07:30+09:00"]), True, False),
        (pa.array(["2024-05-01 07:30Z", None]), True, False),
        (pa.array(["2024-05-01 07:30:00+09", None]), True, False),
        (pa.array(["2024-05-01T07:30-0930", None]), True, False),
        (pa.array([0], pa.timestamp("s", "UTC")), True, False),
        (pa.array(["2024-05-01T07:30"]), False, True),
        (pa.array(["2024-05-01"]), False, True),
        (pa.array([None, ""]), False, False),
        (pa.array(["soon"]), False, False),
        (pa.array([datetime.date(2024, 5, 1)]), False, True),
        (pa.array([0], pa.timestamp("s")), False, True),
    ],
)
def test_times_say_whether_they_have_offsets(times, offsets, local):
    assert (have_offsets(times), have_local(times)) == (offsets, local)
