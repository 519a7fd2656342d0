"""Public masks from files: text of codes, and rasters."""

from pathlib import Path

import numpy as np
import pytest
from pyproj import Transformer

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.polygons import CRS84, DEGREES
from geodp.io.read.table import read_mesh
from tests.io.files import tiff
from tests.refusals import refuses

WINDOW = Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 141, 36 + 2 / 3))


def inside(grid: Grid) -> np.ndarray:
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    return grid.contains(index).reshape(grid.shape)


def write(folder: Path, content: str) -> Path:
    path = folder / "mask.txt"
    path.write_bytes(content.encode("cp932"))
    return path


@pytest.mark.parametrize(
    "content",
    [
        "5339\n5440\n",
        "KEY_CODE,名\r\n5339,東京\r\n5440,北\r\n",
        "MESH_80km;x\n5339;1\n5440;2\n",
        "# primary meshes\n5339 # Tokyo\n\n  5440  \n",
        '"code";"name"\n"5339";"a"\n"5440";"b"\n',
        "5339\n" + "\n".join(f"5440{q}{v}" for q in range(8) for v in range(8)),
    ],
)
def test_codes_of_coarser_levels(content: str, tmp_path: Path) -> None:
    grid = read_mask(write(tmp_path, content), WINDOW, source="primary meshes 5339, 5440")
    expected = np.zeros((160, 160), bool)
    expected[:80, :80] = expected[80:, 80:] = True
    np.testing.assert_array_equal(inside(grid), expected)
    assert grid.size == 2 * 80 * 80
    assert grid.mask.source == "primary meshes 5339, 5440"


def test_codes_of_the_own_level(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    expected = rng.random((160, 160)) < 0.3
    row, col = np.nonzero(expected)
    codes = WINDOW.places[0].format(row, col)
    elsewhere = "64414277\n"  # outside the window: cut off
    grid = read_mask(write(tmp_path, elsewhere + "\n".join(codes)), WINDOW, source="a list")
    np.testing.assert_array_equal(inside(grid), expected)


def test_ten_digits_on_a_grid_of_ten_digits(tmp_path: Path) -> None:
    quarter = Grid.mesh("jis:quarter", bounds=(139, 35 + 1 / 3, 140, 36))
    assert read_mask(write(tmp_path, "5339461132\n"), quarter, source="one cell").size == 1


def test_attributes_stay(tmp_path: Path) -> None:
    grid = WINDOW.with_attribute("sex", ["f", "m"])
    assert read_mask(write(tmp_path, "5339"), grid, source="x").size == 80 * 80 * 2


@pytest.mark.parametrize("northwards", [False, True])
def test_a_raster(northwards: bool, tmp_path: Path) -> None:
    """Shifted against the grid, larger than it, and either way up."""
    grid = Grid.regular((40, 50), crs="EPSG:3035", transform=(100, 0, 4e6, 0, 100, 3e6))
    rng = np.random.default_rng(2)
    values = rng.integers(0, 3, (30, 60)).astype(np.uint8)  # 2 is nodata
    south, west = 5, -4
    base = 3e6 + south * 100
    transform = (100, 0, 4e6 + west * 100, 0, 100, base)
    written = values
    if not northwards:
        transform = (100, 0, 4e6 + west * 100, 0, -100, base + 3000)
        written = values[::-1]
    path = tiff(written, transform, nodata=2)(tmp_path)
    expected = np.zeros((40, 50), bool)
    expected[south : south + 30] = values[:, -west : 50 - west] == 1
    np.testing.assert_array_equal(inside(read_mask(path, grid, source="land")), expected)


def test_a_mask_that_leaves_nothing(tmp_path: Path) -> None:
    with refuses(UsageError, "mask-leaves-no-cell"):
        read_mask(write(tmp_path, "6441"), WINDOW, source="x")
    with refuses(UsageError, "mask-source-missing"):
        read_mask(write(tmp_path, "5339"), WINDOW, source=" ")


def test_rows_outside_a_mask(tmp_path: Path) -> None:
    grid = read_mask(write(tmp_path, "5339"), WINDOW, source="x")
    data = tmp_path / "tbl.txt"
    data.write_text("KEY_CODE,T1\n53390000,4\n54400000,5\n")
    with refuses(InputError, "cell-outside-domain") as caught:
        read_mesh(data, grid=grid)
    assert caught.value.row == 3
    assert read_mesh(data, grid=grid, outside="drop").count.tolist() == [4]


def test_a_mask_is_made_of_polygons(tmp_path: Path) -> None:
    path = tmp_path / "mask.geojson"
    path.write_text('{"type": "LineString", "coordinates": [[139.2, 35.5], [139.4, 35.7]]}')
    with refuses(InputError, "not-only-polygons"):
        read_mask(path, WINDOW, source="a road")


def test_degrees_are_those_of_geojson() -> None:
    place = np.array([[4.9, 13.4, 24.9], [52.4, 52.5, 60.2]])
    moved = [
        Transformer.from_crs(crs, "EPSG:3035", always_xy=True).transform(*place)
        for crs in (CRS84, DEGREES)
    ]
    assert np.array_equal(*moved)


@pytest.mark.parametrize("band", ["int16", "float32"])
def test_a_raster_with_negative_numbers_is_refused(band: str, tmp_path: Path) -> None:
    """They often stand where nothing is known, and would lie inside."""
    grid = Grid.regular((2, 2), crs="EPSG:3035", transform=(100, 0, 4e6, 0, -100, 3e6))
    for nodata in (None, -99):
        values = np.array([[1, 0], [1, -99]], band)
        path = tiff(values, (100, 0, 4e6, 0, -100, 3e6), nodata=nodata)(tmp_path)
        if nodata is None:
            with refuses(InputError, "mask-negative") as no:
                read_mask(path, grid, source="x")
            assert no.value.row == 2
        else:
            assert read_mask(path, grid, source="x").size == 2
