import csv
import json
import os
import tracemalloc
from dataclasses import replace
from functools import cache

import geopandas
import numpy as np
import pyarrow.parquet
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.folder.staged_release import check_publication, write_publication
from geodp.io.write import csv as csv_format
from geodp.io.write import geotiff, parquet, picture, tables
from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.table.counts import Cells, CountTable, ReleasedTable
from tests.refusals import refuses

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


@cache
def released(grid):
    """A release of random counts, the same one each time; half of the cells are empty."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 3001, grid.shape) * rng.integers(0, 2, grid.shape)
    index = np.array(np.nonzero(counts))
    index = index[:, grid.contains(index)]
    table = CountTable.from_index(grid, index, counts[tuple(index)])
    key = geodp.NoiseKey(bytes(32))
    return geodp.publish(table, method="pyramid", epsilon=1, key=key, contribution=1)


def written(path, grid):
    release = released(grid)
    release.write(path)
    return release, path / "public"


def rows_of(folder):
    with (folder / "population.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("writer", ["all", "csv", "parquet", "cog", "png"])
@pytest.mark.parametrize("kind", [CountTable, Cells, dict])
def test_writers_take_released_tables_only(tmp_path, writer, kind):
    view = released(KANTO).view()
    source, path = view.table, tmp_path / "out"
    table = {} if kind is dict else kind(source.grid, source.key, source.count)
    calls = {
        "all": lambda: write_publication(
            replace(view, table=table), path, name="p", overwrite=False, restricted={}
        ),
        "csv": lambda: csv_format.write_csv(View(table, view.card), path),
        "parquet": lambda: parquet.write_parquet(View(table, view.card), path),
        "cog": lambda: geotiff.write_cog(table, path, name="p", errors=None, tags={}),
        "png": lambda: path.write_bytes(picture.draw_map(View(table, view.card))),
    }
    with refuses(UsageError, "released-table-expected"):
        calls[writer]()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", "a b", "../a", "a/b", ".hidden", "-x", "a.b", "人" * 70])
def test_names_are_plain_file_names(tmp_path, name):
    with refuses(UsageError, "release-name-form"):
        released(KANTO).write(tmp_path / "out", name=name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["layer_styles", "GPKG_contents", "sqlite_x"])
def test_names_of_tables_of_a_database_are_refused_before_the_noise(tmp_path, name):
    with refuses(UsageError, "release-name-of-database"):
        check_publication(KANTO, tmp_path / "out", name=name, overwrite=False)


@pytest.mark.parametrize(
    "name", ["code", "Geometry", "standard_error", "Low", "high", "sex", "bbox"]
)
def test_columns_need_names_of_their_own(tmp_path, name):
    grid = KANTO.with_attribute("sex", ["m", "f"])
    with refuses(UsageError, "columns-of-one-name"):
        check_publication(grid, tmp_path / "out", name=name, overwrite=False)


def test_an_unknown_crs_is_refused_before_anything_is_written(tmp_path):
    place = geodp.grid.lattice.Lattice(2, 2, crs="EPSG:1", transform=LAEA)
    grid = geodp.Grid((place,))
    with refuses(UsageError, "crs-not-known-to-proj: EPSG:1"):
        check_publication(grid, tmp_path / "out", name="population", overwrite=False)


@pytest.mark.parametrize("name", ["south", "unnamed"])
def test_cells_without_codes_have_centres(written_once, name):
    grid = GRIDS[name]
    release, folder = written_once(grid)
    a, _, c, _, e, f = grid.places[0].transform
    row, col = grid.decode(release.table.key)
    rows = rows_of(folder)
    assert [float(r["x"]) for r in rows] == (c + a * (col + 0.5)).tolist()
    assert [float(r["y"]) for r in rows] == (f + e * (row + 0.5)).tolist()
    frame = geopandas.read_parquet(folder / "population.parquet")
    assert (frame["x"] == frame.geometry.centroid.x).all()
    card = json.loads((folder / "release.json").read_text())
    entries = [entry for entry in card["files"] if "coordinates" in entry]
    assert [entry["name"] for entry in entries] == [
        f"population.{ending}" for ending in ("csv", "parquet", "gpkg")
    ]
    assert all(entry["coordinates"].startswith("x, y: ") for entry in entries)
    assert all("x" in entry["columns"] for entry in entries)


def test_one_cell_of_a_huge_grid_is_written(tmp_path):
    place = geodp.grid.lattice.Lattice(1, 1 << 34, crs="EPSG:3035", transform=LAEA)
    grid, event = geodp.Grid((place,)), released(KANTO).event
    index = np.array([[0], [(1 << 34) - 1]])
    table = ReleasedTable(grid, grid.encode(index), np.array([7]), event)
    tracemalloc.start()
    Release(table).write(tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
    row = rows_of(tmp_path / "out" / "public")[0]
    assert float(row["x"]) == 4_000_000 + 1000 * ((1 << 34) - 0.5)


def test_geoparquet_is_read_by_window(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROW_GROUP", 16)
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
