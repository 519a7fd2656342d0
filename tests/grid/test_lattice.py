"""Grids across 180 degrees: places, codes, areas, polygons and masks on both sides of the line."""

import json

import geopandas
import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.codes import code_system
from geodp.grid.codes.quadkey import HALF
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period, parse_codes
from geodp.io.read.public.areas import find_bounds
from geodp.io.read.public.land import cut_to_land
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.polygons import read_polygons
from tests.refusals import refuses

DEGREES = Grid.regular((100, 60), crs="EPSG:4326", transform=(0.1, 0, 176, 0, 0.1, -21))
FIJI = Grid.mesh("quadkey:9", bounds=find_bounds("fiji", code_system("quadkey:9")))
SUVA, TAVEUNI, LAU = (178.44, -18.14), (-179.97, -16.87), (-178.8, -17.2)


def people(grid, places, **more):
    frame = geopandas.GeoDataFrame(geometry=[shapely.Point(*one) for one in places], crs=4326)
    return geodp.read_points(frame, grid=grid, **more)


@pytest.mark.parametrize("grid", [DEGREES, FIJI], ids=["degrees", "metres"])
@pytest.mark.parametrize("turn", [0, 360])
def test_points_are_in_the_same_cells_however_their_longitude_is_counted(grid, turn):
    places = [SUVA, TAVEUNI, LAU]
    table = people(grid, places)
    assert int(table.count.sum()) == 3
    if grid is DEGREES:
        moved = people(grid, [(lon + turn * (lon < 0), lat) for lon, lat in places])
        assert (moved.key == table.key).all()
    _, col = grid.decode(table.key)
    west, _, east, _ = grid.places[0].bounds
    middles = west + (col + 0.5) / grid.shape[1] * (east - west)
    unit = (longitude_period(grid.places[0].crs) or 0) / 360
    wanted = sorted(lon % 360 for lon, _ in places)
    assert np.allclose(np.sort(middles) / unit, wanted, atol=0.75)


def test_points_outside_stay_outside():
    with refuses(InputError, "cell-outside-domain"):
        people(DEGREES, [(10.0, -18.0)])
    assert people(DEGREES, [SUVA, (10.0, -18.0)], outside="drop").count.tolist() == [1]


def test_grids_that_do_not_lie_there_are_not_wrapped():
    world = Grid.regular((18, 36), crs="EPSG:4326", transform=(10, 0, -180, 0, 10, -90))
    assert world.places[0].period is None
    assert Grid.mesh("quadkey:4").places[0].period is None
    assert Grid.mesh("jis:basic").places[0].period is None
    metres = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
    assert metres.places[0].period is None


def test_quadkeys_on_both_sides_are_parsed_and_written():
    place = FIJI.places[0]
    row, col = (one.reshape(-1) for one in np.indices((place.rows, place.cols)))
    codes = place.format(row, col)
    assert {code[0] for code in codes.tolist()} == {"2", "3"}  # tiles of the west and of the east
    back = place.parse(codes)
    assert (back[0] == row).all()
    assert (back[1] == col).all()
    assert place.bounds[2] > float(HALF) > place.bounds[0]
    assert place.cols < 20


def test_west_above_east_means_across():
    side = 2 * HALF / 2**9
    bounds = (HALF - 3 * side, -40 * side, -HALF + 2 * side, -20 * side)
    grid = Grid.mesh("quadkey:9", bounds=bounds)
    assert grid.shape == (20, 5)
    with refuses(UsageError, "bounds-not-in-extent"):
        Grid.mesh("inspire:1km", bounds=(4_002_000, 3_000_000, 4_000_000, 3_002_000))


@pytest.mark.parametrize("name", ["new zealand", "russia", "united states of america"])
def test_countries_across_the_line_are_no_wider_than_they_are(name):
    grid = Grid.mesh("quadkey:9", bounds=find_bounds(name, code_system("quadkey:9")))
    assert grid.places[0].period is not None
    assert grid.shape[1] < 2**9 * 0.6


