"""The folder of a series: whole releases by their times, an index, all of it or nothing."""

import json

import numpy as np
import pytest
from pyproj import CRS

import geodp
from geodp.kinds.series import netcdf
from geodp.kinds.series.kind import SeriesCard
from tests.kinds.changing import change_index, failed, list_files
from tests.kinds.series.test_publish import publish

TIMES = ("2024-01", "2024-02", "2024-03")


def test_a_snapshot_alone_is_byte_for_byte_what_it_is_as_a_release(series, public, tmp_path):
    series[1].write(tmp_path / "alone")
    for path in (tmp_path / "alone" / "public").iterdir():
        assert path.read_bytes() == (public / TIMES[1] / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (lambda p: p["snapshots"].pop(1), "checksums", "does not list"),
        (lambda p: p.update(step="year"), "guarantee", "index.step"),
        (lambda p: p["snapshots"].reverse(), "times", "comes too late"),
        (lambda p: p["snapshots"][0].update(release_id="0" * 16), "snapshots", "The id"),
        (lambda p: p["guarantee"].update(epsilon="2"), "budget", "add up"),
        (lambda p: p["guarantee"]["sharing"].update(changed=1), "guarantee", "sharing.changed"),
        (lambda p: p["guarantee"]["sharing"].update(person="one"), "budget", "add up"),
        (lambda p: p["guarantee"].update(unit="household"), "guarantee", "guarantee.unit"),
        (lambda p: p.update(private=False), "snapshots", "another charge"),
    ],
)
def test_an_index_that_says_something_else_is_found(public, change, name, said):
    change_index(public, change)
    assert said in failed(public)[name]


def replace_netcdf(public, change, at=0):
    """Change the NetCDF, or the picture after it, and all digests of it."""
    path = public / ("population.nc", "population.png")[at]
    path.write_bytes(change(path.read_bytes()))
    list_files(public)


def test_a_file_that_does_not_show_the_snapshots_is_found(public):
    replace_netcdf(public, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
    ((name, said),) = failed(public).items()
    assert name == "shared files"
    assert "does not hold what the tables do" in said
    replace_netcdf(public, lambda data: b"CDF" + bytes(9))
    assert {*failed(public)} == {"shared files"}


def test_a_picture_of_another_series_is_found(public, tmp_path):
    publish(times=("2023-01", "2023-02", "2023-03")).write(tmp_path / "other")
    other = (tmp_path / "other" / "public" / "population.png").read_bytes()
    replace_netcdf(public, lambda _: other, at=1)
    assert {*failed(public)} == {"shared files"}


@pytest.mark.parametrize("name", ["population.nc", "population.png"])
def test_a_file_that_is_not_there_is_missed(public, name):
    (public / name).unlink()
    change_index(
        public, lambda p: p.update(files=[one for one in p["files"] if one["name"] != name])
    )
    assert "other joint files" in failed(public)["shared files"]


def test_another_definition_of_the_same_crs_is_no_change(tmp_path, monkeypatch):
    """Versions of PROJ write a CRS in other words."""
    grid = geodp.Grid.regular((8, 8), crs="EPSG:3035", transform=(100, 0, 0, 0, -100, 800))
    tables = [geodp.CountTable.from_dense(np.full(grid.shape, 9), grid)] * 2
    series = publish(tables, times=TIMES[:2])
    series.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    before = (public / "population.nc").read_bytes()
    card = SeriesCard.from_json(json.loads((public / "series.json").read_text()))
    assert failed(public) == {}
    own, same = CRS.to_cf, {"crs_wkt": CRS.from_epsg(3035).to_wkt("WKT2_2015")}
    for other, found in (
        (same, set()),
        ({"crs_wkt": CRS.from_epsg(3857).to_wkt()}, {"shared files"}),
        ({"semi_major_axis": 1.0}, {"shared files"}),
        (same | {"semi_major_axis": 1.0}, {"shared files"}),
    ):
        monkeypatch.setattr(CRS, "to_cf", lambda crs, other=other: {**own(crs), **other})
        netcdf.write(tmp_path / "other.nc", series.periods, [one.view() for one in series], card)
        monkeypatch.undo()
        replace_netcdf(public, lambda _: (tmp_path / "other.nc").read_bytes())
        assert {*failed(public)} == found
    replace_netcdf(public, lambda _: before)
    assert failed(public) == {}


def test_what_has_no_map_is_left_out_with_a_reason(tmp_path):
    grid = geodp.Grid.regular((8, 8)).with_attribute("sex", ["f", "m"])
    tables = [geodp.CountTable.from_dense(np.full(grid.shape, 9), grid)] * 2
    publish(tables, times=TIMES[:2]).write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    card = SeriesCard.from_json(json.loads((public / "series.json").read_text()))
    assert [(one.name, one.why) for one in card.left_out] == [
        ("population.nc", "NetCDF is written of a grid of one map without attributes")
    ]
    assert failed(public) == {}
