"""Labels of trips: hours and day types of local time, columns, and what is refused."""

import datetime
import inspect

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import geodp
from geodp import CodeError, InputError, UsageError
from geodp.kinds.flows.reading.labels import TAKEN_NAMES, Clock, label_times
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import make
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))
GRID = geodp.Grid.regular((2, 2))
PLACES = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
MODES = {"mode": ("walk", "car")}
TIMES = ["2024-03-29T15:00:00Z", "2024-03-30T22:30:00Z", "2024-03-31T22:30:00Z"]


def rows_of(times=TIMES, **more):
    number = len(times)
    places = {name: np.zeros(number, np.int64) for name in ("oy", "ox", "dy", "dx")}
    names = [f"p{i}" for i in range(number)]
    return pa.table({"id": names, **places, "t": times, "mode": ["walk", "car", "car"], **more})


def read(rows=None, **given):
    rows = rows_of() if rows is None else rows
    return geodp.flows.read_trips(rows, grid=GRID, **PLACES, **given)


def labels_of(table):
    """Labels of the trips of a table, sorted, once for each trip."""
    index = table.grid.decode(table.key)[4:]
    names = [
        [one.labels[number] for number in axis]
        for one, axis in zip(table.grid.attributes, index, strict=True)
    ]
    rows = zip(*names, np.asarray(table.count), strict=True)
    return sorted(labels for *labels, count in rows for _ in range(count))


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Asia/Tokyo", [["0", "weekend"], ["7", "weekday"], ["7", "weekend"]]),
        # Clocks go forward between the last two times.
        ("Europe/Berlin", [["0", "weekday"], ["16", "weekday"], ["23", "weekend"]]),
    ],
)
def test_hours_and_day_types_are_local(zone, expected):
    table = read(by=("hour", "daytype"), time="t", time_zone=zone)
    assert labels_of(table) == expected
    assert f"in {zone}" in " ".join(table.reading.public_facts)


def test_local_times_are_taken_as_they_are():
    times = [datetime.datetime(2024, 5, 4, 8, 59), datetime.datetime(2024, 5, 6, 23, 59)]
    hours, types = label_times(pa.array(times), ("hour", "daytype"), None)
    assert (hours.tolist(), types.tolist()) == ([8, 23], [1, 0])
    assert label_times(pa.array(["2024-05-05"]), ("daytype",), None)[0].tolist() == [1]
    coded = pa.array(["2024-05-05T07:00"] * 3).dictionary_encode()
    assert label_times(coded, ("hour",), None)[0].tolist() == [7] * 3


@pytest.mark.parametrize(
    ("times", "code"),
    [
        (["2024-05-05"], "flows-hour-needs-clock"),
        ([datetime.date(2024, 5, 5)], "flows-hour-needs-clock"),
        (["2024-05-05T07:00", None], "flows-time-form"),
        (["7 o'clock"], "flows-time-form"),
        ([7], "flows-time-form"),
    ],
)
def test_a_time_without_an_hour_is_refused(times, code):
    with refuses(CodeError, code):
        label_times(pa.array(times), ("hour",), None)
    with refuses(UsageError, "flows-time-zone"):
        label_times(pa.array(TIMES), ("hour",), None)


def test_labels_are_read_from_columns():
    assert labels_of(read(by="mode", labels=MODES)) == [["car"], ["car"], ["walk"]]
    columns = {"mode": "", "way": "by"}
    rows = rows_of(by=["walk", "car", "car"])
    named = read(rows, by=columns, labels={**MODES, "way": ("car", "walk")})
    assert labels_of(named) == [["car", "car"], ["car", "car"], ["walk", "walk"]]
    rows = rows_of(hour=["08:00", "8", "23"])
    assert labels_of(read(rows, by="hour")) == [["23"], ["8"], ["8"]]
    # A column that is named wins over the times.
    timed = read(rows, by={"hour": "hour", "daytype": ""}, time="t", time_zone="Asia/Tokyo")
    assert labels_of(timed) == [["23", "weekday"], ["8", "weekend"], ["8", "weekend"]]
    with refuses(InputError, "label-not-of-attribute"):
        read(by="mode", labels={"mode": ("walk", "bus")})


