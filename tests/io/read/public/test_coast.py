"""The coastline around a map, as lines of whole steps."""

import numpy as np
import pytest
import shapely

from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import trace_coast
from geodp.io.read.public.land import find_land

TOKYO = Lattice(100, 100, crs="EPSG:4326", transform=(0.01, 0, 139.3, 0, -0.01, 35.8))
ALPS = Lattice(100, 100, crs="EPSG:3035", transform=(2000, 0, 4_200_000, 0, -2000, 2_700_000))


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
    outlines = shapely.union_all([shapely.boundary(each) for each in find_land(place, 20_000)])
    for line in found:
        assert ((line >= 0) & (line <= steps)).all()
        at = shapely.points(west + line[:, 0] * step, north - line[:, 1] * step)
        assert shapely.distance(at, outlines).max() < 2 * step


def test_the_same_map_has_the_same_lines_and_few_points():
    found = trace_coast(TOKYO, 1000)
    np.testing.assert_array_equal(found, trace_coast(TOKYO, 1000))
    assert found.size > trace_coast(TOKYO, 50).size > 0
