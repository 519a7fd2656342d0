"""Labels of trips that are made of pings and stays: each from one record of the person alone."""

from collections import Counter, defaultdict

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
from tests.kinds.flows.slow_stays import departures_of_records, trips_of_stays
from tests.kinds.flows.units import make_units, middles
from tests.refusals import refuses

MODES, GOALS = ("walk", "car", "train"), ("work", "home")
BY = {"by": ("mode", "goal"), "labels": {"mode": MODES, "goal": GOALS}}
MODE = {"by": "mode", "labels": {"mode": MODES}}
HOURS = {"by": ("hour", "mode", "daytype"), "labels": {"mode": MODES}}


def with_modes(rows, *modes, name="mode"):
    return rows.append_column(name, pa.array(modes, pa.string()))


def read_stays(rows, *modes, **given):
    table = with_modes(test_stays.stays(*rows), *modes)
    return labels_of(test_stays.read(table, **{**MODE, **given}))


def read_pings(rows, *modes, **given):
    table = with_modes(test_pings.clock(*rows), *modes)
    return labels_of(test_pings.read(table, **{**MODE, **given}))


def labelled(rows, seed=0):
    """Rows with labels of both attributes, with missing ones where no trip may have them."""
    draw = np.random.default_rng(seed)
    for name, labels in (("mode", MODES), ("goal", GOALS)):
        rows = rows.append_column(name, pa.array(draw.choice(labels, rows.num_rows).tolist()))
    return rows


def test_a_trip_has_the_label_of_the_stay_at_which_it_arrives():
    found = read_stays(test_stays.DAY, None, "walk", "car", "walk", end="u")
    assert found == [["car"], ["walk"], ["walk"]]
    # The hours are those of the departure all the same, and the order of attributes is kept.
    found = read_stays(test_stays.DAY, None, "walk", "car", "train", end="u", **HOURS)
    assert found == [
        ["17", "car", "weekday"],
        ["8", "train", "weekday"],
        ["8", "walk", "weekday"],
    ]


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


def test_a_trip_of_pings_has_the_label_of_the_ping_from_which_it_has_its_hour():
    rows = (
        ("a", "2024-05-04T07:40", 0),
        ("a", "2024-05-04T07:50", 0),
        ("a", "2024-05-04T08:05", 0),
        # Too short for a stay.
        ("a", "2024-05-04T08:50", 0.5),
        ("a", "2024-05-04T09:10", 1),
        ("a", "2024-05-04T09:30", 1),
    )
    modes = (None, "", "train", "car", "walk", None)
    assert read_pings(rows, *modes) == [["train"]]
    assert read_pings(rows, *modes, **HOURS) == [["8", "train", "weekend"]]


def test_pings_that_are_left_out_by_their_accuracy_give_no_labels():
    rows = test_pings.clock(*test_pings.hourly("a", "2024-05-01", 8, 9))
    extra = test_pings.clock(("a", "2024-05-01T08:20", 0))
    rows = with_modes(pa.concat_tables([rows, extra]), None, "walk", None, None, "car")
    rows = rows.append_column("r", pa.array([1.0, 1, 1, 1, 900]))
    assert labels_of(test_pings.read(rows, **MODE)) == [["car"]]
    assert labels_of(test_pings.read(rows, accuracy="r", **MODE)) == [["walk"]]


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_stays_are_those_of_the_twin(seed):
    rows = labelled(test_stays.made(seed, 600), seed)
    grid = pairs_of(test_stays.GRID, [Attribute("mode", MODES), Attribute("goal", GOALS)])
    own, wanted = defaultdict(list), Counter()
    for name, begin, end, y, x, mode, goal in zip(*rows.to_pydict().values(), strict=True):
        labels = MODES.index(mode), GOALS.index(goal)
        own[name].append((begin.timestamp(), end.timestamp(), (y, x), *labels))
    for stays in own.values():
        for start, end, *labels in trips_of_stays(stays, 10**9):
            wanted[(*start, *end, *labels)] += 1
    found = test_stays.read(rows, end="u", **BY)
    assert found.grid == grid
    assert test_stays.trips_of(found) == wanted
    assert len({key[4:] for key in wanted}) == 6


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_pings_are_those_of_the_twin(seed):
    rows, wanted = labelled(test_pings.made(seed), seed), Counter()
    grid = test_pings.MESH
    pairs = pairs_of(grid, [Attribute("mode", MODES), Attribute("goal", GOALS)])
    lat, lon = rows["lat"].to_numpy(), rows["lon"].to_numpy()
    zone = grid.encode(np.stack(grid.places[0].locate(lon, lat)))
    position = [*zip(*place_in_space(lon, lat), strict=True)]
    time, names = rows["t"].cast(pa.int64()).to_pylist(), rows["id"].to_pylist()
    labels = [
        (MODES.index(mode), GOALS.index(goal))
        for mode, goal in zip(rows["mode"].to_pylist(), rows["goal"].to_pylist(), strict=True)
    ]
    for name in set(names):
        own = [i for i, one in enumerate(names) if one == name]
        records = [(time[i], position[i], int(zone[i]), *labels[i]) for i in own]
        for one in departures_of_records(records, 20_000, 27_778, 600, 7200):
            ends = [grid.decode(np.array([at], np.uint64)) for at in one[:2]]
            index = np.concatenate([*ends, np.array(one[3:])[:, None]])
            wanted[int(pairs.encode(index)[0])] += 1
    found = test_pings.read(rows, **BY)
    assert found.grid == pairs
    assert test_pings.pairs_of(found) == wanted
    assert wanted.total() > 20


