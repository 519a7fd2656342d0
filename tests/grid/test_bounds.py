"""Bounds in degrees hold their box and no needless row of cells."""

import numpy as np
import pytest
from pyproj import Transformer

from geodp.errors import UsageError
from geodp.grid.bounds import bounds_of_degrees, read_box
from geodp.grid.codes import code_system
from geodp.grid.grid import Grid
from tests.refusals import refuses

NAMES = ["cbs:100m", "inspire:1km", "quadkey:14", "geohash:6", "jis:half", "ibge:1km", "ssb:1km"]
BOXES = {
    "cbs:100m": (5.1, 52.0, 5.2, 52.1),
    "inspire:1km": (5.1, 52.0, 6.2, 53.1),
    "quadkey:14": (-5.1, -2.0, 5.2, 52.1),
    "geohash:6": (5.1, 52.0, 5.2, 52.1),
    "jis:half": (139.001, 35.001, 139.1, 35.2),
    "ibge:1km": (-50.0, -27.0, -49.0, -26.0),
    "ssb:1km": (9.0, 59.0, 10.0, 60.0),
}


@pytest.mark.parametrize("name", NAMES)
def test_all_points_of_the_box_are_inside_and_the_edges_are_needed(name):
    system = code_system(name)
    west, south, east, north = BOXES[name]
    grid = Grid.mesh(name, bounds=BOXES[name], degrees=True)
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(west, east, 20_000), rng.uniform(south, north, 20_000)
    move = Transformer.from_crs("OGC:CRS84", system.crs, always_xy=True)
    x, y = (lon, lat) if name[:3] in ("jis", "geo") else move.transform(lon, lat)
    row, col = grid.places[0].locate(x, y)
    assert grid.in_extent(np.stack([row, col])).all()
    assert grid.places[0].bounds == tuple(map(float, bounds_of_degrees(system, BOXES[name])))
    assert row.min() <= grid.shape[0] // 50 + 1
    assert col.min() <= grid.shape[1] // 50 + 1


def test_cells_that_an_edge_only_touches_are_left_out():
    grid = Grid.mesh("jis:basic", bounds=(139, 35, 139.0125, 35 + 1 / 120), degrees=True)
    assert grid.shape == (1, 1)
    assert Grid.mesh("geohash:2", bounds=(0, 0, 11.25, 5.625), degrees=True).size == 1


@pytest.mark.parametrize("name", ["quadkey:9", "geohash:4"])
def test_a_box_across_180_degrees_is_narrow(name):
    grid = Grid.mesh(name, bounds=(179, -18, -179, -17), degrees=True)
    assert grid.shape[1] <= 9
    assert grid.places[0].period is not None
    assert read_box((175, -21, -178, -12)) == (175.0, -21.0, -178.0, -12.0)


@pytest.mark.parametrize(
    ("box", "rule"),
    [
        ((5, 52, 6), "bounds-not-finite"),
        ((5, 52, 6, float("nan")), "bounds-not-finite"),
        ((5, 52, 5, 53), "bounds-without-width"),
        ((5, 53, 6, 52), "bounds-not-degrees"),
        ((134000, 446000, 142000, 458000), "bounds-not-degrees"),
        ((100, 10, 101, 11), r"bounds-outside-extent: cbs:100m.*\b0 300000 300000 700000\b"),
        ((5, 52, 95, 53), "bounds-outside-extent"),
        ((-180, -90, 180, 90), "bounds-outside-extent"),
    ],
)
def test_what_is_no_box_is_refused(box, rule):
    with refuses(UsageError, rule):
        Grid.mesh("cbs:100m", bounds=box, degrees=True)


def test_degrees_are_never_guessed():
    with refuses(
        UsageError, r"bounds-off-edges: EPSG:3857 \(metre\).*W S E N degrees, degrees=True"
    ):
        Grid.mesh("quadkey:14", bounds=(5.1, 52.0, 5.2, 52.1))
    with refuses(UsageError, "degrees-need-bounds: degrees=True"):
        Grid.mesh("quadkey:14", degrees=True)
