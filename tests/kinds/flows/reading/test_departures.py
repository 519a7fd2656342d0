"""Hours and day types of trips that are made of pings and stays: those of the departure."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp import InputError, UsageError
from geodp.grid.axes import Attribute
from geodp.kinds.flows.reading.stays import Pings, Stays
from geodp.kinds.flows.zones import pairs_of, place_in_space
from tests.kinds.flows.reading import test_pings, test_stays
from tests.kinds.flows.reading.test_labels import labels_of
from tests.kinds.flows.slow_stays import departures_of_records
from tests.kinds.flows.units import make_units, middles
from tests.refusals import refuses

BOTH = ("hour", "daytype")


def read_stays(*rows, **given):
    return labels_of(test_stays.read(test_stays.stays(*rows), **{"by": BOTH, **given}))


def read_pings(*rows, **given):
    return labels_of(test_pings.read(test_pings.clock(*rows), **{"by": BOTH, **given}))


def test_a_trip_has_the_hour_in_which_the_stay_at_its_origin_ends():
    found = read_stays(*test_stays.DAY, end="u")
    # 1 May 2024 is a Wednesday.
    assert found == [["17", "weekday"], ["8", "weekday"], ["8", "weekday"]]
    # Without an end stays have no duration.
    hours = [hour for hour, _ in read_stays(*test_stays.DAY)]
    assert hours == ["0", "18", "9"]


def test_stays_that_meet_end_with_the_last_of_them():
    rows = (
        ("a", "04T00", "04T08", 0, 0),
        ("a", "04T05", "04T06", 0, 0),
        ("a", "04T08", "04T11", 0, 0),
        ("a", "04T14", "04T15", 1, 1),
    )
    assert read_stays(*rows, end="u") == [["11", "weekend"]]


def test_nobody_departs_after_having_arrived():
    rows = (("a", "01T00", "01T22", 0, 0), ("a", "01T05", "01T06", 1, 1))
    assert read_stays(*rows, end="u") == [["5", "weekday"]]


def test_of_a_person_in_a_day_the_departure_is_in_the_day():
    days = {"unit": "person-day", "end": "u"}
    night = (("a", "01T20", "02T08", 0, 0), ("a", "02T09", "02T10", 1, 1))
    assert read_stays(*night, **days) == [["8", "weekday"]]
    # A stay that goes on into the next day, while another one begins.
    over = (("a", "01T20", "02T08", 0, 0), ("a", "01T23", "01T23", 1, 1))
    assert read_stays(*over, **days) == [["23", "weekday"]]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Asia/Tokyo", [["10", "weekend"]]),
        # Clocks go forward at 01:00 UTC.
        ("Europe/Berlin", [["3", "weekend"]]),
        ("America/Los_Angeles", [["18", "weekend"]]),
    ],
)
def test_hours_are_local_with_summer_time(zone, expected):
    times = ["2024-03-31T00:30Z", "2024-03-31T01:00Z", "2024-03-31T01:30Z", "2024-03-31T02:00Z"]
    rows = [("a", one, place) for one, place in zip(times, (0, 0, 1, 1), strict=True)]
    assert read_pings(*rows, time_zone=zone) == expected
    stays = pa.table({"id": ["a"] * 2, "t": times[::2], "u": times[1::2], "y": [0, 1], "x": [0, 0]})
    assert labels_of(test_stays.read(stays, by=BOTH, end="u", time_zone=zone)) == expected


def test_a_trip_of_pings_has_the_hour_of_the_last_ping_of_its_origin():
    rows = (
        ("a", "2024-05-04T07:40", 0),
        ("a", "2024-05-04T07:50", 0),
        ("a", "2024-05-04T08:05", 0),
        # Too short for a stay.
        ("a", "2024-05-04T08:50", 0.5),
        ("a", "2024-05-04T09:10", 1),
        ("a", "2024-05-04T09:30", 1),
    )
    assert read_pings(*rows) == [["8", "weekend"]]


@pytest.mark.parametrize("seed", range(4))
def test_departures_are_those_of_the_twin(seed):
    rows, wanted = test_pings.made(seed), Counter()
    grid = test_pings.MESH
    pairs = pairs_of(grid, (Attribute("hour", tuple(map(str, range(24)))),))
    lat, lon = rows["lat"].to_numpy(), rows["lon"].to_numpy()
    zone = grid.encode(np.stack(grid.places[0].locate(lon, lat)))
    position = [*zip(*place_in_space(lon, lat), strict=True)]
    time, names = rows["t"].cast(pa.int64()).to_pylist(), rows["id"].to_pylist()
    for name in set(names):
        own = [i for i, one in enumerate(names) if one == name]
        records = [(time[i], position[i], int(zone[i])) for i in own]
        for start, end, left in departures_of_records(records, 20_000, 27_778, 600, 7200):
            ends = [grid.decode(np.array([one], np.uint64)) for one in (start, end)]
            index = np.concatenate([*ends, [[left // 3600 % 24]]])
            wanted[int(pairs.encode(index)[0])] += 1
    found = test_pings.read(rows, by="hour")
    assert found.grid == pairs
    assert test_pings.pairs_of(found) == wanted
    assert len({key % 32 for key in wanted}) > 5


@pytest.mark.parametrize("unit", ["person", "person-day"])
def test_labels_of_a_person_depend_on_its_own_records_alone(unit, tmp_path):
    """What is kept of all is what is kept of each alone, with the same labels."""
    given = {"trips": 2, "unit": unit, "by": BOTH}
    for module, rows, more in (
        (test_pings, test_pings.made(8), {}),
        (test_stays, test_stays.made(5, 2000), {"end": "u"}),
    ):
        count = module.pairs_of if module is test_pings else module.trips_of
        alone = Counter()
        for name in set(rows["id"].to_pylist()):
            own = rows.filter(pa.compute.equal(rows["id"], name))
            alone += count(module.read(own, **given, **more))
        assert count(module.read(rows, **given, **more)) == alone
        mixed = rows.take(np.random.default_rng(1).permutation(rows.num_rows))
        kind = Pings if module is test_pings else Stays
        grid = module.MESH if module is test_pings else module.GRID
        spilled = {"memory": "1MiB", "scratch": tmp_path, "key": module.KEY}
        reader = kind(grid=grid, **module.WHERE, **given, **more, **spilled)
        assert count(reader.read(mixed)) == alone


def test_labels_of_other_days_do_not_matter():
    rows, alone = test_stays.made(3), Counter()
    given = {"end": "u", "unit": "person-day", "by": BOTH}
    for day in range(1_714_500_000 // 86_400, 1_715_200_000 // 86_400):
        alone += test_stays.trips_of(test_stays.read(test_stays.restrict(rows, day), **given))
    assert test_stays.trips_of(test_stays.read(rows, **given)) == alone
    assert alone.total() > 50


def test_whole_flows_are_those_without_labels():
    for module, rows, more in (
        (test_pings, test_pings.made(4), {}),
        (test_stays, test_stays.made(4), {"end": "u"}),
    ):
        plain, table = module.read(rows, **more), module.read(rows, by=BOTH, **more)
        index = table.grid.decode(table.key)[:4]
        whole = geodp.CountTable.from_index(plain.grid, index, table.count)
        assert np.array_equal(whole.key, plain.key)
        assert np.array_equal(whole.count, plain.count)


def test_pings_and_stays_between_units_have_hours():
    grid, _ = make_units()
    at = middles(grid)
    clock = ("08:00", "08:20", "09:00", "09:20")
    rows = {"id": ["a"] * 4, "t": [f"2024-05-01T{one}" for one in clock]}
    rows |= {"y": at[[0, 0, 5, 5], 1], "x": at[[0, 0, 5, 5], 0]}
    where = {"grid": grid, "place": ("y", "x"), "time": "t", "person": "id", "trips": 5}
    assert labels_of(geodp.flows.read_pings(pa.table(rows), **where, by="hour")) == [["8"]]
    rows["u"] = [*rows["t"][1:], rows["t"][-1]]
    rows["t"][0] = "2024-05-01T05:00"
    where |= {"end": "u", "by": "hour"}
    assert labels_of(geodp.flows.read_stays(pa.table(rows), **where)) == [["9"]]


def test_the_card_says_which_times_labels_are_of():
    origin = "the stay at the origin of the trip"
    facts = " ".join(test_pings.read(test_pings.made(1), by=BOTH).reading.public_facts)
    assert f"that hours and day types are those of the last ping of {origin}" in facts
    assert "no public holidays" in facts
    stays = test_stays.stays(*test_stays.DAY)
    facts = " ".join(test_stays.read(stays, by="hour", end="u").reading.public_facts)
    assert f"that hours are those of the end of {origin}" in facts
    facts = " ".join(test_stays.read(stays, by="hour").reading.public_facts)
    assert f"that hours are those of {origin}, which has no duration" in facts


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"by": "mode"}, "flows-labels-missing"),
        ({"by": "hour", "per_pair": 1}, "flows-per-pair-with-labels"),
        ({"by": "hour", "time_zone": "Mars/Olympus"}, "flows-time-zone-unknown"),
    ],
)
def test_labels_that_are_not_of_departures_are_refused(given, code):
    with refuses(UsageError, code):
        test_pings.read(test_pings.made(1), **given)
    with refuses(UsageError, code):
        test_stays.read(test_stays.stays(*test_stays.DAY), **given)


def test_moments_need_a_zone_for_their_hours():
    rows = [("a", f"2024-05-01T08:{minute}Z", 0) for minute in (10, 30)]
    with refuses(UsageError, "flows-time-zone"):
        read_pings(*rows)
    assert read_pings(*rows, time_zone="Asia/Tokyo") == []


def test_times_without_an_hour_are_refused():
    dates = [("a", f"2024-05-0{day}", 0) for day in (1, 2)]
    with refuses(InputError, "flows-hour-needs-clock") as refused:
        read_pings(*dates)
    assert refused.value.row == 1
    assert read_pings(*dates, by="daytype") == []
    midnight = pa.array(np.array(["2024-05-01", "2024-05-02"], "datetime64[s]"))
    rows = {"id": ["a"] * 2, "t": midnight, "y": [0, 1], "x": [0, 0]}
    with refuses(InputError, "flows-hour-midnight"):
        test_stays.read(pa.table(rows), by="hour")
    # The end alone may be a date.
    clock = pa.array(np.array(["2024-05-01T07", "2024-05-02T07"], "datetime64[s]"))
    ends = {**rows, "t": clock, "u": pa.array(["2024-05-02", "2024-05-03"])}
    with refuses(InputError, "flows-hour-needs-clock"):
        test_stays.read(pa.table(ends), by="hour", end="u")