def cases():
    return (
        (test_pings, labelled(test_pings.made(8)), {}),
        (test_stays, labelled(test_stays.made(5, 2000)), {"end": "u"}),
    )


@pytest.mark.parametrize("unit", ["person", "person-day"])
def test_labels_of_a_person_depend_on_its_own_records_alone(unit, tmp_path):
    """What is kept of all is what is kept of each alone, with labels, in any order of rows."""
    given = {"trips": 2, "unit": unit, "by": ("mode", "hour", "goal"), "labels": BY["labels"]}
    for module, rows, more in cases():
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
        assert alone.total() > 15


def test_labels_of_other_days_do_not_matter():
    """What is kept of all days of a person is what is kept of what is said of each."""
    rows, alone = labelled(test_stays.made(3)), Counter()
    given = {"end": "u", "unit": "person-day", **BY}
    for day in range(1_714_500_000 // 86_400, 1_715_200_000 // 86_400):
        alone += test_stays.trips_of(test_stays.read(test_stays.restrict(rows, day), **given))
    assert test_stays.trips_of(test_stays.read(rows, **given)) == alone
    assert alone.total() > 50


def test_labels_of_other_persons_change_no_trip_of_a_person():
    """The choice of trips and their labels are the same, whatever labels others have."""
    for module, rows, more in cases():
        count = module.pairs_of if module is test_pings else module.trips_of
        (most,) = Counter(rows["id"].to_pylist()).most_common(1)
        first = pa.compute.equal(rows["id"], most[0]).to_numpy()
        draw = np.random.default_rng(4)
        own = np.where(first, rows["mode"].to_numpy(), draw.choice(MODES, rows.num_rows))
        changed = rows.set_column(rows.column_names.index("mode"), "mode", pa.array(own.tolist()))
        found = []
        for table in (rows, changed):
            others = table.filter(pa.array(~first))
            whole, rest = (module.read(one, trips=3, **BY, **more) for one in (table, others))
            apart = count(whole)
            apart.subtract(count(rest))
            found.append(+apart)
        assert found[0] == found[1]
        assert found[0].total() > 1


def test_whole_flows_are_those_without_labels():
    for module, rows, more in cases():
        plain, table = module.read(rows, **more), module.read(rows, **BY, **more)
        index = table.grid.decode(table.key)[:4]
        whole = geodp.CountTable.from_index(plain.grid, index, table.count)
        assert np.array_equal(whole.key, plain.key)
        assert np.array_equal(whole.count, plain.count)


def test_the_readers_release_what_they_read():
    (_, rows, more) = cases()[1]
    release = geodp.flows.publish(test_stays.read(rows, trips=5, **BY, **more), epsilon=50)
    frame = release.to_pandas()
    assert {*frame["mode"]} == {*MODES}
    assert {*frame["goal"]} == {*GOALS}
    assert frame["count"].sum() == release.origins.table.count.sum()


@pytest.mark.parametrize("wrong", [None, "", "zeppelin"])
def test_a_trip_without_a_label_is_refused_with_its_row(wrong, tmp_path):
    rows = with_modes(test_stays.stays(*test_stays.DAY), None, "walk", wrong, "car")
    with refuses(InputError, "flows-record-label") as refused:
        test_stays.read(rows, end="u", **MODE)
    assert refused.value.row == 3
    assert "Column mode: " in str(refused.value)
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


def test_the_first_of_several_rows_is_named_whatever_their_order():
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


def test_columns_of_hours_are_labels_of_records():
    rows = with_modes(test_stays.stays(*test_stays.DAY), "x", "07:00", "8", "9", name="h")
    found = labels_of(test_stays.read(rows, by={"hour": "h", "daytype": ""}, end="u"))
    assert found == [["7", "weekday"], ["8", "weekday"], ["9", "weekday"]]
    months = with_modes(test_stays.stays(*test_stays.DAY), None, "5", "05", "6", name="month")
    assert labels_of(test_stays.read(months, by="month")) == [["5"], ["5"], ["6"]]
    numbers = test_stays.stays(*test_stays.DAY).append_column("group", pa.array([0, 1, 2, 1]))
    given = {"by": "group", "labels": {"group": ("1", "2")}}
    assert labels_of(test_stays.read(numbers, **given)) == [["1"], ["1"], ["2"]]


def test_records_between_units_have_labels():
    grid, codes = make_units()
    at = middles(grid)
    clock = ("08:00", "08:20", "09:00", "09:20")
    rows = {"id": ["a"] * 4, "t": [f"2024-05-01T{one}" for one in clock]}
    rows |= {"y": at[[0, 0, 5, 5], 1], "x": at[[0, 0, 5, 5], 0]}
    rows["mode"] = [None, "car", None, None]
    where = {"grid": grid, "place": ("y", "x"), "time": "t", "person": "id", "trips": 5, **MODE}
    assert labels_of(geodp.flows.read_pings(pa.table(rows), **where)) == [["car"]]
    stays = {"id": ["a"] * 2, "t": rows["t"][::2], "code": codes[0, :2], "mode": [None, "train"]}
    table = geodp.flows.read_stays(pa.table(stays), **where | {"place": "code"})
    assert labels_of(table) == [["train"]]


def test_the_card_says_which_record_labels_are_of():
    facts = " ".join(test_pings.read(labelled(test_pings.made(1)), **BY).reading.public_facts)
    assert "that the labels of mode and goal are those of the last ping of the stay at" in facts
    assert "every trip that was made has all of its labels, from a public list" in facts
    rows = labelled(test_stays.stays(*test_stays.DAY))
    facts = " ".join(test_stays.read(rows, end="u", **MODE).reading.public_facts)
    assert "the row with which the stay at the destination of the trip begins" in facts
    assert "labels" not in " ".join(test_stays.read(rows).reading.public_facts)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"by": "mode"}, "flows-labels-missing"),
        ({"by": (), "labels": {"mode": MODES}}, "flows-labels-unused"),
        ({"by": {"mode": "id"}}, "flows-columns-same"),
        ({"by": {"mode": "t"}}, "flows-columns-same"),
        ({"per_pair": 1}, "flows-per-pair-with-labels"),
        ({"by": ("mode", "mode")}, "flows-by-twice"),
        ({"by": "origin", "labels": {"origin": MODES}}, "flows-attribute-taken"),
    ],
)
def test_labels_that_do_not_go_together_are_refused(given, code):
    given = {**MODE, **({"labels": {}} if given == {"by": "mode"} else {}), **given}
    with refuses(UsageError, code):
        test_pings.read(labelled(test_pings.made(1)), **given)
    with refuses(UsageError, code):
        test_stays.read(labelled(test_stays.stays(*test_stays.DAY)), **given)


def test_a_column_that_is_missing_or_holds_no_labels_is_refused():
    rows = test_stays.stays(*test_stays.DAY)
    with refuses(InputError, "column-unknown"):
        test_stays.read(rows, **MODE)
    dates = rows.append_column("mode", rows["t"].cast(pa.timestamp("s")))
    with refuses(InputError, "column-kind"):
        test_stays.read(dates, **MODE)
