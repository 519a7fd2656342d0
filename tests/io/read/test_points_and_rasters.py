"""Points are counted, and rasters are laid on the cells that are theirs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from geopandas import GeoDataFrame, points_from_xy
from pyproj import CRS, Transformer

from geodp.errors import CodeError, InputError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.locators import Transform, locate_points
from geodp.io.read.rows.pixels import grid_like
from tests.io.files import tiff
from tests.refusals import refuses

WINDOW = Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))


def test_points_in_another_crs(tmp_path: Path) -> None:
    """Berlin, Alexanderplatz, in longitude and latitude: northing 3273, easting 4552 km."""
    path = tmp_path / "p.csv"
    path.write_text("lon,lat\n13.4132,52.5219\n13.4133,52.5219\n0,0\n")
    options: dict[str, Any] = {"x": "lon", "y": "lat", "crs": "EPSG:4258", "outside": "drop"}
    table = read_points(path, grid="inspire:1km", **options)
    (row, col), (people,) = table.grid.decode(table.key)[:, 0], table.count
    assert table.grid.places[0].format(row, col) == "CRS3035RES1000mN3273000E4552000"
    assert people == 2
    given = {"grid": "jis:half", "x": "lon", "y": "lat", "outside": "drop"}
    assert read_points(path, **given, crs="EPSG:6668").key.size == 0
    path.write_text("lon,lat\n139.7671,35.6812\n")  # a rough transformation needs consent
    assert read_points(path, **given, crs="EPSG:4301", allow_ballpark=True).count.tolist() == [1]


UTM = Grid.regular((8, 8), crs="EPSG:32633", transform=(1000, 0, 4e5, 0, -1000, 5.1e6))
"""A grid whose projection does not reach half of the Earth."""

MERCATOR = Grid.regular((400, 400), crs="EPSG:3857", transform=(1e5, 0, -2e7, 0, -1e5, 2e7))
LAEA = Grid.regular((100, 100), crs="EPSG:3035", transform=(1e5, 0, 0, 0, -1e5, 1e7))
INSIDE = Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True).transform(403_500, 5.095e6)


def ways(tmp_path: Path, lon: list[float], lat: list[float]) -> Any:
    """Return points as columns of a text file, of a frame, and as geometries."""
    text = tmp_path / "p.csv"
    text.write_text("lon,lat\n" + "".join(f"{x},{y}\n" for x, y in zip(lon, lat, strict=True)))
    yield text, {"x": "lon", "y": "lat", "crs": "EPSG:4326"}
    yield pa.table({"lon": lon, "lat": lat}), {"x": "lon", "y": "lat", "crs": "EPSG:4326"}
    yield GeoDataFrame(geometry=points_from_xy(lon, lat), crs="EPSG:4326"), {}


@pytest.mark.parametrize(
    ("grid", "far"),
    [(MERCATOR, (0.0, 90.0)), (MERCATOR, (10.0, -90.0)), (UTM, (105.0, 0.0)), (UTM, (0.0, 90.0)),
     (LAEA, (-170.0, -52.0))],
)  # fmt: skip
def test_points_that_a_projection_does_not_reach_are_outside(
    grid: Grid, far: tuple[float, float], tmp_path: Path
) -> None:
    lon, lat = [INSIDE[0], far[0]], [INSIDE[1], far[1]]
    for points, named in ways(tmp_path, lon, lat):
        assert read_points(points, grid=grid, **named, outside="drop").count.tolist() == [1]
        assert read_points(points, grid=grid, **named, outside="crop").count.tolist() == [1]
        with refuses(InputError, "cell-outside-domain") as refused:
            read_points(points, grid=grid, **named)
        assert refused.value.row == (3 if isinstance(points, Path) else 2)
        assert refused.value.file


@pytest.mark.parametrize("outside", ["error", "drop", "crop"])
@pytest.mark.parametrize("wrong", [(15.0, 91.0), (46.0, -139.0), (15.0, 1e9), (361.0, 91.0)])
def test_coordinates_that_are_no_degrees_are_refused(
    wrong: tuple[float, float], outside: Any, tmp_path: Path
) -> None:
    for points, named in ways(tmp_path, [INSIDE[0], wrong[0]], [INSIDE[1], wrong[1]]):
        with refuses(InputError, "coordinate-not-degrees") as refused:
            read_points(points, grid=UTM, **named, outside=outside)
        assert refused.value.row == (3 if isinstance(points, Path) else 2)
        assert not {"91", "139", "361"} & {*str(refused.value).split()}


def test_coordinates_beyond_a_projection_are_no_place() -> None:
    rows = pa.table({"x": [4.3e6, 1e9], "y": [3.2e6, 1e9]})
    with refuses(InputError, "coordinate-no-place") as refused:
        read_points(rows, grid=MERCATOR, x="x", y="y", crs="EPSG:3035", outside="drop")
    assert refused.value.row == 2


class EndsAtZero:
    """Transformation that keeps all coordinates but those of the meridian of Greenwich."""

    def transform(self, x: Any, y: Any) -> Any:
        return np.where(x == 0, np.inf, x), np.where(x == 0, np.inf, y)


def test_errors_name_the_position_among_all_points() -> None:
    """Also where a point before it was not reached, and is in no place of the lattice."""
    lattice = Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333")).places[0]
    move = Transform(EndsAtZero(), CRS("EPSG:4326"))
    x, y = np.array([0.0, 139.01, 500.0]), np.array([10.0, 35.01, 35.01])
    row, col = locate_points(lattice, x[:2], y[:2], move)
    assert (row[0], col[0]) == (-1, -1)
    assert row[1] >= 0 <= col[1]
    with refuses(CodeError, "point-not-longitude-latitude") as refused:
        locate_points(lattice, x, y, move)
    assert refused.value.position == 2
    with refuses(CodeError, "coordinate-not-degrees") as refused:
        locate_points(lattice, np.array([139.01, 0.0, 0.0]), np.array([35.01, 10.0, 95.0]), move)
    assert refused.value.position == 2


def test_points_are_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodp.io.read.rows.scratch.PENDING", 1000)
    n = 300_000
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"x": np.arange(n) % 7 + 0.5, "y": np.zeros(n) + 0.5}), path)
    grid = Grid.regular((1, 7), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    table = read_points(path, grid=grid, x="x", y="y")
    assert table.count.tolist() == np.bincount(np.arange(n) % 7).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
def test_rasters(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    expected = rng.integers(0, 50, (30, 40)) * (rng.random((30, 40)) < 0.3)
    values = expected.astype(dtype)
    values[0, 0] = 255 if dtype == "uint8" else -200
    expected[0, 0] = 0
    if dtype.startswith("float"):
        values[1, 1], expected[1, 1] = np.nan, 0
        values *= values.dtype.type(1.25)
    place = (1 / 160, 0, 139, 0, -1 / 240, 36)
    bands = [np.zeros_like(values), values]
    path = tiff(bands, place, "EPSG:6668", nodata=values[0, 0])(tmp_path)
    unit = 1.25 if dtype.startswith("float") else 1.0
    own = read_raster(path, grid=grid_like(path), value_unit=unit, band=2)
    np.testing.assert_array_equal(own.to_dense(), expected)
    onto = read_raster(path, grid=WINDOW, value_unit=unit, band=2)
    np.testing.assert_array_equal(onto.to_dense()[::-1][:30, :40], expected)
    window = Grid.mesh("jis:half", bounds=(139 + 1 / 160, 36 - 20 / 240, 140, 36))
    cut = read_raster(path, grid=window, value_unit=unit, band=2, outside="drop")
    np.testing.assert_array_equal(cut.to_dense()[::-1][:20, :39], expected[:20, 1:])


def test_a_raster_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geodp.io.read.rows.pixels.PIXELS", 100)
    values = np.arange(600).reshape(30, 20).astype(np.int32)
    path = tiff(values, (100, 0, 4e6, 0, -100, 3e6))(tmp_path)
    np.testing.assert_array_equal(read_raster(path, grid=grid_like(path)).to_dense(), values)
    found = read_raster(path, grid=grid_like(path), missing=[599])
    np.testing.assert_array_equal(found.to_dense()[-1, -1], 0)
