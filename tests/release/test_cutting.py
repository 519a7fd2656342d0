"""Errors of polygons that cut cells: stated, or taken into the interval by a finer map."""

import json

import numpy as np
import pytest
import rasterio
import shapely

import geodp
from geodp.cli.using import BESIDE, INCLUDED
from geodp.errors import InputError, UsageError
from geodp.grid.cuts import cover
from geodp.grid.region import regions_of_polygons
from geodp.release import cutting
from tests.command import geodp as command
from tests.refusals import refuses

SIDE, PARTS, METRES = 48, 4, 1000.0
GRID = geodp.Grid.regular((SIDE, SIDE), crs="EPSG:3035", transform=(METRES, 0, 4e6, 0, METRES, 3e6))


def draw_people(random):
    """Draw people of fine squares, whose density varies from place to place on every scale."""
    log = np.zeros((1, 1))
    while len(log) < 64 * PARTS:
        log = log.repeat(2, axis=0).repeat(2, axis=1)
        log = log + random.normal(0, 0.2 if len(log) < SIDE else 0.9, log.shape)
    return random.poisson(20 * np.exp(log[: SIDE * PARTS, : SIDE * PARTS]))


def draw_polygons(random, number):
    """Draw polygons, and those on the fine squares: shapely objects[n] each."""
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    found = []
    for middle in random.uniform(8, SIDE - 8, (number, 2)):
        radius = random.uniform(1, 7) * random.uniform(0.7, 1.2, 12)
        found.append(middle + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    return shapely.polygons(found)


RANDOM = np.random.default_rng(71)
PEOPLE = draw_people(RANDOM)
CELLS = PEOPLE.reshape(SIDE, PARTS, SIDE, PARTS).sum(axis=(1, 3))
DRAWN = draw_polygons(RANDOM, 300)
EDGES = np.arange(SIDE * PARTS + 1) / PARTS
TRUTH = np.array([(PEOPLE * cover(one, EDGES, EDGES)).sum() for one in DRAWN])
POLYGONS = shapely.transform(DRAWN, lambda at: at * METRES + [4e6, 3e6])
RELEASE = geodp.publish(
    geodp.CountTable.from_dense(CELLS, GRID),
    epsilon=1,
    contribution=1,
    key=geodp.NoiseKey(bytes([71]) * 32),
)


def write_map(path, mass):
    """Write a raster on squares of a quarter of a cell."""
    size = METRES / PARTS
    place = rasterio.Affine(size, 0, 4e6, 0, -size, 3e6 + SIDE * METRES)
    with rasterio.open(
        path, "w", driver="GTiff", height=len(mass), width=len(mass), count=1, dtype="float32",
        crs="EPSG:3035", transform=place,
    ) as file:  # fmt: skip
        file.write(mass[::-1].astype(np.float32), 1)
    return path


def write_shapes(path, shapes):
    """Write polygons in the CRS of the grid."""
    features = [
        {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(one)}
        for one in shapes
    ]
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3035"}}
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": features}))
    return path


def hold(figures):
    """Return the part of the intervals that hold the truth."""
    return np.mean(
        [one["count"].low <= n <= one["count"].high for one, n in zip(figures, TRUTH, strict=True)]
    )


def test_intervals_by_a_map_of_land_hold_and_without_the_error_of_cutting_do_not(
    tmp_path, monkeypatch
):
    land = write_shapes(tmp_path / "land.geojson", [shapely.box(3.9e6, 2.9e6, 4.2e6, 3.2e6)])
    found = RELEASE.estimate_polygons(POLYGONS, within=land)
    assert hold(found) > 0.92
    monkeypatch.setattr(cutting, "LAND", 0.02)
    assert hold(RELEASE.estimate_polygons(POLYGONS, within=land)) < 0.7


def test_the_better_the_map_the_smaller_the_error(tmp_path):
    plain = RELEASE.estimate_polygons(POLYGONS)
    errors = [np.mean([one["count"].cutting_error for one in plain])]
    changed = PEOPLE * np.exp(RANDOM.normal(0, 0.2, PEOPLE.shape))
    for at, mass in enumerate((changed, PEOPLE)):
        path = write_map(tmp_path / f"{at}.tif", mass)
        found = RELEASE.estimate_polygons(POLYGONS, within=path)
        errors.append(np.mean([one["count"].cutting_error for one in found]))
    assert errors[0] > 2 * errors[1] > 8 * errors[2]
    assert hold(found) > 0.92
    # Beside the interval of the cells, which is as it was.
    regions = regions_of_polygons(GRID, POLYGONS)
    for one, other in zip(plain, RELEASE.list_figures(regions), strict=True):
        assert (one["count"].low, one["count"].high) == (other["count"].low, other["count"].high)


def test_a_polygon_along_cells_cuts_none(tmp_path):
    box = shapely.box(4e6 + 3000, 3e6 + 5000, 4e6 + 9000, 3e6 + 8000)
    land = write_map(tmp_path / "land.tif", np.ones_like(PEOPLE))
    (plain,), (within,) = (RELEASE.estimate_polygons([box], within=one) for one in (None, land))
    assert plain == within
    assert plain["count"].cutting_error == 0


def test_means_are_cut_by_what_differs_from_place_to_place():
    table = geodp.CountTable.from_dense
    options = {"protect": "person", "epsilon": 100, "contribution": 1}
    steps = np.where(np.arange(SIDE) < SIDE / 2, 2, 4) * CELLS
    errors = []
    for people in (3 * CELLS, steps):
        homes = table(CELLS, GRID)
        release = geodp.households.publish(table(people, GRID), homes, **options)
        box = shapely.box(4e6 + 20_500, 3e6 + 5000, 4e6 + 23_500, 3e6 + 9000)
        (found,) = release.estimate_polygons([box])
        errors.append(found["mean_size"].cutting_error)
        assert found["persons"].cutting_error > found["households"].cutting_error > 0
    assert errors[0] < 0.01


def test_the_command_says_what_python_says(tmp_path):
    RELEASE.write(tmp_path / "out")
    shapes = write_shapes(tmp_path / "shapes.geojson", POLYGONS[:3])
    people = write_map(tmp_path / "people.tif", PEOPLE)
    asked = ["estimate", tmp_path / "out", "--polygons", shapes]
    for more, within, said in (([], None, BESIDE), (["--within", people], people, INCLUDED)):
        found = RELEASE.estimate_polygons(POLYGONS[:3], within=within)
        told = json.loads(command(*asked, *more, "--json").stdout)["estimates"]
        for one, other in zip(told, found, strict=True):
            for name in ("value", "low", "high", "cutting_error"):
                assert one[name] == pytest.approx(getattr(other["count"], name), rel=1e-6)
        text = command(*asked, *more).stdout
        assert "error of cutting" in text
        assert said in text
    layer = command(*asked, "--within", people, "--output", tmp_path / "numbers.geojson")
    assert layer.returncode == 0
    written = json.loads((tmp_path / "numbers.geojson").read_text())["features"]
    assert all(one["properties"]["cutting_error"] > 0 for one in written)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"interval": "worst-case"}, "within-worst-case"),
        ({"parts": 1}, "finer-not-finer"),
        ({"crs": "EPSG:3857"}, "finer-crs-differs"),
        ({"mass": -1.0}, "finer-negative"),
        ({"within": "land:nowhere"}, "land-unknown"),
    ],
)
def test_maps_that_are_not_finer_are_refused(tmp_path, options, code):
    size = METRES / options.get("parts", PARTS)
    path = tmp_path / "map.tif"
    with rasterio.open(
        path, "w", driver="GTiff", height=8, width=8, count=1, dtype="float32",
        crs=options.get("crs", "EPSG:3035"), transform=rasterio.Affine(size, 0, 4e6, 0, -size, 3e6),
    ) as file:  # fmt: skip
        file.write(np.full((8, 8), options.get("mass", 1.0), np.float32), 1)
    how = {"interval": options["interval"]} if "interval" in options else {}
    with refuses((InputError, UsageError), code):
        RELEASE.estimate_polygons(POLYGONS[:1], within=options.get("within", path), **how)
