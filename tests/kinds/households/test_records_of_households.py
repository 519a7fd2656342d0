"""A row for each household with its size, located by codes or coordinates."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp import Grid
from geodp.errors import CodeError, InputError, UsageError
from geodp.io.read.public.units import read_units
from geodp.kinds.households.records import read_sizes
from tests.refusals import refuses

GRID = Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
ROWS = {
    "town": ["a", "a", "b", "b"],
    "id": ["1", "2", "1", "2"],
    "persons": [1, 2, 2, 9],
    "x": [0.5, 0.5, 1.5, 1.5],
    "y": [0.5, 0.5, 0.5, 0.5],
    "weight": [1.4, 2, 7, 0.6],
}
PLACE = {"x": "x", "y": "y"}


def read(rows=None, **options):
    table = pa.table({**ROWS, **(rows or {})})
    return geodp.households.read_records(table, grid=GRID, **{**PLACE, "max_size": 3, **options})


def sizes(table):
    return table.to_dense().sum(axis=(0, 1)).tolist()


def test_larger_households_count_as_the_largest():
    assert sizes(read(size="persons")) == [1, 2, 1]


def test_a_household_is_identified_by_several_columns():
    table = read(size="persons", household=["town", "id"])
    assert sizes(table) == [1, 2, 1]
    assert table.bound.value == 1
    assert read(size="persons").bound is None
    with refuses(InputError, "household-in-two-rows"):
        read(size="persons", household="id")
    # Their texts together are the same, but each differs.
    apart = read(
        {"town": ["1", "12", "b", "b"], "id": ["23", "3", "1", "2"]},
        size="persons",
        household=["town", "id"],
    )
    assert sizes(apart) == [1, 2, 1]


def test_persons_have_the_ids_of_households_in_several_columns():
    people = {"town": ["a", "a", "b", "b"], "id": ["1", "1", "1", "1"], "x": [0.5, 0.5, 1.5, 1.5]}
    assert sizes(read(people, household=["town", "id"])) == [0, 2, 0]
    with refuses(InputError, "household-in-two-places"):
        read(people, household="id", rows_are_persons=True)


def test_weights_are_whole_and_bounded():
    table = read(size="persons", household=["town", "id"], weight="weight", max_weight=5)
    assert sizes(table) == [1, 2 + 5, 1]
    assert table.bound.value == 5
    for options in ({"size": "persons"}, {"household": ["town", "id"]}):
        with refuses(UsageError, "household-weights"):
            read(weight="weight", max_weight=5, **options)


def test_households_outside_the_domain_are_dropped_with_their_sizes():
    table = read({"x": [0.5, 5, 1.5, 5]}, size="persons", outside="drop", household=["town", "id"])
    assert sizes(table) == [1, 1, 0]


def test_codes_locate_households_and_persons(tmp_path):
    units = tmp_path / "towns.csv"
    units.write_text("town\na\nb\n")
    grid = read_units(units, source="a test")
    rows, options = pa.table(ROWS), {"code": "town", "household": ["town", "id"], "max_size": 3}
    table = geodp.households.read_records(rows, grid=grid, size="persons", **options)
    assert table.to_dense().reshape(-1, 3).tolist() == [[1, 1, 0], [0, 1, 1]]
    people = rows.drop_columns(["persons"])
    table = geodp.households.read_records(people, grid=grid, **options)
    assert table.to_dense().reshape(-1, 3).tolist() == [[2, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        (["1", ""], "household-size-form"),
        (["1", "0"], "household-size-form"),
        (["1", "two"], "household-size-form"),
        (["1", "2.5"], "household-size-form"),
        (["1", "-1"], "household-size-form"),
        (["7+", "5+"], "household-size-open"),
    ],
)
def test_sizes_are_whole_numbers(sizes, code):
    with refuses(CodeError, code) as raised:
        read_sizes(pa.array(sizes), 7)
    assert raised.value.position == 1


def test_ids_or_sizes_are_named():
    with refuses(UsageError, "household-records-unnamed"):
        read()


def test_sizes_are_read_from_all_forms_of_numbers():
    for column in (pa.array([1, 2]), pa.array([1.0, 2.0]), pa.array(["1", " 2 "])):
        assert np.array_equal(read_sizes(column, 7), [1, 2])


def test_a_person_counts_as_often_as_the_weight_of_the_household():
    table = read(size="persons", household=["town", "id"], weight="weight", max_weight=5)
    given = {"by_size": table, "max_size": 3, "protect": "person", "epsilon": 1}
    with refuses(UsageError, "contribution-below-table"):
        geodp.households.publish(contribution=4, **given)
    released = geodp.households.publish(contribution=5, **given)
    assert released.index.guarantee.contribution == 5
