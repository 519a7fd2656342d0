"""Files of GIS: what is read, and what is refused without another file being opened."""

import os
import sqlite3
import warnings
import zipfile
from functools import partial

import geopandas
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.forms import geometry, json, vector
from geodp.io.read.table import read_table
from tests.refusals import refuses

SECRET = 987654321
GRID = Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))
CELL = shapely.box(4_001_000, 3_002_000, 4_002_000, 3_003_000)


def frame(shapes, crs=3035, **columns):
    columns = columns or {"n": [SECRET] * len(shapes)}
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=crs)


def test_cells_of_another_grid_are_refused_and_read_by_code(tmp_path):
    cell = frame([CELL], code=["1kmN3002E4001"], n=[4])
    cell.set_crs(25832, allow_override=True).to_file(tmp_path / "a.gpkg")
    with refuses(InputError, "geometry-no-cell: --code"):
        read_table(tmp_path / "a.gpkg", grid=GRID, value="n")
    found = read_table(tmp_path / "a.gpkg", grid="inspire:1km", value="n", code="code")
    assert found.count.tolist() == [4]
    with refuses(InputError, "geometry-not-a-point"):
        read_points(tmp_path / "a.gpkg", grid=GRID)


def test_layers_are_chosen(tmp_path):
    for layer, count in (("a", 3), ("b", 4)):
        frame([CELL], n=[count]).to_file(tmp_path / "a.gpkg", layer=layer)
    with refuses(InputError, r"layer-missing: \(--layer, layer=\): a, b"):
        read_table(tmp_path / "a.gpkg", grid=GRID, value="n")
    assert read_table(tmp_path / "a.gpkg", grid=GRID, value="n", layer="b").count.tolist() == [4]
    with refuses(InputError, "layer-unknown"):
        read_table(tmp_path / "a.gpkg", grid=GRID, value="n", layer="c")
    frame([CELL], n=[3]).to_file(tmp_path / "b.gpkg")
    styles = pd.DataFrame({"style": ["red"]})
    pyogrio.write_dataframe(styles, tmp_path / "b.gpkg", layer="layer_styles", append=True)
    assert read_table(tmp_path / "b.gpkg", grid=GRID, value="n").count.tolist() == [3]


def test_the_table_of_a_shapefile_without_a_word_on_its_encoding(tmp_path):
    for encoding in ("cp932", "utf-8"):
        table = frame([CELL], 人口=[3], 県=["東京都"])
        table.to_file(tmp_path / "a.shp", encoding=encoding)
        (tmp_path / "a.cpg").unlink()
        found = read_table(tmp_path / "a.shp", grid=GRID, value="人口", where={"県": "東京都"})
        assert found.count.tolist() == [3]


def test_named_drivers_open_the_named_file_only(tmp_path):
    """A file that points elsewhere is nothing that is read, whatever it is called."""
    elsewhere = tmp_path / "elsewhere.gpkg"
    frame([CELL]).to_file(elsewhere)
    virtual = f'<OGRVRTDataSource><OGRVRTLayer name="elsewhere"><SrcDataSource>{elsewhere}'
    virtual += "</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>"
    for name in ("a.vrt", "a.gpkg", "a.geojson", "a.shp", "a.json"):
        (tmp_path / name).write_text(virtual)
        with refuses(InputError, "text-is-xml"):
            read_table(tmp_path / name, grid=GRID, value="n")
    os.rename(elsewhere, tmp_path / "a.dat")
    with refuses(InputError, "vector-ending"):
        read_table(tmp_path / "a.dat", grid=GRID, value="n")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW v AS SELECT * FROM a",
        "CREATE VIRTUAL TABLE v USING virtualogr('/etc/passwd')",
    ],
)
def test_a_geopackage_that_computes_is_refused(sql, tmp_path, monkeypatch):
    frame([CELL]).to_file(tmp_path / "a.gpkg")
    row = "INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, ?)"
    with sqlite3.connect(tmp_path / "a.gpkg") as database:
        if "VIRTUAL" in sql:
            database.execute("PRAGMA writable_schema = ON")
            database.execute(row, [sql])
        else:
            database.execute(sql)
    monkeypatch.setattr(vector, "_call", pytest.fail)
    with refuses(InputError, "geopackage-has-views"):
        read_table(tmp_path / "a.gpkg", grid=GRID, value="n")


def test_what_lacks_a_crs_or_geometries_is_told(tmp_path):
    frame([shapely.Point(4_001_500, 3_002_500)], None).to_parquet(tmp_path / "a.parquet")
    with refuses(UsageError, "geometries-without-crs"):
        read_points(tmp_path / "a.parquet", grid=GRID)
    assert read_points(tmp_path / "a.parquet", grid=GRID, crs="EPSG:3035").count.tolist() == [1]
    (tmp_path / "a.csv").write_text("n\n3\n")
    for read in (read_points, partial(read_table, value="n")):
        with refuses(UsageError, "table-without-geometries"):
            read(tmp_path / "a.csv", grid=GRID)


def test_the_crs_of_old_geojson_is_read(tmp_path):
    """That of Japan's ministries names it; without a name it is WGS 84's longitude first."""
    shape = '{"type": "Point", "coordinates": [139.7, 35.6]}'
    feature = f'{{"type": "Feature", "properties": {{"n": 2}}, "geometry": {shape}}}'
    named = '"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::6668"}},'
    path = tmp_path / "a.geojson"
    for crs, said in ((named, "urn:ogc:def:crs:EPSG::6668"), ("", json.CRS84)):
        path.write_text(f'{{"type": "FeatureCollection", {crs} "features": [{feature}]}}')
        (table,) = open_tables(path)
        assert geometry.find_geometry(table) == geometry.Geometry("geometry", said)
    grid = Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
    assert np.array_equal(read_points(path, grid=grid).count, [1])


