"""Positions in space: their distances are those on the ellipsoid, in every CRS."""

import numpy as np
import pytest
from pyproj import Geod, Transformer

from geodp import CodeError, UsageError
from geodp.features.flows.reading.positions import locate_in_space, place_in_space
from tests.refusals import refuses


def apart(one, other):
    """Return distances in metres."""
    return sum((a.astype(float) - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 / 100


def pairs(seed, reach):
    draw = np.random.default_rng(seed)
    lon, lat = draw.uniform(-180, 180, 500), draw.uniform(-89, 89, 500)
    azimuth, length = draw.uniform(0, 360, 500), draw.uniform(1, reach, 500)
    lon2, lat2, _ = Geod(ellps="WGS84").fwd(lon, lat, azimuth, length)
    return (lon, lat), (lon2, lat2), length


@pytest.mark.parametrize(("reach", "within"), [(1000, 0.02), (100_000, 1.2)])
def test_distances_are_those_along_the_ellipsoid(reach, within):
    one, other, length = pairs(1, reach)
    assert np.abs(apart(place_in_space(*one), place_in_space(*other)) - length).max() < within


def test_both_ends_of_a_map_are_neighbours():
    one, other = (
        place_in_space(*np.array([[180.0], [10.0]])),
        place_in_space(*np.array([[-179.999], [10.0]])),
    )
    assert apart(one, other)[0] < 120


def test_a_plane_is_measured_on_the_ellipsoid():
    # In Web Mercator a kilometre at 60 degrees north is two on the plane.
    lon, lat = np.array([10.0, 10.0]), np.array([60.0, 60.008])
    x, y = Transformer.from_crs("EPSG:4326", "EPSG:3857", always_xy=True).transform(lon, lat)
    plane, degrees = locate_in_space("EPSG:3857")(x, y), locate_in_space("EPSG:6668")(lon, lat)
    for one, other in zip(plane, degrees, strict=True):
        assert np.abs(one - other).max() <= 1


@pytest.mark.parametrize("place", [(35.0, 139.0), (0.0, np.inf), (np.nan, 0.0), (361.0, 0.0)])
def test_what_is_no_place_is_refused_with_its_position(place):
    x, y = np.array([0.0, place[0]]), np.array([0.0, place[1]])
    with refuses(CodeError, "flows-degrees") as refused:
        locate_in_space("EPSG:4326")(x, y)
    assert refused.value.position == 1


def test_an_unknown_crs_is_refused():
    with refuses(UsageError, "crs-unknown"):
        locate_in_space("EPSG:0")
