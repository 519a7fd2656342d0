"""Files that a stranger wrote are data: what they name is not followed."""

import contextlib
import json
import os
import shutil
import sqlite3
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio
import shapely
from click.testing import CliRunner

import geodp
from geodp import cli
from geodp.errors import InputError, VerificationError
from geodp.io.opening import MAX_DEPTH, open_parquet, open_raster, parse_json
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.polygons import read_polygons
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.pixels import grid_like
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.tileset import read_tileset
from geodp.io.verify.verify import verify
from geodp.io.write.tiles import Tiling, write_vrt
from tests.io.files import METRES, tiff
from tests.io.listener import Listener, listening
from tests.io.verify.test_verify import failures, other_files, write_checksums
from tests.io.write.test_writers import KANTO, released
from tests.refusals import refuses

pytestmark = pytest.mark.law

PLACE = "<SRS>EPSG:3035</SRS><GeoTransform>4000000,1000,0,3004000,0,-1000</GeoTransform>"


@pytest.fixture(scope="module")
def listener(tmp_path_factory):
    with listening(tmp_path_factory.mktemp("listener")) as found:
        yield found


@pytest.fixture
def unheard(listener: Listener):
    """The listener hears what GDAL is made to ask, and nothing of the test."""
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{listener.url}/alive")
    assert "/alive" in listener.requests
    listener.log.write_text("")
    yield listener
    assert listener.requests == []


def virtual(source: str, size: int = 4) -> str:
    return (
        f'<VRTDataset rasterXSize="{size}" rasterYSize="{size}">{PLACE}<VRTRasterBand '
        'dataType="Int32" band="1"><SimpleSource><SourceFilename relativeToVRT="0">'
        f"{source}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>"
        "</VRTRasterBand></VRTDataset>"
    )


def web(url: str) -> str:
    return (
        f'<GDAL_WMS><Service name="TMS"><ServerUrl>{url}/${{z}}/${{x}}/${{y}}.png</ServerUrl>'
        "</Service><DataWindow><UpperLeftX>4000000</UpperLeftX><UpperLeftY>3004000</UpperLeftY>"
        "<LowerRightX>4004000</LowerRightX><LowerRightY>3000000</LowerRightY><SizeX>4</SizeX>"
        "<SizeY>4</SizeY></DataWindow><Projection>EPSG:3035</Projection><BandsCount>1"
        "</BandsCount><DataType>Byte</DataType></GDAL_WMS>"
    )


def texts(url: str, other: Path) -> dict[str, str]:
    return {
        "another file": virtual(str(other)),
        "the network in VRT": virtual(f"/vsicurl/{url}/a.tif"),
        "the network in WMS": web(url),
        "an address": f"{url}/a.tif",
    }


WHAT = list(texts("", Path()))


def published(folder: Path, raster: Path) -> int:
    command = [
        *("publish", raster, "--grid", "regular:4x4", "--origin", "4000000", "3000000"),
        *("--cell", "1000", "--crs", "EPSG:3035", "--epsilon", "1", "--output", folder / "out"),
    ]
    return CliRunner().invoke(cli.geodp, list(map(str, command))).exit_code


@pytest.mark.parametrize("what", WHAT)
def test_a_raster_that_is_text_is_not_followed(tmp_path, unheard, what):
    other = tiff(np.full((4, 4), 7, np.int32))(tmp_path)
    given = tmp_path / "counts.tif"
    given.write_text(texts(unheard.url, other)[what])
    rule = "raster-unreadable" if what == "an address" else "text-is-xml"
    for read in (grid_like, lambda path: read_raster(path, grid=METRES)):
        with refuses(InputError, rule):
            read(given)
    assert published(tmp_path, given) != 0
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError):
        read_mask(given, KANTO, source="a test")


