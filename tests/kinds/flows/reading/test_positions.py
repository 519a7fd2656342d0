"""Positions in space: their distances are those on the ellipsoid, in every CRS."""

import numpy as np
import pyarrow as pa
import pytest
from pyproj import Geod, Transformer

import geodp
from geodp import CodeError, InputError, UsageError
from geodp.kinds.flows.zones import (
    locate_in_space,
    place_in_space,
)
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


UTM = geodp.Grid.regular(
    (8, 8), crs="EPSG:32633", transform=(1000, 0, 400_000, 0, -1000, 5_100_000)
)
"""A grid whose projection does not reach half of the Earth."""


@pytest.mark.parametrize("far", [(0.0, 105.0), (10.0, 10.0)])
def test_points_that_a_projection_does_not_reach_are_outside(far):
    back = Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True)
    lon, lat = back.transform([403_500, 406_500, 405_500], [5_094_800, 5_096_800, 5_098_800])
    lat, lon = np.repeat([*lat, far[0]], 2), np.repeat([*lon, far[1]], 2)
    times = [
        f"2024-05-01T{hour:02d}:{minute}" for hour in (8, 9, 10, 11) for minute in ("00", "20")
    ]
    rows = {"id": ["a"] * 8, "t": times, "lat": lat, "lon": lon}
    table = pa.table({**rows, "y": np.roll(lat, -2), "x": np.roll(lon, -2)})
    place, given = ("lon", "lat"), {"grid": UTM, "crs": "EPSG:4326", "person": "id", "trips": 9}
    ends = {"origin": place, "destination": ("x", "y")}
    for read, named, trips in (
        (geodp.flows.read_pings, {"place": place, "time": "t"}, 2),
        (geodp.flows.read_stays, {"place": place, "time": "t"}, 5),
        (geodp.flows.read_trips, ends, 4),
    ):
        assert read(table, **given, **named, outside="drop").count.sum() == trips
        with refuses(InputError, "cell-outside-domain") as refused:
            read(table, **given, **named)
        assert refused.value.row in (5, 7)


@pytest.mark.parametrize("reader", ["read_stays", "read_trips", "read_pings"])
def test_what_is_no_place_is_no_place_outside(reader):
    """A latitude of 95 degrees is a mistake, which dropping places outside would hide."""
    columns = {"id": ["a", "a"], "t": ["2024-05-01T08", "2024-05-01T09"]}
    table = pa.table({**columns, "lat": [46.0, 95.0], "lon": [15.0, 15.0]})
    place, given = ("lon", "lat"), {"grid": UTM, "crs": "EPSG:4326", "person": "id", "trips": 9}
    named = {"place": place, "time": "t"}
    if reader == "read_trips":
        named = {"origin": place, "destination": place}
        table = table.append_column("y", table["lat"]).append_column("x", table["lon"])
        named["destination"] = ("x", "y")
    with refuses(InputError, "coordinate-not-degrees|flows-degrees") as refused:
        getattr(geodp.flows, reader)(table, **given, **named, outside="drop")
    assert refused.value.row == 2
