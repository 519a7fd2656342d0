"""Labels of trips of pings and stays: hours of the departure, and others of one record each."""

from collections import Counter, defaultdict
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from geodp import InputError, UsageError
from geodp.grid.axes import Attribute
from geodp.kinds.flows.zones import pairs_of, place_in_space
from tests.kinds.flows.reading import test_pings, test_stays
from tests.kinds.flows.reading.test_labels import labels_of
from tests.kinds.flows.reading.test_own_records import LABELS, labelled
from tests.kinds.flows.slow_stays import departures_of_records, trips_of_stays
from tests.refusals import refuses

EPOCH = datetime(1970, 1, 1)
MODES, GOALS = LABELS.values()
BY = {"by": ("mode", "goal"), "labels": LABELS}
MODE = {"by": "mode", "labels": {"mode": MODES}}
HOURS = {"by": ("hour", "mode", "daytype"), "labels": {"mode": MODES}}
TIMES = {"by": ("hour", "daytype")}
PLACES = (
    ("a", "2024-05-04T07:40", 0),
    ("a", "2024-05-04T07:50", 0),
    ("a", "2024-05-04T08:05", 0),
    # Too short for a stay.
    ("a", "2024-05-04T08:50", 0.5),
    ("a", "2024-05-04T09:10", 1),
    ("a", "2024-05-04T09:30", 1),
)


def with_modes(rows, *modes, name="mode"):
    return rows.append_column(name, pa.array(modes, pa.string()))


def read_stays(rows, *modes, **given):
    table = test_stays.stays(*rows)
    table = with_modes(table, *modes) if modes else table
    return labels_of(test_stays.read(table, **{**(MODE if modes else TIMES), **given}))


def read_pings(rows, *modes, **given):
    table = test_pings.clock(*rows)
    table = with_modes(table, *modes) if modes else table
    return labels_of(test_pings.read(table, **{**(MODE if modes else TIMES), **given}))


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        # 1 May 2024 is a Wednesday.
        (test_stays.DAY, {"end": "u"}, ["17 weekday", "8 weekday", "8 weekday"]),
        # Without an end stays have no duration.
        (test_stays.DAY, {}, ["0 weekday", "18 weekday", "9 weekday"]),
        # Stays that meet end with the last of them.
        (
            (
                ("a", "04T00", "04T08", 0, 0),
                ("a", "04T05", "04T06", 0, 0),
                ("a", "04T08", "04T11", 0, 0),
                ("a", "04T14", "04T15", 1, 1),
            ),
            {"end": "u"},
            ["11 weekend"],
        ),
        # Nobody departs after having arrived.
        (
            (("a", "01T00", "01T22", 0, 0), ("a", "01T05", "01T06", 1, 1)),
            {"end": "u"},
            ["5 weekday"],
        ),
        # Of a person in a day the departure is in the day.
        (
            (("a", "01T20", "02T08", 0, 0), ("a", "02T09", "02T10", 1, 1)),
            {"unit": "person-day", "end": "u"},
            ["8 weekday"],
        ),
        # A stay that goes on into the next day, while another one begins.
        (
            (("a", "01T20", "02T08", 0, 0), ("a", "01T23", "01T23", 1, 1)),
            {"unit": "person-day", "end": "u"},
            ["23 weekday"],
        ),
    ],
)
def test_a_trip_has_the_hour_in_which_the_stay_at_its_origin_ends(rows, given, expected):
    assert [" ".join(one) for one in read_stays(rows, **given)] == expected


def test_a_trip_of_pings_has_the_labels_of_the_last_ping_of_its_origin():
    modes = (None, "", "train", "car", "walk", None)
    assert read_pings(PLACES) == [["8", "weekend"]]
    assert read_pings(PLACES, *modes) == [["train"]]
    assert read_pings(PLACES, *modes, **HOURS) == [["8", "train", "weekend"]]


def test_a_stay_of_several_rows_has_the_label_of_the_one_with_which_it_begins():
    rows = (
        ("a", "01T00", "01T08", 0, 0),
        ("a", "01T12", "01T14", 1, 1),
        ("a", "01T09", "01T13", 1, 1),
        ("a", "01T09", "01T10", 1, 1),
    )
    # Of the two that begin first that which ends first; later rows of the stay need no label.
    assert read_stays(rows, "car", None, "?", "walk", end="u") == [["walk"]]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_copies_that_differ_in_labels_have_the_first_one_of_the_list(order):
    again = ("a", "01T09", "01T17", 1, 1)
    rows = test_stays.stays(("a", "01T00", "01T08", 0, 0), again, again, again)
    rows = with_modes(rows, None, "train", "car", "zeppelin").take(order)
    assert labels_of(test_stays.read(rows, end="u", **MODE)) == [["car"]]
    clock = ("08:00", "08:10", "08:10", "08:10", "09:00", "09:10")
    rows = [("a", f"2024-05-01T{one}", int(one > "08:30")) for one in clock]
    table = with_modes(test_pings.clock(*rows), None, "train", "car", "train", None, None)
    table = table.take([*order, 4, 5] if order[0] else [*order[::-1], 5, 4])
    assert labels_of(test_pings.read(table, **MODE)) == [["car"]]


