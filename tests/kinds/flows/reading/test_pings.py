"""Records of places as trips: each person from its own records alone, and what is refused."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp import InputError, UsageError
from geodp.kinds.flows.reading import traces
from geodp.privacy.key import NoiseKey
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
WHERE = {"place": ("lon", "lat"), "time": "t", "person": "id"}
ALL = 10_000
"""A bound that drops nothing."""


def read(rows, grid=MESH, **given):
    return geodp.flows.read_pings(rows, grid=grid, **{**WHERE, "trips": ALL, "key": KEY, **given})


def pairs_of(table):
    """Return how often each pair of zones is travelled."""
    return Counter(dict(zip(table.key.tolist(), table.count.tolist(), strict=True)))


def made(seed, persons=12, rows=150):
    """Persons between a few places, with noise, gaps and jumps; times are seconds."""
    draw = np.random.default_rng(seed)
    columns = {"id": [], "t": [], "lat": [], "lon": []}
    for person in range(persons):
        places = draw.uniform((35.005, 139.005), (35.078, 139.12), (4, 2))
        time, at = 1_714_500_000, 0
        for _ in range(int(draw.integers(2, rows))):
            time += int(draw.choice([0, 60, 300, 900, 9000], p=[0.02, 0.38, 0.4, 0.18, 0.02]))
            at = int(draw.integers(0, 4)) if draw.random() < 0.15 else at
            spot = places[at] + draw.normal(0, 2e-4, 2)
            if draw.random() < 0.02:
                spot = draw.uniform((35.001, 139.001), (35.08, 139.124))
            for name, value in zip(columns, (f"p{person}", time, *spot), strict=True):
                columns[name].append(value)
    table = pa.table(columns)
    return table.set_column(1, "t", table["t"].cast(pa.timestamp("s")))


def clock(*rows, zone=None):
    """Records of persons: (id, time, place); place 0 and 1 are 9 km apart."""
    names, times, places = zip(*rows, strict=True)
    lon = [139.01 + 0.1 * place for place in places]
    return pa.table({"id": names, "t": times, "lat": [35.05] * len(lon), "lon": lon})


def hourly(person, day, *hours):
    """Two records ten minutes apart in each hour, at the places in turn."""
    return [
        (person, f"{day}T{hour:02d}:{minute}", place % 2)
        for place, hour in enumerate(hours)
        for minute in ("00", "10")
    ]


def test_a_trip_over_midnight_is_of_the_person_and_of_no_day():
    def at(*times):
        return clock(*(("a", f"2024-05-{time}", place) for time, place in times))

    rows = at(("01T23:30", 0), ("01T23:50", 0), ("02T00:20", 1), ("02T00:40", 1))
    assert pairs_of(read(rows)).total() == 1
    assert pairs_of(read(rows, unit="person-day")).total() == 0
    # The stay over midnight is one in each day, from which the trip begins.
    night = at(("01T23:50", 0), ("02T00:00", 0), ("02T00:20", 0), ("02T01:00", 1), ("02T01:20", 1))
    assert pairs_of(read(night, unit="person-day")).total() == 1


def test_a_person_in_two_time_zones_is_one():
    times = ("08:00:00+09:00", "08:10:00+09:00", "01:00:00+01:00", "01:10:00+01:00")
    rows = clock(*(("a", f"2024-05-01T{time}", n // 2) for n, time in enumerate(times)))
    assert pairs_of(read(rows)).total() == 1
    with refuses(UsageError, "flows-time-zone"):
        read(rows, unit="person-day")


@pytest.mark.parametrize(
    ("time", "code"),
    [
        *((one, "flows-times-mixed") for one in ("2024-05-01T08:00:00", "2024-05-01 08:00")),
        ("2024-05-01", "flows-times-mixed"),
        # What is no time at all is said to be none, in every order.
        *((one, "flows-time-form") for one in ("soon", None, "", "1714521600")),
    ],
)
def test_times_that_are_not_alike_are_refused_in_every_order(time, code):
    mixed = clock(("a", time, 0), ("a", "2024-05-01T08:00:00+09", 0))
    for rows in (mixed, mixed.take([1, 0])):
        with refuses(InputError, code):
            read(rows)


def test_records_that_are_not_accurate_are_left_out():
    rows = clock(*hourly("a", "2024-05-01", 8, 9, 10))
    radius = pa.array([10.0, 10, 201, 500, 10, 10])
    rows = rows.append_column("r", radius)
    assert pairs_of(read(rows)).total() == 2
    assert pairs_of(read(rows, accuracy="r")).total() == 0
    assert pairs_of(read(rows, accuracy="r", largest_accuracy=500)).total() == 2
    said = " ".join(read(rows, accuracy="r", largest_accuracy=50).reading.public_facts)
    assert "a radius of more than 50 m were left out, by the column r" in said
    for wrong in ("-1", None, "inf", "good", ""):
        bad = rows.set_column(4, "r", pa.array(["10", wrong, "10", "10", "10", "10"]))
        with refuses(InputError, "flows-accuracy-form") as refused:
            read(bad, accuracy="r")
        assert refused.value.row == 2


def test_places_outside_take_part_in_stays():
    at = ((8, 0), (9, 3), (10, 0), (11, 1))
    rows = clock(
        *(("a", f"2024-05-01T{h:02d}:{m}", place) for h, place in at for m in ("00", "10"))
    )
    with refuses(InputError, "cell-outside-domain") as refused:
        read(rows)
    assert refused.value.row == 3
    table = read(rows, outside="drop")
    # Neither there nor back, and no stay goes on meanwhile.
    assert pairs_of(table).total() == 1
    assert "a stay outside the domain were left out" in " ".join(table.reading.public_facts)
    with refuses(UsageError, "latitude-first"):
        read(rows, place=("lat", "lon"))
    for outside in (None, "drop"):
        with refuses(InputError, "flows-degrees"):
            read(rows.rename_columns(["id", "t", "x", "y"]), place=("x", "y"), outside=outside)
    assert pairs_of(read(rows, where={"id": "b"})).total() == 0


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"place": None}, "flows-stays-incomplete"),
        ({"trips": None}, "flows-trips-missing"),
        ({"time": None}, "flows-stays-incomplete"),
        ({"person": None}, "flows-stays-incomplete"),
        ({"place": "lat"}, "flows-pings-without-coordinates"),
        ({"grid": geodp.Grid.regular((2, 2))}, "flows-pings-without-coordinates"),
        ({"grid": MESH.pairs()}, "flows-need-map"),
        ({"place": ("lat", "lat")}, "flows-columns-same"),
        ({"person": "t"}, "flows-columns-same"),
        ({"accuracy": "lat"}, "flows-columns-same"),
        ({"time_zone": "Asia/Tokyo"}, "flows-time-zone-unused"),
        ({"largest_accuracy": 9}, "flows-accuracy-missing"),
        ({"radius": 0}, "flows-amount-form"),
        ({"gap": "soon"}, "flows-duration-form"),
        ({"unit": "person-hour"}, "flows-unit-unknown"),
        ({"trips": 0}, "flows-bound-form"),
        ({"crs": "EPSG:0"}, "crs-unknown"),
    ],
)
def test_what_does_not_go_together_is_refused(given, code):
    with refuses(UsageError, code):
        read(clock(*hourly("a", "2024-05-01", 8)), **given)


def test_rows_that_are_left_out_by_their_accuracy_are_checked_no_further():
    rows = clock(*hourly("a", "2024-05-01", 8, 9)).append_column("r", pa.array([900.0, 1, 1, 1]))
    rows = rows.set_column(1, "t", pa.array(["x", *rows["t"].to_pylist()[1:]]))
    facts = " ".join(read(rows, accuracy="r").reading.public_facts)
    assert "every row that was read and is accurate enough has its place" in facts
    assert "no place that was read and is accurate enough has a latitude" in facts
    assert "a number of metres in every row that was read, and never negative" in facts


def sparse(persons=40, days=5):
    """Persons who record nine times a day, three times at each of three places."""
    draw = np.random.default_rng(0)
    at = draw.uniform((35.005, 139.005), (35.078, 139.12), (persons, 1, 3, 1, 2))
    at = at + draw.normal(0, 2e-4, (persons, days, 3, 3, 2))
    order = np.arange(persons * days * 9) % (days * 9)
    time = 1_714_521_600 + 9600 * order + draw.integers(0, 9600, order.size)
    names = [f"p{n}" for n in range(persons) for _ in range(days * 9)]
    lat, lon = at.reshape(-1, 2).T
    t = pa.array(time).cast(pa.timestamp("s"))
    return pa.table({"id": names, "t": t, "lat": lat, "lon": lon})


def test_what_is_lost_is_told_to_the_operator_alone():
    rows = sparse()
    short, long = read(rows, gap="2h").reading, read(rows, gap="12h", trips=10).reading
    lost = ("in_one_second", "too_fast", "in_stays", "lost_to_gap", "lost_to_radius_or_dwell")
    for reading in (short, long):
        made = reading.tallied
        assert made["pings"] == made["pings_accurate"] == rows.num_rows == 40 * 5 * 9
        assert rows.num_rows == sum(made[f"pings_{name}"] for name in lost)
        assert made["moves"] == made["trips"] + made["moves_lost_to_gap"] + made["moves_too_fast"]
        kept = made["trips_outside"] + made["trips_lost_to_bound"] + made["trips_kept"]
        assert made["trips"] == kept
        assert reading.describe()["made"] == made
    # Neither on the card nor in a repr, which may be printed.
    assert str(short.tallied["pings_lost_to_gap"]) not in f"{short!r} {short.public_facts}"
    # Each of 40 persons moves 14 times.
    assert short.tallied["trips"] == 0
    assert short.tallied["pings_lost_to_gap"] > 900
    assert len(short.warnings) == 2
    assert "Most pings are in no stay" in short.warnings[0]
    assert (long.tallied["trips"], long.tallied["trips_kept"], long.warnings) == (560, 400, ())


def test_pings_are_lost_to_each_rule():
    fast = [("a", f"2024-05-01T08:{minute}", place) for minute, place in (("01", 1), ("02", 0))]
    rows = clock(
        *(("a", "2024-05-01T08:00", 0), *fast),  # a stay, and a ping too far away for a minute
        *(("a", "2024-05-01T08:10", 0), ("a", "2024-05-01T08:10", 0)),  # a copy
        ("a", "2024-05-01T12:00", 1),  # beside a gap
        *(("a", "2024-05-01T12:30", 0), ("a", "2024-05-01T12:50", 0)),
        *(("a", "2024-05-01T13:30", 1), ("a", "2024-05-01T14:30", 1)),
        *(("a", "2024-05-01T16:00", 0), ("a", "2024-05-01T16:05", 0)),  # too short
    ).append_column("r", pa.array([10.0] * 12))
    rows = pa.concat_tables([rows, rows.slice(0, 1).set_column(4, "r", pa.array([900.0]))])
    made = read(rows, accuracy="r", gap="2h", speed=200).reading.tallied
    assert made == {
        **{"pings": 13, "pings_accurate": 12, "pings_in_one_second": 1, "pings_too_fast": 1},
        **{"pings_in_stays": 7, "pings_lost_to_gap": 1, "pings_lost_to_radius_or_dwell": 2},
        **{"stays": 3, "moves": 2, "moves_lost_to_gap": 1, "moves_too_fast": 0},
        **{"trips": 1, "trips_outside": 0, "trips_lost_to_bound": 0, "trips_kept": 1},
    }


def test_a_move_over_a_fast_step_is_no_trip():
    rows = clock(*hourly("a", "2024-05-01", 8), *hourly("a", "2024-05-01", 9, 10)[2:])
    seen = [rows, clock(("a", "2024-05-01T10:10:01", 3), ("a", "2024-05-01T10:20:01", 3))]
    made = read(pa.concat_tables(seen), outside="drop").reading.tallied
    assert (made["moves"], made["moves_too_fast"], made["moves_lost_to_gap"]) == (2, 1, 0)
    assert (made["trips"], made["trips_outside"]) == (1, 0)


def test_rows_are_sorted_by_wide_columns_too():
    draw = np.random.default_rng(3)
    narrow = draw.integers(0, 9, 500), draw.integers(0, 10**9, 500)
    wide = draw.integers(-(2**62), 2**62, 500)
    for columns in (narrow, (narrow[0], wide), (wide, *narrow)):
        assert np.array_equal(traces.sort_rows(*columns), np.lexsort(columns[::-1]))
