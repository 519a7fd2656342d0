"""Hot spots of public statistics, whose true ones anybody can look up."""

from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp import select
from geodp.io.verify.verify import verify
from geodp.privacy.key import NoiseKey
from tests.keys import secret

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
WINDOW = (138.0, 35.0, 141.2, 37.1333333333)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project"),
]


@pytest.fixture(scope="module")
def kanto():
    files = sorted((DATA / "estat-2020-500m").glob("*.zip"))
    return geodp.read_mesh(files, grid="jis:half", value="人口（総数）", bounds=WINDOW)


def kept(number):
    """A key that is always the same."""
    return NoiseKey(secret(f"real {number}"))


def embed(table, side, most=None):
    """The counts in the middle of a larger map, cut down to some size."""
    grid = geodp.Grid.regular((side, side))
    count = table.count if most is None else np.minimum(table.count, most)
    return geodp.CountTable.from_index(grid, table.grid.decode(table.key) + side // 2, count)


def true_top(table, k):
    best = np.argsort(-table.count, kind="stable")[:k]
    row, col = table.grid.decode(table.key[best])[:2]
    return set(table.grid.places[0].format(row, col).tolist())


@pytest.mark.parametrize("side", [512, 1 << 20])
def test_the_true_ten_of_the_kanto_window(kanto, side):
    table = kanto if side == 512 else embed(kanto, side)
    for number in range(5):
        found = select.top_cells(table, 10, epsilon=1, contribution=1, key=kept(number))
        assert {one["code"] for one in found.chosen} == true_top(table, 10)
        below = found.card().false_hot_spots.count
        assert round(below) == (125 if side == 512 else 277)
        assert table.count.max() > below


def test_empty_cells_come_where_the_card_expects_them(kanto):
    table = embed(kanto, 1 << 20, most=200)
    keys = dict.fromkeys(table.key.tolist())
    empty = 0
    for number in range(5):
        found = select.top_cells(table, 10, epsilon=1, contribution=1, key=kept(number))
        assert table.count.max() < found.card().false_hot_spots.count
        places = [tuple(map(int, one["code"].split("_"))) for one in found.chosen]
        chosen = table.grid.encode(np.array(places).T)
        empty += sum(key not in keys for key in chosen.tolist())
    assert empty > 0


def test_areas_of_a_european_tile(tmp_path):
    grid = geodp.Grid.mesh("inspire:1km", bounds=(3584000, 2560000, 4096000, 3072000))
    path = DATA / "geostat-1km" / "2011" / "7" / "5.parquet"
    transform = (1000, 0, 3584000, 0, 1000, 2560000)
    tile = geodp.read_table(
        path,
        grid=geodp.Grid.regular((512, 512), crs="EPSG:3035", transform=transform),
        value="T",
        x="x",
        y="y",
        anchor="index",
    )
    table = geodp.CountTable.from_index(grid, tile.grid.decode(tile.key), tile.count)
    found = select.top_cells(table, 5, level="inspire:10km", epsilon=1, contribution=1, key=kept(1))
    assert "CRS3035RES10000mN2880000E3760000" in {one["code"] for one in found.chosen}  # Paris
    found.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))


def test_pairs_of_squares_of_taxi_trips(tmp_path):
    columns = {
        "origin_row": "SLATCOL",
        "origin_col": "SLONCOL",
        "destination_row": "ELATCOL",
        "destination_col": "ELONCOL",
    }
    table = geodp.read_table(
        DATA / "od-taxi-500m" / "taxi_od_grid.csv.gz",
        grid=geodp.Grid.regular((94, 168)).pairs(),
        value="VehicleNum",
        columns=columns,
    )
    terms = {"epsilon": 1, "contribution": 1, "unit": "trip", "key": kept(2)}
    found = select.top_cells(table, 5, level=4, **terms)
    index = table.grid.decode(table.key) // 4
    squares, at = np.unique(index, axis=1, return_inverse=True)
    sums = np.zeros(squares.shape[1], np.int64)
    np.add.at(sums, at.ravel(), table.count)
    best = squares[:, np.argsort(-sums)[:8]]
    names = {(f"{a}_{b}", f"{c}_{d}") for a, b, c, d in best.T.tolist()}
    assert len({(one["origin"], one["destination"]) for one in found.chosen} & names) == 5
    found.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
