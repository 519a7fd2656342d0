"""Amounts counted in a database are those that geodp counts from the same records."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.codes.sql import ENGINES
from geodp.kinds.amounts.query import AmountQuery
from geodp.kinds.amounts.scale import Scale
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))
UNIT = "10,000 yen"


def query_of(clip=(0, 1000), step=1, **more):
    place = GRID.places[0]
    extent = (place.row0, place.col0, place.rows, place.cols)
    scale = Scale.of(clip, step, UNIT, "income")
    given = {"table": "records", "x": "lon", "y": "lat"} | more
    return AmountQuery(system=place.system, extent=extent, scale=scale, **given)


def run(table, query, engine="duckdb"):
    link = duckdb.connect()
    link.register("records", table)
    return link.sql(query.write(engine)).to_arrow_table()


def records(size=5000, decimals=2):
    draw = np.random.default_rng(3)
    # A third of the records lies outside the domain.
    lon, lat = 139 + 0.6 * draw.random(size), 35 + 0.6 * draw.random(size)
    income = np.round(draw.lognormal(5.5, 1.0, size), decimals) * np.where(
        draw.random(size) < 0.9, 1, -1
    )
    ids = draw.integers(0, size // 3, size)
    return pa.table({"id": ids, "lon": lon, "lat": lat, "income": income, "time": np.arange(size)})


def read(table, clip, step, **more):
    return geodp.amounts.read_records(
        table, grid=GRID, amount="income", clip=clip, step=step, unit_of_amount=UNIT,
        classes=(clip[0] + (clip[1] - clip[0]) / 4,), **more,
    )  # fmt: skip


def assert_same(one, other):
    assert np.array_equal(one.records.key, other.records.key)
    assert np.array_equal(one.records.count, other.records.count)
    assert np.array_equal(one.above, other.above)
    for a, b in zip(one.classes, other.classes, strict=True):
        assert np.array_equal(a.to_dense(), b.to_dense())


@pytest.mark.parametrize("engine", ["duckdb", "snowflake"])  # whose words DuckDB understands
@pytest.mark.parametrize(
    ("clip", "step"), [((-500, 1000), 1), ((-500, 1000), "0.25"), ((-40, 400), "2.5")]
)
def test_the_same_amounts_are_counted(engine, clip, step):
    table = records()
    counted = run(table, query_of(clip, step), engine)
    found = read(counted, clip, step, code="code", value="geodp_records")
    assert_same(found, read(table, clip, step, x="lon", y="lat", outside="drop"))


def test_decimals_of_the_database_are_exact():
    texts = ["0.005", "0.015", "0.025", "7.995", "1.005", "12345678.905", "99999999999.99"]
    table = pa.table(
        {
            "lon": [139.1] * len(texts),
            "lat": [35.1] * len(texts),
            "income": pa.array(texts).cast(pa.decimal128(20, 3)),
        }
    )
    clip, step = (0, "20000000"), "0.01"
    counted = run(table, query_of(clip, step))
    assert "12345678.91" in counted["income"].to_pylist()
    clip = (0, 20_000_000)
    found = read(counted, clip, step, code="code", value="geodp_records")
    assert_same(found, read(table, clip, step, x="lon", y="lat"))


def test_the_first_records_of_a_person_are_kept():
    table = records(decimals=0)
    clip, step = (-500, 1000), 1
    counted = run(table, query_of(clip, step, person="id", records=2, by="time"))
    found = read(counted, clip, step, code="code", value="geodp_records")
    given = {"x": "lon", "y": "lat", "outside": "drop", "person": "id", "contribution": 2}
    assert_same(found, read(table, clip, step, **given))


@pytest.mark.parametrize("amount", [None, float("nan"), float("inf"), -1.0])
def test_what_is_no_amount_stops_the_query(amount):
    table = pa.table({"lon": [139.1], "lat": [35.1], "income": pa.array([amount], pa.float64())})
    with pytest.raises(duckdb.ConversionException, match="an amount is missing"):
        run(table, query_of())


CAST = "(SELECT * REPLACE (CAST(CAST(income AS VARCHAR) AS DECIMAL(27, 9)) AS income) FROM records)"


@pytest.mark.parametrize("kind", [pa.string(), pa.float32()])
def test_text_and_short_floats_are_cast_in_the_table(kind):
    amounts = pa.array(["1.005", "2.675", "90", "1500"])
    place = {"lon": pa.array([139.1] * 4), "lat": pa.array([35.1] * 4)}
    table = pa.table(place | {"income": amounts.cast(kind)})
    clip, step = (0, 1000), "0.01"
    counted = run(table, query_of(clip, step, table=CAST))
    assert sorted(counted["income"].to_pylist()) == ["1.01", "1000.00", "2.68", "90.00"]
    found = read(counted, clip, step, code="code", value="geodp_records", decimal=".")
    assert_same(found, read(table, clip, step, x="lon", y="lat", decimal="."))


def test_text_that_is_not_cast_stops_the_query():
    table = pa.table({"lon": [139.1], "lat": [35.1], "income": ["90"]})
    with pytest.raises(duckdb.BinderException, match="VARCHAR"):
        run(table, query_of())


def test_every_engine_has_a_query():
    for engine in ENGINES:
        assert "geodp_records" in query_of(step="0.1").write(engine)
    for step in ("1/3", "0.000000001"):
        with refuses(UsageError, "amounts-sql-step"):
            query_of((0, 1), step).write("duckdb")
