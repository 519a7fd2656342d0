"""Files for maps in browsers: what they show is what was released, at every scale."""

import gzip
import json
from dataclasses import replace

import geopandas
import numpy as np
import pyogrio
import pytest
import shapely
from pmtiles.reader import MmapSource, Reader

import geodp
from geodp.errors import UsageError
from geodp.io.write.export import geojson
from geodp.io.write.export.geojson import GeoJSON
from geodp.io.write.export.pmtiles import MIN_PIXELS, TILE, PMTiles, plan_zooms
from geodp.io.write.export.styles import MapLibre
from geodp.io.write.export.web import WebSquares, find_layer, outlines_of, why_not_on_web
from geodp.io.write.export.workbook import Xlsx
from geodp.table.card import StatedMetadata
from geodp.table.counts import ReleasedTable
from tests.io.write.export.test_exports import view_of
from tests.refusals import refuses
from tests.release.test_frames import GRIDS, KEY, release

FIJI = geodp.Grid.regular((10, 6), crs="EPSG:4326", transform=(1, 0, 176.5, 0, 1, -21))
PACIFIC = geodp.Grid.regular((4, 9), crs="EPSG:3832", transform=(1e5, 0, 2.9e6, 0, -1e5, 4e5))


@pytest.mark.parametrize("name", ["mesh", "metres", "attribute"])
def test_geojson_has_every_cell_that_fits(name, tmp_path):
    view = view_of(GRIDS[name])
    GeoJSON().write(view, tmp_path / "x.geojson")
    document = json.loads((tmp_path / "x.geojson").read_text(encoding="utf-8"))
    assert document["geodp"]["side"] == 1
    frame = geopandas.read_file(tmp_path / "x.geojson")
    assert frame.crs.to_epsg() == 4326
    assert frame.residents.sum() == view.table.total
    expected = release(GRIDS[name]).to_geopandas("residents").to_crs(4326)
    if name == "attribute":
        expected = expected.dissolve("code", aggfunc={"residents": "sum"}, as_index=False)
    else:
        added = ["class", "side"]
        assert list(frame.columns) == [*expected.columns.drop("geometry"), *added, "geometry"]
    corners = [
        one.geometry.bounds[["minx", "miny"]].round(6).to_numpy() for one in (frame, expected)
    ]
    order = [np.lexsort(one.T) for one in corners]
    pairs = zip(frame.geometry.array[order[0]], expected.geometry.array[order[1]], strict=True)
    assert all(
        one.equals_exact(other.normalize(), 1e-6)
        for one, other in ((a.normalize(), b) for a, b in pairs)
    )
    assert (frame.residents.to_numpy()[order[0]] == expected.residents.to_numpy()[order[1]]).all()
    assert shapely.is_ccw(shapely.get_exterior_ring(frame.geometry.array)).all()


def test_geojson_of_more_cells_has_sums_over_squares(tmp_path, monkeypatch):
    monkeypatch.setattr(geojson, "MAX_FEATURES", 20)
    view = view_of(GRIDS["mesh"])
    GeoJSON().write(view, tmp_path / "x.geojson")
    document = json.loads((tmp_path / "x.geojson").read_text(encoding="utf-8"))
    counts = [one["properties"]["residents"] for one in document["features"]]
    assert len(counts) <= 20
    assert sum(counts) == view.table.total
    sides = {one["properties"]["side"] for one in document["features"]}
    assert sides == {document["geodp"]["side"]}
    assert min(sides) > 1


@pytest.mark.parametrize("grid", [FIJI, PACIFIC], ids=["degrees", "metres"])
def test_squares_across_180_degrees_are_cut_there(grid):
    counts = np.full(grid.shape, 500)
    made = geodp.publish(
        geodp.CountTable.from_dense(counts, grid), epsilon=1, contribution=1, key=KEY
    )
    squares = WebSquares.of(made.table)
    shapes = outlines_of(squares)
    bounds = shapely.bounds(shapes)
    assert (bounds[:, 0] >= -180).all()
    assert (bounds[:, 2] <= 180).all()
    assert shapely.is_valid(shapes).all()
    cut = shapely.get_type_id(shapes) == 6
    west, _, east, _ = squares.edges()
    if grid is FIJI:
        assert cut.tolist() == ((west < 180) & (east > 180)).tolist()
        assert np.allclose(shapely.area(shapes), 1)
    assert 0 < cut.sum() < cut.size
    parts = shapely.get_parts(shapes[cut])
    assert shapely.is_ccw(shapely.get_exterior_ring(parts)).all()


def test_squares_are_seen_at_every_zoom():
    for grid in (GRIDS["mesh"], GRIDS["metres"], FIJI):
        plan = plan_zooms(grid.places[0])
        zooms = [zoom for one in plan for zoom in range(one.first, one.last + 1)]
        assert zooms == list(range(zooms[-1] + 1))
        assert plan[-1].side == 1
        for one in plan[1:-1]:
            assert one.side * 2 == plan[plan.index(one) - 1].side
    assert (TILE / MIN_PIXELS) ** 2 < 12_000


