"""Polygons that regions are asked for by: what they are called."""

import json
from pathlib import Path

import geopandas
import pytest
import shapely
from click.testing import CliRunner

import geodp
from geodp.cli.commands.estimate import estimate
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.polygons import read_polygons
from tests import tracts
from tests.refusals import refuses
from tests.shared_releases import SharedReleases

GRID = Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))


def file_of(folder: Path, *properties: dict[str, str]) -> Path:
    """A GeoJSON of squares side by side."""
    features = []
    for left, said in enumerate(properties):
        west, east = 139 + left / 8, 139 + (left + 1) / 8
        ring = [[west, 35.25], [east, 35.25], [east, 35.5], [west, 35.5], [west, 35.25]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": said, "geometry": shape})
    path = folder / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_polygons_without_names_are_numbered_from_1(tmp_path: Path) -> None:
    found = read_polygons(file_of(tmp_path, {}, {}), GRID)
    assert {name: shape.bounds[0] for name, shape in found.items()} == {"1": 139.0, "2": 139.125}


def test_a_name_is_looked_for_before_an_id_and_asked_fields_before_both(tmp_path: Path) -> None:
    said = [{"id": "7", "name": "a", "ward": "x"}, {"id": "8", "name": "b", "ward": "y"}]
    path = file_of(tmp_path, *said)
    assert list(read_polygons(path, GRID)) == ["a", "b"]
    assert list(read_polygons(path, GRID, name="ward")) == ["x", "y"]
    with refuses(UsageError, "polygon-field-unknown"):
        read_polygons(path, GRID, name="code")


HOLE = shapely.box(4.216e6, 3.003e6, 4.224e6, 3.007e6)
AREAS = {
    "west": shapely.difference(shapely.box(4.2e6, 3.0e6, 4.24e6, 3.02e6), HOLE),
    "east": shapely.box(4.24e6, 3.0e6, 4.25e6, 3.03e6),
}
"""Two areas in EPSG:3035, one with a hole."""


@pytest.mark.parametrize(
    ("ending", "crs"),
    [
        *(("gpkg", crs) for crs in (3035, 4326, 2180)),  # the last one northing first
        *(("shp", 2180), ("zip", 3035), ("geojson", 4326), ("parquet", 2180), ("fgb", 2180)),
    ],
)
def test_every_form_in_every_crs_is_moved_to_that_of_the_grid(
    ending: str, crs: int, tmp_path: Path
) -> None:
    grid = Grid.regular((30, 60), crs="EPSG:3035", transform=(1e3, 0, 4.19e6, 0, -1e3, 3.03e6))
    frame = geopandas.GeoDataFrame({"name": [*AREAS]}, geometry=[*AREAS.values()], crs=3035)
    fine = frame.assign(geometry=frame.segmentize(1e3))  # edges stay where they are
    found = read_polygons(tracts.write(fine.to_crs(crs), tmp_path / f"areas.{ending}"), grid)
    assert {*found} == {*AREAS}  # FlatGeobuf has its own order
    for name, shape in found.items():
        assert shape.symmetric_difference(AREAS[name]).area < 1e-4 * AREAS[name].area
        assert Region.of(grid, shape).cells == Region.of(grid, AREAS[name]).cells


def test_a_file_of_several_layers_is_refused(tmp_path: Path) -> None:
    frame = geopandas.GeoDataFrame({"name": ["a"]}, geometry=[shapely.box(139, 35, 139.5, 35.5)])
    for layer in ("one", "two"):
        frame.set_crs(4326).to_file(tmp_path / "a.gpkg", layer=layer)
    with refuses(InputError, "polygons-in-several-layers"):
        read_polygons(tmp_path / "a.gpkg", GRID)


def test_a_table_without_polygons_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,n\na,1\n")
    with refuses(InputError, "polygons-format-unknown"):
        read_polygons(tmp_path / "a.csv", GRID)


@pytest.mark.parametrize("crs", [2180])
def test_the_command_sums_whole_units_of_regions_in_any_crs(
    crs: int, shared: SharedReleases, tmp_path: Path
) -> None:
    release = tracts.released(shared, crs=25832)
    counties = tracts.frame().dissolve("county").reset_index()[["county", "geometry"]]
    path = tracts.write(counties.to_crs(crs), tmp_path / "counties.gpkg")
    asked = ("--polygons", str(path), "--polygon-name", "county", "--json")
    done = CliRunner().invoke(estimate, [str(release), *asked])
    assert done.exit_code == 0, done.output
    by_code = geodp.open(release)
    for row in json.loads(done.output)["estimates"]:
        assert row["value"] == by_code.estimate(row["name"]).count
    cut = counties.assign(geometry=counties.translate(2e3, 2e3))
    tracts.write(cut, tmp_path / "cut.gpkg")
    asked = ("--polygons", str(tmp_path / "cut.gpkg"), "--polygon-name", "county")
    done = CliRunner().invoke(estimate, [str(release), *asked])
    assert done.exit_code != 0
    assert "only entire units can be summed" in str(done.exception)
