"""Columns that a call from Python does not name are found as the shell finds them, or asked for."""

import geopandas
import pandas
import polars
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.grid.grid import Grid
from geodp.grid.units import grid_of_units
from geodp.io.read.counting.choosing import complete_reader, phrase_for_python
from geodp.io.read.table import Table
from tests.refusals import refuses

MESH = Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
CODES = ["53394611", "53394612", "53394613"]
FRAME = pandas.DataFrame({"mesh": CODES, "n": [8, 4, 3]})
LONLAT = pandas.DataFrame({"lon": [139.7, 139.8], "lat": [35.7, 35.7], "id": ["a", "b"]})
POINTS = geopandas.GeoDataFrame(
    {"n": [8, 4]}, geometry=shapely.points([(139.7, 35.7), (139.8, 35.7)]), crs=4326
)
ENDS = pandas.DataFrame({"origin": CODES, "destination": CODES[::-1], "n": [8, 4, 3]})

FRAMES = {
    "pandas": FRAME,
    "a column more": FRAME.assign(day=["2020-10-01"] * 3),
    "codes in the index": FRAME.set_index("mesh"),
    "rows left out": pandas.concat([FRAME, FRAME[:1]])[:3],
    "polars": polars.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
}


@pytest.mark.parametrize("name", FRAMES)
def test_columns_of_frames_are_found(name):
    assert geodp.read(FRAMES[name], MESH).count.tolist() == [8, 4, 3]


def test_columns_of_files_are_found_as_those_of_frames(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    found = complete_reader(Table(grid=MESH), tmp_path / "a.csv")
    assert found == complete_reader(Table(grid=MESH), FRAME)
    assert found.code == "mesh"


def test_what_is_named_stays_and_the_rest_is_found():
    two = FRAME.assign(m=[1, 1, 1])
    assert geodp.read(two, MESH, value="m").count.tolist() == [1, 1, 1]
    assert geodp.read(two, MESH, where={"m": 1}).count.tolist() == [8, 4, 3]
    sexes = FRAME.assign(sex=["f", "m", "f"])
    found = geodp.read(sexes, MESH, by=["sex"], labels={"sex": ["f", "m"]})
    assert found.grid.attributes[0].labels == ("f", "m")


def test_records_are_found_by_coordinates_or_geometries():
    assert geodp.read(LONLAT, MESH, reader="points").count.tolist() == [1, 1]
    assert geodp.read(LONLAT, MESH, person="id").bound.value == 1
    assert geodp.read(POINTS, MESH, reader="points").count.tolist() == [1, 1]


def test_cells_units_and_pairs_are_known_by_their_grids():
    codes = ["87283082bffffff", "872830828ffffff"]
    cells = grid_of_cells("h3:7", bounds=(-122.6, 37.6, -122.2, 37.9))
    frame = pandas.DataFrame({"hexagon": codes, "n": [5, 6]})
    assert geodp.read(frame, cells).count.sum() == 11
    units = grid_of_units({"ward": ["01", "02"], "town": ["0", "0"]}, "an example")
    frame = pandas.DataFrame({"ward": ["01", "02"], "n": [5, 6]})
    assert geodp.read(frame, units).count.tolist() == [5, 6]
    assert geodp.read(ENDS, MESH.pairs()).count.sum() == 15
    columns = {"origin": "from", "destination": "to"}
    ends = ENDS.rename(columns=columns)
    assert geodp.read(ends, MESH.pairs(), columns=columns).count.sum() == 15


def test_a_layout_says_labels_of_its_columns(tmp_path):
    text = "KEY_CODE,HTKSYORI,T1,T2,T3\n,,人口（総数）,人口（総数）　男,人口（総数）　女\n"
    path = tmp_path / "tblT001141H5339.txt"
    path.write_text(f"{text}533946111,0,8,5,3\n533946112,0,4,2,2\n", encoding="cp932")
    grid = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    assert geodp.read(path, grid).count.tolist() == [8, 4]
    found = geodp.read(path, grid, by="sex")
    assert (found.grid.attributes[0].name, found.count.tolist()) == ("sex", [5, 3, 2, 2])
    assert {fact.known_by for fact in found.reading.sources[0].facts} >= {"layout"}


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        (FRAME.assign(m=[1, 2, 3]), {}, r"layout-incomplete: \(value=\).*: n, m\.$"),
        (LONLAT, {}, r'layout-incomplete: reader="points"\)\).*\(value=\)'),
        (FRAME.set_axis([0, 1], axis=1), {}, "layout-incomplete: give each of them a name"),
        (FRAME[["n"]], {}, r"layout-incomplete: \(code=;.*\(x=, y=\)"),
        (ENDS, {}, r"layout-incomplete: origin and destination.*grid\.pairs\(\)"),
    ],
)
def test_what_is_not_certain_is_asked_in_words_of_python(frame, options, sentence):
    with refuses(UsageError, sentence) as caught:
        geodp.read(frame, MESH, **options)
    assert "--" not in str(caught.value)


def test_a_stream_that_can_be_read_once_is_not_looked_at():
    rows = pa.Table.from_pandas(FRAME)
    once = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())
    assert complete_reader(Table(grid=MESH), once) == Table(grid=MESH)
    assert geodp.read(once, MESH, code="mesh", value="n").count.sum() == 15


def test_axes_that_are_no_places_are_named():
    frame = pandas.DataFrame({"a": [0, 1], "b": [1, 1], "c": [0, 0], "n": [2, 3]})
    grid = Grid.regular((2, 2, 2))
    with refuses(UsageError, f"axis-column-missing: {grid.axis_names[0]}"):
        geodp.read(frame, grid, value="n")
    columns = dict(zip(grid.axis_names, "abc", strict=True))
    assert geodp.read(frame, grid, columns=columns, value="n").count.tolist() == [2, 3]


def test_options_are_written_as_arguments():
    assert phrase_for_python("rows (--header-row 3, header_row=3)") == "rows (header_row=3)"
    assert phrase_for_python("--by 'sex,age', or --round nearest or other") == (
        'by="sex,age", or rounding="nearest" or other'
    )
    assert phrase_for_python("--pairs with --column origin=NAME") == (
        'grid.pairs() with columns={"origin": "NAME"}'
    )
    assert phrase_for_python("--grid units:TABLE") == "--grid units:TABLE"
