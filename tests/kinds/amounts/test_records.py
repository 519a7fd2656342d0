"""Records of amounts: added up by cell and class, bounded by person, and refused by row."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.kinds.amounts.records import keep_first
from tests.kinds.amounts.made import EDGES, GRID, rows, truth
from tests.refusals import refuses

GIVEN = {"grid": GRID, "amount": "income", "clip": (0, 1000), "unit_of_amount": "EUR"}
MESH = {**GIVEN, "grid": geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))}


def read(data, **more):
    return geodp.amounts.read_records(data, **{**GIVEN, "x": "x", "y": "y", **more})


def dense(key, values, grid=GRID):
    found = np.zeros(grid.shape, np.int64)
    found[tuple(grid.decode(key))] = values
    return found


def test_amounts_are_added_up_by_cell_and_class():
    number, total, classes = truth()
    table = read(rows(), classes=EDGES)
    np.testing.assert_array_equal(table.records.to_dense(), number)
    np.testing.assert_array_equal(dense(table.records.key, table.above), total)
    for k, one in enumerate(table.classes):
        np.testing.assert_array_equal(one.to_dense(), classes[..., k])
    assert table.edges == (0, *EDGES, 1000)


def records(income, x=0.5, **columns):
    """Records of an income each, in one row of cells."""
    size = len(income)
    x = [x] * size if np.isscalar(x) else x
    return pa.table({"x": x, "y": [0.5] * size, "income": income, **columns})


def test_rows_may_stand_for_several_records():
    table = read(records([10, 20, 2000], [0.5, 0.5, 3.5], n=[3, 0, 2]), value="n")
    assert table.records.count.tolist() == [3, 2]
    assert table.above.tolist() == [30, 2000]
    assert dict(table.beyond) == {"below": 0, "above": 2}


def test_what_is_kept_of_a_person_depends_on_nobody_else():
    draw = np.random.default_rng(7)
    person = draw.integers(0, 50, 400)
    for left_out in range(5):
        others = np.flatnonzero(person != left_out)
        kept = keep_first(person, 3)
        expected = kept[person[kept] != left_out]
        np.testing.assert_array_equal(others[keep_first(person[others], 3)], expected)


def test_codes_locate_records_and_geometries_do():
    one = pa.table({"mesh": ["52394000", "52394000", "52394001"], "income": [1, 2, 3]})
    assert geodp.amounts.read_records(one, code="mesh", **MESH).above.tolist() == [3, 3]
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(
        {"income": [1, 2, 3]},
        geometry=geopandas.points_from_xy([0.5, 0.5, 1.5], [0.5] * 3),
        crs="EPSG:3035",
    )
    assert read(frame, x=None, y=None).above.tolist() == [3, 3]


PERSON, WEIGHT = {"person": "id", "contribution": 1}, {"weight": "w", "max_weight": 5}
FINE = {**PERSON, "clip": (0, 10**12), "grid": "jis:half"}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"person": "id"}, "amounts-records-of-person"),
        ({**PERSON, "value": "n"}, "amounts-person-and-counts"),
        ({"code": "id"}, "record-code-and-point"),
        ({"y": None}, "x-without-y"),
        ({"unit_of_amount": ""}, "amounts-unit-missing"),
        (FINE, "amounts-too-fine-for-persons"),
        ({"amount": "nothing"}, "column-missing|column-unknown|column-not-found"),
        ({"value": "large", "clip": (0, 10**12)}, "amounts-row-too-large"),
        ({"value": "many", "clip": (0, 10**12)}, "amounts-sum-too-large"),
        ({"weight": "w"}, "weights-bound"),
        ({"max_weight": 5}, "weights-bound"),
        ({**WEIGHT, "value": "n"}, "amounts-weights-and-counts"),
        ({"weight": "w", "max_weight": 2**40}, "weights-bound"),
        ({**WEIGHT, "person": "id"}, "amounts-records-of-person"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(more, code):
    one = records([10**11], id=[1], n=[1], w=[1], large=[2**40], many=[2**15])
    with refuses((UsageError, InputError), code):
        read(one, **more)


def test_the_table_shows_nothing():
    table = read(rows(), classes=EDGES)
    assert str(int(table.above.sum())) not in repr(table)
    assert "beyond" not in repr(table)


def test_a_record_counts_as_many_as_its_weight():
    weighted = records([10, 20, 30, 40], w=["1.4", "2.5", "90", "0.5"])
    table = read(weighted, weight="w", max_weight=50)
    # To the nearest whole number, and at most 50.
    assert table.records.count.tolist() == [1 + 3 + 50 + 1]
    assert table.above.tolist() == [10 + 3 * 20 + 50 * 30 + 40]
    assert (table.max_weight, table.beyond["weights"]) == (50, 1)


@pytest.mark.parametrize("memory", [None, "1MiB"])
@pytest.mark.parametrize(
    ("bound", "more", "numbers", "sums"),
    [
        (1, {}, [1, 1], [1, 10]),
        (2, {}, [1, 2, 1], [1, 710, 100]),
        (3, {}, [1, 2, 1, 1], [1, 710, 100, 500]),
        (1, WEIGHT, [5, 2], [5, 20]),
        (2, WEIGHT, [5, 7, 3], [5, 20 + 3500, 300]),
    ],
)
def test_the_first_records_of_a_person_count(memory, bound, more, numbers, sums):
    """With their weights, each of which counts as at most the largest."""
    # Two persons of many, whose names fall into several parts on disk.
    who = [f"{name}{i}" for i in range(2000) for name in "babba"]
    x, weight = [0.5, 1.5, 2.5, 3.5, 1.5] * 2000, [7, 2, 3, 1, 5] * 2000
    one = records([1, 10, 100, 500, 700] * 2000, x, id=who, w=weight)
    table = read(one, **more, person="id", contribution=bound, memory=memory)
    assert sorted(table.records.count.tolist()) == sorted(2000 * n for n in numbers)
    assert sorted(table.above.tolist()) == sorted(2000 * n for n in sums)
    assert (table.records.bound.value, table.records.bound.stated_by) == (bound, "geodp")
    assert table.max_weight == more.get("max_weight", 1)


@pytest.mark.parametrize(("bound", "weights", "above"), [(1, 1, 5), (2, 2, 8), (9, 3, 13)])
def test_what_is_beyond_the_clip_is_told_of_the_records_that_count(bound, weights, above):
    # The last row lies outside the domain.
    one = records(
        [5000, 100, 2000, 100, 3000, 9000], [0.5] * 5 + [99.0], id=[*"abbaaa"], w=[7, 1, 3, 9, 8, 9]
    )
    table = read(one, **WEIGHT, person="id", contribution=bound, outside="drop")
    assert dict(table.beyond) == {"weights": weights, "below": 0, "above": above}


def made(column, numbers):
    return pa.table({"x": [0.5, 0.5, 3.5], "y": [0.5] * 3, column: numbers})


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("income (1,000 EUR)", "1,000 EUR"),
        ("income [CHF]", "CHF"),
        ("年収（万円）", "10,000 yen"),
        ("TEUR", "TEUR"),
    ],
)
def test_a_title_with_another_unit_is_asked_about(column, unit):
    with refuses(UsageError, "amounts-unit-of-title: --unit-of-amount"):
        read(made(column, [1, 2, 3]), amount=column)
    assert read(made(column, [1, 2, 3]), amount=column, unit_of_amount=unit).above.sum() == 6


def test_titles_above_the_table_have_units(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Income in thousand EUR\nx,y,income\n0.5,0.5,7\n")
    with refuses(UsageError, "amounts-unit-of-title: 1,000 EUR"):
        read(path, header_row=2)
    assert read(path, header_row=2, unit_of_amount="TEUR").above.tolist() == [7]


@pytest.mark.parametrize(
    ("numbers", "missing"),
    [
        ([100, 9999999, 200], [9999999]),
        (["100", " 9999999.0", "200"], ["9999999"]),
        ([100.0, float("nan"), 200.0], ["nan"]),
        (["100", "n/a", "200"], ["n/a"]),
        (["100", "", "200"], [""]),
        ([100, -666666666, 200], [-666666666]),
        (["100 €", "9999999 €", "€200"], [9999999]),
    ],
)
def test_records_without_an_amount_are_left_out(numbers, missing):
    table = read(made("income", numbers), missing=missing)
    assert (table.records.count.tolist(), table.above.tolist()) == ([1, 1], [100, 200])
    assert any("left out whose income" in fact for fact in table.facts)
    assert table.records.reading.sources[0].rows == 3
    assert not any("left out" in fact for fact in read(made("income", [1, 2, 3])).facts)


@pytest.mark.parametrize(
    ("written", "steps"), [("1,234", 1234), ("2,5", 2500), ("1.234,5", 1_234_500), ("7", 7000)]
)
@pytest.mark.parametrize("missing", [(), [-9.5]])
def test_the_decimal_mark_is_replaced_once(written, steps, missing):
    """A mark that is replaced twice is a separator of thousands, and 1,234 would be 1234."""
    one = made("income", [written, "0", "0"]).append_column("w", [["1,500", "1", "1"]])
    more = {"clip": (0, 9999), "step": "0.001", "decimal": ",", "missing": missing}
    assert read(one, **more).above.sum() == steps
    assert read(one, **more, weight="w", max_weight=10).above.sum() == 2 * steps
    gone = made("income", ["1", "-9,5", "0"])
    assert not missing or read(gone, **more).above.sum() == 1000


def test_the_first_records_of_a_person_are_those_with_an_amount():
    one = made("income", [9999999, 100, 200]).append_column("id", [["a", "a", "b"]])
    table = read(one, person="id", contribution=1, missing=[9999999])
    assert table.above.tolist() == [100, 200]


def test_the_currency_of_the_unit_and_no_other_unit_may_stand_beside_amounts():
    for marked, number in {"300 €": 300, "€300": 300, "300 EUR": 300, "300.5e0 €": 300.5}.items():
        assert read(made("income", [marked, "1", "2"]), step="0.5").above.sum() == 2 * number + 6
    for marked in ("$300", "300 Tsd. €", "300 CHF", "300 %"):
        with refuses(InputError, "amount-with-currency"):
            read(made("income", [marked, "1", "2"]))
