"""Numbers, times and repeated rows of trips that are not clear are asked about, with their row."""

import pandas
import pytest

import geodp
from geodp.errors import InputError

GRID = geodp.Grid.regular((4, 4))
ENDS = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.25, "35.1666666667"))


def rows(**columns):
    size = len(next(iter(columns.values())))
    places = {name: list(range(size)) for name in ("oy", "ox", "dy", "dx")}
    return pandas.DataFrame(places | columns)


def refuse(code, row, read, *args, **options):
    with pytest.raises(InputError) as refused:
        read(*args, **options)
    assert (refused.value.code, refused.value.row) == (code, row)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1_000", "count-underscore"),
        ("(5)", "count-in-brackets"),
        ("1.200", "count-with-point"),
        ("1,200", "count-thousands-mark"),
    ],
)
def test_counts_that_are_not_clear_are_asked_about(text, code):
    table = rows(n=["3", text])
    said = refuse(code, 2, geodp.flows.read_trips, table, grid=GRID, **ENDS, value="n")
    assert text not in said


def test_the_operator_says_what_a_point_is():
    given = {"grid": GRID, **ENDS, "person": "id", "trips": 1, "weight": "w", "max_weight": 2000}
    table = rows(id=["a", "b"], w=["2.0", "1.200"])
    refuse("weight-with-point", 2, geodp.flows.read_trips, table, **given)
    assert geodp.flows.read_trips(table, **given, decimal=".").count.tolist() == [2, 1]
    table = rows(id=["a", "b"], w=["2", "1.200"])
    assert geodp.flows.read_trips(table, **given, decimal=",").count.tolist() == [2, 1200]
    # Numbers that are stored as such have no marks.
    table = rows(id=["a", "b"], w=[2.0, 1.125])
    assert geodp.flows.read_trips(table, **given).count.tolist() == [2, 1]


@pytest.mark.parametrize("missing", [float("nan"), "NaN", "nan", "", "NA", "inf", None])
def test_a_coordinate_that_is_missing_is_told_as_such(missing):
    clock = [f"2024-05-01T08:0{n}" for n in range(3)]
    y = [35.05, missing, 35.05]
    if isinstance(missing, str):
        y = [str(one) for one in y]
    table = pandas.DataFrame({"id": ["a"] * 3, "t": clock, "y": y, "x": [139.05] * 3})
    given = {"grid": MESH, "place": ("x", "y"), "time": "t", "person": "id", "trips": 2}
    refuse("coordinate-missing", 2, geodp.flows.read_pings, table, **given)


def test_a_time_that_is_unlike_others_is_named():
    clock = ["2024-05-01T08:00", "2024-05-01T08:10", "2024-05-01T08:20+09:00"]
    table = pandas.DataFrame({"id": ["a"] * 3, "t": clock, "y": [35.05] * 3, "x": [139.05] * 3})
    given = {"grid": MESH, "place": ("x", "y"), "time": "t", "person": "id", "trips": 2}
    for reader in (geodp.flows.read_pings, geodp.flows.read_stays):
        assert "Column t" in refuse("flows-times-mixed", 1, reader, table, **given)
        # The first file says how times are written, and the second one differs.
        other = table.assign(t=clock[2])
        assert "Column t" in refuse(
            "flows-times-mixed", 2, reader, pandas.concat([other[:1], table[:2]]), **given
        )