@pytest.mark.parametrize("what", ["another file", "the network"])
def test_a_downloaded_release_is_not_followed(public, unheard, what):
    """The raster is a VRT of the right size and place; what it shows is elsewhere."""
    file = public / "population.tif"
    other = file.rename(public.parent.parent / "local.tif")
    source = other if what == "another file" else f"/vsicurl/{unheard.url}/a.tif"
    with rasterio.open(other) as raster:
        numbers = ", ".join(map(repr, raster.transform.to_gdal()))
        bands = "".join(
            f'<VRTRasterBand dataType="Float32" band="{band}"><NoDataValue>nan</NoDataValue>'
            f'<SimpleSource><SourceFilename relativeToVRT="0">{source}</SourceFilename>'
            f"<SourceBand>{band}</SourceBand></SimpleSource></VRTRasterBand>"
            for band in (1, 2)
        )
        file.write_text(
            f'<VRTDataset rasterXSize="{raster.width}" rasterYSize="{raster.height}">'
            f"<SRS>EPSG:6668</SRS><GeoTransform>{numbers}</GeoTransform>{bands}</VRTDataset>"
        )
    with rasterio.open(file) as raster:  # GDAL by itself would follow it
        assert (raster.driver, raster.count) == ("VRT", 2)
    write_checksums(public)
    assert failures(public) == ["written again"]
    assert other_files(public) == {"population.tif"}


@pytest.mark.parametrize("ending", [".msk", ".ovr", ".aux.xml"])
@pytest.mark.parametrize("what", WHAT)
def test_what_stands_beside_a_raster_is_not_followed(tmp_path, unheard, ending, what):
    given = tiff(np.full((4, 4), 7, np.int32))(tmp_path)
    beside = given.with_name(given.name + ending)
    named = f"/vsicurl/{unheard.url}/o.tif"
    metadata = f'<Metadata domain="OVERVIEWS"><MDI key="OVERVIEW_FILE">{named}</MDI></Metadata>'
    aux = f"<PAMDataset>{metadata}</PAMDataset>"
    beside.write_text(aux if ending == ".aux.xml" else texts(unheard.url, given)[what])
    if ending == ".msk":
        with refuses(InputError, "raster-changed-by-file"):
            read_raster(given, grid=METRES)
        return
    assert read_raster(given, grid=METRES).count.sum() == 7 * 16


def test_an_overview_that_a_raster_names_is_not_opened(tmp_path, unheard):
    given = tiff(np.full((4, 4), 7, np.int32))(tmp_path)
    with rasterio.open(given, "r+") as raster:
        raster.update_tags(ns="OVERVIEWS", OVERVIEW_FILE=f"/vsicurl/{unheard.url}/o.tif")
    assert read_raster(given, grid=METRES).count.sum() == 7 * 16
    with open_raster(given) as raster:
        assert raster.overviews(1) == []


@pytest.mark.parametrize(
    "said",
    ["<NoDataValue>7</NoDataValue>", "<SRS>EPSG:4326</SRS>", "<GeoTransform>1</GeoTransform>"],
)
def test_what_would_change_a_raster_from_beside_is_refused(tmp_path, said):
    given = tiff(np.full((4, 4), 7, np.int32))(tmp_path)
    beside = tmp_path / "in.tif.aux.xml"
    beside.write_text(f"<PAMDataset>{said}")
    with refuses(InputError, r"raster-changed-by-file: in\.tif\.aux\.xml"):
        read_raster(given, grid=METRES)
    beside.write_text("<PAMDataset><Metadata></Metadata></PAMDataset>")
    assert read_raster(given, grid=METRES).count.sum() == 7 * 16
    (tmp_path / "in.tfw").write_text("1000\n0\n0\n-1000\n0\n0\n")
    with refuses(InputError, r"raster-changed-by-file: in\.tfw"):
        grid_like(given)


@pytest.mark.parametrize(
    ("crs", "code"),
    [
        ("{url}/crs", None),
        pytest.param("/vsicurl/{url}/crs", None, marks=pytest.mark.law),
        pytest.param("ESRI::{url}/crs", None, marks=pytest.mark.law),
        ("{url}/crs", "jis:half"),
    ],
)
def test_a_crs_of_a_card_is_no_address(public, unheard, crs, code):
    card = json.loads((public / "release.json").read_text())
    card["domain"]["places"][0] |= {"crs": crs.format(url=unheard.url), "code": code}
    write_checksums(public, card)
    assert "cells" in failures(public)