@pytest.mark.parametrize("name", ["mesh", "metres", "attribute"])
def test_tiles_hold_the_released_sums_at_every_zoom(name, tmp_path):
    view = view_of(GRIDS[name])
    path = tmp_path / "x.pmtiles"
    PMTiles().write(view, path)
    assert [*tmp_path.iterdir()] == [path]
    assert pyogrio.list_layers(path).tolist() == [["residents", "Polygon"]]
    plan = plan_zooms(view.table.grid.places[0])
    for one in plan:
        for zoom in range(one.first, one.last + 1):
            frame = pyogrio.read_dataframe(path, ZOOM_LEVEL=zoom)
            assert {*frame.side} == {one.side}
            squares = WebSquares.of(view.table)
            squares = squares.widen(one.side) if one.side > 1 else squares
            parts = frame.dissolve([*frame.columns.drop(["geometry"])], dropna=False)
            assert len(frame) >= squares.count.size
            assert {*frame.residents} == {*squares.count.tolist()}
            assert len(parts) <= squares.count.size
            expected = shapely.total_bounds(outlines_of(squares))
            slack = 360 / 2**zoom / 512
            assert np.allclose(frame.to_crs(4326).total_bounds, expected, atol=slack)


def test_tiles_say_what_they_are(tmp_path):
    view = view_of(GRIDS["mesh"])
    said = StatedMetadata(title="Residents", publisher="The office", licence="CC-BY-4.0")
    view = replace(view, card=replace(view.card, metadata=said))
    for name in ("a", "b"):
        PMTiles().write(view, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with (tmp_path / "a").open("rb") as file:
        found = Reader(MmapSource(file))
        header, metadata = found.header(), found.metadata()
        some = found.get(0, 0, 0)
    assert (header["min_zoom"], header["max_zoom"]) == (
        0,
        plan_zooms(GRIDS["mesh"].places[0])[-1].last,
    )
    assert metadata["attribution"] == "The office – CC-BY-4.0"
    assert metadata["geodp"]["release_id"] == view.card.release_id
    (layer,) = metadata["vector_layers"]
    assert layer["fields"]["code"] == "String"
    assert layer["fields"]["residents"] == layer["fields"]["high"] == "Number"
    assert b"residents" in gzip.decompress(some)


def test_a_release_of_nobody_is_written_too(tmp_path):
    view = view_of(GRIDS["mesh"])
    table = view.table
    nobody = ReleasedTable(table.grid, table.key[:0], table.count[:0], table.event)
    view = replace(view, table=nobody, errors=None)
    for one in (PMTiles(), GeoJSON(), Xlsx()):
        one.write(view, tmp_path / f"x.{one.ending}")
    with (tmp_path / "x.pmtiles").open("rb") as file:
        found = Reader(MmapSource(file))
        assert found.metadata()["vector_layers"][0]["id"] == "residents"
        assert gzip.decompress(found.get(0, 0, 0)) == b""
    assert json.loads((tmp_path / "x.geojson").read_text())["features"] == []


def test_a_gdal_without_tiles_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pyogrio, "list_drivers", lambda write: {"GPKG": "rw"})
    with refuses(UsageError, "gdal-without-pmtiles: geodp.tiles"):
        PMTiles().write(view_of(GRIDS["mesh"]), tmp_path / "x.pmtiles")
    assert [*tmp_path.iterdir()] == []


def test_what_gdal_cannot_write_is_told_as_the_file_systems_refusal(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        PMTiles().write(view_of(GRIDS["mesh"]), tmp_path / "no folder" / "x.pmtiles")


@pytest.mark.parametrize("method", ["pyramid", "laplace"])
def test_the_style_colours_every_class_of_the_tiles(method, tmp_path):
    view = view_of(GRIDS["mesh"], method=method)
    view = replace(view, card=replace(view.card, metadata=StatedMetadata(display_below=30)))
    MapLibre().write(view, tmp_path / "x.style.json")
    style = json.loads((tmp_path / "x.style.json").read_text(encoding="utf-8"))
    assert style["sources"]["residents"]["url"] == "pmtiles://x.pmtiles"
    (layer,) = style["layers"]
    operator, got, *rest, _ = layer["paint"]["fill-color"]
    assert (operator, got) == ("match", ["get", "class"])
    colours = dict(zip(rest[::2], rest[1::2], strict=True))
    legend = style["metadata"]["legend"]
    assert legend["title"] == "residents per km²"
    assert {one["class"]: one["colour"] for one in legend["classes"]} == colours
    (_, _), *pieces = find_layer(view).pieces("Testing")
    assert {name for columns, _ in pieces for name in columns["class"].to_pylist()} <= {*colours}
    assert "<30" in colours


def test_tiles_end_before_the_poles():
    south = geodp.Grid.regular((8, 8), crs="EPSG:3031", transform=(1e5, 0, -4e5, 0, -1e5, 4e5))
    view = view_of(south)
    assert "85 degrees" in PMTiles().why_not(view)
    assert GeoJSON().why_not(view) is None


@pytest.mark.parametrize("name", ["class", "side"])
def test_a_count_with_the_name_of_another_column_is_refused(name):
    assert name in why_not_on_web(view_of(GRIDS["mesh"], name=name))
