import csv
import errno
import json
import os
import stat
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import geopandas
import numpy as np
import pyarrow.parquet
import pytest
import rasterio
import shapely
from rio_cogeo import cog_validate

import geodp
from geodp.domain import blocks_of_array, mask_of_blocks
from geodp.errors import OutputError, UsageError
from geodp.io import cog, picture, publication, style, tables
from geodp.io.publication import check_publication
from geodp.release import Release
from geodp.table import CountTable, ReleasedTable

KANTO = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
LAEA = (1000.0, 0.0, 4_000_000.0, 0.0, -1000.0, 3_000_000.0)
GRIDS = {
    "mesh": KANTO,
    "attributes": KANTO.with_attribute("sex", ["male", 'other, or "x"']).with_attribute(
        "age", ["0-14", "15-64", "65-"]
    ),
    "south": geodp.Grid.regular((9, 5), crs="EPSG:3035", transform=LAEA),
    "nowhere": geodp.Grid.regular((7, 11)),
    "unnamed": geodp.Grid.regular((7, 11), transform=(1, 0, -20, 0, 1, -9)),
    "pairs": geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.05, 35.05)).pairs(),
    "axes": geodp.Grid.regular((4, 3, 5)),
    "one": geodp.Grid.regular((1, 1), crs="EPSG:3035", transform=LAEA),
}
INSIDE = np.indices((24, 32)).sum(axis=0) % 3 > 0
GRIDS["masked"] = KANTO.with_mask(mask_of_blocks(KANTO, blocks_of_array(INSIDE), "a test"))