@pytest.mark.parametrize(
    "crs",
    [
        "+init=/etc/passwd:root",
        "+proj=longlat +nadgrids=/etc/passwd +type=crs",
        "+proj=longlat +ellps=GRS80 +geoidgrids=@secret.gtx +type=crs",
    ],
)
def test_a_crs_names_no_file(crs):
    with refuses(geodp.errors.UsageError, "crs-names-files"):
        geodp.Grid.regular((4, 4), crs=crs, transform=(1, 0, 0, 0, 1, 0))
    known = geodp.Grid.regular((4, 4), crs="EPSG:3857", transform=(1, 0, 0, 0, 1, 0))
    assert known.places[0].crs == "EPSG:3857"


TILES = Tiling(METRES.places[0], 2)


@pytest.fixture
def tiles(tmp_path):
    files = {}
    (tmp_path / "n.tiles").mkdir()
    for number in range(TILES.count):
        path = tiff(np.full((2, 2), number, np.float32))(tmp_path)
        files[number] = f"n.tiles/{TILES.name(number)}"
        path.rename(tmp_path / files[number])
    vrt = tmp_path / "n.vrt"
    view = replace(released(METRES).view("n"), errors=None)
    write_vrt(view, TILES, files, vrt, dtype="float32")
    return vrt, list(files.values())


def test_tiles_are_read_without_gdals_virtual_format(tiles):
    vrt, listed = tiles
    found = read_tileset(vrt, listed)
    with rasterio.open(vrt) as raster:
        assert (found.shape, found.count) == (raster.shape, raster.count)
        assert found.transform == raster.transform
        for window in ((0, 0, 4, 4), (1, 1, 2, 3), (0, 3, 4, 1)):
            window = rasterio.windows.Window(*window)
            np.testing.assert_array_equal(found.read(1, window), raster.read(1, window=window))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n.tiles/tile-0000-0000.tif", "../local.tif"),
        ("n.tiles/tile-0000-0000.tif", "/vsicurl/{url}/a.tif"),
        ('relativeToVRT="1"', 'relativeToVRT="0"'),
        ("<SimpleSource>", '<SimpleSource resampling="bilinear">'),
        ("SimpleSource>", "ComplexSource>"),
        ('<VRTRasterBand dataType="Float32"', '<VRTRasterBand subClass="VRTDerivedRasterBand" '
         'dataType="Float32"'),
        ("<UnitType>n</UnitType>", "<PixelFunctionType>n</PixelFunctionType>"),
        ("<UnitType>n</UnitType>", "<UnitType>n</UnitType><Overview></Overview>"),
        ("<Metadata>", '<Metadata domain="OVERVIEWS">'),
        ("<VRTDataset ", '<VRTDataset subClass="VRTWarpedDataset" '),
        ("<NoDataValue>nan", "<NoDataValue>0"),
        ("<SourceBand>1", "<SourceBand>mask,1"),
        ('yOff="2" xSize', 'yOff="1" xSize'),
        ('rasterXSize="4"', 'rasterXSize="3"'),
        ("<VRTDataset ", "<!DOCTYPE VRTDataset [<!ENTITY a 'b'>]><VRTDataset "),
        ("<VRTDataset ", "<VRTDataset>"),
    ],
)  # fmt: skip
def test_another_vrt_than_those_that_are_written_is_refused(tiles, unheard, old, new):
    vrt, listed = tiles
    text = vrt.read_text()
    assert old in text
    vrt.write_text(text.replace(old, new.format(url=unheard.url)))
    with refuses(VerificationError, "vrt-unfit"):
        read_tileset(vrt, listed)


def test_a_tile_that_is_none_is_refused(tiles, unheard):
    vrt, listed = tiles
    tile = vrt.parent / listed[0]
    found, window = read_tileset(vrt, listed), rasterio.windows.Window(0, 0, 4, 4)
    tile.rename(tile.with_name("aside.tif"))
    tile.write_text(virtual(str(tile.with_name("aside.tif")), 2))
    with pytest.raises(OSError, match="not recognized"):
        found.read(1, window)
    tiff(np.zeros((1, 2), np.float32))(vrt.parent).rename(tile)
    with refuses(VerificationError, "tile-unfit"):
        found.read(1, window)


