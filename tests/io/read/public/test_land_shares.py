"""How much of a map's squares is land: the same as the countries' coastline says."""

import numpy as np
import pytest
import rasterio.features
import shapely

from geodp.grid.lattice import Lattice
from geodp.io.read.public import land
from geodp.io.read.public.background import read_land, share_land, trace_coast, trace_shore

MAPS = {
    "kanto": Lattice(128, 128, crs="EPSG:6668", transform=(1 / 40, 0, 138, 0, 1 / 60, 35.0)),
    "baltic": Lattice(100, 90, crs="EPSG:3035", transform=(5000, 0, 4.9e6, 0, -5000, 4.2e6)),
    "date line": Lattice(80, 80, crs="EPSG:3832", transform=(10_000, 0, 2.9e6, 0, -10_000, -1.7e6)),
}


@pytest.mark.parametrize("name", MAPS)
def test_shares_are_those_of_the_countries(name):
    place = MAPS[name]
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
    place = MAPS["kanto"]
    fine, coarse = share_land(place, 1), share_land(place, 16)
    means = fine.reshape(8, 16, 8, 16).mean(axis=(1, 3))
    assert ((coarse > 0) == (means > 0)).all()
    assert (coarse > means - 0.2).all()
    assert (coarse - means).mean() < 0.6


def test_islands_that_the_coastline_lacks_are_land():
    for country, lon, lat in land.read_islands():
        there = Lattice(
            1, 1, crs="EPSG:4326", transform=(0.02, 0, lon - 0.01, 0, -0.02, lat + 0.01)
        )
        assert share_land(there, 1) >= 1, country


def test_the_open_sea_is_none():
    sea = Lattice(4, 4, crs="EPSG:4326", transform=(1, 0, -40, 0, -1, 30))
    assert not share_land(sea, 1).any()
    assert trace_shore(sea, 100).size == 0


def test_all_land_lies_within_180_degrees_and_is_as_much_as_that_of_the_countries():
    found = shapely.area(read_land()).sum()
    west, south, east, north = shapely.total_bounds(read_land())
    assert -180 <= west < east <= 180
    assert -90 <= south < north <= 90
    countries = [shapely.make_valid(one).area for one in land.read_lands("world")]
    assert found == pytest.approx(sum(countries), rel=1e-4)


def test_the_shore_has_no_borders_of_countries():
    place = Lattice(100, 100, crs="EPSG:3035", transform=(2000, 0, 4_200_000, 0, -2000, 2_700_000))
    assert trace_coast(place, 1000).size > 100
    assert trace_shore(place, 1000).size == 0
