"""Tables in memory: the same counts as from their files, and errors that show no value."""

import traceback

import duckdb
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from tests.io.files import chain

GRID = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
RNG = np.random.default_rng(4)
INDEX = RNG.permutation(GRID.shape[0] * GRID.shape[1])[:500]
CODES = GRID.places[0].format(*np.unravel_index(INDEX, GRID.shape))
COUNTS = RNG.integers(1, 2**50, 500)
FRAME = pandas.DataFrame({"code": CODES, "people": COUNTS, "sex": ["f", "m"] * 250})


def forms():
    """The same table as users have it."""
    table = pa.Table.from_pandas(FRAME)
    yield "pandas", FRAME
    yield "pandas, another index", FRAME.set_index(FRAME.people % 7)
    yield "pandas, texts of objects", FRAME.astype({"sex": object})
    yield "pandas, nullable", FRAME.convert_dtypes(dtype_backend="pyarrow")
    yield "pandas, categories", FRAME.astype({"sex": "category"})
    yield "pyarrow", table
    yield "batches", pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7))
    yield "one batch", table.combine_chunks().to_batches()[0]
    sex = table.schema.get_field_index("sex")
    for kind in (pa.binary(), pa.large_binary()):
        yield f"{kind}", table.set_column(sex, "sex", table["sex"].cast(pa.string()).cast(kind))
    views = pa.array(FRAME.sex.tolist(), pa.string_view())
    yield "views of strings", table.set_column(sex, "sex", views)


@pytest.mark.parametrize(("name", "given"), list(forms()), ids=lambda one: str(one)[:24])
def test_every_form_is_read_as_the_file_is(name, given, tmp_path):
    pq.write_table(pa.Table.from_pandas(FRAME), tmp_path / "t.parquet")
    asked = {"grid": GRID, "value": "people", "code": "code", "where": {"sex": "f"}}
    found = geodp.read_table(given, **asked)
    file = geodp.read_table(tmp_path / "t.parquet", **asked)
    assert found.key.tolist() == file.key.tolist()
    assert found.count.tolist() == file.count.tolist()
    assert found.count.sum() == COUNTS[::2].sum()
    assert found.reading.files[0].rows == 500


def test_points_are_counted():
    x, y = RNG.uniform(139, 140, 3000), RNG.uniform(35, 36, 3000)
    frame = pandas.DataFrame({"lon": x, "lat": y, "who": np.arange(3000) // 3})
    table = geodp.read_points(frame, grid=GRID, x="lon", y="lat", person="who")
    assert table.count.sum() == 1000
    assert (table.bound, table.enforced) == (1, True)


def test_an_error_names_the_row_and_no_value():
    bad = FRAME.assign(people=[*COUNTS[:-2], -77123, 5])
    with pytest.raises(InputError) as caught:
        geodp.read_table(bad, grid=GRID, value="people", code="code")
    assert (caught.value.file, caught.value.row) == ("pandas.DataFrame", 499)
    assert "77123" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (
            FRAME.astype({"people": object}).assign(code=["secret", *CODES[1:-1], 7]),
            "several types",
        ),
        (FRAME.assign(people=[{"secret": 1}] * 500), "neither numbers nor text"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_without_its_values(frame, rule):
    with pytest.raises(InputError, match=rule) as caught:
        geodp.read_table(frame, grid=GRID, value="people", code="code")
    assert "secret" not in "".join(traceback.format_exception(caught.value)).splitlines()[-1]
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)


def test_texts_that_are_no_utf_8_are_refused_at_their_row():
    bad = pa.array([b"x"] * 499 + [b"\xff"]).cast(pa.binary())
    buffers = bad.buffers()
    text = pa.StringArray.from_buffers(500, buffers[1], buffers[2], buffers[0])
    table = pa.table({"code": CODES, "people": COUNTS, "sex": text})
    with pytest.raises(InputError, match="not UTF-8") as caught:
        geodp.read_table(table, grid=GRID, value="people", code="code", where={"sex": "x"})
    assert caught.value.row == 500


def test_files_are_asked_for_where_only_files_are_read():
    with pytest.raises(UsageError, match="read_table or read_points"):
        geodp.read_raster(FRAME, grid=GRID)
    with pytest.raises(InputError, match="read it as a table"):
        geodp.read_mesh(FRAME, grid=GRID, value="people")


@pytest.mark.parametrize("number", [-1, 2, 2**30])
def test_numbers_that_a_dictionary_does_not_have_are_refused(number):
    """Before any text is looked up by them."""
    numbers = pa.array([0, 1, number, 1], pa.int32())
    column = pa.DictionaryArray.from_arrays(numbers, pa.array(CODES[:2]), safe=False)
    given = pa.table({"code": column, "people": [1, 2, 3, 4]})
    with pytest.raises(InputError, match="row 3"):
        geodp.read_table(given, grid=GRID, value="people", code="code", duplicates="sum")


@pytest.mark.parametrize("rows", [2, 300_000])
def test_a_query_that_fails_shows_no_value(rows):
    """At once, or when its rows are asked for."""
    query = f"""SELECT '533946113' AS code, CAST(CASE WHEN i = {rows - 1} THEN concat('139.7', 'x')
        ELSE '1' END AS BIGINT) AS people FROM (SELECT range AS i FROM range({rows}))"""
    with pytest.raises(InputError, match="own library failed") as caught:
        geodp.read_table(duckdb.sql(query), grid=GRID, value="people", code="code")
    for link in chain(caught.value):
        assert "139.7" not in f"{link} {link!r} {link.args}"