@pytest.mark.parametrize("seed", range(4))
def test_trips_and_labels_of_stays_are_those_of_the_twin(seed):
    rows = labelled(test_stays.made(seed, 600), seed)
    own, wanted = defaultdict(list), Counter()
    for name, begin, end, y, x, mode, goal in zip(*rows.to_pydict().values(), strict=True):
        labels = MODES.index(mode), GOALS.index(goal)
        own[name].append((begin.timestamp(), end.timestamp(), (y, x), *labels))
    for stays in own.values():
        for start, end, *labels in trips_of_stays(stays, 10**9):
            wanted[(*start, *end, *labels)] += 1
    assert test_stays.trips_of(test_stays.read(rows, end="u", **BY)) == wanted
    assert len({key[4:] for key in wanted}) == 6


@pytest.mark.parametrize("seed", range(6))
def test_trips_hours_and_labels_of_pings_are_those_of_the_twin(seed):
    rows, wanted = labelled(test_pings.made(seed), seed), Counter()
    grid, hours = test_pings.MESH, tuple(map(str, range(24)))
    pairs = pairs_of(grid, [Attribute("hour", hours), *(Attribute(*one) for one in LABELS.items())])
    lat, lon = rows["lat"].to_numpy(), rows["lon"].to_numpy()
    zone = grid.encode(np.stack(grid.places[0].locate(lon, lat)))
    position, records = [*zip(*place_in_space(lon, lat), strict=True)], defaultdict(list)
    for at, (name, time, *_, mode, goal) in enumerate(zip(*rows.to_pydict().values(), strict=True)):
        second, labels = int((time - EPOCH).total_seconds()), (MODES.index(mode), GOALS.index(goal))
        records[name].append((second, position[at], int(zone[at]), *labels))
    for own in records.values():
        for start, end, left, *labels in departures_of_records(own, 20_000, 27_778, 600, 7200):
            ends = [grid.decode(np.array([one], np.uint64))[:, 0] for one in (start, end)]
            index = np.concatenate([*ends, [left // 3600 % 24, *labels]])
            wanted[int(pairs.encode(index[:, None])[0])] += 1
    found = test_pings.read(rows, by=("hour", "mode", "goal"), labels=LABELS)
    assert found.grid == pairs
    assert test_pings.pairs_of(found) == wanted
    assert wanted.total() > 20


@pytest.mark.parametrize("wrong", [None, "", "zeppelin"])
def test_a_trip_without_a_label_is_refused_with_its_row(wrong, tmp_path):
    rows = with_modes(test_stays.stays(*test_stays.DAY), None, "walk", wrong, "car")
    with refuses(InputError, "flows-record-label: Column mode: ") as refused:
        test_stays.read(rows, end="u", **MODE)
    assert refused.value.row == 3
    assert "zeppelin" not in str(refused.value)
    # In the second of two files, of which rows are selected; a row of a file counts its header.
    first = with_modes(test_stays.stays(("b", "01T00", "01T08", 0, 0)), None)
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, table in zip(paths, (first, rows), strict=True):
        table.to_pandas().to_csv(path, index=False)
    with refuses(InputError, "flows-record-label") as refused:
        test_stays.read(paths, end="u", where={"x": "0"}, **MODE)
    assert str(refused.value.file).endswith("two.csv")
    assert refused.value.row == 4
    # The first of several rows is named, whatever their order.
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        rows = with_modes(test_stays.stays(*test_stays.DAY), None, None, "", "car").take(order)
        with refuses(InputError, "flows-record-label") as refused:
            test_stays.read(rows, end="u", **MODE)
        assert refused.value.row == 2


def test_records_that_give_no_trip_are_not_asked():
    rows = (*test_stays.DAY[:2], ("a", "01T18", "01T19", 9, 9), ("a", "01T20", "01T21", 0, 0))
    # From and to a place outside there are no trips.
    assert read_stays(rows, None, "car", None, None, end="u", outside="drop") == [["car"]]
    # No trip leads to the one after a long time.
    assert read_stays(test_stays.DAY, *([None] * 4), end="u", gap=60) == []
    pings = test_pings.hourly("a", "2024-05-01", 8, 9)
    assert read_pings(pings, None, "walk", None, None) == [["walk"]]
    with refuses(InputError, "flows-record-label") as refused:
        read_pings(pings, "walk", None, "walk", "walk")
    assert refused.value.row == 2


def test_columns_of_hours_and_numbers_are_labels_of_records():
    rows = with_modes(test_stays.stays(*test_stays.DAY), "x", "07:00", "8", "9", name="h")
    found = labels_of(test_stays.read(rows, by={"hour": "h", "daytype": ""}, end="u"))
    assert found == [["7", "weekday"], ["8", "weekday"], ["9", "weekday"]]
    months = with_modes(test_stays.stays(*test_stays.DAY), None, "5", "05", "6", name="month")
    assert labels_of(test_stays.read(months, by="month")) == [["5"], ["5"], ["6"]]
    numbers = test_stays.stays(*test_stays.DAY).append_column("group", pa.array([0, 1, 2, 1]))
    given = {"by": "group", "labels": {"group": ("1", "2")}}
    assert labels_of(test_stays.read(numbers, **given)) == [["1"], ["1"], ["2"]]


def test_the_card_says_which_records_and_times_labels_are_of():
    origin, stays = "the stay at the origin of the trip", test_stays.stays(*test_stays.DAY)
    rows, pings = labelled(stays), labelled(test_pings.made(1))
    for table, said in (
        (test_pings.read(pings, **TIMES), f"day types are those of the last ping of {origin}"),
        (test_pings.read(pings, **TIMES), "no public holidays"),
        (test_stays.read(rows, by="hour", end="u"), f"that hours are those of the end of {origin}"),
        (test_stays.read(rows, by="hour"), f"hours are those of {origin}, which has no duration"),
        (test_pings.read(pings, **BY), "labels of mode and goal are those of the last ping of"),
        (test_pings.read(pings, **BY), "every trip that was made has all of its labels, from a"),
        (test_stays.read(rows, end="u", **MODE), "the row with which the stay at the destination"),
    ):
        assert said in " ".join(table.reading.public_facts)
    assert "labels" not in " ".join(test_stays.read(rows).reading.public_facts)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"by": "mode", "labels": {}}, "flows-labels-missing"),
        ({"by": (), "labels": {"mode": MODES}}, "flows-labels-unused"),
        ({"by": {"mode": "id"}}, "flows-columns-same"),
        ({"by": {"mode": "t"}}, "flows-columns-same"),
        ({"per_pair": 1}, "flows-per-pair-with-labels"),
        ({"by": ("mode", "mode")}, "flows-by-twice"),
        ({"by": "origin", "labels": {"origin": MODES}}, "flows-attribute-taken"),
        ({"by": "hour", "labels": {}, "per_pair": 1}, "flows-per-pair-with-labels"),
        ({"by": "hour", "labels": {}, "time_zone": "Mars/Olympus"}, "flows-time-zone-unknown"),
    ],
)
def test_labels_that_do_not_go_together_are_refused(given, code):
    with refuses(UsageError, code):
        test_pings.read(labelled(test_pings.made(1)), **{**MODE, **given})
    with refuses(UsageError, code):
        test_stays.read(labelled(test_stays.stays(*test_stays.DAY)), **{**MODE, **given})


