"""Degrees on a grid in metres, and metres on one in degrees: asked about, never moved unasked."""

import pandas as pd
import pytest

import geodp
from geodp.errors import InputError
from tests.io.read.dialects import Dialect, make
from tests.refusals import refuses

METRES = geodp.Grid.mesh("inspire:1km", bounds=(4000000, 2600000, 4700000, 3600000))
DEGREES = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
NEAR = geodp.Grid.regular((100, 100), crs="EPSG:25832", transform=(1, 0, 0, 0, 1, 0))
BERLIN = [(13.4 + i / 100, 52.5) for i in range(30)]
TOKYO = [(15550000.0 + i, 4250000.0) for i in range(30)]
DOORS = ["csv", "comma", "parquet", "batches"]


def given_by(door, points, folder):
    lon, lat = zip(*points, strict=True)
    columns = {"lon": lon, "lat": lat, "n": [1] * len(points)}
    if door != "comma":
        return make(door, columns, folder), {}
    marked = {name: [str(one).replace(".", ",") for one in columns[name]] for name in columns}
    return make("csv", marked, folder, Dialect(delimiter=";")), {"decimal": ","}


@pytest.mark.parametrize("outside", ["error", "crop", "drop"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("grid", "points", "rule"),
    [
        (
            METRES,
            BERLIN,
            r"look like degrees, .*EPSG:3035 \(metre\).*--points-crs EPSG:4326 .crs=",
        ),
        (DEGREES, TOKYO, r"look like metres, .*\(degree\).*--points-crs EPSG:3857 .crs="),
    ],
    ids=["degrees", "metres"],
)
def test_points_in_another_unit_are_asked_about(door, grid, points, rule, outside, tmp_path):
    paths, options = given_by(door, points, tmp_path)
    given = {"grid": grid, "x": "lon", "y": "lat", "outside": outside, **options}
    with refuses(InputError, f"coordinates-in-other-unit: lon and lat: .*{rule}") as refused:
        geodp.read_points(paths, **given)
    assert not any(str(number) in str(refused.value) for number in (*points[0], *points[-1]))
    paths, _ = given_by(door, points, tmp_path)
    with refuses(InputError, "coordinates-in-other-unit: the grid's CRS"):  # centres of cells
        geodp.read_table(paths, **given, value="n")


@pytest.mark.parametrize("door", DOORS)
def test_with_their_crs_they_are_read(door, tmp_path):
    paths, options = given_by(door, BERLIN, tmp_path)
    found = geodp.read_points(
        paths, grid=METRES, x="lon", y="lat", crs="EPSG:4326", outside="crop", **options
    )
    assert found.count.sum() == len(BERLIN)


def test_a_grid_near_the_origin_may_hold_such_numbers():
    rows = pd.DataFrame({"x": [10.5, 11.5, 12.5], "y": [50.5, 51.5, 52.5]})
    assert geodp.read_points(rows, grid=NEAR, x="x", y="y").count.sum() == 3


@pytest.mark.parametrize("odd", [0, 1, 3])
def test_few_odd_records_turn_no_unit_into_another(odd):
    """A point of zeros among points in metres is a row outside, as it is everywhere."""
    points = [(4321000.0 + i, 3210000.0) for i in range(60)] + [(0.0, 0.0)] * odd
    rows = pd.DataFrame(points, columns=["lon", "lat"])
    found = geodp.read_points(rows, grid=METRES, x="lon", y="lat", outside="drop")
    assert found.count.sum() == 60
    mixed = pd.DataFrame([*BERLIN, *points[:odd]], columns=["lon", "lat"])
    with refuses(InputError, "coordinates-in-other-unit: degrees"):
        geodp.read_points(mixed, grid=METRES, x="lon", y="lat", outside="drop")


def test_each_file_is_looked_at(tmp_path):
    good = pd.DataFrame([(4321000.0 + i, 3210000.0) for i in range(9)], columns=["lon", "lat"])
    good.to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(BERLIN, columns=["lon", "lat"]).to_csv(tmp_path / "b.csv", index=False)
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with refuses(InputError, r"coordinates-in-other-unit: b\.csv.*degrees"):
        geodp.read_points(paths, grid=METRES, x="lon", y="lat", outside="crop")


@pytest.mark.parametrize("rows", ["trips", "pings"])
def test_trips_and_pings_are_looked_at_too(rows):
    place = {"crs": "EPSG:3035", "transform": (1000, 0, 4321000, 0, -1000, 3212000)}
    table = pd.DataFrame(BERLIN, columns=["lon", "lat"]).assign(id="a", time="2024-05-01 08:00")
    read, columns = geodp.flows.read_pings, {"place": ("lon", "lat"), "time": "time"}
    if rows == "trips":
        table = table.assign(to_lon=table.lon, to_lat=table.lat)
        read = geodp.flows.read_trips
        columns = {"origin": ("lon", "lat"), "destination": ("to_lon", "to_lat")}
    with refuses(InputError, "coordinates-in-other-unit: degrees.*--points-crs EPSG:4326"):
        read(table, grid=geodp.Grid.regular((2, 2), **place), person="id", trips=1, **columns)
