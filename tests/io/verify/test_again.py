"""Every damage of every file of a release is found, with all digests written anew."""

import json
import re
import shutil
import sqlite3
from contextlib import closing
from itertools import chain, zip_longest

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import geodp
from geodp.errors import OutputError
from geodp.io.verify import again
from geodp.io.verify.verify import verify
from geodp.privacy.key import NoiseKey
from geodp.release.opening import errors_of
from tests.io.verify.forging import change, list_leaves, show, sign, write_json
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:half", bounds=(139.7, 35.6, 139.8, 35.7)).with_official_order()


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A small release with files of every format."""
    count = np.random.default_rng(1).integers(0, 60, GRID.shape)
    table = geodp.CountTable.from_dense(count, GRID)
    out = tmp_path_factory.mktemp("again") / "out"
    key = NoiseKey(bytes(range(32)))
    geodp.publish(table, epsilon=1, contribution=1, measurements=True, key=key).write(out)
    return out / "public"


@pytest.fixture
def public(release, tmp_path):
    shutil.copytree(release, tmp_path / "public")
    return tmp_path / "public"


def found(public):
    sign(public)
    return {c.name: c.detail for c in verify(public, errors_of) if not c.ok}


def change_raster(how):
    def damage(public):
        with rasterio.open(public / "population.tif", "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
            how(file)

    return damage


def set_pixel(band):
    def how(file):
        values = file.read(band)
        values[3, 3] += 1
        file.write(values, band)

    return how


def add_overview(public):
    with rasterio.open(public / "population.tif", "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
        file.build_overviews([2])


RASTER = {
    "scale": lambda file: setattr(file, "scales", (2.0,) * file.count),
    "offset": lambda file: setattr(file, "offsets", (5.0,) * file.count),
    "nodata": lambda file: setattr(file, "nodata", 0),
    "names of bands": lambda file: file.set_band_description(1, "jobs"),
    "unit": lambda file: file.set_band_unit(1, "thousand"),
    "tag": lambda file: file.update_tags(GEODP_BUDGET="epsilon = 1/10"),
    "new tag": lambda file: file.update_tags(NOTE="x"),
    "tag of a band": lambda file: file.update_tags(2, NOTE="x"),
    "statistics": lambda file: file.update_tags(1, STATISTICS_MAXIMUM="7"),
    "tag of a namespace": lambda file: file.update_tags(ns="mine", NOTE="x"),
    "transform": lambda file: setattr(file, "transform", rasterio.Affine(1, 0, 0, 0, -1, 0)),
    "crs": lambda file: setattr(file, "crs", "EPSG:4326"),
    "counts": set_pixel(1),
    "errors": set_pixel(2),
    "low ends": set_pixel(3),
    "high ends": set_pixel(4),
}


def run_sql(*statements):
    def damage(public):
        with closing(sqlite3.connect(public / "population.gpkg", isolation_level=None)) as base:
            # Triggers call functions that only a GIS has.
            for name in ("ST_IsEmpty", "ST_MinX", "ST_MaxX", "ST_MinY", "ST_MaxY"):
                base.create_function(name, 1, lambda _shape: 0.0)
            for statement in statements:
                base.execute(statement)

    return damage


def append(name):
    def damage(public):
        with (public / name).open("ab") as file:
            file.write(b"more")

    return damage


BASE = {
    "trigger": ("DROP TRIGGER rtree_population_geometry_insert", "VACUUM"),
    "new trigger": (
        "CREATE TRIGGER mine AFTER DELETE ON population BEGIN DELETE FROM gpkg_metadata; END",
    ),
    "table": ("CREATE TABLE mine (a)",),
    "style": ("CREATE TABLE layer_styles (styleQML TEXT)",),
    "view": ("CREATE VIEW mine AS SELECT 1",),
    "index": ("CREATE INDEX mine ON population (code)",),
    "description": ("UPDATE gpkg_contents SET description = 'safe'",),
    "identifier": ("UPDATE gpkg_contents SET identifier = 'jobs'",),
    "date": ("UPDATE gpkg_contents SET last_change = '2020-01-01T00:00:00.000Z'",),
    "extent": ("UPDATE gpkg_contents SET max_x = 0",),
    "metadata": ("UPDATE gpkg_metadata SET metadata = '{}'",),
    "reference": ("UPDATE gpkg_metadata_reference SET reference_scope = 'x'",),
    "extension": ("DELETE FROM gpkg_extensions",),
    "geometry": ("UPDATE gpkg_geometry_columns SET z = 1",),
    "crs": ("UPDATE gpkg_spatial_ref_sys SET definition = 'x' WHERE srs_id = 6668",),
    "version": ("PRAGMA user_version = 7",),
    "application": ("PRAGMA application_id = 7",),
    "sequence": ("UPDATE sqlite_sequence SET seq = 9999 WHERE name = 'population'",),
    **{
        f"edge {one}": (f"UPDATE gpkg_contents SET {one} = {one} + 1",)
        for one in ("min_x", "min_y", "max_x", "max_y")
    },
    "no edge": ("UPDATE gpkg_contents SET min_x = NULL",),
    "other crs": ("UPDATE gpkg_contents SET srs_id = 4326",),
    "type of geometry": ("UPDATE gpkg_geometry_columns SET geometry_type_name = 'POINT'",),
    "count": ("UPDATE population SET population = population + 1 WHERE fid = 2",),
    "code": ("UPDATE population SET code = 'x' WHERE fid = 2",),
    "shape": ("UPDATE population SET geometry = zeroblob(133) WHERE fid = 2",),
    "row less": ("DELETE FROM population WHERE fid = 2",),
    "row more": ("INSERT INTO population (code) VALUES ('0_0')",),
    "column": ("ALTER TABLE population ADD COLUMN more INTEGER",),
    "no table": ("DROP TABLE population",),
    "box": ("UPDATE rtree_population_geometry SET maxx = maxx + 1 WHERE id = 2",),
    "box less": ("DELETE FROM rtree_population_geometry WHERE id = 2",),
    "box more": ("INSERT INTO rtree_population_geometry VALUES (9999, 0, 1, 0, 1)",),
    "boxes": ("DELETE FROM rtree_population_geometry_rowid",),
}


def change_parquet(name, how):
    def damage(public):
        table = pq.read_table(public / name)
        pq.write_table(how(table), public / name)

    return damage


def say(**more):
    return lambda table: table.replace_schema_metadata(
        {**(table.schema.metadata or {}), **{key.encode(): text for key, text in more.items()}}
    )


def say_of_release(table):
    about = json.loads(table.schema.metadata[b"geodp"]) | {"epsilon": "1/10"}
    return say(geodp=json.dumps(about))(table)


def say_of_column(table):
    fields = [field.with_metadata({"note": "x"}) for field in table.schema]
    return pa.table(table.columns, schema=pa.schema(fields, table.schema.metadata))


def raise_column(column):
    def how(table):
        at = table.schema.get_field_index(column)
        values = table[column].to_numpy().copy()
        values[0] += 1
        return table.set_column(at, table.schema.field(at), [pa.array(values, table[column].type)])

    return how


def other_text(column):
    def how(table):
        at = table.schema.get_field_index(column)
        values = ["x", *table[column].cast(pa.string()).to_pylist()[1:]]
        texts = pa.array(values, pa.string()).cast(table[column].type)
        return table.set_column(at, table.schema.field(at), [texts])

    return how


CELLS, AREAS, NODES = (f"population{ending}.parquet" for ending in ("", "-basic", ".measurements"))
PARQUET = {
    **{(name, how.__name__): how for name in (CELLS, AREAS, NODES) for how in (say_of_release,)},
    **{(name, "more"): say(more="x") for name in (CELLS, AREAS, NODES)},
    **{(name, "field"): say_of_column for name in (CELLS, AREAS, NODES)},
    (CELLS, "geo"): say(geo="{}"),
    **{(CELLS, one): raise_column(one) for one in ("population", "standard_error", "low", "high")},
    **{(AREAS, one): raise_column(one) for one in ("population", "standard_error")},
    (AREAS, "code"): other_text("code"),
    **{(NODES, one): raise_column(one) for one in ("level", "key", "first_row", "first_col")},
    **{(NODES, one): raise_column(one) for one in ("scale",)},
    **{(NODES, one): other_text(one) for one in ("measures", "code", "law")},
}


def edit(name, old, new):
    def damage(public):
        text = (public / name).read_text(encoding="utf-8")
        assert re.search(old, text)
        (public / name).write_text(re.sub(old, new, text, count=1), encoding="utf-8", newline="\n")

    return damage


def change_picture(text):
    def damage(public):
        with Image.open(public / "population.png") as image:
            image.load()
            told = PngInfo()
            for name in ("Title", "Description", "Software"):
                told.add_text(name, image.text[name] + text)
            if not text:
                image.putpixel((200, 200), 1 + image.getpixel((200, 200)))
            image.save(public / "population.png", pnginfo=told, dpi=image.info["dpi"])

    return damage


DAMAGES = {
    **{f"raster: {name}": change_raster(how) for name, how in RASTER.items()},
    "raster: overview": add_overview,
    **{f"GeoPackage: {name}": run_sql(*how) for name, how in BASE.items()},
    "GeoPackage: end": append("population.gpkg"),
    "no GeoPackage": lambda public: (public / "population.gpkg").write_bytes(
        b"SQLite format 3\0" + bytes(4096)
    ),
    **{f"{file}: {name}": change_parquet(file, how) for (file, name), how in PARQUET.items()},
    "types": edit("population.csvt", "integer", "real"),
    "types of areas": edit("population-basic.csvt", "integer", "real"),
    "areas": edit("population-basic.csv", r"\n(\d+),(\d+),", r"\n\1,1\2,"),
    "errors of areas": edit("population-basic.csv", r"\n(\d+),(\d+),", r"\n\1,\2,1"),
    "row": edit("population.csv", r"\n(\d+),(\d+),", r"\n\1,1\2,"),
    "style": edit("population.qml", 'alpha="255"', 'alpha="1"'),
    "style of outlines": edit("population.qml", "0.3", "0.4"),
    "picture": change_picture(""),
    "title of the picture": change_picture("x"),
}


OF_FILES = {
    "population.tif": [one for one in DAMAGES if one.startswith("raster: ")],
    "population.gpkg": [one for one in DAMAGES if "GeoPackage" in one],
    "population.qml": ["style", "style of outlines"],
    "population.png": ["picture", "title of the picture"],
    "population.csvt": ["types"],
    "population-basic.csvt": ["types of areas"],
}
"""Damages of files that are compared one by one with what is written again."""

TOGETHER = [*zip_longest(*OF_FILES.values())]
ALONE = sorted({*DAMAGES} - {*chain(*OF_FILES.values())})


def test_the_release_holds(public):
    assert found(public) == {}


@pytest.mark.parametrize("number", range(len(TOGETHER)))
def test_every_damaged_file_is_named(number, public):
    damages = {file: one for file, one in zip(OF_FILES, TOGETHER[number], strict=True) if one}
    for one in damages.values():
        DAMAGES[one](public)
    told = found(public)["written again"]
    assert {*re.findall(r"population[a-z.-]*[a-z]", told)} == {*damages}, damages


@pytest.mark.parametrize("name", ALONE)
def test_a_damaged_file_of_rows_is_found(name, public):
    DAMAGES[name](public)
    assert found(public)


def test_other_bytes_of_a_library_are_no_damage(public):
    """The same contents, packed in another way."""
    for name in (CELLS, AREAS, NODES):
        table = pq.read_table(public / name)
        pq.write_table(table, public / name, compression="gzip", row_group_size=100)
    with Image.open(public / "population.png") as image:
        image.load()
        told = PngInfo()
        for name in ("Title", "Description", "Software"):
            told.add_text(name, image.text[name])
        image.save(public / "population.png", pnginfo=told, dpi=image.info["dpi"], compress_level=1)
    assert found(public) == {}


def test_every_value_of_the_codebook_is_compared(public):
    """One after the other, on a level of each kind."""
    file = public / "population.measurements.json"
    book = json.loads(file.read_text(encoding="utf-8"))
    seen, left = {}, []
    for path in list_leaves(book):
        seen[show(path)] = seen.get(show(path), 0) + 1
        if seen[show(path)] > 1:
            continue
        write_json(file, change(book, path))
        if not found(public):
            left.append(path)
    assert left == []


def test_a_raster_that_is_too_large_to_be_written_again_is_compared_by_what_it_says(
    public, monkeypatch
):
    monkeypatch.setattr("geodp.io.verify.again.SMALL_RASTER", 1)
    assert found(public) == {}
    left = []
    for name, how in RASTER.items():
        shutil.copytree(public, public.parent / name)
        change_raster(how)(public.parent / name)
        if not found(public.parent / name):
            left.append(name)
    # Statistics follow from pixels, which other checks compare.
    assert left == ["statistics"]


def test_want_of_space_is_no_fault_of_the_release(public, monkeypatch):
    monkeypatch.setattr(again, "SPACE", 1 << 60)
    with refuses(OutputError, "verify-exceeds-disk"):
        verify(public, errors_of)


WORDS = {
    *(f"raster: {one}" for one in ("names of bands", "unit", "tag", "new tag", "tag of a band")),
    *(f"raster: {one}" for one in ("statistics", "tag of a namespace", "overview")),
    # The intervals of cells that are not listed follow from the method of that version.
    *("raster: low ends", "raster: high ends"),
    *(f"GeoPackage: {one}" for one in ("description", "identifier", "date", "metadata", "end")),
    *(f"{name}: {how}" for name, how in PARQUET if how in ("say_of_release", "more", "field")),
    *("types", "types of areas", "style", "style of outlines"),
    *("picture", "title of the picture"),
}
ROWS = (
    *("raster: counts", "raster: errors", "GeoPackage: count", "GeoPackage: box", "row", "areas"),
    *(f"{CELLS}: population", f"{AREAS}: code", f"{NODES}: scale", "errors of areas"),
)
"""Damages that a version of other words leaves unseen, and some that none does."""


def test_a_release_of_another_version_is_compared_by_rows_and_pixels(public):
    """Its words are not known, and its rows are."""
    file = public / "release.json"
    write_json(file, json.loads(file.read_text()) | {"software": {"name": "geodp", "version": "0"}})
    sign(public)
    # The id of the card is in the codebook.
    book = public / "population.measurements.json"
    told = json.loads(book.read_text(encoding="utf-8"))
    told["release"]["release_id"] = json.loads(file.read_text())["release_id"]
    write_json(book, told)
    assert found(public) == {}
    for name in (*sorted(WORDS)[::3], *ROWS):
        shutil.copytree(public, public.parent / "other")
        DAMAGES[name](public.parent / "other")
        assert bool(found(public.parent / "other")) == (name in ROWS), name
        shutil.rmtree(public.parent / "other")
