"""Geometries through every door: files and frames in memory give the same table or are refused."""

import geopandas
import numpy as np
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import InputError
from geodp.grid.grid import Grid
from tests.refusals import refuses

METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))


def written(ending, write):
    """Return a door: what writes a frame to a file with an ending, and gives the file."""

    def door(frame, folder):
        path = folder / f"a.{ending}"
        write(frame, path)
        return path

    return door


SHAPES = {
    "geopandas": lambda frame, _: frame,
    "geoarrow": lambda frame, _: pa.table(frame.to_arrow()),
    "interleaved": lambda frame, _: frame.to_arrow(geometry_encoding="geoarrow", interleaved=True),
    "separated": lambda frame, _: frame.to_arrow(geometry_encoding="geoarrow", interleaved=False),
    "native": written(
        "parquet",
        lambda frame, path: frame.to_parquet(
            path, geometry_encoding="geoarrow", schema_version="1.1.0"
        ),
    ),
    "parquet": written("parquet", lambda frame, path: frame.to_parquet(path)),
    **{
        ending: written(ending, lambda frame, path: frame.to_file(path))
        for ending in ("gpkg", "fgb", "shp", "geojson")
    },
}


def outlines(n=6):
    """Cells of METRES with people, as outlines."""
    row, col = np.divmod(np.arange(n) * 7, 12)
    west, south, east, north = METRES.places[0].edges_at(row, col)
    boxes = shapely.box(west, south, east, north)
    return geopandas.GeoDataFrame({"n": np.arange(n) + 3}, geometry=boxes, crs="EPSG:3035")


@pytest.mark.parametrize("door", SHAPES)
@pytest.mark.parametrize("form", ["outlines", "parts", "centres", "in degrees"])
def test_geometries_that_are_cells_are_read_alike_through_every_door(tmp_path, door, form):
    frame = outlines()
    if form == "centres":
        frame = frame.set_geometry(frame.centroid)
    elif form == "parts":
        frame = frame.set_geometry([shapely.MultiPolygon([one]) for one in frame.geometry])
    elif form == "in degrees":
        frame = frame.to_crs("EPSG:4326")
    table = geodp.read_table(SHAPES[door](frame, tmp_path), grid=METRES, value="n")
    assert sorted(table.count.tolist()) == [3, 4, 5, 6, 7, 8]
    assert sorted(zip(*METRES.decode(table.key).tolist(), strict=True)) == sorted(
        divmod(number * 7, 12) for number in range(6)
    )


FAULTS = ("wide", "far", "triangle", "hole", "parts", "line", "empty", "none")
FAULTS += ("another CRS", "no CRS")
NATIVE = ("interleaved", "separated", "native")
IMPOSSIBLE = {("line", "shp"), ("line", "fgb"), ("empty", "fgb"), ("none", "fgb")}
IMPOSSIBLE |= {(fault, door) for fault in ("line", "parts") for door in NATIVE}
"""Faults that no file of the format can hold."""


@pytest.mark.parametrize(
    ("fault", "door"),
    [
        (fault, door)
        for fault in FAULTS
        for door in SHAPES
        if door != "geojson" and (fault, door) not in IMPOSSIBLE
        # What is wrong with a shape is found by one function, behind all doors.
        if door in ("geopandas", "shp") or fault in ("wide", "none", "empty", "another CRS")
    ],
)
def test_geometries_that_are_no_cells_are_refused_through_every_door(tmp_path, door, fault):
    frame = outlines()
    whole = frame.geometry.iloc[2]
    west, south, east, north = whole.bounds
    bad = {
        "wide": whole.buffer(400),
        "far": shapely.box(0, 0, 1, 1),
        "hole": whole.difference(whole.buffer(-400)),
        "parts": shapely.MultiPolygon([shapely.box(0, 0, 1, 1), whole]),
        "none": None,
        "triangle": shapely.Polygon([(west, south), (east, south), (east, north)]),
        "line": shapely.LineString([(west, south), (east, north)]),
        "empty": shapely.Polygon(),
    }
    if fault in bad:
        frame.loc[2, "geometry"] = bad[fault]
    elif fault == "another CRS":
        frame = frame.set_crs("EPSG:4301", allow_override=True)
    else:
        frame = frame.set_crs(None, allow_override=True)
    with refuses(
        InputError, "geometries-crs-differs|geometries-crs-untold|geometry-missing|geometry-no-cell"
    ) as caught:
        geodp.read_table(SHAPES[door](frame, tmp_path), grid=METRES, value="n")
    if fault in bad and door != "fgb":  # which has its own order of features
        assert caught.value.row == 3


@pytest.mark.parametrize("door", SHAPES)
def test_points_are_counted_in_the_cell_that_holds_them_through_every_door(tmp_path, door):
    rng = np.random.default_rng(3)
    points = geopandas.points_from_xy(rng.uniform(4e6, 4.012e6, 50), rng.uniform(2.992e6, 3e6, 50))
    frame = geopandas.GeoDataFrame({"who": np.arange(50)}, geometry=points, crs="EPSG:3035")
    table = geodp.read_points(SHAPES[door](frame, tmp_path), grid=METRES)
    index = np.array(METRES.places[0].locate(frame.geometry.x, frame.geometry.y))
    wanted = geodp.CountTable.from_index(METRES, index, np.ones(50, np.int64))
    assert (table.key == wanted.key).all()
    assert (table.count == wanted.count).all()


def test_of_several_geometries_the_active_one_is_read():
    frame = outlines()
    frame["middle"] = frame.geometry.translate(1e6)
    table = geodp.read_table(frame, grid=METRES, value="n")
    assert int(table.count.sum()) == 33
    moved = frame.set_geometry(frame.middle.translate(250))
    with refuses(InputError, "geometry-no-cell"):
        geodp.read_table(moved, grid=METRES, value="n")


def test_geometries_in_another_encoding_are_refused_with_the_remedy():
    lines = outlines()
    lines = lines.set_geometry(lines.boundary)
    native = pa.table(lines.to_arrow(geometry_encoding="geoarrow"))
    with refuses(InputError, "geometry-encoding"):
        geodp.read_table(native, grid=METRES, value="n")
