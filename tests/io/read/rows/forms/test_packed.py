"""Archives of what libraries open by its path: unpacked, read, and gone."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pyogrio
import pytest
import shapely

import geodp
from geodp.errors import InputError, OutputError
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.raster import read_raster
from geodp.io.read.rows import input_files
from geodp.io.read.rows.pixels import grid_like
from tests.io.files import tiff
from tests.io.read.dialects import read, write_rows, zipped
from tests.refusals import refuses

TABLE = {"code": ["53394611", "53394612"], "n": [5, 6]}
CSV = "code,n\n53394611,5\n53394612,6\n"
BESIDE = {"readme.txt": "Made by an office.\nCC BY\n", "meta.xml": "<m/>", "guide.pdf": b"%PDF"}


def features(path):
    """Write the table as features, in the form that the ending says."""
    points = shapely.to_wkb([shapely.Point(0, 0)] * 2)
    fields = [np.array(column) for column in TABLE.values()]
    pyogrio.raw.write(path, points, fields, [*TABLE], geometry_type="Point", crs="EPSG:4326")
    return path.read_bytes()


def parquet(path):
    pyarrow.parquet.write_table(pa.table(TABLE), path)
    return path.read_bytes()


def workbook(path, *titles):
    rows = [*titles, [*TABLE], *zip(*TABLE.values(), strict=True)]
    return write_rows(path, rows).read_bytes()


def raster(path):
    values = np.array([[5, 6]], np.int32)
    made = tiff(values, (1000, 0, 4000000, 0, -1000, 3000000))(path.parent)
    return made.rename(path).read_bytes()


FORMS = {
    "p.gpkg": features,
    "p.fgb": features,
    "p.geojson": features,
    "p.parquet": parquet,
    "p.xlsx": workbook,
}


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch").mkdir()
    yield tmp_path / "scratch"
    assert not [*(tmp_path / "scratch").iterdir()], "what is unpacked goes"


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("folder", ["", "data/", "month=1/"])
def test_the_one_table_of_an_archive_is_read(name, folder, tmp_path, scratch):
    data = FORMS[name](tmp_path / name)
    path = zipped(tmp_path / "a.zip", {**BESIDE, folder + name: data})
    found = read(path, scratch=scratch, where={"month": "1"} if "month" in folder else {})
    assert found.count.tolist() == [5, 6]
    (source,) = found.reading.sources
    assert source.name == f"{path} ({folder}{name})"
    told = {fact.field: fact.value for fact in source.facts}
    assert told["members that are not read"] == ", ".join(BESIDE)


def test_a_raster_with_what_stands_beside_it(tmp_path, scratch):
    path = zipped(tmp_path / "a.zip", {**BESIDE, "x/r.tif": raster(tmp_path / "r.tif")})
    found = geodp.read(path, grid_like(path), scratch=scratch)
    assert sorted(found.count.tolist()) == [5, 6]
    assert found.reading.sources[0].name == f"{path} (x/r.tif)"
    assert inspect(path)["raster"]["shape"] == [1, 2]
    beside = {"x/r.tif": (tmp_path / "r.tif").read_bytes(), "x/r.tfw": "1000\n0\n0\n-1000\n0\n0\n"}
    with refuses(InputError, r"raster-changed-by-file: \(x/r\.tif\)"):
        grid_like(zipped(tmp_path / "a.zip", beside))


def test_several_tables_are_asked_with_their_names(tmp_path, scratch):
    data = {"p.gpkg": features(tmp_path / "p.gpkg"), "a.csv": CSV, "r.tif": raster(tmp_path / "r")}
    path = zipped(tmp_path / "a.zip", {**BESIDE, **data})
    with refuses(
        InputError, r"archive-holds-several: --member, member=\).*p\.gpkg, r\.tif, a\.csv"
    ):
        read(path, scratch=scratch)
    for member in ("p.gpkg", "a.csv", "*.gpkg"):
        assert read(path, member=member, scratch=scratch).count.tolist() == [5, 6]
    grid = grid_like(zipped(tmp_path / "scratch" / "a.zip", {"r.tif": data["r.tif"]}))
    (tmp_path / "scratch" / "a.zip").unlink()
    found = geodp.read(path, grid, member="r.tif", scratch=scratch)
    assert sorted(found.count.tolist()) == [5, 6]
    with refuses(InputError, "member-needs-archive"):
        read_raster(tmp_path / "r", grid=grid, member="r.tif")


def test_shapefiles_of_an_archive_are_chosen(tmp_path, scratch):
    features(tmp_path / "p.shp")
    parts = {each.name: each.read_bytes() for each in tmp_path.glob("p.*")}
    several = {f"{folder}/{name}": data for folder in "xy" for name, data in parts.items()}
    path = zipped(tmp_path / "a.zip", several)
    with refuses(InputError, r"shapefiles-several: --member, member=\): x/p\.shp, y/p\.shp"):
        read(path, scratch=scratch)
    assert read(path, member="y/p.shp", scratch=scratch).count.tolist() == [5, 6]


def test_damage_is_told_of_the_archive(tmp_path, scratch, monkeypatch):
    data = features(tmp_path / "p.gpkg")
    with refuses(InputError, r"geopackage-size-differs: a\.zip \(p\.gpkg\)") as caught:
        read(zipped(tmp_path / "a.zip", {"p.gpkg": data[:5000]}), scratch=scratch)
    assert "scratch" not in str(caught.value)
    path = zipped(tmp_path / "a.zip", {"p.gpkg": data})
    changed = bytearray(path.read_bytes())
    changed[200] ^= 255
    path.write_bytes(changed)
    with refuses(InputError, "file-damaged"):
        read(path, scratch=scratch)
    monkeypatch.setattr(input_files.shutil, "disk_usage", lambda _: type("Disk", (), {"free": 1}))
    with refuses(OutputError, "scratch-no-room-for-archive"):
        read(zipped(tmp_path / "a.zip", {"p.gpkg": data}), scratch=scratch)


@pytest.mark.parametrize("name", ["/p: x.parquet", "a/b\\..\\p.parquet", "人口.v1.parquet"])
def test_names_become_those_that_every_disk_takes(name, tmp_path, scratch):
    path = zipped(tmp_path / "a.zip", {name: parquet(tmp_path / "p.parquet")})
    assert read(path, scratch=scratch).count.tolist() == [5, 6]
    # Members that would leave the folder are not read.
    path = zipped(tmp_path / "a.zip", {"../../p.parquet": (tmp_path / "p.parquet").read_bytes()})
    with refuses(InputError, "archive-without-table"):
        read(path, scratch=scratch)
