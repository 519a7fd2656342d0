"""What lies behind a map: coastlines, shares of land, and names of towns."""

import numpy as np
import pytest
import rasterio.features
import shapely

from geodp.grid.lattice import Lattice
from geodp.io.read.public import land
from geodp.io.read.public.background import (
    find_towns,
    read_land,
    share_land,
    trace_coast,
    trace_shore,
)


def at(crs, size, west, north, height=None, cells=100):
    """Return a map of square cells, or of some height, by its corner in the north-west."""
    return Lattice(cells, cells, crs=crs, transform=(size, 0, west, 0, -(height or size), north))


TOKYO = at("EPSG:4326", 0.01, 139.3, 35.8)
ALPS = at("EPSG:3035", 2000, 4_200_000, 2_700_000)
SEA = at("EPSG:4326", 1, -40, 30, cells=4)
KANTO = Lattice(128, 128, crs="EPSG:6668", transform=(1 / 40, 0, 138, 0, 1 / 60, 35.0))
BALTIC = Lattice(100, 90, crs="EPSG:3035", transform=(5000, 0, 4.9e6, 0, -5000, 4.2e6))
DATE_LINE = at("EPSG:3832", 10_000, 2.9e6, -1.7e6, cells=80)


def lines(numbers):
    """Points of each line: float64[n, 2]."""
    found, at = [], 0
    while at < numbers.size:
        points = int(numbers[at])
        moves = numbers[at + 1 : at + 1 + 2 * points].reshape(points, 2)
        found.append(np.cumsum(moves, axis=0))
        at += 1 + 2 * points
    return found


@pytest.mark.parametrize("place", [TOKYO, ALPS], ids=["coast", "borders"])
def test_lines_lie_on_the_outlines_of_countries(place):
    steps = 1000
    found = lines(trace_coast(place, steps))
    assert found
    west, _, east, north = place.bounds
    step = (east - west) / steps
    outlines = shapely.union_all([shapely.boundary(each) for each in land.find_land(place, 20_000)])
    for line in found:
        assert ((line >= 0) & (line <= steps)).all()
        points = shapely.points(west + line[:, 0] * step, north - line[:, 1] * step)
        assert shapely.distance(points, outlines).max() < 2 * step


def test_the_same_map_has_the_same_lines_and_few_points():
    found = trace_coast(TOKYO, 1000)
    np.testing.assert_array_equal(found, trace_coast(TOKYO, 1000))
    assert found.size > trace_coast(TOKYO, 50).size > 0


def test_the_shore_has_no_borders_of_countries_and_the_open_sea_has_nothing():
    assert trace_coast(ALPS, 1000).size > 100
    assert trace_shore(ALPS, 1000).size == 0
    assert not share_land(SEA, 1).any()
    assert trace_shore(SEA, 100).size == 0
    assert find_towns(SEA) == []


@pytest.mark.parametrize("place", [KANTO, BALTIC, DATE_LINE], ids=["Kanto", "Baltic", "date line"])
def test_shares_are_those_of_the_countries(place):
    found = share_land(place, 1)
    boxes = np.array(land.box_islands(["Finland", "Japan"]))
    drawn, islands = (
        rasterio.features.rasterize(
            [*((one, 1) for one in shapes), (shapely.Point(0, 0), 0)],
            out_shape=(4 * place.rows, 4 * place.cols),
            transform=rasterio.Affine(*place.transform) @ rasterio.Affine.scale(0.25),
            dtype=np.uint8,
        )
        .reshape(place.rows, 4, place.cols, 4)
        .mean(axis=(1, 3))
        for shapes in (land.find_land(place, 0.0), land.find_near(place, boxes, 0.0))
    )
    assert (found[islands > 0] > 0).all()
    found, part = found[islands == 0], drawn[islands == 0]
    assert 0.02 < part.mean() < 0.98
    assert (found / 4 >= part).all()
    assert (found / 4 - part).mean() < 0.03
    assert ((found == 4) | (part < 1)).all()


def test_larger_squares_have_the_shares_of_theirs():
    fine, coarse = share_land(KANTO, 1), share_land(KANTO, 16)
    means = fine.reshape(8, 16, 8, 16).mean(axis=(1, 3))
    assert ((coarse > 0) == (means > 0)).all()
    assert (coarse > means - 0.2).all()
    assert (coarse - means).mean() < 0.6


def test_islands_that_the_coastline_lacks_are_land():
    for country, lon, lat in land.read_islands():
        there = at("EPSG:4326", 0.02, lon - 0.01, lat + 0.01, cells=1)
        assert share_land(there, 1) >= 1, country


def test_all_land_lies_within_180_degrees_and_is_as_much_as_that_of_the_countries():
    found = shapely.area(read_land()).sum()
    west, south, east, north = shapely.total_bounds(read_land())
    assert -180 <= west < east <= 180
    assert -90 <= south < north <= 90
    countries = [shapely.make_valid(one).area for one in land.read_lands("world")]
    assert found == pytest.approx(sum(countries), rel=1e-4)


@pytest.mark.parametrize(
    ("place", "first", "japanese"),
    [
        (Lattice(1, 1, crs="EPSG:6668", transform=(3.2, 0, 138, 0, 2.1, 35)), "Tokyo", "東京"),
        (at("EPSG:3035", 1e4, 4.5e6, 3.3e6, cells=9), "Berlin", "ベルリン"),
        (at("EPSG:4326", 4, 177, -16, 3, 1), "Suva", "スバ"),
    ],
)
def test_towns_are_where_they_should_be_the_most_important_ones_first(place, first, japanese):
    found = find_towns(place)
    assert (found[0].name, found[0].japanese) == (first, japanese)
    west, south, east, north = place.bounds
    assert all(west < one.x < east and south < one.y < north for one in found)
    assert len(found) < 40