BOUNDED = {"person": "id", "trips": 2, "per_pair": 1}
AM_PM = {"by": "hour", "labels": {"hour": ("am", "pm")}, "time": "t"}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"by": "mode"}, "flows-labels-missing"),
        ({"labels": MODES}, "flows-labels-unused"),
        ({"by": "hour,hour", "time": "t"}, "flows-by-twice"),
        ({"by": ""}, "flows-by-empty"),
        ({"by": "hour, ", "time": "t"}, "flows-by-empty"),
        ({"by": "mode", "labels": MODES, "time": "t"}, "flows-time-unused"),
        (AM_PM, "flows-timed-labels"),
        ({"by": "mode", "labels": MODES, **BOUNDED}, "flows-per-pair-with-labels"),
        ({"by": {"mode": "oy"}, "labels": MODES}, "flows-places-same"),
    ],
)
def test_what_does_not_go_together_is_refused(given, code):
    with refuses(UsageError, code):
        read(**given)


DATES = ["2024-05-01", "2024-05-04", "2024-05-05"]


@pytest.mark.parametrize(
    "times",
    [
        pd.to_datetime(DATES),
        pd.to_datetime(DATES).astype("datetime64[s]"),
        pd.to_datetime(DATES, utc=True),
        pd.to_datetime(DATES).tz_localize("Asia/Tokyo"),
        pa.array(pd.to_datetime(DATES)).dictionary_encode(),
    ],
    ids=str,
)
def test_dates_that_are_kept_as_timestamps_have_no_hour(times):
    aware = getattr(times, "tz", None) is not None
    given = {"time": "t", "time_zone": "Asia/Tokyo" if aware else None}
    with refuses(InputError, "flows-hour-midnight"):
        read(rows_of(times), by=("hour", "daytype"), **given)
    assert labels_of(read(rows_of(times), by="daytype", **given))[0] == ["weekday"]


def test_some_trips_begin_at_midnight():
    times = pd.to_datetime([*DATES[:2], "2024-05-05T07:30"], format="ISO8601")
    # Of which each batch holds a part, and one is all of midnight.
    rows = pa.concat_tables([rows_of(times).slice(at, 1) for at in range(3)])
    assert labels_of(read(rows, by="hour", time="t")) == [["0"], ["0"], ["7"]]
    texts = [f"{one}T00:00" for one in DATES]
    assert labels_of(read(rows_of(texts), by="hour", time="t")) == [["0"]] * 3


def test_every_table_has_hours():
    clock = Clock()
    clock.note(pa.array(pd.to_datetime([f"{one}T07:30" for one in DATES])))
    clock.complete("first")
    clock.note(pa.array(pd.to_datetime(DATES)))
    with refuses(InputError, "flows-hour-midnight: second"):
        clock.complete("second")
    clock.complete("none")


TAKEN = ("self", "origin", "count", "Count", "low", "noisy", "origin_x", "flow", "origin_column")


@pytest.mark.parametrize("name", TAKEN)
def test_names_of_columns_and_parameters_are_refused_before_the_charge(name):
    with refuses(UsageError, "flows-attribute-taken"):
        read(by={name: "mode"}, labels={name: ("walk", "car")})
    with refuses(UsageError, "flows-attribute-taken"):
        geodp.flows.plan(GRID, trips=1, epsilon=1, by=name, labels={name: ("walk", "car")})
    pairs = GRID.pairs().with_attribute(name, ("walk", "car"))
    table = geodp.CountTable.from_index(pairs, np.zeros((5, 1), int), np.ones(1, int))
    with refuses(UsageError, "flows-attribute-taken"):
        geodp.flows.publish(table, epsilon=1, contribution=1)


def test_all_parameters_of_estimates_and_columns_are_taken(shared):
    made = make(shared, "labels")
    parameters = {*inspect.signature(geodp.flows.Flows.estimate).parameters}
    columns = {*made.to_pandas().columns, *made.flows.to_pandas().columns}
    assert (parameters - {"labels"}) | (columns - {"hour", "mode"}) <= TAKEN_NAMES