def released(grid, most=3000, seed=1):
    """A release of random counts; half of the cells are empty."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, most + 1, grid.shape) * rng.integers(0, 2, grid.shape)
    index = np.array(np.nonzero(counts))
    index = index[:, grid.contains(index)]
    table = CountTable.from_index(grid, index, counts[tuple(index)])
    return geodp.publish(table, epsilon=1, key=geodp.NoiseKey(bytes(32)))


def written(path, grid):
    release = released(grid)
    release.write(path)
    return release, path / "public"


def rows_of(folder):
    with (folder / "population.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", GRIDS)
def test_the_folder_lists_itself(tmp_path, name):
    release = released(GRIDS[name])
    paths = release.write(tmp_path / "out", restricted={"rows": 7, "path": Path("x")})
    public, hidden = tmp_path / "out" / "public", tmp_path / "out" / "restricted"
    assert paths["public"] == sorted(map(str, public.iterdir()))
    assert paths["restricted"] == sorted(map(str, hidden.iterdir()))
    summed = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=public, capture_output=True)
    assert summed.returncode == 0, summed
    assert len((public / "SHA256SUMS").read_text().splitlines()) == len(paths["public"]) - 1
    card = json.loads((public / "release.json").read_text(encoding="utf-8"))
    assert {k: v for k, v in card.items() if k not in publication.OWN} == release.card()
    listed = {entry["name"] for entry in card["files"]}
    assert listed | {"release.json", "SHA256SUMS"} == set(os.listdir(public))
    assert listed.isdisjoint(entry["name"] for entry in card["left_out"])
    assert ("population.tif" in listed) == (name not in ("pairs", "axes"))
    assert ("population.png" in listed) == (name != "axes")
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert stat.S_IMODE((hidden / "run.json").stat().st_mode) == 0o600
    assert json.loads((hidden / "run.json").read_text()) == {"rows": 7, "path": "x"}
    assert "CONFIDENTIAL" in (hidden / "README.txt").read_text()


@pytest.mark.parametrize("name", GRIDS)
def test_repetition_gives_the_same_bytes(tmp_path, name):
    release = released(GRIDS[name])
    release.write(tmp_path / "first", name="人口_2020")
    release.write(tmp_path / "second", name="人口_2020")
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / run / "public").iterdir()}
        for run in ("first", "second")
    )
    assert first == second


def test_confidential_tables_are_refused(tmp_path):
    table = CountTable.from_dense(np.ones((24, 32), int), KANTO)
    with pytest.raises(UsageError, match="released"):
        publication.write_publication(
            table, {}, tmp_path / "o", name="p", standard_error=1, overwrite=False, restricted={}
        )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", "a b", "../a", "a/b", ".hidden", "-x", "a.b", "人" * 70])
def test_names_are_plain_file_names(tmp_path, name):
    with pytest.raises(UsageError, match="name"):
        released(KANTO).write(tmp_path / "out", name=name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["code", "Geometry", "standard_error", "sex", "bbox"])
def test_columns_need_names_of_their_own(tmp_path, name):
    grid = KANTO.with_attribute("sex", ["m", "f"])
    with pytest.raises(UsageError, match="Two columns"):
        check_publication(grid, tmp_path / "out", name=name, overwrite=False)


def test_an_unknown_crs_is_refused_before_anything_is_written(tmp_path):
    grid = geodp.Grid.regular((2, 2), crs="EPSG:1", transform=LAEA)
    with pytest.raises(UsageError, match="EPSG:1"):
        check_publication(grid, tmp_path / "out", name="population", overwrite=False)


@pytest.mark.parametrize("writer", ["write_csv", "write_parquet", "write_cog", "write_png"])
@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "No space left on device"), OutputError),
    ],
)
def test_nothing_is_left_of_a_broken_write(tmp_path, monkeypatch, writer, error, seen):
    def breaks(*_, **__):
        raise error

    home = {"write_cog": cog, "write_png": publication}.get(writer, tables)
    monkeypatch.setattr(home, writer, breaks)
    with pytest.raises(seen):
        released(KANTO).write(tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_a_file_size_limit_leaves_nothing(tmp_path):
    program = (
        "import resource, sys, geodp, numpy as np\n"
        "grid = geodp.Grid.mesh('jis:half', bounds=(139, 35, 142, 37))\n"
        "counts = np.random.default_rng(0).integers(0, 5000, grid.shape)\n"
        "release = geodp.publish(geodp.CountTable.from_dense(counts, grid), epsilon=1)\n"
        "from geodp.io import publication\n"
        "def no_tables(table, card, files, name, error):\n"
        "    (files.folder / f'{name}.csv').touch()\n"
        "publication._write_tables = no_tables\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n"
        "try:\n"
        "    release.write(sys.argv[1])\n"
        "except geodp.errors.OutputError as error:\n"
        "    print(error)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "out"], capture_output=True, text=True
    )
    assert "GDAL could not write the raster" in found.stdout, found
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["mesh", "attributes", "masked", "south", "nowhere", "unnamed"])
def test_csv_lists_every_cell_above_0(tmp_path, name):
    grid = GRIDS[name]
    release, folder = written(tmp_path / "out", grid)
    rows = rows_of(folder)
    assert list(rows[0]) == ["code", *(a.name for a in grid.attributes), "population", tables.ERROR]
    index = [tables.parse_codes(grid.places[0], [row["code"] for row in rows])]
    index += [[[a.labels.index(row[a.name]) for row in rows]] for a in grid.attributes]
    key = grid.encode(np.concatenate(index))
    assert (key == release.table.key).all()
    assert [int(row["population"]) for row in rows] == release.table.count.tolist()
    assert {float(row[tables.ERROR]) for row in rows} == {
        release.card()["expected_error"]["blocks"][0]["standard_error"]
    }
    assert b"\r" not in (folder / "population.csv").read_bytes()
    types = (folder / "population.csvt").read_text()
    labels = '"String",' * (1 + len(grid.attributes))
    assert types == labels + '"Integer64","Real"\n'


def test_csv_of_pairs_and_plain_axes(tmp_path):
    release, folder = written(tmp_path / "pairs", GRIDS["pairs"])
    first = rows_of(folder)[0]
    assert list(first) == ["origin", "destination", "population", tables.ERROR]
    index = release.grid.decode(release.table.key[:1])
    place = release.grid.places[0]
    assert first["origin"] == place.format(index[0], index[1])[0]
    assert first["destination"] == place.format(index[2], index[3])[0]
    release, folder = written(tmp_path / "axes", GRIDS["axes"])
    rows = rows_of(folder)
    found = np.array([[int(row[f"axis{i}"]) for row in rows] for i in range(3)])
    assert (found == release.grid.decode(release.table.key)).all()
    assert "geo" not in pyarrow.parquet.read_schema(folder / "population.parquet").metadata


@pytest.mark.parametrize("name", ["mesh", "attributes", "masked", "south", "unnamed"])
def test_geoparquet_holds_the_cells(tmp_path, name):
    grid = GRIDS[name]
    release, folder = written(tmp_path / "out", grid)
    frame = geopandas.read_parquet(folder / "population.parquet")
    place = grid.places[0]
    assert frame.crs == place.crs
    assert frame["population"].tolist() == release.table.count.tolist()
    assert frame.is_valid.all()
    assert all(shape.exterior.is_ccw for shape in frame.geometry)
    row, col = grid.decode(release.table.key)[:2]
    x, y = place.edges()
    low, high = np.minimum(y[row], y[row + 1]), np.maximum(y[row], y[row + 1])
    assert (shapely.bounds(frame.geometry) == np.stack([x[col], low, x[col + 1], high], 1)).all()
    about = json.loads(
        pyarrow.parquet.read_schema(folder / "population.parquet").metadata[b"geodp"]
    )
    assert about["epsilon"] == "1"
    assert about["private"] is False


def test_geoparquet_is_read_by_window(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROW_GROUP", 16)
    monkeypatch.setattr(tables, "CHUNK", 64)
    release, folder = written(tmp_path / "out", KANTO)
    file = folder / "population.parquet"
    assert pyarrow.parquet.ParquetFile(file).num_row_groups == -(-release.table.key.size // 16)
    frame = geopandas.read_parquet(file)
    window = (139.011, 35.011, 139.05, 35.05)
    found = geopandas.read_parquet(file, bbox=window)
    expected = frame[frame.intersects(shapely.box(*window))]
    assert found["code"].tolist() == expected["code"].tolist()
    assert 0 < len(found) < len(frame)


def test_pairs_are_lines_between_centres(tmp_path):
    release, folder = written(tmp_path / "out", GRIDS["pairs"])
    frame = geopandas.read_parquet(folder / "population.parquet")
    assert frame.crs == "EPSG:6668"
    ends = shapely.get_coordinates(frame.geometry).reshape(-1, 2, 2)
    x, y = release.grid.places[0].edges()
    row, col, to_row, to_col = release.grid.decode(release.table.key)
    centre_x, centre_y = (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2
    assert (ends[:, 0] == np.stack([centre_x[col], centre_y[row]], 1)).all()
    assert (ends[:, 1] == np.stack([centre_x[to_col], centre_y[to_row]], 1)).all()


def north_up(release):
    dense = release.table.to_dense()
    return dense[::-1] if release.grid.places[0].northwards else dense


@pytest.mark.parametrize("name", ["mesh", "masked", "south", "nowhere", "unnamed", "one"])
def test_raster_is_the_table(tmp_path, name):
    grid = GRIDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release, folder = written(tmp_path / "out", grid)
    with cog.quiet():
        valid, errors, notes = cog_validate(folder / "population.tif", strict=True)
    assert valid, (errors, notes)
    place = grid.places[0]
    inside = INSIDE[::-1] if grid.mask else np.ones((place.rows, place.cols), bool)
    with cog.quiet(), rasterio.open(folder / "population.tif") as raster:
        count, error = raster.read()
        assert raster.descriptions == ("population", tables.ERROR)
        assert raster.units == ("persons", "persons")
        assert np.isnan(raster.nodata)
        assert raster.dtypes == ("float32", "float32")
        tags = raster.tags()
        assert tags["GEODP_EPSILON"] == "1"
        assert tags["GEODP_PRIVATE"] == "NO"
        assert tags["TIFFTAG_SOFTWARE"] == f"geodp {geodp.__version__}"
        if place.transform is not None:
            assert raster.bounds == pytest.approx(place.bounds, abs=1e-12, rel=1e-15)
            assert raster.crs == place.crs
    assert np.array_equal(count, np.where(inside, north_up(release), np.nan), equal_nan=True)
    assert (np.isnan(error) == ~inside).all()
    assert error[inside] == pytest.approx(release.standard_error(1), rel=1e-5)


def test_raster_has_a_band_for_every_combination(tmp_path):
    release, folder = written(tmp_path / "out", GRIDS["attributes"])
    dense = release.table.to_dense()[::-1]
    with rasterio.open(folder / "population.tif") as raster:
        assert raster.descriptions[:2] == (
            "population sex=male age=0-14",
            "population sex=male age=15-64",
        )
        bands = raster.read()
    assert (bands[:6] == dense.reshape(*dense.shape[:2], 6).transpose(2, 0, 1)).all()


def test_large_rasters_keep_everybody(tmp_path):
    """More than one window, and overviews: averages over all of their cells."""
    grid = geodp.Grid.regular((1100, 700), crs="EPSG:3035", transform=LAEA)
    rng = np.random.default_rng(1)
    key = np.unique(grid.encode(rng.integers(0, 700, (2, 9000))))
    event = released(KANTO).event
    table = ReleasedTable(grid, key, rng.integers(1, 50, key.size), event)
    Release(table).write(tmp_path / "out")
    file = tmp_path / "out" / "public" / "population.tif"
    valid, errors, notes = cog_validate(file, strict=True)
    assert valid, (errors, notes)
    with rasterio.open(file) as raster:
        assert (raster.read(1) == table.to_dense()).all()
        assert raster.overviews(1) == [2, 4]
    with rasterio.open(file, overview_level=0) as smaller:
        assert smaller.read(1).sum(dtype=np.float64) * 4 == table.total


def test_counts_above_2_to_the_24_stay_exact(tmp_path):
    counts = np.zeros((24, 32), int)
    counts[3, 4] = 2**31 + 1
    release = geodp.publish(CountTable.from_dense(counts, KANTO), epsilon=1)
    release.write(tmp_path / "out")
    with rasterio.open(tmp_path / "out" / "public" / "population.tif") as raster:
        assert raster.dtypes[0] == "float64"
        assert (raster.read(1) == north_up(release)).all()


@pytest.mark.parametrize(
    ("grid", "count", "reason"),
    [
        (KANTO.with_attribute("hour", [str(hour) for hour in range(65)]), 1, "64 combinations"),
        (geodp.Grid.regular((1 << 16, 1 << 16)), 1, "at most"),
        (GRIDS["one"], 2**53 + 1, "too large"),
    ],
)
def test_rasters_that_would_be_wrong_or_huge_are_left_out(tmp_path, grid, count, reason):
    event = released(KANTO).event
    table = ReleasedTable(grid, np.zeros(1, np.uint64), np.array([count]), event)
    Release(table).write(tmp_path / "out")
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert card["left_out"][0]["name"] == "population.tif"
    assert reason in card["left_out"][0]["why"]


def test_style_has_fixed_classes():
    document = ET.fromstring(style.qml().split("\n", 1)[1])
    items = document.findall(".//item")
    assert [float(item.get("value")) for item in items[1:-1]] == [
        first - 0.5 for first in style.CLASSES[1:]
    ]
    assert items[0].get("alpha") == "0"
    assert items[-1].get("value") == "inf"
    assert len({item.get("color") for item in items}) == len(style.CLASSES) + 1
    entry = document.find(".//pixelListEntry")
    assert entry.attrib == {"min": "0", "max": "0", "percentTransparent": "100"}


@pytest.mark.parametrize("system", ["jis:primary", "inspire:100km"])
def test_density_divides_by_the_true_area(system):
    from pyproj import Geod

    grid = geodp.Grid.mesh(system)
    place = grid.places[0]
    areas = picture._areas(place, 1)
    assert areas.shape == (place.rows, place.cols)
    if system == "inspire:100km":
        assert (areas == 10_000).all()
        return
    x, y = place.edges()
    xs = np.linspace(x[0], x[1], 2001)  # a parallel is no geodesic: short steps
    lon = np.concatenate([xs, xs[::-1]])
    lat = np.concatenate([np.full(2001, y[4]), np.full(2001, y[5])])
    area, _ = Geod(ellps="GRS80").polygon_area_perimeter(lon, lat)
    assert areas[4, 0] == pytest.approx(area / 1e6, rel=1e-7)
    width, height = picture._cell_size(place)
    assert areas[place.rows // 2].mean() == pytest.approx(width * height, rel=0.01)


def test_pictures_sum_cells_into_aligned_blocks(monkeypatch):
    monkeypatch.setattr(picture, "MOST_BLOCKS", 10)
    release = released(KANTO)
    panel = picture.Panel.of(release.table, 0)
    assert panel.block == 4
    total = (panel.value * picture._areas(KANTO.places[0], 4)).sum()
    assert total == pytest.approx(release.table.total)


def test_colours_do_not_depend_on_the_data():
    few, many = (released(KANTO, most=most).table for most in (5, 100_000))
    norms = [picture._colours(picture.Panel.of(table, 0))[1] for table in (few, many)]
    assert {(norm.vmin, norm.vmax) for norm in norms} == {picture.DENSITY_LIMITS}


def test_a_name_without_glyphs_is_left_out_of_the_title():
    assert picture._drawable("population ε")
    assert not picture._drawable("人口")