@pytest.mark.parametrize("ending", [".gpkg", ".shp", ".fgb", ".vrt", ".txt"])
def test_polygons_that_are_text_are_not_followed(tmp_path, unheard, ending):
    other = tmp_path / "other.gpkg"
    areas = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(139, 35, 139.1, 35.1)])
    areas.set_crs("EPSG:6668").to_file(other)
    assert list(read_polygons(other, KANTO)) == ["a"]
    given = tmp_path / f"areas{ending}"
    for source in (other, f"/vsicurl/{unheard.url}/areas.gpkg", f"WFS:{unheard.url}"):
        given.write_text(
            f'<OGRVRTDataSource><OGRVRTLayer name="other"><SrcDataSource>{source}</SrcDataSource>'
            "</OGRVRTLayer></OGRVRTDataSource>"
        )
        with refuses(InputError, "text-is-xml"):
            read_polygons(given, KANTO)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW asked AS SELECT ogr_geocode('x') AS geom",
        "CREATE VIRTUAL TABLE asked USING fts5(name)",
    ],
)
def test_a_geopackage_computes_nothing(tmp_path, sql):
    path = tmp_path / "areas.gpkg"
    areas = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(139, 35, 139.1, 35.1)])
    areas.set_crs("EPSG:6668").to_file(path)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(sql)
        database.commit()
    with refuses(InputError, "geopackage-has-views"):
        read_polygons(path, KANTO)


def linked(public: Path, name: str, target: Path) -> None:
    (public / name).unlink(missing_ok=True)
    (public / name).symlink_to(target)


@pytest.mark.parametrize("name", ["population.csv", "population.parquet", "release.json", "extra"])
def test_a_link_in_a_release_is_not_opened(public, tmp_path, name):
    secret = tmp_path / "secret.csv"
    secret.write_text("code,population,standard_error\nmy secret,1,1\n")
    if name == "release.json":
        shutil.copy(public / name, secret)
    linked(public, name, secret)
    checks = verify(public)
    assert [(check.name, check.ok) for check in checks] == [("card", False)]
    assert "my secret" not in checks[0].detail
    with refuses(VerificationError, "release-has-link"):
        read_release_table(public)


def test_a_pipe_in_a_release_is_not_waited_for(public):
    (public / "population.csv").unlink()
    os.mkfifo(public / "population.csv")
    assert failures(public) == ["card"]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "", "a/b", "..", 3, None])
def test_a_name_that_is_a_path_is_refused(public, name):
    card = json.loads((public / "release.json").read_text())
    (public / "release.json").write_text(json.dumps({**card, "name": name}))
    assert failures(public) == ["card"]


DOCUMENTS = [
    b"[" * 100_000,
    b'{"schema":' * 100_000,
    b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1),
    b'{"a": 1, "a": 2}',
    b"[NaN]",
    b"[-Infinity]",
    b"[1e999]",
    b"[" + b"1" * 5000 + b"]",
    b"[" + b"1" * 21 + b"]",
    b'["\xff"]',
    b'"' + b"\\" * 1_000_001,
    b'"' * 1_000_001,
]


@pytest.mark.parametrize("data", DOCUMENTS, ids=lambda data: data[:12])
def test_a_hostile_document_is_refused(public, data):
    with pytest.raises(ValueError):
        parse_json(data)
    (public / "release.json").write_bytes(data)
    assert failures(public) == ["card"]
    (public / "areas.geojson").write_bytes(data)
    with pytest.raises(InputError):
        read_polygons(public / "areas.geojson", KANTO)
    with pytest.raises(InputError):
        read_mask(public / "areas.geojson", KANTO, source="a test")


