"""Outlines of units in the files of a release."""

import json

import geopandas
import numpy as np
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.io.write.qgis_style import vector_renderer
from tests import tracts
from tests.views import view_of


@pytest.fixture(scope="module", params=[3035, 4326, 2180])
def release(request, shared):
    return request.param, tracts.released(shared, request.param)


def test_all_units_have_their_outline_also_those_of_nobody(release):
    crs, path = release
    found = geopandas.read_parquet(path / "public/population.outlines.parquet")
    assert found.code.tolist() == tracts.CODES
    assert found.total_bounds == pytest.approx(tracts.frame(crs).total_bounds)
    geo = json.loads(pq.read_schema(path / "public/population.outlines.parquet").metadata[b"geo"])
    assert geo["columns"]["geometry"]["geometry_types"] == ["MultiPolygon"]


def test_the_index_of_a_geopackage_finds_units(release):
    crs, path = release
    west, south, east, north = tracts.frame(crs).set_index("GEOID").geometry["023"].bounds
    middle = ((west + east) / 2, (south + north) / 2) * 2
    found = geopandas.read_file(path / "public/population.gpkg", layer="population", bbox=middle)
    assert found.code.tolist() == ["023"]


def test_a_release_is_exported_and_shown_by_its_outlines(release, tmp_path):
    crs, path = release
    opened = geodp.open(path)
    frame = opened.to_geopandas()
    assert (frame.crs.to_epsg(), {*frame.geom_type}) == (crs, {"MultiPolygon"})


def test_the_style_has_classes_of_density_and_of_what_is_not_shown(tmp_path):
    grid = tracts.grid_in(tmp_path)
    empty = geodp.CountTable.from_index(grid, np.empty((2, 0), np.int64), np.empty(0, np.int64))
    release = geodp.publish(empty, epsilon=1, contribution=1, allow_empty=True)
    plain = vector_renderer(view_of(release.table, "n", nonnegative=True))
    assert """ attr='"n" / ($area / 1000000)' """ in plain
    assert plain.count("per km²") == 8
    few = vector_renderer(view_of(release.table, "n", nonnegative=False, below=5))
    assert few.count("<range ") == 11
    assert few.count("<symbol ") == 11
    assert 'label="below 0"' in few
