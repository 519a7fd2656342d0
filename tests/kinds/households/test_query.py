"""Households counted in a database are those that geodp counts from the same records."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.codes.sql import ENGINES
from geodp.grid.markers import NOBODY
from geodp.kinds.households.records import HouseholdQuery
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))


def query_of(**more):
    place = GRID.places[0]
    extent = (place.row0, place.col0, place.rows, place.cols)
    return HouseholdQuery(
        system=place.system, extent=extent, table="records", x="lon", y="lat", person="id", **more
    )


def run(table, query, engine="duckdb"):
    link = duckdb.connect()
    link.register("records", table)
    return sorted(link.execute(query.write(engine)).fetchall())


def records(homes=2000):
    draw = np.random.default_rng(3)
    persons = draw.integers(1, 10, homes)
    at = np.repeat(np.arange(homes), persons)
    # A fifth of the households lies outside the domain.
    lon, lat = 139 + 0.6 * draw.random(homes), 35 + 0.6 * draw.random(homes)
    ids = [f"h{number}" for number in at]
    return pa.table({"id": ids, "lon": lon[at], "lat": lat[at]})


@pytest.mark.parametrize("engine", ["duckdb", "snowflake"])  # whose words DuckDB understands
@pytest.mark.parametrize("size", [2, 7])
def test_the_same_households_are_counted(engine, size):
    table = records()
    counted = geodp.households.read_records(
        table, grid=GRID, household="id", max_size=size, x="lon", y="lat", outside="drop"
    )
    index = counted.grid.decode(counted.key)
    codes = GRID.places[0].format(*index[:2])
    expected = zip(codes.tolist(), (index[2] + 1).tolist(), counted.count.tolist(), strict=True)
    assert run(table, query_of(max_size=size), engine) == sorted(expected)


def test_a_household_in_two_cells_stops_the_query():
    table = pa.table({"id": ["a", "a"], "lon": [139.1, 139.3], "lat": [35.1, 35.1]})
    with pytest.raises(duckdb.ConversionException, match="a household is in two cells"):
        run(table, query_of())


def test_records_without_a_household_are_left_out():
    ids = ["a", " a", "", "NaN", None, "NA", "null", "-"]
    n = len(ids)
    table = pa.table({"id": ids, "lon": [139.1] * n, "lat": [35.1] * n})
    ((_, size, homes),) = run(table, query_of(unknown=("", *NOBODY)))
    assert (size, homes) == (2, 1)


def test_every_engine_has_a_query():
    for engine in ENGINES:
        assert "geodp_households" in query_of().write(engine)
    with refuses(UsageError, "sql-bounds-not-whole"):
        query_of(cells=0)
