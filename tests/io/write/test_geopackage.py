"""GeoPackages: what GDAL reads is what was released, and whatever was changed is found."""

import shutil
import sqlite3
from contextlib import closing

import geopandas
import numpy as np
import pyogrio
import pytest
import shapely

import geodp
from geodp.grid.grid import Grid
from geodp.io.verify.verify import verify
from geodp.io.write import geopackage, tables
from geodp.table.counts import ReleasedTable
from tests.release.test_frames import METRES, release
from tests.views import view_of

TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
PLAIN = Grid.regular((4, 4), transform=(2, 0, 1, 0, 2, 1))
OWN = Grid.regular(
    (4, 4), crs="+proj=laea +lat_0=10 +lon_0=20 +ellps=GRS80", transform=(9, 0, 0, 0, 9, 0)
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    release(METRES).write(folder / "out")
    return folder / "out" / "public"


def ask(path, question, *values):
    with closing(sqlite3.connect(path)) as base:
        return base.execute(question, values).fetchall()


def test_it_is_a_sound_base_with_index_and_metadata(written):
    path = written / "population.gpkg"
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    assert ask(path, "PRAGMA foreign_key_check") == []
    ((n,),) = ask(path, "SELECT count(*) FROM rtree_population_geometry")
    assert n == ask(path, "SELECT count(*) FROM population")[0][0] > 0
    west, _, _, north = METRES.places[0].bounds
    box = (west + 500, 3000500.0, west + 1500, north)
    some = pyogrio.read_dataframe(path, layer="population", bbox=box)
    every = pyogrio.read_dataframe(path, layer="population")
    assert len(some) == len(every.cx[box[0] : box[2], box[1] : box[3]]) > 0
    ((said,),) = ask(path, "SELECT metadata FROM gpkg_metadata")
    assert '"epsilon": "1"' in said
    assert len(ask(path, TRIGGERS)) == 6


def test_a_copy_can_be_edited_and_its_index_follows(written, tmp_path):
    path = tmp_path / "copy.gpkg"
    shutil.copy(written / "population.gpkg", path)
    frame = pyogrio.read_dataframe(path, layer="population")
    pyogrio.write_dataframe(frame.head(1), path, layer="population", append=True)
    ((n,),) = ask(path, "SELECT count(*) FROM rtree_population_geometry")
    assert n == len(frame) + 1


@pytest.mark.parametrize(("grid", "number"), [(PLAIN, -1), (OWN, geopackage.UNREGISTERED)])
def test_a_crs_without_a_number_is_written_too(grid, number, tmp_path):
    release(grid).write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "population.gpkg"
    assert ask(path, "SELECT srs_id FROM gpkg_geometry_columns") == [(number,)]
    found = geopandas.read_file(path, layer="population")
    assert number == -1 or found.crs.to_dict()["proj"] == "laea"
    assert all(check.ok for check in verify(tmp_path / "out"))


def test_a_column_may_have_the_name_of_row_numbers(tmp_path):
    release(METRES).write(tmp_path / "out", name="FID")
    found = geopandas.read_file(tmp_path / "out" / "public" / "FID.gpkg", layer="FID")
    assert found.FID.sum() == release(METRES).table.total


def test_why_there_is_none_is_said(tmp_path, monkeypatch):
    release(Grid.regular((4, 4))).write(tmp_path / "nowhere")
    left = geodp.open(tmp_path / "nowhere").card().left_out
    assert {one.name: one.why for one in left}["population.gpkg"].endswith("nowhere on the Earth")
    monkeypatch.setattr(geopackage, "can_pack", lambda: False)
    release(METRES).write(tmp_path / "old")
    left = geodp.open(tmp_path / "old").card().left_out
    assert "no index of outlines" in {one.name: one.why for one in left}["population.gpkg"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """An index of three levels, written in more than one piece."""
    path = tmp_path_factory.mktemp("wide") / "wide.gpkg"
    grid = Grid.regular((256, 256), crs="EPSG:3035", transform=(7.3, 0, -900, 0, -7.3, 900))
    key = np.flatnonzero(np.random.default_rng(3).random(grid.size) < 0.5).astype(np.uint64)
    table = ReleasedTable(grid, key, np.ones(key.size, np.int64), release(METRES).event)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "CHUNK", 1 << 13)
        patched.setattr(geopackage, "AT_ONCE", 1 << 11)
        geopackage.write_geopackage(view_of(table, "wide"), path)
    return path


@pytest.mark.parametrize("part", [0.003, 0.05, 0.4, 1])
def test_gdal_finds_by_the_packed_index_what_a_search_of_all_rows_does(wide, part):
    assert ask(wide, "SELECT rtreecheck('rtree_wide_geometry')") == [("ok",)]
    every = pyogrio.read_dataframe(wide, layer="wide", fid_as_index=True)
    west, south, east, north = every.total_bounds
    draw = np.random.default_rng(4)
    for _ in range(5):
        x, y = draw.uniform(west, east), draw.uniform(south, north)
        box = (x, y, x + part * (east - west), y + part * (north - south))
        some = pyogrio.read_dataframe(wide, layer="wide", bbox=box, fid_as_index=True)
        assert sorted(some.index) == sorted(every.index[every.intersects(shapely.box(*box))])


def test_a_packed_index_follows_the_files_triggers(wide, tmp_path):
    path = tmp_path / "copy.gpkg"
    shutil.copy(wide, path)
    frame = pyogrio.read_dataframe(wide, layer="wide")
    moved = frame.head(3000).translate(0.1, 0.1)
    added = geopandas.GeoDataFrame(frame.head(3000).drop(columns="geometry"), geometry=moved)
    pyogrio.write_dataframe(added.set_crs(frame.crs), path, layer="wide", append=True)
    with closing(sqlite3.connect(path)) as base:
        base.execute("DELETE FROM wide WHERE fid % 3 = 0")
        base.commit()
    assert ask(path, "SELECT rtreecheck('rtree_wide_geometry')") == [("ok",)]
    numbers = "SELECT id FROM rtree_wide_geometry ORDER BY id"
    assert ask(path, numbers) == ask(path, "SELECT fid FROM wide ORDER BY fid")
    assert len(ask(path, numbers)) == len(frame) + 3000 - (len(frame) + 3000) // 3


def test_an_index_costs_a_node_for_fifty_rows(wide):
    """Inserts leave nodes half full, and write each many times."""
    ((rows,),) = ask(wide, "SELECT count(*) FROM wide")
    ((nodes,),) = ask(wide, "SELECT count(*) FROM rtree_wide_geometry_node")
    assert nodes <= rows / 51 * 1.06 + 4
