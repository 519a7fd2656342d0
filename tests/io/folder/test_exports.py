"""Exports: what clients read back is what was released, in every format and on every level."""

import json

import geopandas
import numpy as np
import pyarrow.parquet as pq
import pyproj
import pytest
import xarray

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.folder.formats import choose_exports, write_exports
from tests.refusals import refuses
from tests.release.test_frames import GRIDS, KEY, MESH, METRES, release

OFFICE = {
    "title": "Residents by night",
    "description": "Counts of residents.",
    "publisher": "The office",
    "contact": "office@example.org",
    "licence": "CC-BY-4.0",
    "source": "Census",
    "reference_date": "2020-10-01",
    "language": "ja",
}


def write(found, folder, name="residents", metadata=OFFICE):
    """A release in a folder, with what the office says."""
    table = geodp.CountTable.from_keys(found.grid, found.table.key, found.table.count)
    again = geodp.publish(table, epsilon=1, contribution=1, key=KEY, metadata=metadata)
    again.write(folder, name=name)
    return geodp.open(folder)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out")
    return {
        name: write(release(grid), folder / name)
        for name, grid in {**GRIDS, "official": MESH.with_official_order()}.items()
    }


def export(found, formats, folder):
    return write_exports({"": [found.view()]}, choose_exports(formats), folder)


def test_browsers_know_the_compression(opened, tmp_path):
    export(opened["mesh"], "parquet", tmp_path / "to")
    about = pq.read_metadata(tmp_path / "to" / "residents.parquet")
    columns = range(about.num_columns)
    assert {about.row_group(0).column(n).compression for n in columns} == {"SNAPPY"}
    assert json.loads(about.metadata[b"geodp"])["release_id"] == opened["mesh"].card().release_id


def test_every_published_level_has_a_file_of_its_own(opened, tmp_path):
    found = opened["official"]
    written = export(found, "gpkg,csv:estat", tmp_path / "to")
    levels = [view.level for view in found.view().with_levels()]
    assert levels[0] is None
    assert "jis:basic" in levels
    assert len(written) == 2 * len(levels)
    cells = geopandas.read_file(tmp_path / "to" / "residents.gpkg", layer="residents")
    areas = geopandas.read_file(tmp_path / "to" / "residents-basic.gpkg", layer="residents")
    sums = cells.groupby(cells.code.str[:8]).residents.sum()
    assert areas.set_index("code").residents.to_dict() == sums.to_dict()
    assert list(areas.columns) == ["code", "residents", "standard_error", "geometry"]


def test_mesh_statistics_are_read_as_those_of_the_bureau(opened, tmp_path):
    found = opened["mesh"]
    export(found, "csv:estat", tmp_path / "to")
    path = tmp_path / "to" / "residents.estat.txt"
    table = geodp.read_mesh(path, grid=MESH, value=["residents"])
    assert np.array_equal(table.key, found.table.key)
    assert np.array_equal(table.count, found.table.count)
    assert path.read_bytes().decode("cp932").splitlines()[1] == ",,,,\u3000residents"


def test_headers_stay_as_they_are_in_another_language(tmp_path):
    found = write(release(MESH), tmp_path / "out", metadata=None)
    export(found, "csv:excel", tmp_path / "to")
    first = (tmp_path / "to" / "residents.excel.csv").read_text("utf-8-sig").splitlines()[0]
    assert first == "code,residents,standard_error,low,high"


@pytest.mark.parametrize("name", ["mesh", "metres"])
def test_arrays_come_back(opened, name, tmp_path):
    found = opened[name]
    export(found, "netcdf", tmp_path / "to")
    path = tmp_path / "to" / "residents.nc"
    with xarray.open_dataset(path, engine="scipy", decode_coords="all") as read:
        table = geodp.read(read["count"], found.grid)
        assert np.array_equal(table.key, found.table.key)
        assert np.array_equal(table.count, found.table.count)
        assert read.attrs["license"] == "CC-BY-4.0"
        assert read.attrs["geodp_release_id"] == found.card().release_id
        assert pyproj.CRS.from_cf(read["crs"].attrs).equals(
            found.grid.places[0].crs, ignore_axis_order=True
        )
        assert read["count"].encoding["grid_mapping"] == "crs"


def test_an_item_says_where_when_and_which_files(opened, tmp_path):
    found = opened["metres"]
    export(found, "stac", tmp_path / "to")
    item = json.loads((tmp_path / "to" / "residents.stac.json").read_text(encoding="utf-8"))
    assert item["properties"]["datetime"] == "2020-10-01T00:00:00Z"
    assert item["properties"]["title"] == OFFICE["title"]
    assert {*item["assets"]} == {*found.card().listed}
    west, south, east, north = item["bbox"]
    x, y = np.meshgrid(*METRES.places[0].edges())
    x, y = pyproj.Transformer.from_crs("EPSG:3035", "EPSG:4326", always_xy=True).transform(x, y)
    expected = (x.min(), y.min(), x.max(), y.max())
    assert (west, south, east, north) == pytest.approx(expected, abs=1e-4)


def test_a_period_has_two_ends(tmp_path):
    found = write(
        release(MESH), tmp_path / "a", metadata={"reference_date": "2020-04-01/2021-03-31"}
    )
    export(found, "stac", tmp_path / "to")
    item = json.loads((tmp_path / "to" / "residents.stac.json").read_text(encoding="utf-8"))
    assert item["properties"]["datetime"] is None
    assert item["properties"]["end_datetime"] == "2021-03-31T23:59:59Z"


@pytest.mark.parametrize(
    ("name", "form", "reason"),
    [
        ("attribute", "csv:estat", "export-unfit: attributes"),
        ("metres", "csv:estat", "export-unfit: JIS meshes"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(opened, name, form, reason, tmp_path):
    with refuses(UsageError, reason):
        export(opened[name], f"gpkg,{form}", tmp_path / "to")
    assert [*tmp_path.iterdir()] == []


def test_what_lies_nowhere_has_no_outlines(tmp_path):
    found = write(release(Grid.regular((8, 8))), tmp_path / "out")
    for form in ("gpkg", "fgb", "stac"):
        with refuses(UsageError, "export-unfit: nowhere.*Earth"):
            export(found, form, tmp_path / "to")
    export(found, "parquet,csv:excel,netcdf", tmp_path / "to")


def test_unknown_exports_are_named():
    with refuses(UsageError, "export-unknown: 'shp'.*csv:estat, csv:excel"):
        choose_exports("gpkg,shp")
