"""Tables in memory: the same counts as from their files, and errors that show no value."""

import traceback
from itertools import pairwise

import duckdb
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.arrow import bytes_of_texts, convert_once, is_ascii, numbers_of_digits
from tests.io.files import chain
from tests.refusals import refuses

GRID = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
RNG = np.random.default_rng(4)
INDEX = RNG.permutation(GRID.shape[0] * GRID.shape[1])[:500]
CODES = GRID.places[0].format(*np.unravel_index(INDEX, GRID.shape))
COUNTS = RNG.integers(1, 9 * 10**9, 500)
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
    assert found.reading.sources[0].rows == 500


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (
            FRAME.astype({"people": object}).assign(code=["secret", *CODES[1:-1], 7]),
            "column-types-mixed",
        ),
        (FRAME.assign(people=[{"secret": 1}] * 500), "column-kind"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_without_its_values(frame, rule):
    with refuses(InputError, rule) as caught:
        geodp.read_table(frame, grid=GRID, value="people", code="code")
    assert "secret" not in "".join(traceback.format_exception(caught.value)).splitlines()[-1]
    assert caught.value.__context__ is None or "secret" not in str(caught.value.__context__)


def test_files_are_asked_for_where_only_files_are_read():
    with refuses(UsageError, "files-expected"):
        geodp.read_raster(FRAME, grid=GRID)
    with refuses(UsageError, "table-without-geometries"):
        geodp.read_mesh(FRAME, grid=GRID, value="people")


@pytest.mark.parametrize("number", [-1, 2, 2**30])
def test_numbers_that_a_dictionary_does_not_have_are_refused(number):
    """Before any text is looked up by them."""
    numbers = pa.array([0, 1, number, 1], pa.int32())
    column = pa.DictionaryArray.from_arrays(numbers, pa.array(CODES[:2]), safe=False)
    given = pa.table({"code": column, "people": [1, 2, 3, 4]})
    with refuses(InputError, "arrow-text-not-utf8: row 3"):
        geodp.read_table(given, grid=GRID, value="people", code="code", duplicates="sum")


@pytest.mark.parametrize("rows", [2, 300_000])
def test_a_query_that_fails_shows_no_value(rows):
    """At once, or when its rows are asked for."""
    query = f"""SELECT '533946113' AS code, CAST(CASE WHEN i = {rows - 1} THEN concat('139.7', 'x')
        ELSE '1' END AS BIGINT) AS people FROM (SELECT range AS i FROM range({rows}))"""
    with refuses(InputError, "engine-failed") as caught:
        geodp.read_table(duckdb.sql(query), grid=GRID, value="people", code="code")
    for link in chain(caught.value):
        assert "139.7" not in f"{link} {link!r} {link.args}"


WORDS = ["ab", "", "Ω", "12"]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_bytes_of_a_part_of_a_column(kind):
    whole = pa.array(["zz", *WORDS, "yy"], pa.string()).cast(kind)
    for column in (whole.slice(1, 4), pa.array(WORDS, pa.string()).cast(kind)):
        start, text = bytes_of_texts(column)
        assert [text[a:b].tobytes().decode() for a, b in pairwise(start)] == WORDS
        assert not is_ascii(column)
        assert is_ascii(column.slice(0, 2))
        assert is_ascii(column.slice(3))
    for column in (pa.array([], pa.string()), pa.array(WORDS)[:0], pa.array(["", ""])):
        assert is_ascii(column)


def test_numbers_of_a_part_of_a_column():
    column = pa.array(["x", "7", "070", "y"])
    for none in (column, pa.array(["1", None]), pa.array([""])):
        assert numbers_of_digits(none) is None
    assert numbers_of_digits(pa.array([], pa.string())).tolist() == []
    assert numbers_of_digits(column[1:3]).tolist() == [7, 70]
    assert numbers_of_digits(column[1:3], as_names=True) is None
    assert numbers_of_digits(column[1:2], as_names=True).tolist() == [7]


@pytest.mark.parametrize("kind", ["pandas", "geopandas"])
@pytest.mark.parametrize("named", [{}, {"value": "people"}])
def test_a_frame_is_converted_once_however_much_is_to_be_found(kind, named, monkeypatch):
    frame = pandas.DataFrame({"mesh": ["53394611", "53394612"], "people": [812, 40]})
    grid, owner, method = geodp.Grid.mesh("jis:basic"), pandas.DataFrame, "__arrow_c_stream__"
    if kind == "geopandas":
        geopandas = pytest.importorskip("geopandas")
        frame = geopandas.GeoDataFrame(
            frame, geometry=geopandas.points_from_xy([139.78, 139.79], [35.68] * 2), crs=6668
        )
        owner, method, named = geopandas.GeoDataFrame, "to_arrow", {"code": "mesh", **named}
    converted, convert = [], getattr(owner, method)

    def counted(self, *given, **options):
        converted.append(1)
        return convert(self, *given, **options)

    monkeypatch.setattr(owner, method, counted)
    assert int(geodp.read(frame, grid, **named).count.sum()) == 852
    assert len(converted) == 1
    shown = repr(convert_once(frame))
    assert shown == f"Converted(name='{kind}.{type(frame).__name__}', active='{frame_of(kind)}')"
    rows = pa.table({"mesh": ["53394611"], "people": [812]})
    assert convert_once(rows) is rows
    assert convert_once("people.csv") == "people.csv"


def frame_of(kind):
    return "geometry" if kind == "geopandas" else ""
