"""Points are counted in the cells of H3 and S2 that they lie in."""

import json

import numpy as np
import pytest
from pyproj import Transformer

import geodp
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.cells import find_cells
from geodp.grid.cells.cell_grid import CellMap, grid_of_cells
from geodp.grid.units import grid_of_units
from tests.command import geodp as command
from tests.grid.cells.libraries import NEEDS
from tests.refusals import refuses

BOX = (139.5, 35.5, 140, 36)
PLACES = [(139.7, 35.68), (139.701, 35.681), (139.8, 35.7), (139.9, 35.9), (139.7, 35.68)]


@pytest.fixture(params=["h3:7", "s2:12"])
def spec(request):
    NEEDS[request.param[:2]]()
    return request.param


@pytest.fixture
def grid(spec):
    return grid_of_cells(spec, BOX)


@pytest.fixture
def expected(spec, grid):
    """Number of places by row and column."""
    system, level = find_cells(spec)
    cells = system.format(system.locate(*np.array(PLACES).T, level))
    index = grid.names.find(cells)
    return index, len({*cells.tolist()})


def test_points_have_the_row_and_column_of_their_cells(grid, expected):
    found = CellMap.of(grid, drops=False)
    assert np.array_equal(np.stack(found.locate(*np.array(PLACES).T)), expected[0])
    west, south, east, north = found.bounds
    assert (west <= BOX[0], south <= BOX[1], east >= BOX[2], north >= BOX[3]) == (True,) * 4


def test_points_outside_are_refused_or_left_out(grid):
    with refuses(CodeError, "point-outside-area") as caught:
        CellMap.of(grid, drops=False).locate([139.7, 0.0], [35.7, 51.0])
    assert caught.value.position == 1
    row, col = CellMap.of(grid, drops=True).locate([139.7, 0.0], [35.7, 51.0])
    assert (row[1], col[1]) == (-1, -1)
    assert row[0] == 0


def test_the_map_of_an_area_across_180_degrees_is_the_whole_width(spec):
    across = CellMap.of(grid_of_cells(spec, (179.9, -17.1, -179.9, -16.9)), drops=False)
    assert across.bounds[0::2] == (-180.0, 180.0)
    assert (across.locate([179.95, -179.95], [-17.0, -17.0])[1] >= 0).all()


def test_other_grids_have_no_such_map():
    units = grid_of_units({"block": ["1", "2"]}, "an example")
    assert CellMap.of(units, drops=False) is None
    assert CellMap.of(geodp.Grid.regular((2, 2)), drops=False) is None


@pytest.mark.parametrize("form", ["degrees", "crs", "geojson", "other unit"])
def test_records_are_counted(grid, expected, spec, form, tmp_path):
    if form == "geojson":
        path = tmp_path / "places.geojson"
        features = [
            {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": one}}
            for one in PLACES
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        table = geodp.read_points(path, grid=grid)
    else:
        places, crs = PLACES, None
        if form == "crs":
            crs = "EPSG:32654"
            move = Transformer.from_crs("EPSG:4326", crs, always_xy=True)
            places = [move.transform(*one) for one in PLACES]
        if form == "other unit":
            grid = grid_of_cells(spec, BOX, other="elsewhere")
        path = tmp_path / "places.csv"
        path.write_text("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in places))
        table = geodp.read_points(path, grid=grid, x="x", y="y", crs=crs)
    assert int(table.count.sum()) == len(PLACES)
    assert table.key.size == expected[1]


def test_records_outside_are_refused_with_their_row(grid, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("x,y\n139.7,35.7\n35.7,139.7\n")
    with refuses(InputError, "coordinate-not-degrees") as caught:
        geodp.read_points(path, grid=grid, x="x", y="y")
    assert caught.value.row == 3
    path.write_text("x,y\n139.7,35.7\n0,51\n")
    with refuses(InputError, "point-outside-area"):
        geodp.read_points(path, grid=grid, x="x", y="y")
    assert geodp.read_points(path, grid=grid, x="x", y="y", outside="drop").count.sum() == 1


def test_points_on_units_and_counts_by_coordinates_are_refused(grid, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("x,y,n\n139.7,35.7,3\n")
    units = grid_of_units({"block": ["1", "2"]}, "an example")
    with refuses(UsageError, "points-need-map"):
        geodp.read_points(path, grid=units, x="x", y="y")
    with refuses(UsageError, "units-have-no-coordinates: --code"):
        geodp.read_table(path, grid=grid, x="x", y="y", value="n")


def test_persons_are_bounded_in_cells(grid, tmp_path):
    path = tmp_path / "places.csv"
    rows = [f"{number % 2},{x},{y}" for number, (x, y) in enumerate(PLACES)]
    path.write_text("\n".join(["person,x,y", *rows, ""]))
    table = geodp.read_points(path, grid=grid, x="x", y="y", person="person")
    assert int(table.count.sum()) == 2


def test_the_command_reads_points(spec, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("lon,lat\n" + "".join(f"{x},{y}\n" for x, y in PLACES))
    done = command(
        "publish", path, "--points", "--grid", spec, "--bounds", *map(str, BOX), "--epsilon", "400",
        "--contribution", "1", "--output", "out", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert command("verify", tmp_path / "out" / "public", cwd=tmp_path).returncode == 0
    release = geodp.open(tmp_path / "out" / "public")
    system, level = find_cells(spec)
    cell = system.format(system.locate([139.8], [35.7], level))[0]
    assert abs(release.estimate(cell).count - 1) < 1