@pytest.mark.parametrize("name", ["in.zip", "in{.zip", "in}.zip"])
def test_a_brace_in_the_path_of_an_archive_is_refused_with_the_remedy(name, tmp_path):
    frame([CELL]).to_file(tmp_path / "a.shp")
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for part in tmp_path.glob("a.*"):
            archive.write(part, f"folder/{part.name}")
    if name == "in.zip":
        assert read_table(tmp_path / name, grid=GRID, value="n").count.tolist() == [SECRET]
        return
    with refuses(InputError, "archive-path-has-brace"):
        read_table(tmp_path / name, grid=GRID, value="n")


def test_a_damaged_geometry_is_named_by_its_row(tmp_path):
    path = tmp_path / "a.parquet"
    frame([shapely.Point(4_001_500, 3_002_500)] * 2).to_parquet(path)
    table = pq.read_table(path)
    whole = table["geometry"].to_pylist()
    place = table.schema.get_field_index("geometry")
    pq.write_table(table.set_column(place, "geometry", [[whole[0], whole[1][:9]]]), path)
    with refuses(InputError, "geometry-missing: row 2: "):
        read_points(path, grid=GRID)


@pytest.mark.parametrize("place", ['"geometry": null,', ""])
def test_a_feature_without_a_geometry_is_named_where_its_place_is_asked_for(place, tmp_path):
    feature = '{"type": "Feature", %s "properties": {"code": "%s", "n": 3}}'
    point = '"geometry": {"type": "Point", "coordinates": [139.7, 35.6]},'
    rows = ", ".join([feature % (point, "53393599"), feature % (place, "53393598")])
    path = tmp_path / "a.geojson"
    path.write_text(f'{{"type": "FeatureCollection", "features": [{rows}]}}')
    grid = Grid.mesh("jis:basic")
    with refuses(InputError, "geometry-missing: row 2: "):
        read_points(path, grid=grid)
    assert read_table(path, grid=grid, code="code", value="n").count.tolist() == [3, 3]


TIMES = {
    "offsets": ["2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00", None],
    "universal": ["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2024-10-27T02:30:00.500Z"],
    "local": ["2024-10-27T00:30:00", "2024-10-27T01:30:00", "2024-10-27T02:30:00"],
}
MET = {
    ("offsets", "2024-10-27T02:30+02:00"): [1],
    ("offsets", "2024-10-27T01:30Z"): [2],
    ("offsets", "2024-10-26T17:30-07:00"): [1],
    ("offsets", "2024-10-27T02:30"): "where-offset",
    ("offsets", "2024-10-27"): "where-offset",
    ("universal", "2024-10-27T02:30+02:00"): [1],
    ("universal", "2024-10-27T02:30:00.5Z"): [3],
    ("universal", "2024-10-27T00:30"): "where-offset",
    ("local", "2024-10-27T01:30"): [2],
    ("local", "2024/10/27 1:30"): [2],
    ("local", "2024-10-27T01:30Z"): "where-no-offset",
    ("local", "2024-10-27"): "where-other-times",
}


@pytest.mark.parametrize("form", ["csv", "gpkg", "fgb", "shp"])
@pytest.mark.parametrize(("kind", "where"), MET)
def test_times_are_those_that_the_file_says_in_every_form(tmp_path, form, kind, where):
    times = pd.Series(
        [None if one is None else pd.Timestamp(one) for one in TIMES[kind]], dtype=object
    )
    cells = [shapely.affinity.translate(CELL, 1000 * (number - 1)) for number in range(3)]
    path, columns = tmp_path / f"a.{form}", {}
    if form == "csv":
        columns = {"row": "row", "col": "col"}
        rows = {"row": [1, 1, 1], "col": [0, 1, 2], "n": [1, 2, 3], "t": TIMES[kind]}
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        pyogrio.write_dataframe(frame(cells, n=[1, 2, 3], t=times), path)
    met = MET[kind, where]
    asked = {"grid": GRID, "value": "n", "columns": columns, "where": {"t": where}}
    if isinstance(met, list):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # those of GDAL quote values
            assert read_table(path, **asked).count.tolist() == met
        return
    with refuses(InputError, met) as caught:
        read_table(path, **asked)
    assert caught.value.row is not None


@pytest.mark.parametrize("form", ["gpkg", "fgb"])
def test_times_that_gdal_takes_offsets_from_are_refused(tmp_path, monkeypatch, form):
    times = pd.Series([pd.Timestamp("2024-10-27T02:30:00+02:00")], dtype=object)
    pyogrio.write_dataframe(frame([CELL], n=[7], t=times), tmp_path / f"a.{form}")
    monkeypatch.setattr(pyogrio, "__gdal_version__", (3, 10, 3))
    asked = {"grid": GRID, "value": "n"}
    assert read_table(tmp_path / f"a.{form}", **asked).count.tolist() == [7]
    with refuses(UsageError, "vector-offsets-unknown"):
        read_table(tmp_path / f"a.{form}", **asked, where={"t": "2024-10-27T00:30Z"})