def test_a_document_is_read_as_it_is():
    text = '{"a": [1, -2.5, "[[\\"[", true, null], "人": 18446744073709551615}'
    assert parse_json(text.encode()) == json.loads(text)
    assert parse_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) == json.loads("[" * 64 + "]" * 64)


HUGE = [10**9, 10**19, -1, 0, 1.5, True, "9", None, [], {}]
PATHS = [
    ("domain", "places", 0, "rows"),
    ("domain", "places", 0, "cols"),
    ("domain", "places", 0, "first"),
    ("domain", "places", 0, "transform"),
    ("domain", "places", 0, "code"),
    ("domain", "places", 0, "crs"),
    ("domain", "places"),
    ("domain", "axes"),
    ("domain", "cells"),
    ("domain", "order"),
    ("domain", "mask"),
    ("guarantee", "epsilon"),
    ("guarantee", "contribution"),
    ("expected_error", "blocks"),
    ("mechanism",),
    ("files",),
    ("domain",),
    ("release_id",),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_a_card_of_any_values_ends_in_checks(public, path):
    good = (public / "release.json").read_text()
    for value in [*HUGE, "1e999999999", "1/0"]:
        card = part = json.loads(good)
        for step in path[:-1]:
            part = part[step]
        if part[path[-1]] == value:
            continue
        part[path[-1]] = value
        (public / "release.json").write_text(json.dumps(card))
        assert failures(public), value


def test_attributes_beyond_number_are_refused_at_once(public):
    card = json.loads((public / "release.json").read_text())
    many = [{"attribute": f"a{n}", "labels": ["x", "y", "z", "w"]} for n in range(26)]
    card["domain"]["attributes"] = many
    card["domain"]["axes"] |= {each["attribute"]: 4 for each in many}
    write_checksums(public, card)
    assert "cells" in failures(public)


def test_columns_in_other_files_are_not_read(tmp_path):
    other, given = tmp_path / "other.parquet", tmp_path / "given.parquet"
    table = pa.table({"code": ["533946113"], "n": [7]})
    pq.write_table(table, other)
    footer = pq.read_metadata(other)
    footer.set_file_path("other.parquet")
    footer.write_metadata_file(given)
    with pytest.raises(pa.ArrowInvalid, match="other files"):
        open_parquet(given)
    with refuses(InputError, "table-unreadable"):
        geodp.read_table(given, grid="jis:half", value="n", code="code")


def test_messages_of_verify_do_not_steer_the_terminal(public):
    card = json.loads((public / "release.json").read_text())
    (public / "\x1b[2Jgone").write_text("")
    steering = "\x1b]0;x\x07\u202e"
    for changed, shown in (
        ({}, "\\x1b[2Jgone"),
        ({steering: 1}, "\\x1b]0;x\\x07\\u202e is unknown"),
    ):
        (public / "release.json").write_text(json.dumps({**card, **changed}))
        done = CliRunner().invoke(cli.geodp, ["verify", str(public)])
        assert not {"\x1b", "\x07", "\u202e"} & {*done.output}
        assert shown in done.output


def test_one_place_opens_files():
    """Nothing else in the package opens a raster or Parquet to read, or parses JSON of others."""
    package = Path(geodp.__file__).parent
    words = ("ParquetFile(", "read_schema(", "parquet.read_table(", "json.loads(", "json.load(")
    found = {
        (path.relative_to(package).as_posix(), word)
        for path in package.rglob("*.py")
        for word in words
        if word in path.read_text(encoding="utf-8")
    }
    assert found == {
        ("io/opening.py", "ParquetFile("),
        ("io/opening.py", "json.loads("),
        ("io/read/public/land.py", "json.loads("),  # the coastline that is part of the package
        ("kernels/shipped.py", "json.loads("),  # the same, of compiled kernels
        ("io/verify/verify_release.py", "json.loads("),  # it runs without this package
        *(
            (f"privacy/{ledger}.py", "json.loads(")  # own
            for ledger in ("hash_chain", "ledger")
        ),
    }
    for path in package.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "rasterio.open(" in line:
                written = '"w"' in line or "open(draft," in line  # of its own making
                assert written or path.name == "opening.py", (path.name, line)
