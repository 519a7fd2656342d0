"""Polygons that regions are asked for by: what they are called."""

import json
from pathlib import Path

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.public.polygons import read_polygons
from tests.refusals import refuses

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
