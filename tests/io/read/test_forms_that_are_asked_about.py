"""Forms of files that would be read as something else: matrices, nested ages, names that repeat."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyproj import CRS

import geodp
from geodp.errors import InputError, UsageError
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.layout.propose import propose
from geodp.io.read.public.units import read_units
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.forms.geometry import find_geometry
from geodp.io.read.rows.pixels import grid_like
from tests.io.files import tiff
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=("139.5", "35.5", "139.625", "35.5833333333"))
ROWS = [("code", "n", "n"), ("53392400", 1, 3), ("53392411", 2, 4)]


def read(data, **more):
    return geodp.read_table(data, **{"grid": GRID, "code": "code", "value": "n", **more})


@pytest.mark.parametrize(
    ("ending", "door"), [("csv", read), ("jsonl", read), ("parquet", read), ("parquet", inspect)]
)
def test_two_columns_of_one_name_are_refused(tmp_path, ending, door):
    path, (names, *rows) = tmp_path / f"a.{ending}", ROWS
    if ending == "parquet":
        pq.write_table(pa.table([*map(pa.array, zip(*rows, strict=True))], names), path)
    elif ending == "csv":
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in ROWS))
    else:
        pairs = [[f'"{n}": {v}' for n, v in zip(names, row, strict=True)] for row in rows]
        path.write_text("".join(f"{{{','.join(row)}}}\n" for row in pairs))
    with refuses(InputError, "columns-alike|json-name-repeated: of its own in the file|'n'"):
        door(path)


@pytest.mark.parametrize("header", ["o,01,02,03", "o,53392400,53392411", "o,Tokyo,Osaka,Ueno"])
def test_a_matrix_is_told_how_it_becomes_rows(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n53392400{',1' * header.count(',')}\n")
    trips = {"grid": GRID, "origin": "o", "destination": "d"}
    for more in ({}, {"value": "n"}):
        with refuses(InputError, "column-unknown: melt"):
            geodp.flows.read_trips(path, **trips, **more)
    if "Tokyo" not in header:
        with refuses(InputError, "column-unknown: matrix with a column for each destination"):
            read(path, code="o")
    path.write_text("o,d,m\n53392400,53392411,2\n")
    with refuses(InputError, "column-unknown: 'n'.* matrix with"):
        geodp.flows.read_trips(path, **trips, value="n")


@pytest.mark.parametrize("door", [read, inspect])
def test_omx_has_a_sentence(tmp_path, door):
    path = tmp_path / "a.omx"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    with refuses(InputError, "matrix-is-omx: openmatrix"):
        door(path)


class Wkb(pa.ExtensionType):
    """The extension type that pyarrow writes as Parquet's own geometry."""

    def __init__(self, stated=b"{}"):
        self.stated = stated
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self):
        return self.stated

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls(serialized)


def write_native(path, crs, edges=None):
    squares = [shapely.box(139, 35, 140, 36), shapely.box(140, 35, 141, 36)]
    stated = {"crs": crs} | ({} if edges is None else {"edges": edges})
    kind = Wkb(json.dumps({k: v for k, v in stated.items() if v is not None}).encode())
    pa.register_extension_type(kind)
    try:
        column = pa.ExtensionArray.from_storage(kind, pa.array(shapely.to_wkb(squares)))
        # Without the schema of Arrow, as other programs write it.
        pq.write_table(pa.table({"town": ["01", "02"], "shape": column}), path, store_schema=False)
    finally:
        pa.unregister_extension_type("geoarrow.wkb")
    (geometry,) = [pq.ParquetFile(path).schema.column(1)]
    if geometry.logical_type.type not in ("GEOMETRY", "GEOGRAPHY"):
        pytest.skip("this pyarrow does not write Parquet's own geometries")
    return path


