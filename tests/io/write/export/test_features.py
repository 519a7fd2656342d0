"""What maps in browsers show besides counts of cells: units, lines, several numbers."""

import json

import geopandas
import numpy as np
import pandas
import pyogrio
import pytest
from pyproj import Geod
from shapely import box

import geodp
from geodp.io.verify.verify import verify
from geodp.io.write.export import geojson
from geodp.io.write.export.geojson import GeoJSON
from geodp.io.write.export.pmtiles import PMTiles
from geodp.io.write.export.styles import MapLibre
from geodp.io.write.export.web import find_layer
from geodp.privacy.key import NoiseKey
from geodp.release.opening import errors_of
from tests.kinds.flows.commands.test_flows import done
from tests.kinds.flows.units import make_units, middles, unit_trips

UNITS, CODES = make_units()
KEY = NoiseKey(bytes(32))


@pytest.fixture(scope="module")
def flows():
    trips = pandas.DataFrame(unit_trips(UNITS))
    ends = {"origin": ("ox", "oy"), "destination": ("dx", "dy"), "person": "id", "trips": 4}
    return geodp.flows.publish(trips, grid=UNITS, epsilon=8, key=KEY, **ends)


def read(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    return document["geodp"], geopandas.GeoDataFrame.from_features(document["features"], crs=4326)


def test_flows_are_lines_with_their_errors_and_lengths(flows, tmp_path, monkeypatch):
    view = flows.view()
    GeoJSON().write(view, tmp_path / "all.geojson")
    _, lines = read(tmp_path / "all.geojson")
    assert lines.trips.sum() == flows.flows.table.total
    assert lines.trips.is_monotonic_increasing
    metres = [Geod(ellps="WGS84").geometry_length(one) for one in lines.geometry]
    assert np.allclose(lines.length_km * 1000, metres, atol=2)
    monkeypatch.setattr(geojson, "MAX_FEATURES", 50)
    GeoJSON().write(view, tmp_path / "few.geojson")
    about, few = read(tmp_path / "few.geojson")
    assert few.trips.tolist() == lines.trips.tolist()[-50:]
    assert (about["lines"], about["lines_of_release"]) == (50, len(lines))


def test_files_of_flows_hold_the_errors_that_the_index_states(flows, shared):
    public = shared.write(flows) / "public"
    expected = flows.to_geopandas(errors=True)
    for found in (
        geopandas.read_file(public / "flows.gpkg"),
        geopandas.read_parquet(public / "flows.parquet"),
        pandas.read_csv(public / "flows.csv", dtype={"origin": str, "destination": str}),
    ):
        assert found.trips.tolist() == expected["count"].tolist()
        for name in ("origin", "destination", "standard_error", "low", "high"):
            assert found[name].tolist() == expected[name].tolist()
    assert "attr='\"trips\"'" in (public / "flows.qml").read_text()


def test_units_without_a_count_are_on_maps_and_in_geopackages(tmp_path):
    code = list(CODES.flat)[:3]
    rows = pandas.DataFrame({"code": code, "n": [900, 500, 700]})
    release = geodp.publish(rows, grid=UNITS, epsilon=1, contribution=1, key=KEY)
    release.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out", errors_of))
    found = geopandas.read_file(tmp_path / "out/public/population.gpkg").set_index("code")
    listed = release.to_pandas().set_index("code").population
    assert sorted(found.index) == sorted(CODES.flat)
    assert found.population[found.population > 0].to_dict() == listed.to_dict()
    cells = release.card().expected_error.cells
    empty = found[found.population == 0]
    assert not empty.empty
    assert {*empty.high} == {cells.ends[1]}
    view = release.view()
    GeoJSON().write(view, tmp_path / "x.geojson")
    _, shown = read(tmp_path / "x.geojson")
    assert shown.population.tolist() == found.population.tolist()
    assert {*shown["class"][shown.population == 0]} == {"0"}
    assert np.allclose(shown.area.sum(), found.area.sum())
    PMTiles().write(view, tmp_path / "x.pmtiles")
    last = pyogrio.read_dataframe(tmp_path / "x.pmtiles")
    assert {*last.code} == {*CODES.flat}
    assert not [*(tmp_path / "out/public").glob("*.tif")]


def test_squares_of_persons_and_households_have_sums_and_their_quotient(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
    homes = np.random.default_rng(0).poisson(30, grid.shape)
    tables = [geodp.CountTable.from_dense(one, grid) for one in (homes * 2, homes)]
    asked = {"protect": "person", "epsilon": 1, "contribution": 1, "key": KEY}
    release = geodp.households.publish(*tables, **asked)
    layer = find_layer(release.view()).fit(100)
    _, (columns, shapes) = layer.pieces("Testing")
    rows = columns.to_pandas()
    assert len(shapes) <= 100
    for name in ("persons", "households"):
        assert rows[name].sum() == release.tables[name].table.total
    assert np.allclose(rows.mean_size, rows.persons / rows.households, rtol=1e-5)
    MapLibre().write(release.view(), tmp_path / "x.style.json")
    style = json.loads((tmp_path / "x.style.json").read_text(encoding="utf-8"))
    legend = style["metadata"]["legend"]
    assert legend["title"] == "persons per km²"
    assert {*rows["class"]} <= {one["class"] for one in legend["classes"]}


def test_amounts_are_classed_by_their_mean_where_it_is_known():
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.25, 35.25))
    draw, (south, west) = np.random.default_rng(0), (35, 139)
    at = draw.random((40_000, 2)) / 4
    rows = pandas.DataFrame({"x": west + at[:, 0], "y": south + at[:, 1]})
    rows["income"] = np.where(at[:, 0] < 0.125, 200, 400)
    asked = {"clip": (0, 1000), "unit_of_amount": "EUR", "contribution": 1, "epsilon": 1}
    release = geodp.amounts.publish(
        rows, grid=grid, x="x", y="y", amount="income", key=KEY, **asked
    )
    view = release.view()
    shown = view.shown
    assert (shown.column, shown.unit, shown.by_area) == ("mean", "EUR", False)
    assert all(0 < one < 1000 for one in shown.begins)
    _, (columns, _) = find_layer(view).pieces("Testing")
    found = columns.to_pandas()
    unsure = found["class"] == "not known well"
    assert unsure.tolist() == (~(found.mean_high - found.mean_low <= shown.widest)).tolist()
    expected = [shown.classes[one] for one in shown.classify(found["mean"][~unsure].to_numpy())]
    assert found["class"][~unsure].tolist() == expected


