"""Reading of trips: places in every form, persons bounded, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp import InputError, UsageError
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.worlds import WHERE, rows_of
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))
GRID = geodp.Grid.regular((2, 2))
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
WORLD = (((0, 1), (0, 1), (3, 0)), ((1, 1),))
PLACES = {name: WHERE[name] for name in ("origin", "destination")}


def read(rows, **given):
    return geodp.flows.read_trips(rows, **{"grid": GRID, **given})


def weighed(weights, world=WORLD):
    """Rows of persons whose trips have weights, in the order of the rows."""
    return rows_of(world).append_column("w", pa.array(weights))


def test_trips_of_a_person_are_bounded_and_the_card_says_who_did_it():
    table = read(rows_of(WORLD), **WHERE, trips=2, key=KEY)
    assert table.bound == ContributionBound(2, "geodp", unit="person")
    assert int(table.count.sum()) == 3
    assert "at most 2 trips" in table.reading.public_facts[0]
    assert int(read(rows_of(WORLD), **WHERE, trips=9).count.sum()) == 4
    assert sorted(read(rows_of(WORLD), **WHERE, trips=9, per_pair=1).count.tolist()) == [1, 1, 1]


def test_without_persons_the_contribution_is_asked_for():
    with refuses(UsageError, "contribution-unstated"):
        geodp.flows.publish(read(rows_of(WORLD), **PLACES), epsilon=1)


def test_counted_rows_are_added_up():
    places = {"oy": [0, 0, 1], "ox": [0, 0, 1], "dy": [1, 1, 0], "dx": [1, 1, 0]}
    rows = pa.table({**places, "n": [3, 4, 5]})
    # A pair that occurs twice is asked about, as a cell is elsewhere.
    with refuses(InputError, "cell-repeated-in-rows"):
        read(rows, **PLACES, value="n")
    table = read(rows, **PLACES, value="n", duplicates="sum")
    assert sorted(table.count.tolist()) == [5, 7]
    assert table.reading.doubled == 1


@pytest.mark.parametrize("name", ["", "NA", "null", "unknown"])
@pytest.mark.parametrize("more", [{}, {"unit": "person-day", "time": "t"}], ids=str)
def test_a_missing_person_is_refused(name, more):
    rows = rows_of(WORLD).set_column(0, "id", [["p", "p", "p", name]])
    with refuses(InputError, "person-missing"):
        read(rows.append_column("t", [["2024-05-01"] * 4]), **WHERE, **more)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"origin": "oy"}, "flows-places-missing"),
        ({**WHERE, "unit": "trip"}, "flows-unit-unknown"),
        ({**WHERE, "unit": "person-day"}, "flows-unit-needs-time"),
        ({**PLACES, "unit": "person-day", "time": "id"}, "flows-unit-needs-person"),
        ({**WHERE, "trips": 0}, "flows-bound-form"),
        ({**PLACES, "duplicates": "sum"}, "flows-counts-only"),
        ({**PLACES, "value": "n", "person": "id"}, "flows-counted-with-persons"),
        ({**PLACES, "value": "n", "trips": 2}, "flows-counted-with-persons"),
        ({**PLACES, "value": "n", "per_pair": 1}, "flows-counted-with-persons"),
        ({**PLACES, "value": "n", "time": "t"}, "flows-counted-with-persons"),
        ({**PLACES, "value": "n", "unit": "person-day"}, "flows-counted-with-persons"),
        ({**WHERE, "grid": GRID.pairs()}, "flows-need-map"),
        ({**WHERE, "grid": GRID.with_attribute("sex", ["f", "m"])}, "flows-need-map"),
        ({**WHERE, "grid": MESH.with_official_order()}, "flows-need-map"),
        ({**PLACES, "trips": 5}, "flows-bound-without-person"),
        ({**PLACES, "per_pair": 1}, "flows-bound-without-person"),
        ({**WHERE, "time": "t"}, "flows-time-unused"),
        ({**WHERE, "time_zone": "Nowhere"}, "flows-time-unused"),
        ({**WHERE, "crs": "EPSG:4326"}, "flows-crs-unused"),
        ({**WHERE, "destination": ("oy", "ox")}, "flows-places-same"),
        ({**WHERE, "origin": ("oy", "oy")}, "flows-places-same"),
        ({**WHERE, "weight": "w"}, "weights-bound"),
        ({**WHERE, "max_weight": 5}, "weights-bound"),
        ({**WHERE, "weight": "w", "max_weight": 2**40}, "weights-bound"),
        ({**WHERE, "raked_to": "residents"}, "weights-raked-without"),
        ({**PLACES, "weight": "w", "max_weight": 5}, "flows-weights-need-persons"),
        ({**WHERE, "weight": "oy", "max_weight": 5}, "flows-places-same"),
        ({**WHERE, "weight": "id", "max_weight": 5}, "flows-places-same"),
    ],
)
def test_what_does_not_go_together_is_refused(given, code):
    rows = weighed([1, 1, 2, 3]).append_column("n", [[1] * 4])
    with refuses(UsageError, code):
        read(rows.append_column("t", [["2024-05-01T08:00"] * 4]), **given)


def test_a_person_in_a_day_is_bounded_by_days():
    rows = rows_of(((((0, 1),) * 4),))
    # Half past eleven in the evening, and half an hour after midnight, of local time.
    times = ["2024-05-01 23:30", "2024-05-02 00:30", "2024-05-02 01:00", "2024-05-02"]
    rows = rows.append_column("t", [times])
    kept = {
        unit: int(read(rows, **WHERE, trips=1, unit=unit, time="t").count.sum())
        for unit in ("person-day", "person-week", "person-month")
    }
    assert kept == {"person-day": 2, "person-week": 1, "person-month": 1}


def dated(days, ids="a"):
    """Two trips of each person on each day."""
    rows = [
        (one, 0, 0, 1, 1, f"2024-05-{d:02d}T0{h}:00") for one in ids for d in days for h in (7, 8)
    ]
    columns = zip(*rows, strict=True)
    names = ("id", "oy", "ox", "dy", "dx", "t")
    return pa.table({name: pa.array(one) for name, one in zip(names, columns, strict=True)})


@pytest.mark.parametrize("unit", ["person-day", "person-week", "person-month"])
def test_a_bound_of_periods_is_never_released_as_one_of_persons(unit):
    table = read(dated(range(1, 31)), **WHERE, trips=2, unit=unit, time="t")
    assert table.bound == ContributionBound(2, "geodp", unit=unit)
    for other in {"person", "person-day", "person-week"} - {unit}:
        for publish, more in (
            (geodp.flows.publish, {}),
            (geodp.publish, {}),
            # A larger contribution is of the same unit.
            (geodp.publish, {"contribution": 5}),
        ):
            with refuses(UsageError, "bound-of-other-unit"):
                publish(table, epsilon=1, unit=other, **more)
    assert geodp.publish(table, epsilon=1, unit=unit).card().guarantee.unit == unit
    promise = geodp.flows.publish(table, epsilon=1).index.guarantee
    assert (promise.unit, promise.contribution) == (unit, 2)
    assert promise.assumptions[0].statement == f"One {unit} has at most 2 of all trips."
    assert f"one {unit}" in promise.in_words


@pytest.mark.parametrize("more", [{}, {"unit": "person-day", "time": "t"}])
def test_dropped_rows_need_neither_a_person_nor_a_time(more):
    rows = pa.table(
        {
            **{"id": ["a", None], "oy": [0, 9], "ox": [0, 0], "dy": [1, 1], "dx": [1, 1]},
            "t": ["2024-05-01T07:30", None],
        }
    )
    table = read(rows, **WHERE, **more, outside="drop")
    assert int(table.count.sum()) == 1


def test_the_card_says_which_rows_were_read():
    given = {"unit": "person-day", "time": "t", "where": {"id": "a"}, "outside": "drop"}
    said = " ".join(read(dated(range(1, 4)), **WHERE, **given).reading.public_facts)
    for part in (
        "column t, in local time",
        "only rows with id = a",
        "outside the domain were left",
    ):
        assert part in said


def test_a_trip_counts_as_its_weight_up_to_the_largest():
    given = {"trips": 9, "weight": "w", "max_weight": 10, "raked_to": "residents by age"}
    table = read(weighed([2.4, 1.5, 3.0, 90.0]), **WHERE, **given, key=KEY)
    # 2.4, 1.5 and 3 count as 2, 2 and 3, and 90 as 10.
    assert sorted(table.count.tolist()) == [3, 4, 10]
    assert table.bound == ContributionBound(90, "geodp", unit="person")
    facts = " ".join(table.reading.public_facts)
    for said in ("weights above 10 count as this", "at most 9 trips were kept", "residents by age"):
        assert said in facts
    release = geodp.flows.publish(table, epsilon=1000)
    assert release.flows.event.contribution == 90


@pytest.mark.parametrize("trips", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_person_changes_weighed_trips_by_at_most_the_bound(trips, seed):
    draw = np.random.default_rng(seed)
    worlds = tuple(
        tuple((int(a), int(b)) for a, b in draw.integers(0, 4, (draw.integers(1, 6), 2)))
        for _ in range(3)
    )
    weights = draw.uniform(0.5, 9, sum(map(len, worlds)))
    given = {"trips": trips, "weight": "w", "max_weight": 4, "key": KEY}
    every = read(weighed(weights, worlds), **WHERE, **given)
    fewer = read(weighed(weights[: sum(map(len, worlds[:2]))], worlds[:2]), **WHERE, **given)
    more = dict(zip(every.key.tolist(), every.count.tolist(), strict=True))
    less = dict(zip(fewer.key.tolist(), fewer.count.tolist(), strict=True))
    change = [more[one] - less.get(one, 0) for one in more]
    assert set(less) <= set(more)
    assert min(change) >= 0
    assert 1 <= sum(change) <= every.bound.value == 4 * trips
