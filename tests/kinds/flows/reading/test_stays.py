"""Stays as trips: places in every form, periods, copies, and what is refused."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp import InputError, UsageError
from geodp.io.read.rows.persons import Persons
from geodp.kinds.flows.reading import stays as module
from geodp.privacy.key import NoiseKey
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))
GRID = geodp.Grid.regular((2, 2))
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
WHERE = {"place": ("y", "x"), "time": "t", "person": "id"}


def read(rows, grid=GRID, **given):
    return geodp.flows.read_stays(rows, grid=grid, **{**WHERE, "trips": 10**4, "key": KEY, **given})


def trips_of(table):
    """Return trips as (row, column) of both ends, with how often they are made."""
    index = table.grid.decode(table.key).T.tolist()
    return Counter(dict(zip(map(tuple, index), table.count.tolist(), strict=True)))


def stays(*rows):
    """Stays (id, begin, end, y, x); times are of May 2024, such as "01T08"."""
    names = ("id", "t", "u", "y", "x")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    for one in ("t", "u"):
        columns[one] = [None if time is None else f"2024-05-{time}:00" for time in columns[one]]
    return pa.table(columns)


DAY = (
    ("a", "01T00", "01T08", 0, 0),
    ("a", "01T09", "01T17", 1, 1),
    ("a", "01T18", "02T08", 0, 0),
    ("a", "02T09", "02T10", 1, 0),
)


OF_DAY = {(0, 0, 1, 1): 1, (1, 1, 0, 0): 1, (0, 0, 1, 0): 1}
MEETING = (("a", "01T04", "01T08", 0, 0), ("a", "01T08", "01T08", 0, 0), DAY[1])
LATE = (("a", "01T20", "01T23", 0, 0), ("a", "02T01", "02T03", 1, 1))
THREE_DAYS = (("a", "01T20", "03T08", 0, 0), ("a", "03T09", "03T10", 1, 1))
OVER = (("a", "01T00", "01T10", 0, 0), ("a", "01T05", "01T06", 1, 1))
LONG = (("a", "01T08", "10T20", 0, 0), ("a", "03T09", "08T10", 1, 1))
TWICE = tuple(("a", f"0{day}T00", "", *at) for day in (1, 2) for at in ((0, 0), (1, 1)))
END, DAILY = {"end": "u"}, {"end": "u", "unit": "person-day"}


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        # Copies and stays that meet are one.
        ((*DAY, *MEETING), END, OF_DAY),
        ((*DAY, ("a", "02T11", "02T12", 1, 0)), END, {**OF_DAY, (1, 0, 1, 0): 1}),
        # Stays that overlap are in the order of their begin, also on days on which none begins.
        (OVER, END, {(0, 0, 1, 1): 1}),
        (LONG, END, {(0, 0, 1, 1): 1}),
        (LONG, DAILY, {(0, 0, 1, 1): 1}),
        (LONG[::-1], DAILY, {(0, 0, 1, 1): 1}),
        # Which was first of a day is not known; from the last one of the first day one leads on.
        (TWICE, {}, {(1, 1, 0, 0): 1}),
        # No trip extends over a gap.
        (DAY, {**END, "gap": "1h"}, OF_DAY),
        (DAY, {**END, "gap": 3599}, {}),
        # A stay over midnight is in each day; without an end it is where it begins.
        (DAY, DAILY, OF_DAY),
        (DAY, {"unit": "person-day"}, {(0, 0, 1, 1): 1, (1, 1, 0, 0): 1}),
        # A trip over midnight is of no day.
        (LATE, END, {(0, 0, 1, 1): 1}),
        (LATE, DAILY, {}),
        # Three days at one place, in the last of which somebody leaves.
        (THREE_DAYS, {**DAILY, "trips": 1}, {(0, 0, 1, 1): 1}),
    ],
)
def test_trips_lead_from_stay_to_stay(rows, given, expected):
    assert trips_of(read(stays(*rows), **given)) == expected


def test_what_stays_lose_is_told_to_the_operator_alone():
    rows = stays(*DAY, ("a", "02T09", "02T11", 0, 1), ("b", "01T00", "01T08", 0, 0))
    long, short = (read(rows, end="u", gap=gap, trips=2).reading for gap in (None, 3599))
    assert long.tallied == {
        **{"rows": 6, "stays": 6, "moves": 4, "moves_at_one_time": 1, "moves_lost_to_gap": 0},
        **{"trips": 3, "trips_outside": 0, "trips_lost_to_bound": 1, "trips_kept": 2},
    }
    assert long.warnings == ()
    assert short.tallied["moves_lost_to_gap"] == 3
    assert short.tallied["trips"] == 0
    assert [one[:10] for one in short.warnings] == ["Most moves"]
    daily = read(rows, end="u", unit="person-day").reading.tallied
    assert daily["rows"] == 6
    assert daily["stays"] == 7


def made(seed, rows=300):
    draw = np.random.default_rng(seed)
    begin = draw.integers(1_714_500_000, 1_714_900_000, rows)
    end = begin + draw.choice([0, 3600, 90_000, 200_000], rows, p=[0.2, 0.6, 0.15, 0.05])
    when = {"t": begin, "u": end}
    times = {name: pa.array(one).cast(pa.timestamp("s")) for name, one in when.items()}
    names = [f"p{n}" for n in draw.integers(0, 15, rows)]
    return pa.table({"id": names, **times, "y": draw.integers(0, 2, rows), "x": [0] * rows})


def restrict(rows, day):
    """Return what a table says of one day, with the stays that reach beyond it cut off."""
    begins, ends = (rows[name].cast(pa.int64()).to_numpy() for name in "tu")
    first, last = 86_400 * day, 86_400 * (day + 1) - 1
    inside = (begins <= last) & (ends >= first)
    rows = rows.filter(pa.array(inside))
    for name, times in (("t", np.maximum(begins, first)), ("u", np.minimum(ends, last))):
        cut_off = pa.array(times[inside]).cast(pa.timestamp("s"))
        rows = rows.set_column(rows.column_names.index(name), name, cut_off)
    return rows


def test_the_card_says_what_is_refused_of_stays():
    reversed_, long = "no stay that was read ends before it begins", "more than 366 of the periods"
    for given, said in (({}, set()), (END, {reversed_}), (DAILY, {reversed_, long})):
        facts = " ".join(read(stays(*DAY), **given).reading.public_facts)
        assert {one for one in (reversed_, long) if one in facts} == said
        assert "the times of all rows say how they differ from UTC, or none does" in facts
        assert "the rows of each person fit into memory" in facts
    assert "more than 2 h after it" in read(stays(*DAY), **END, gap="2h").reading.public_facts[2]


def test_rows_of_one_person_that_do_not_fit_are_refused():
    rows = 20_000
    times = pa.array(np.arange(rows) * 600).cast(pa.timestamp("s"))
    one = pa.table({"id": ["a"] * rows, "t": times, "y": [0] * rows, "x": [0] * rows})
    with refuses(InputError, "flows-person-too-large"):
        read(one, memory="1MiB")


def test_periods_of_long_stays_are_made_in_slices(monkeypatch):
    rows, wanted = made(6), read(made(6), end="u", unit="person-day")
    monkeypatch.setattr(module, "MOST_PARTS", 7)
    sizes = []
    add = Persons.add
    monkeypatch.setattr(Persons, "add", lambda *a: (sizes.append(a[2].size), add(*a)))
    assert trips_of(read(rows, end="u", unit="person-day")) == trips_of(wanted)
    assert max(sizes) <= 7
    assert sum(sizes) > rows.num_rows


@pytest.mark.parametrize("number", [[], [3], [1, 2, 3, 3, 1], [3, 3, 3], [1] * 7])
def test_slices_are_whole_and_no_larger_than_allowed(number):
    cuts = [*module.cut(np.array(number, np.int64), 3)]
    assert [one for start, stop in cuts for one in number[start:stop]] == number
    assert all(0 < sum(number[start:stop]) <= 3 for start, stop in cuts)


def test_places_are_codes_coordinates_or_cells():
    y, x = np.array([35.01, 35.05, 35.01]), np.array([139.01, 139.11, 139.01])
    codes = MESH.places[0].format(*MESH.places[0].locate(x, y))
    rows = stays(*DAY[:3]).drop_columns(["y", "x"])
    for name, column in (("code", codes), ("lat", y), ("lon", x)):
        rows = rows.append_column(name, pa.array(column))
    by_code = trips_of(read(rows, MESH, place="code"))
    assert by_code.total() == 2
    for more in ({}, {"crs": "EPSG:6668"}):
        table = read(rows, MESH, place=("lon", "lat"), **more)
        assert trips_of(table) == by_code
        said = table.reading.public.list_sentences()
        assert said[1].startswith("Places: y in column lat, x in column lon")
    with refuses(InputError, "point-not-longitude-latitude"):
        read(rows.rename_columns({"lat": "x", "lon": "y"}), MESH, place=("x", "y"))
    unknown = rows.set_column(3, "code", pa.array(["53390000"] * 3))
    with refuses(InputError, "cell-outside-domain"):
        read(unknown, MESH, place="code")
    assert trips_of(read(unknown, MESH, place="code", outside="drop")).total() == 0


def test_trips_from_or_to_places_outside_are_left_out():
    rows = stays(*DAY[:2], ("a", "01T18", "01T19", 9, 9), ("a", "01T20", "01T21", 0, 0), DAY[3])
    with refuses(InputError, "cell-outside-domain") as refused:
        read(rows, end="u")
    assert refused.value.row == 3
    left = trips_of(read(rows, end="u", outside="drop"))
    # Nor does one lead from the stay before to the stay after.
    assert left == {(0, 0, 1, 1): 1, (0, 0, 1, 0): 1}


@pytest.mark.parametrize(
    ("column", "values", "code"),
    [
        ("id", ["a", None], "person-missing"),
        ("t", ["2024-05-01T00:00", None], "flows-time-form"),
        ("u", ["2024-05-01T08:00", None], "flows-time-form"),
        ("u", ["2024-05-01T08:00", "2024-05-01T08:00"], "flows-stay-reversed"),
        ("u", ["2024-05-01T08:00", "2026-05-01T08:00"], "flows-stay-too-long"),
        ("y", [0, None], "coordinate-missing"),
    ],
)
def test_a_bad_row_is_refused_by_its_number(column, values, code):
    rows = stays(*DAY[:2])
    rows = rows.set_column(rows.column_names.index(column), column, pa.array(values))
    with refuses(InputError, code) as refused:
        read(rows, end="u", unit="person-day")
    assert refused.value.row == 2


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"place": None}, "flows-stays-incomplete"),
        ({"trips": None}, "flows-trips-missing"),
        ({"place": ("y", "y")}, "flows-columns-same"),
        ({"end": "t"}, "flows-columns-same"),
        ({"crs": "EPSG:4326"}, "flows-crs-unused"),
        ({"gap": "soon"}, "flows-duration-form"),
        ({"time_zone": "Asia/Tokyo"}, "flows-time-zone-unused"),
        ({"grid": GRID.with_attribute("sex", ["f", "m"])}, "flows-need-map"),
    ],
)
def test_what_does_not_go_together_is_refused(given, code):
    with refuses(UsageError, code):
        read(stays(*DAY), **{"end": "u", **given})