def test_regions_of_all_kinds_hold_the_cells_of_both_sides(tmp_path):
    table = people(DEGREES, [SUVA, TAVEUNI, LAU])
    release = geodp.publish(table, epsilon=10**4, contribution=1, method="geometric")
    assert release.estimate((178, -19, 179, -16)).count == 1
    assert release.estimate((179, -19, -178, -16)).count == 2
    assert release.estimate((-180, -19, -178, -16)).count == 2
    parts = [shapely.box(178, -19, 180, -16), shapely.box(-180, -19, -178, -16)]
    assert release.estimate(shapely.MultiPolygon(parts)).count == 3
    assert release.estimate(shapely.box(178, -19, 182, -16)).count == 3
    frame = geopandas.GeoDataFrame({"name": ["w", "e"]}, geometry=parts, crs=4326)
    assert release.estimate(frame)["count"].tolist() == [1, 2]


@pytest.mark.parametrize("grid", [DEGREES, FIJI], ids=["degrees", "metres"])
def test_masks_of_land_and_of_polygons_hold_the_cells_of_both_sides(grid, tmp_path):
    land = cut_to_land(grid, "land:fiji:20km")
    assert land.size < grid.size
    assert int(people(land, [SUVA, TAVEUNI, LAU]).count.sum()) == 3
    parts = [shapely.box(178, -19, 180, -16), shapely.box(-180, -19, -178, -16)]
    frame = geopandas.GeoDataFrame(geometry=parts, crs=4326)
    frame.to_file(tmp_path / "islands.geojson")
    frame.to_file(tmp_path / "islands.gpkg")
    for name in ("islands.geojson", "islands.gpkg"):
        cut = read_mask(tmp_path / name, grid, source="a test")
        assert cut.size < grid.size
        assert int(people(cut, [SUVA, TAVEUNI, LAU]).count.sum()) == 3


def test_published_files_are_whole(tmp_path):
    table = people(FIJI, [SUVA, TAVEUNI, LAU])
    release = geodp.publish(table, epsilon=10**4, contribution=1, method="geometric")
    release.write(tmp_path / "out")
    from geodp.io.verify.verify import verify

    verify(tmp_path / "out")
    found = geodp.open(tmp_path / "out")
    assert found.grid == FIJI
    assert found.table.total == 3


@pytest.mark.parametrize("said", [None, "urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:3035", "nonsense"])
def test_the_crs_that_polygons_name_is_applied_or_refused(tmp_path, said):
    """Files of before RFC 7946 name one."""
    grid = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
    degrees = said is None or said.endswith("CRS84")
    ring = [[7.2, 50.0], [7.3, 50.0], [7.3, 50.1], [7.2, 50.0]]
    if not degrees:
        ring = [[4e6, 2.995e6], [4.002e6, 2.995e6], [4.002e6, 3e6], [4e6, 2.995e6]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    feature = {"type": "Feature", "properties": {"name": "one"}, "geometry": shape}
    document = {"type": "FeatureCollection", "features": [feature]}
    if said is not None:
        document["crs"] = {"type": "name", "properties": {"name": said}}
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps(document))
    if said == "nonsense":
        with refuses(UsageError, "polygons-crs-unknown"):
            read_polygons(path, grid)
        return
    (shape,) = read_polygons(path, grid).values()
    west, south, _, _ = shape.bounds
    assert 3.9e6 < west < 4.2e6
    assert 2.9e6 < south < 3.1e6


def test_polygons_without_a_crs_are_refused(tmp_path):
    grid = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
    frame = geopandas.GeoDataFrame(
        {"name": ["a"]}, geometry=[shapely.box(4e6, 2.99e6, 4e6 + 1, 3e6)]
    )
    with pytest.warns(UserWarning, match="crs"):
        frame.to_file(tmp_path / "a.gpkg")
    with refuses(InputError, "polygons-without-crs"):
        read_polygons(tmp_path / "a.gpkg", grid)


@pytest.mark.parametrize("cells", [[], [(0, 0)], [(0, 12), (345, 6), (2**40, 2**61)]])
def test_rows_and_columns_are_read_as_they_are_written(cells):
    place = Lattice(2**41, 2**62)
    row, col = np.array(cells, np.int64).reshape(-1, 2).T
    codes = place.format(row, col)
    assert codes.tolist() == [f"{a}_{b}" for a, b in cells]
    assert np.array_equal(parse_codes(place, codes), [row, col])