def test_a_column_that_is_missing_or_holds_no_labels_is_refused():
    rows = test_stays.stays(*test_stays.DAY)
    with refuses(InputError, "column-unknown"):
        test_stays.read(rows, **MODE)
    dates = rows.append_column("mode", rows["t"].cast(pa.timestamp("s")))
    with refuses(InputError, "column-kind"):
        test_stays.read(dates, **MODE)


def test_times_without_an_hour_are_refused():
    dates = [("a", f"2024-05-0{day}", 0) for day in (1, 2)]
    with refuses(InputError, "flows-hour-needs-clock") as refused:
        read_pings(dates)
    assert refused.value.row == 1
    assert read_pings(dates, by="daytype") == []
    midnight = pa.array(np.array(["2024-05-01", "2024-05-02"], "datetime64[s]"))
    rows = {"id": ["a"] * 2, "t": midnight, "y": [0, 1], "x": [0, 0]}
    with refuses(InputError, "flows-hour-midnight"):
        test_stays.read(pa.table(rows), by="hour")
    # The end alone may be a date.
    clock = pa.array(np.array(["2024-05-01T07", "2024-05-02T07"], "datetime64[s]"))
    ends = {**rows, "t": clock, "u": pa.array(["2024-05-02", "2024-05-03"])}
    with refuses(InputError, "flows-hour-needs-clock"):
        test_stays.read(pa.table(ends), by="hour", end="u")