@pytest.mark.parametrize("kind", ["counts", "amounts", "households"])
def test_records_at_points_are_counted_in_the_unit_around_them(kind, tmp_path):
    at = middles(UNITS)
    codes = UNITS.names.format(0, np.stack([np.zeros(len(at), np.int64), np.arange(len(at))]))
    some = np.random.default_rng(0).integers(0, len(at), 500)
    rows = pandas.DataFrame({"x": at[some, 0], "y": at[some, 1], "code": codes[some]})
    rows["income"], rows["id"] = 100 + some, [f"h{one}" for one in range(500)]
    read = {
        "counts": lambda **place: geodp.read_points(rows, grid=UNITS, **place),
        "amounts": lambda **place: (
            geodp.amounts.read_records(
                rows, grid=UNITS, amount="income", clip=(0, 1000), unit_of_amount="EUR", **place
            ).records
        ),
        "households": lambda **place: geodp.households.read_records(
            rows, grid=UNITS, household="id", **place
        ),
    }[kind]
    by_point, by_code = read(x="x", y="y"), read(code="code")
    assert by_point.key.tolist() == by_code.key.tolist()
    assert by_point.count.tolist() == by_code.count.tolist()


@pytest.mark.parametrize("ending", ["gpkg", "geojson", "fgb"])
def test_an_estimate_of_polygons_is_written_as_a_layer(ending, flows, shared, tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, 35.5))
    counts = geodp.CountTable.from_dense(np.full(grid.shape, 300), grid)
    release = geodp.publish(counts, epsilon=1, contribution=1, key=KEY)
    folder = shared.write(release)
    # The second one holds the centre of no cell.
    boxes = [
        box(139, 35, 139.25, 35.25),
        box(139, 35, 139.001, 35.001),
        box(139.2, 35, 139.4, 35.4),
    ]
    given = geopandas.GeoDataFrame(
        {"name": ["a", "b", "c"], "year": 2020}, geometry=boxes, crs=4326
    )
    given.to_crs(3857).to_file(tmp_path / "in.gpkg")
    path = tmp_path / f"out.{ending}"
    done("estimate", folder, "--polygons", tmp_path / "in.gpkg", "--output", path)
    found = geopandas.read_file(path).sort_values("name")
    assert found.crs == (4326 if ending == "geojson" else 3857)
    assert found.columns.tolist()[:-1] == [
        *("name", "year", "count", "standard_error", "low", "high", "cutting_error")
    ]
    for one, shape in zip(found.to_dict("records"), boxes, strict=True):
        if one["name"] == "b":
            assert np.isnan(one["count"])
        else:
            expected = release.estimate(shape)
            assert (one["count"], one["low"]) == (expected.count, expected.low)
    parts = given.iloc[:1].assign(name="all", geometry=[box(138, 34, 140, 36)])
    parts.to_file(tmp_path / "all.gpkg")
    path = tmp_path / f"flows.{ending}"
    done("estimate", shared.write(flows), "--polygons", tmp_path / "all.gpkg", "--output", path)
    assert geopandas.read_file(path).origins.tolist() == [flows.origins.table.total]
