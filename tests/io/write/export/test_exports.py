"""What each export refuses, and the words of its files; round trips are asked of whole releases."""

import csv
import json
from dataclasses import replace

import pytest

import geodp
from geodp.io.write.export.geojson import GeoJSON
from geodp.io.write.export.netcdf import NetCDF
from geodp.io.write.export.omx import OMX
from geodp.io.write.export.pmtiles import PMTiles
from geodp.io.write.export.spreadsheet import EStat, Excel
from geodp.io.write.export.stac import Stac
from geodp.io.write.export.styles import MapLibre, Qml
from geodp.io.write.export.vector import FlatGeobuf, GeoPackageExport, Parquet
from geodp.io.write.export.workbook import Xlsx
from geodp.table.card import StatedMetadata
from tests.release.test_frames import GRIDS, release

EVERY = (
    *(NetCDF(), EStat(), Excel(), Stac(), FlatGeobuf(), GeoPackageExport(), Parquet()),
    *(GeoJSON(), OMX(), PMTiles(), MapLibre(), Qml(), Xlsx()),
)
WEB = {"geojson", "pmtiles", "maplibre"}
REFUSED = {
    "mesh": {"stac", "omx"},
    "metres": {"stac", "csv:estat", "omx"},
    "attribute": {"stac", "csv:estat", "netcdf", "omx"},
    "pairs": {"stac", "csv:estat"},
    "nowhere": {"stac", "csv:estat", "omx", "gpkg", "fgb", *WEB},
}


def view_of(grid, name="residents", method="pyramid"):
    view = release(grid, method).view(name)
    return replace(view, card=replace(view.card, release_id="0" * 16))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_a_reason(name):
    view = view_of({**GRIDS, "nowhere": geodp.Grid.regular((4, 4))}[name])
    reasons = {one.name: one.why_not(view) for one in EVERY}
    assert {one for one, reason in reasons.items() if reason} == REFUSED[name]


def test_real_counts_and_strange_letters_are_no_mesh_statistics():
    assert "integers" in EStat().why_not(view_of(GRIDS["mesh"], method="laplace"))
    assert "CP932" in EStat().why_not(view_of(GRIDS["mesh"], name="Bevölkerung"))
    assert EStat().why_not(view_of(GRIDS["mesh"], name="人口")) is None


def test_texts_are_formulas_of_nothing_but_themselves(tmp_path):
    grid = GRIDS["mesh"].with_attribute("kind", ("a b", 'a "b"'))
    Excel().write(view_of(grid), tmp_path / "x.csv")
    text = (tmp_path / "x.csv").read_text(encoding="utf-8-sig")
    assert '"=""a """"b"""""""' in text
    assert '"=""a b"""' in text


@pytest.mark.parametrize("method", ["pyramid", "laplace", "hay"])
def test_spreadsheets_show_small_counts_as_one_word_and_no_interval(method, tmp_path):
    view = view_of(GRIDS["mesh"], method=method)
    limit = 30
    few = replace(view.card, metadata=StatedMetadata(display_below=limit))
    for name, card in (("plain", view.card), ("few", few)):
        Excel().write(replace(view, card=card), tmp_path / name)
    plain, shown = (
        [*csv.DictReader((tmp_path / name).read_text("utf-8-sig").splitlines())]
        for name in ("plain", "few")
    )
    hidden = [0 < float(row["residents"]) < limit for row in plain]
    assert any(hidden)
    assert not all(hidden)
    for before, after, hide in zip(plain, shown, hidden, strict=True):
        changed = {"residents": "<30", "low": "", "high": ""} if hide else {}
        assert after == {**before, **{name: changed[name] for name in changed if name in before}}


def test_mesh_statistics_keep_the_counts_as_their_readers_take_numbers(tmp_path):
    view = view_of(GRIDS["mesh"])
    few = replace(view.card, metadata=StatedMetadata(display_below=1000))
    for name, card in (("plain", view.card), ("few", few)):
        EStat().write(replace(view, card=card), tmp_path / name)
    assert (tmp_path / "few").read_bytes() == (tmp_path / "plain").read_bytes()


def test_an_item_across_180_degrees_has_two_parts(tmp_path):
    grid = geodp.Grid.regular((10, 6), crs="EPSG:4326", transform=(1, 0, 176, 0, 1, -21))
    view = view_of(grid)
    dated = replace(view.card, metadata=StatedMetadata(reference_date="2020-01-01"))
    Stac().write(replace(view, card=dated), tmp_path / "x.json")
    item = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert item["bbox"] == [176, -21, -178, -11]  # RFC 7946, 5.2
    assert item["geometry"]["type"] == "MultiPolygon"
    sides = [{point[0] for point in ring} for (ring,) in item["geometry"]["coordinates"]]
    assert sides == [{176, 180}, {-180, -178}]


def test_what_gdal_cannot_write_is_told_as_the_file_systems_refusal(tmp_path):
    with pytest.raises(OSError, match="Input/output error") as refused:
        FlatGeobuf().write(view_of(GRIDS["mesh"]), tmp_path / "no folder" / "x.fgb")
    assert refused.value.filename.endswith("x.fgb")
