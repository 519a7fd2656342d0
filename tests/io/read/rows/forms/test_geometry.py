"""Geometries as coordinates in lists, and as WKB: the same table, or the same refusal."""

import json

import geopandas
import pyarrow as pa
import pyarrow.parquet
import pytest
import shapely

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.table import read_table
from tests.refusals import refuses

GRID = Grid.regular((3, 4), crs="EPSG:3035", transform=(1000, 0, 4000000, 0, 1000, 3000000))
CELLS = [shapely.box(4e6 + 1000 * i, 3001000, 4001000 + 1000 * i, 3002000) for i in range(3)]


@pytest.mark.parametrize("crs", [4326, 4258, 3857, 25833])
def test_outlines_in_another_crs_are_moved_into_the_grids(crs, tmp_path):
    """As GeoJSON is always in degrees of WGS 84: corners of cells stay corners of cells."""
    frame = geopandas.GeoDataFrame({"n": [5, 6, 7]}, geometry=CELLS, crs=3035).to_crs(crs)
    frame.to_file(tmp_path / "cells.geojson", COORDINATE_PRECISION=9)
    frame.to_file(tmp_path / "cells.gpkg")
    for given in (frame, tmp_path / "cells.geojson", tmp_path / "cells.gpkg"):
        assert read_table(given, grid=GRID, value="n").count.tolist() == [5, 6, 7]


def test_rectangles_of_another_crs_are_no_cells(tmp_path):
    degrees = geopandas.GeoSeries(CELLS, crs=3035).to_crs(4326).envelope
    frame = geopandas.GeoDataFrame({"n": [5, 6, 7]}, geometry=degrees)
    with refuses(InputError, "geometry-no-cell") as caught:
        read_table(frame, grid=GRID, value="n")
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("crs", "rule"), [(None, "geometries-crs-untold"), ("EPSG:4301", "geometries-crs-differs")]
)
def test_outlines_of_no_crs_or_of_one_that_is_moved_roughly_are_refused(crs, rule):
    """PROJ brings no exact transformation from Tokyo's datum to JGD2011."""
    mesh = Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    square = [shapely.box(139, 35, 139.00625, 35 + 1 / 240)]
    with refuses(InputError, rule):
        read_table(
            geopandas.GeoDataFrame({"n": [5]}, geometry=square, crs=crs), grid=mesh, value="n"
        )


def test_rings_that_do_not_close_are_refused_by_their_row(tmp_path):
    ring = [{"x": x, "y": y} for x, y in CELLS[0].exterior.coords]
    shapes = pa.array([[ring], [ring[:2]]], pa.list_(pa.list_(pa.struct({"x": "f8", "y": "f8"}))))
    crs = json.loads(GRID_CRS)
    said = {"encoding": "polygon", "geometry_types": ["Polygon"], "crs": crs}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": said}}
    table = pa.table({"n": [5, 6], "geometry": shapes})
    table = table.replace_schema_metadata({"geo": json.dumps(geo)})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with refuses(InputError, "geometry-missing") as caught:
        read_table(tmp_path / "a.parquet", grid=GRID, value="n")
    assert caught.value.row == 2


GRID_CRS = geopandas.GeoSeries([], crs="EPSG:3035").crs.to_json()
