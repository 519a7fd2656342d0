"""Releases that earlier versions wrote, with other versions of PROJ, stay readable."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pyproj
import pytest
import rasterio

from geodp.grid.crs import same_crs
from geodp.io.folder.publication import sha256
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.table.stated.domain import StatedDomain
from tests.io.verify.test_verify import other_files, write_checksums

RELEASES = sorted((Path(__file__).parents[2] / "golden" / "earlier").glob("*/*"))


def name_of(folder):
    return f"{folder.parent.name}-{folder.name}"


def test_they_were_written_with_different_versions():
    texts = {
        folder.parent.name: pq.read_schema(folder / "population.parquet").metadata[b"geo"]
        for folder in RELEASES
        if folder.name == "masked"
    }
    assert len(texts) == 2
    assert len({*texts.values()}) == 2
    assert sum(f"proj-{pyproj.proj_version_str}" != name for name in texts) >= 1


@pytest.mark.parametrize("folder", RELEASES, ids=name_of)
def test_an_earlier_release_agrees_with_itself(folder):
    assert [check for check in verify(folder) if not check.ok] == []
    table, card = read_release_table(folder)
    assert card.domain == StatedDomain.of(table.grid)


@pytest.mark.parametrize(
    "change",
    [
        lambda geo: geo.update(crs=None),
        lambda geo: geo.update(crs=pyproj.CRS("EPSG:4612").to_json_dict()),
        lambda geo: geo["crs"].update(id={"authority": "EPSG", "code": 4326}),
        lambda geo: geo["crs"].pop("id"),
        lambda geo: geo.update(crs="EPSG:3035"),
        lambda geo: geo.update(edges="spherical"),
        lambda geo: geo.update(bbox=[0, 0, 1, 1]),
        lambda geo: geo.update(more=1),
    ],
)
def test_what_means_something_else_is_found(change, tmp_path):
    folder, public = RELEASES[0], tmp_path / "public"
    shutil.copytree(folder, public)
    file = public / "population.parquet"
    table = pq.read_table(file)
    geo = json.loads(table.schema.metadata[b"geo"])
    change(geo["columns"]["geometry"])
    metadata = {**table.schema.metadata, b"geo": json.dumps(geo)}
    pq.write_table(table.replace_schema_metadata(metadata), file)
    assert sha256(file) != sha256(folder / "population.parquet")
    write_checksums(public)
    assert other_files(public) == {"population.parquet"}


@pytest.mark.parametrize(("one", "other"), [("EPSG:6668", "EPSG:4612"), ("EPSG:3035", "EPSG:3034")])
def test_a_crs_is_the_same_in_other_words_only(one, other):
    crs = pyproj.CRS(one)
    said = crs.to_json_dict()
    said["name"] = said["name"].upper()
    said.pop("area", None)
    assert same_crs(said, one)
    assert same_crs(crs.to_wkt(), one)
    assert same_crs(rasterio.crs.CRS.from_user_input(one).to_wkt(), one)  # as in rasters
    assert not same_crs(pyproj.CRS(other).to_json_dict(), one)
    assert not same_crs(pyproj.CRS(other).to_wkt(), one)
    assert same_crs(None, None)
    assert not same_crs(None, one)
    assert not same_crs(said, None)
    assert not same_crs({"type": "nothing"}, one)
    assert not same_crs("http://127.0.0.1/crs", one)
