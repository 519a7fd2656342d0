"""Whatever was changed in a release's GeoPackage is found."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.io.verify.test_verify import other_files, write_checksums
from tests.release.test_frames import METRES, release

EDGES = ("min_x", "min_y", "max_x", "max_y")
TRIGGERS = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
"""They call functions that only a GIS has."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    release(METRES).write(folder / "out")
    return folder / "out" / "public"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE population SET population = population + 1 WHERE fid = 2",
        "UPDATE population SET code = 'x' WHERE fid = 2",
        "UPDATE population SET geometry = zeroblob(133) WHERE fid = 2",
        "DELETE FROM population WHERE fid = 2",
        "INSERT INTO population (code) VALUES ('0_0')",
        "UPDATE gpkg_contents SET srs_id = 4326",
        *(f"UPDATE gpkg_contents SET {one} = {one} + 1" for one in EDGES),
        "UPDATE gpkg_contents SET min_x = NULL",
        "UPDATE gpkg_geometry_columns SET geometry_type_name = 'POINT'",
        "UPDATE rtree_population_geometry SET maxx = maxx + 1 WHERE id = 2",
        "DELETE FROM rtree_population_geometry WHERE id = 2",
        "INSERT INTO rtree_population_geometry VALUES (999, 0, 1, 0, 1)",
        "UPDATE gpkg_spatial_ref_sys SET definition = 'GEOGCS[]' WHERE srs_id = 3035",
        "ALTER TABLE population ADD COLUMN more INTEGER",
        "CREATE VIEW more AS SELECT 1",
        "PRAGMA application_id = 0",
        "DROP TABLE population",
    ],
)
def test_what_was_changed_is_found(written, change, tmp_path):
    public = tmp_path / "public"
    shutil.copytree(written, public)
    with closing(sqlite3.connect(public / "population.gpkg", isolation_level=None)) as base:
        for (name,) in base.execute(TRIGGERS).fetchall():
            base.execute(f"DROP TRIGGER {name}")
        base.execute(change)
    write_checksums(public)
    assert other_files(public) == {"population.gpkg"}


def test_what_is_no_base_is_found(written, tmp_path):
    public = tmp_path / "public"
    shutil.copytree(written, public)
    (public / "population.gpkg").write_bytes(b"SQLite format 3\0" + bytes(4096))
    write_checksums(public)
    assert other_files(public) == {"population.gpkg"}
