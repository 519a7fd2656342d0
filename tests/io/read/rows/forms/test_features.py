"""Shapefiles, tables of dBASE, GeoPackages, FlatGeobuf, GeoJSON of services: whole or refused."""

import json
import sqlite3
import struct
import zipfile

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.public.polygons import read_polygons
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.forms.features import (
    parts_of_files,
)
from geodp.io.read.table import read_table
from tests.io.read.damage import refuse, zipped_shapefile
from tests.refusals import refuses

SECRET = 987654321
GRID = Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))
CODES = Grid.mesh("inspire:1km", bounds=(4_000_000, 3_000_000, 4_004_000, 3_004_000))
N = 5


@pytest.fixture
def shapefile(tmp_path):
    return write(tmp_path / "a.shp")


def write(path, **options):
    """Write five people in five cells, with a code and a count for each."""
    x, y = 4_000_500 + 1000 * (np.arange(N) % 4), 3_000_500 + 1000 * (np.arange(N) // 4)
    codes = [f"1kmN{int(b) // 1000}E{int(a) // 1000}" for a, b in zip(x, y, strict=True)]
    columns = {"code": codes, "n": np.arange(N) + SECRET}
    frame = geopandas.GeoDataFrame(columns, geometry=shapely.points(x, y), crs=3035)
    frame.to_file(path, **options)
    return path


def by_code(path):
    return read_table(path, grid=CODES, code="code", value="n")


def by_point(path):
    return read_points(path, grid=GRID)


def by_area(path):
    return read_polygons(path, GRID)


BOTH = pytest.mark.parametrize("read", [by_code, by_point])


def patch(path, at, data):
    """Write over some bytes, and return all that there were before."""
    held = path.read_bytes()
    path.write_bytes(held[:at] + data + held[at + len(data) :])
    return held


def layout(path):
    """Records, header and length of a record of a table of dBASE."""
    return struct.unpack("<LHH", path.read_bytes()[4:12])


@BOTH
@pytest.mark.parametrize("change", [-1, 1, 1 << 20])
def test_a_dbf_with_another_number_of_records_is_refused(read, change, shapefile):
    patch(shapefile.with_suffix(".dbf"), 4, struct.pack("<L", N + change))
    refuse(read, shapefile, "dbf-longer|dbf-shorter")


@pytest.mark.parametrize("end", [b"", b"\x1a", b"\x1a" + bytes(11), bytes(3)])
def test_the_mark_of_the_end_of_a_dbf_is_optional(end, shapefile):
    table = shapefile.with_suffix(".dbf")
    n, start, width = layout(table)
    table.write_bytes(table.read_bytes()[: start + n * width] + end)
    for path in (shapefile, table):
        assert by_code(path).count.sum() == N * SECRET + 10


@pytest.mark.parametrize("lost", ["record", "start", "width"])
def test_records_that_stand_elsewhere_are_refused(lost, shapefile):
    table = shapefile.with_suffix(".dbf")
    _, start, width = layout(table)
    if lost == "record":  # of the same length, with bytes that moved from its end to its start
        patch(table, start, table.read_bytes()[start + 3 : start + width] + b"123")
    else:
        at, size = (8, start) if lost == "start" else (10, width)
        patch(table, at, struct.pack("<H", size - 1))
    refuse(by_code, shapefile, "dbf-records-displaced")


@BOTH
def test_parts_that_are_not_there_or_of_another_size_are_named(read, tmp_path):
    for ending in (".shx", ".dbf"):
        path = write(tmp_path / "a.shp")
        path.with_suffix(ending).unlink()
        refuse(read, path, rf"shapefile-incomplete: {ending}")
    index = write(tmp_path / "a.shp").with_suffix(".shx")
    data = index.read_bytes()[:-8]
    index.write_bytes(data)
    refuse(read, path, r"shapefile-part-size: \bshx\b")
    patch(index, 24, struct.pack(">i", len(data) // 2))  # its header mended
    refuse(read, path, "dbf-records-differ")


def test_an_index_that_leads_out_of_the_shapes_is_refused(shapefile):
    patch(shapefile.with_suffix(".shx"), 100, struct.pack(">i", 1 << 20))
    refuse(by_point, shapefile, "shx-places-missing")


def test_endings_in_capitals_are_parts_too(tmp_path):
    write(tmp_path / "a.shp")
    for part in tmp_path.glob("a.*"):
        part.rename(tmp_path / f"B{part.suffix.upper()}")
    assert parts_of_files(tmp_path / "B.SHP").opens(".dbf") is not None
    assert by_point(tmp_path / "B.SHP").count.sum() == N
    (tmp_path / "B.DBF").unlink()
    refuse(by_point, tmp_path / "B.SHP", r"shapefile-incomplete: \.dbf")


def test_deleted_records_are_not_read_and_are_told(shapefile):
    table = shapefile.with_suffix(".dbf")
    _, start, width = layout(table)
    patch(table, start + 2 * width, b"*")
    assert by_code(shapefile).count.sum() == (N - 1) * SECRET + 8
    assert by_point(shapefile).count.sum() == N - 1
    (opened,) = open_tables(shapefile)
    facts = {fact.field: fact.value for fact in opened.facts}
    assert facts["records declared"] == str(N)
    assert facts["records marked as deleted, not read"] == "1"


@pytest.mark.parametrize(
    "text", [b"  12x45678", b"12 34", b"-", b"X", b"1-2", b"12-", b"1.5", b"1e3", b"\xff\xfe"]
)
def test_a_number_that_gdal_would_read_in_part_is_named_by_its_record(text, shapefile):
    table = shapefile.with_suffix(".dbf")
    _, start, width = layout(table)
    patch(table, start + width + 1 + 80, text.ljust(width - 81))
    refuse(by_code, shapefile, "dbf-number-signs", row=2)
    assert by_point(shapefile).count.sum() == N


def test_a_shapefile_in_an_archive_is_held_against_itself(tmp_path):
    path = zipped_shapefile(tmp_path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for ending, keep in ((".dbf", -200), (".shx", -8), (".shp", -28), (".dbf", 0), (".shx", None)):
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in parts.items():
                if not (name.endswith(ending) and keep is None):
                    archive.writestr(name, data[:keep] if name.endswith(ending) else data)
        with refuses(InputError, f"dbf-shorter|shapefile-incomplete|shapefile-part-size: {ending}"):
            read_points(path, grid=GRID, outside="drop")


def test_a_geopackage_of_other_pages_is_refused(tmp_path):
    path = write(tmp_path / "a.gpkg")
    data = path.read_bytes()
    cut = [data[:keep] for keep in (len(data) - 4096, len(data) - 1, 99)]
    refuse(by_code, path, "geopackage-ends-in-header|geopackage-size-differs", *cut)
    refuse(by_code, path, "geopackage-size-differs", data + b"x" * 4096)
    path.write_bytes(data + bytes(4096))  # room that SQLite took ahead
    assert by_code(path).count.size == N
    for at in range(4096, len(data), 4096):  # a page of nothing
        path.write_bytes(data[:at] + bytes(4096) + data[at + 4096 :])
        with pytest.raises(InputError):
            by_code(path)


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_a_writer_has_not_finished_is_refused(ending, tmp_path):
    path, other = write(tmp_path / "a.gpkg"), tmp_path / f"a.gpkg{ending}"
    other.touch()
    assert by_point(path).count.sum() == N
    other.write_bytes(bytes(32))
    refuse(by_point, path, f"geopackage-open: a.gpkg{ending}")


def test_rows_that_are_in_the_log_alone_are_not_passed_over(tmp_path):
    path = write(tmp_path / "a.gpkg")
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("CREATE TABLE other (n INTEGER)")
        base.commit()
        with refuses(InputError, "geopackage-open: -wal"):
            by_code(path)
    base.close()
    assert by_code(path).count.size == N


def change(path, *statements):
    """Run statements on a base, and return what the last one selects."""
    base = sqlite3.connect(path)
    for statement in statements:
        found = base.execute(statement).fetchall()
    base.commit()
    base.close()
    return found


def test_the_number_of_features_is_the_stated_one(tmp_path):
    path = write(tmp_path / "a.gpkg")
    change(path, "UPDATE gpkg_ogr_contents SET feature_count = 4")
    refuse(by_code, path, "geopackage-incomplete")
    change(path, "UPDATE gpkg_ogr_contents SET feature_count = NULL")
    assert by_code(path).count.size == N
    triggers = change(path, "SELECT name FROM sqlite_master WHERE type = 'trigger'")
    drops = [f'DROP TRIGGER "{name}"' for (name,) in triggers if "feature_count" in name]
    change(path, "DROP TABLE gpkg_ogr_contents", *drops)
    assert by_code(path).count.size == N


FLATGEOBUF = (
    "flatgeobuf-end-elsewhere|flatgeobuf-ends-in-header|flatgeobuf-ends-in-index"
    "|flatgeobuf-features-differ"
)


@pytest.mark.parametrize("index", ["YES", "NO"])
def test_a_flatgeobuf_file_ends_with_its_last_feature_and_has_as_many_as_it_says(index, tmp_path):
    path = write(tmp_path / "a.fgb", SPATIAL_INDEX=index)
    data = path.read_bytes()
    last = max(data[:-1].rfind(struct.pack("<L", size)) for size in range(80, 250))
    (size,) = struct.unpack("<L", data[8:12])
    at = data.index(struct.pack("<Q", N), 12, 12 + size)
    others = [
        data[:at] + struct.pack("<Q", number) + data[at + 8 :]
        for number in (N - 1, N + 1, 0, 1 << 40, 1 << 63)
    ]
    versions = (data[:-1], data + bytes(4), data + data[-8:], data[:last], data + data)
    for read in (by_code, by_point):
        path.write_bytes(data)
        assert read(path).key.size == N
        # Without an index nothing needs the number.
        refuse(read, path, FLATGEOBUF, *versions, *(others if index == "YES" else ()))


@pytest.mark.parametrize("rows", [1, 0])
def test_a_flatgeobuf_file_of_one_feature_and_of_none(rows, tmp_path):
    table = geopandas.GeoDataFrame({"n": [3]}, geometry=[shapely.Point(4e6 + 5, 3e6 + 5)], crs=3035)
    table[:rows].to_file(tmp_path / "a.fgb", geometry_type="Point")
    assert by_point(tmp_path / "a.fgb").count.sum() == rows


def collection(members):
    one = {"type": "Feature", "geometry": None, "properties": {"code": "x", "n": 1}}
    return {"type": "FeatureCollection", **members, "features": [one] * 2}


LINKS = [{"rel": "self"}, {"rel": "next", "href": "https://a"}]


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"numberReturned": 3}, "geojson-features-differ"),
        ({"numberMatched": 3, "numberReturned": 2}, "pages-incomplete: numberMatched"),
        ({"totalFeatures": 5000}, "pages-incomplete: totalFeatures"),
        ({"links": LINKS}, "pages-incomplete: link to the next"),
        ({"exceededTransferLimit": True}, "pages-incomplete: exceededTransferLimit"),
        ({"properties": {"exceededTransferLimit": True}}, "pages-incomplete: exceededTransfer"),
    ],
)
def test_one_page_of_a_service_is_refused(members, rule, tmp_path):
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps(collection(members)))
    refuse(by_code, path, rule)
    refuse(by_area, path, rule)


def test_areas_of_a_cut_file_are_refused(tmp_path):
    shapes = [shapely.box(4e6 + 1000 * i, 3e6, 4e6 + 1000 * (i + 1), 3.001e6) for i in range(4)]
    table = geopandas.GeoDataFrame({"name": list("abcd")}, geometry=shapes, crs=3035)
    rule = "dbf-shorter|flatgeobuf-ends-in-header|geopackage-size-differs|shapefile-part-size"
    for name, cut in (("a.shp", ".dbf"), ("a.shp", ".shx"), ("b.fgb", ""), ("c.gpkg", "")):
        path = tmp_path / name
        table.to_file(path)
        assert {*by_area(path)} == {*"abcd"}
        victim = path.with_suffix(cut) if cut else path
        victim.write_bytes(victim.read_bytes()[: -max(8, victim.stat().st_size // 4)])
        refuse(by_area, path, rule)


def test_a_table_of_dbase_alone(tmp_path):
    path = tmp_path / "a.dbf"
    pyogrio.write_dataframe(pd.DataFrame({"code": ["1kmN3000E4000"], "n": [3]}), path)
    assert by_code(path).count.tolist() == [3]
    patch(path, 4, struct.pack("<L", 2))
    refuse(by_code, path, "dbf-shorter")