@pytest.mark.parametrize(
    ("crs", "edges", "said"),
    [
        (None, None, "OGC:CRS84"),
        (None, "spherical", "OGC:CRS84"),
        ("EPSG:4612", None, "EPSG:4612"),
        (CRS("EPSG:4612").to_json_dict(), None, "EPSG:4612"),
    ],
)
def test_geometries_of_parquet_itself_are_read(tmp_path, crs, edges, said):
    path = write_native(tmp_path / "a.parquet", crs, edges)
    (table,) = open_tables(path)
    found = find_geometry(table)
    assert found.name == "shape"
    assert CRS(found.crs) == CRS(said)
    grid = read_units(path, source="made up")
    counts = pa.table({"code": ["01", "02"], "n": [5, 7]})
    assert geodp.read_table(counts, grid=grid, code="code", value="n").count.tolist() == [5, 7]


def test_quadkeys_as_numbers_are_no_cells_of_s2():
    keys = ["021330", "021331", "021332", "021333"]
    for codes in ([int(one) for one in keys], keys):
        table = pa.table({"cell": codes, "n": [1, 2, 3, 4]})
        (found,) = inspect(table)["tables"]
        assert (found["quadkeys"], found["grids"]) == (found["key"] is not None, [])
    named = pa.table({"cell_code": [213301, 213310], "n": [1, 2]})
    asked = propose(named, {}).questions
    assert any("quadkey:ZOOM" in one and "as text" in one for one in asked)


NESTED = {"code": ["53392400"], "pop_18": [10], "pop_60": [4], "pop_65": [3]}


def test_single_ages_side_by_side_may_be_nested():
    table = pa.table(NESTED)
    for values in (["pop_18", "pop_60"], {"18": "pop_18", "60": "pop_60", "65": "pop_65"}):
        with refuses(UsageError, "ages-may-be-nested: 18-59"):
            read(table, value=values, by="age")
    ranges = {"18-59": "pop_18", "60+": "pop_60"}
    assert read(table, value=ranges, by="age").count.tolist() == [10, 4]


@pytest.mark.parametrize("labels", [("0", "5", "10"), ("18", "19", "20"), ("0-17", "18", "19")])
def test_ages_year_by_year_and_classes_from_0_on_are_not_asked_about(labels):
    columns = [f"c{number}" for number in range(3)]
    table = pa.table({"code": ["53392400"], **{one: [1] for one in columns}})
    values = dict(zip(labels, columns, strict=True))
    assert read(table, value=values, by="age").count.tolist() == [1, 1, 1]
    assert read(table, value={"8": "c0", "12": "c1"}, by="hour").count.tolist() == [1, 1]


def world(folder, west, columns=36):
    """Write a raster of 10 degrees with 7 people at 75 degrees west, 35 north, if it has that."""
    pixels = np.zeros((18, 36), np.int32)
    pixels[5, (-75 - west) % 360 // 10] = 7
    folder.mkdir()
    return tiff(pixels[:, :columns], (10, 0, west, 0, -10, 90), "EPSG:4326")(folder)


@pytest.mark.parametrize(
    ("west", "columns", "turned"),
    [(0, 36, -180), (180, 18, -180), (-180, 36, -180), (150, 18, 150), (-5, 36, -185), (0, 18, 0)],
)
def test_maps_from_0_to_360_are_turned(tmp_path, west, columns, turned):
    assert grid_like(world(tmp_path / "a", west, columns)).places[0].bounds[0] == turned


def test_rasters_of_both_ways_count_the_same(tmp_path):
    east, west = world(tmp_path / "e", 0), world(tmp_path / "w", -180)
    points = pa.table({"lon": [-75.0, 285.0], "lat": [35.0, 35.0]})
    for template in (east, west):
        grid = grid_like(template)
        for raster in (east, west):
            table = geodp.read_raster(raster, grid=grid)
            assert grid.decode(table.key).ravel().tolist() == [5, 10]
        table = geodp.read_points(points, grid=grid, x="lon", y="lat")
        assert (grid.decode(table.key).ravel().tolist(), table.count.tolist()) == ([5, 10], [2])
    assert json.dumps(grid_like(east).places[0].bounds) == json.dumps(grid.places[0].bounds)
