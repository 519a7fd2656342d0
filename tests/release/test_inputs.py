"""A table that was read says everything of itself; what is no input is told so, at every kind."""

from dataclasses import fields

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.read.points import Points
from geodp.io.read.raster import Raster
from geodp.io.read.table import Table
from geodp.kinds.amounts.records import AmountRecords
from geodp.kinds.flows.reading.trips import Trips
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
ROWS = pa.table({"x": [0.5], "y": [0.5], "income": [7]})
DOORS = {
    "counts": (geodp.publish, (Table, Points, Raster)),
    "flows": (geodp.flows.publish, (Trips,)),
    "amounts": (geodp.amounts.publish, (AmountRecords,)),
}
TERMS = {"epsilon": 1, "contribution": 1}


def read(kind):
    ones = np.ones((16, 16), int)
    if kind == "counts":
        return geodp.CountTable.from_dense(ones, GRID)
    if kind == "flows":
        return geodp.CountTable.from_keys(GRID.pairs(), [1], [1])
    scale = {"amount": "income", "clip": (0, 9), "unit_of_amount": "EUR"}
    return geodp.amounts.read_records(ROWS, grid=GRID, x="x", y="y", **scale)


@pytest.mark.parametrize("kind", DOORS)
def test_a_table_that_was_read_takes_no_keyword_of_a_reader(kind):
    publish, readers = DOORS[kind]
    table = read(kind)
    of_both = {"contribution", "unit", "key", "secret", "cells", "per_cell", "truncation"}
    names = {one.name for reader in readers for one in fields(reader) if one.init} - of_both
    for name in names:
        # An array has no truth of its own.
        for value in ("a", np.array([1, 2])):
            with refuses(UsageError, f"read-already: already: {name}\\."):
                publish(table, **TERMS, **{name: value})
    assert publish(table, **TERMS, **dict.fromkeys(names))


@pytest.mark.parametrize("kind", DOORS)
@pytest.mark.parametrize(
    ("source", "code"),
    [
        ({"x": [0.5]}, "table-or-grid-expected"),
        (np.ones((2, 2)), "table-or-grid-expected"),
        (pandas.DataFrame({"x": [0.5]}), "grid-unstated"),
        (polars.DataFrame({"x": [0.5]}).lazy(), "frame-lazy"),
        (geodp.publish(read("counts"), **TERMS), "table-released"),
        (geodp.flows.publish(read("flows"), **TERMS), "table-released"),
    ],
)
def test_what_is_no_input_is_told(kind, source, code):
    publish, _ = DOORS[kind]
    scale = {"amount": "x", "clip": (0, 9), "unit_of_amount": "EUR"} if kind == "amounts" else {}
    with refuses(UsageError, code):
        publish(source, **TERMS, **scale)


@pytest.mark.parametrize("kind", DOORS)
def test_a_keyword_that_no_reader_has_is_told_with_the_one_that_is_meant(kind):
    publish, _ = DOORS[kind]
    for wrong, meant in (("wheere", "where"), ("eps", "epsilon"), ("header_rwo", "header_row")):
        with pytest.raises(TypeError, match=rf"publish\(\) takes no {wrong}=; give {meant}=\.$"):
            publish(read(kind), **TERMS, **{wrong: 1})


def test_every_row_is_a_person_where_the_reader_is_named():
    rows = pa.table({"x": [0.5, 0.5, 3.5], "y": [0.5, 0.5, 7.5]})
    publish = geodp.publish(rows, grid=GRID, reader="points", x="x", y="y", where={}, **TERMS)
    assert publish.grid == GRID
    with refuses(UsageError, "option-not-for-reader: points: value; reader='table'.*value"):
        geodp.publish(rows, grid=GRID, reader="points", value="n", **TERMS)
    with refuses(UsageError, "read-already: reader"):
        geodp.publish(read("counts"), reader="points", **TERMS)


def test_numbers_in_thousands_are_read_by_the_front_door():
    rows = pa.table({"x": [0.5], "y": [0.5], "n": ["1,5"]})
    found = geodp.publish(
        rows, grid=GRID, x="x", y="y", value="n", decimal=",", value_unit=0.001,
        epsilon=10**6, contribution=1,
    )  # fmt: skip
    assert abs(found.table.total - 1500) <= 1


@pytest.mark.parametrize(
    "more",
    [
        {"reader": "points", "person": "id", "truncation": "sample"},
        {"value": "n", "rounding": "stochastic", "contribution": 1, "duplicates": "sum"},
    ],
)
def test_what_a_reader_draws_is_drawn_again_with_the_same_key(more):
    random = np.random.default_rng(0)
    x, y = random.uniform(0, 16, (2, 900)).round()
    ids, n = random.integers(0, 99, 900).astype(str), random.uniform(0, 9, 900)
    rows, places = pa.table({"x": x % 16, "y": y % 16, "id": ids, "n": n}), {"x": "x", "y": "y"}
    if "value" in more:
        places["anchor"] = "index"
    made = [
        geodp.publish(rows, grid=GRID, epsilon=10**6, key=key, **places, **more).table
        for key in (geodp.NoiseKey(bytes(32)), geodp.NoiseKey(bytes(32)), None)
    ]
    same = [np.array_equal(one.to_dense(), made[0].to_dense()) for one in made]
    assert same == [True, True, False]
