"""The readers on public statistics as their offices publish them, against known figures."""

from pathlib import Path

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.pixels import grid_like
from geodp.io.read.table import read_mesh, read_table

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
TOTAL, MALE, FEMALE = "人口（総数）", "人口（総数）　男", "人口（総数）　女"
WINDOW = (138.0, 35.0, 141.2, 37.1333333333)
HIROSHIMA = {
    "merged_tblT000609H_2010.csv.gz": ("人口総数", (34_974, 5_550_991)),
    "tblT000847H34_2015.csv.gz": ("人口総数", (14_199, 2_843_990)),
    "tblT001101H34_2020.csv.gz": ("T001101001", (13_975, 2_799_702)),
}
TILES = {
    "2011/7/5": (157_419, 34_715_182),
    "2011/9/8": (61_606, 3_241_944),
    "2018/7/5": (160_233, 35_491_988),
    "2018/9/8": (64_176, 3_317_925),
}

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project"),
]


def census(*primary):
    paths = sorted((DATA / "estat-2020-500m").glob("*.zip"))
    return [path for path in paths if not primary or path.stem[-4:] in primary]


def figures(table):
    return table.key.size, int(table.count.sum())


def test_the_kanto_window_and_its_sexes():
    table = read_mesh(census(), grid="jis:half", value=TOTAL, bounds=WINDOW)
    assert table.grid.shape == (512, 512)
    assert figures(table) == (95_976, 47_595_417)
    assert table.count.max() == 15_000
    sexes = read_mesh(census(), grid="jis:half", value=[MALE, FEMALE], by="sex", bounds=WINDOW)
    np.testing.assert_array_equal(sexes.to_dense().sum(axis=2), table.to_dense())


def test_twelve_files_on_the_whole_domain_and_an_archive_with_a_stray_member():
    table = read_mesh(census(), grid="jis:half", value="T001141001")
    assert table.grid.shape == (6240, 5120)
    assert figures(table) == (106_057, 49_177_146)
    (path,) = census("5438")
    (found,) = inspect(path)["tables"]
    assert found["name"] == f"{path} (tblT001141H5438.txt)"
    assert (found["encoding"], found["grid"], found["protected"]) == ("cp932", "jis:half", True)


def test_primary_meshes_are_a_mask():
    inside = read_mesh(census(), grid="jis:half", value=TOTAL, primary=[5339, 5440])
    assert inside.grid.size == 2 * 160 * 160
    parts = read_mesh(census("5339", "5440"), grid="jis:half", value=TOTAL)
    assert figures(inside) == figures(parts)


@pytest.mark.parametrize("name", HIROSHIMA)
def test_hiroshima_in_three_layouts(name):
    value, expected = HIROSHIMA[name]
    path = DATA / "estat-hiroshima-500m" / name
    assert figures(read_mesh(path, grid="jis:half", value=value)) == expected


def test_zensus():
    path = DATA / "zensus-2011-1km" / "einwohner_1km.parquet"
    table = read_table(path, grid="inspire:1km", value="einwohner", x="x", y="y", missing=[-1])
    assert figures(table) == (214_633, 80_212_528)
    assert table.count.min() == 3


@pytest.mark.parametrize("tile", TILES)
def test_geostat_tiles(tile):
    _, tx, ty = map(int, tile.split("/"))
    transform = (1000, 0, tx * 512_000, 0, 1000, ty * 512_000)
    grid = Grid.regular((512, 512), crs="EPSG:3035", transform=transform)
    path = DATA / "geostat-1km" / f"{tile}.parquet"
    table = read_table(path, grid=grid, value="T", x="x", y="y", anchor="index")
    assert figures(table) == TILES[tile]


def test_one_month_of_stays():
    path = DATA / "jinryu" / "tokyo_mdp_mesh1km_2019-2021.csv.gz"
    where = {"year": "2019", "month": "01", "dayflag": "2", "timezone": "2"}
    asked = {"grid": "jis:basic", "code": "mesh1kmid", "value": "population"}
    table = read_table(path, **asked, where=where)
    assert figures(table) == (1_533, 15_054_236)
    assert table.count.min() >= 10
    assert read_table(path, **asked, duplicates="sum").key.size == 2_132


def test_taxi_trips():
    ends = {"origin_row": "SLATCOL", "origin_col": "SLONCOL"}
    ends |= {"destination_row": "ELATCOL", "destination_col": "ELONCOL"}
    path = DATA / "od-taxi-500m" / "taxi_od_grid.csv.gz"
    grid = Grid.regular((94, 168)).pairs()
    table = read_table(path, grid=grid, value="VehicleNum", columns=ends)
    assert figures(table) == (193_455, 456_111)
    assert (table.count == 1).sum() == 122_497


def test_samoa():
    path = DATA / "samoa-100m" / "Samoa_Pop_Grid.tif"
    table = read_raster(path, grid=grid_like(path), value_unit=1.039454)
    assert table.grid.shape == (908, 1485)
    assert figures(table) == (13_057, 194_429)
