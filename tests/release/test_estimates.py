"""Estimates of many regions together: what each alone has, in as many steps as of a few."""

from dataclasses import replace

import geopandas
import numpy as np
import pandas
import pytest
import shapely

from geodp.accuracy import region_interval
from geodp.accuracy.interval import NodeSums
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from tests.refusals import refuses
from tests.release.test_frames import GRIDS, MESH, release


def released_for(kind):
    if kind == "noise":
        return release(MESH, "laplace")
    if kind == "sexes":
        return release(GRIDS["attribute"])
    return release(MESH)


@pytest.mark.parametrize("kind", ["clamped", "sexes", "noise"])
def test_polygons_of_a_frame_are_estimated_as_one_by_one(kind):
    made = released_for(kind)
    rng = np.random.default_rng(7)
    centres = shapely.points(rng.uniform(139, 139.5, 30), rng.uniform(35, 35.5, 30))
    shapes = shapely.buffer(centres, rng.uniform(0.003, 0.2, 30))
    frame = geopandas.GeoDataFrame({"id": range(30)}, geometry=shapes, crs="EPSG:6668")
    labels = {"sex": "f"} if kind == "sexes" else None
    estimates = made.estimate(frame, labels)
    assert list(estimates.columns[:2]) == ["id", "geometry"]
    for row in estimates.itertuples():
        if not row.cells:
            assert np.isnan(row.count)
            continue
        one = made.estimate(row.geometry, labels)
        assert (row.count, row.clamped) == (one.count, one.clamped)
        assert (row.standard_error, row.low, row.high) == pytest.approx(
            (one.standard_error, one.low, one.high), rel=1e-12
        )
    assert estimates.cells.max() > 50
    assert estimates.clamped.any() == (kind != "noise")


def test_a_frame_without_cells_has_no_numbers():
    shapes = [shapely.box(10, 10, 11, 11), None, shapely.box(139, 35, 139.1, 35.1)]
    frame = geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:6668")
    estimates = release(MESH).estimate(frame)
    assert estimates["cells"].tolist()[:2] == [0, 0]
    assert estimates["high"].isna().tolist() == [True, True, False]


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:4326", "EPSG:6677"])
def test_a_frame_in_another_crs_is_moved(crs):
    made = release(MESH)
    shapes = [shapely.box(139.003, 35.003, 139.2, 35.2), None]
    frame = geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:6668")
    estimates = made.estimate(frame.to_crs(crs))
    assert estimates.crs == crs
    # Parts of cells are those of the polygon as it was moved.
    numbers = [one.drop(columns="geometry") for one in (estimates, made.estimate(frame))]
    pandas.testing.assert_frame_equal(*numbers, rtol=1e-6)


def test_frames_that_cannot_be_estimated():
    made = release(MESH)
    frame = geopandas.GeoDataFrame(geometry=[shapely.box(139, 35, 139.1, 35.1)], crs="EPSG:6668")
    with refuses(
        UsageError, r"frame-transformation-missing: Tokyo.*EPSG:6668.*to_crs\('EPSG:6668'\)"
    ):
        made.estimate(frame.to_crs("EPSG:4301"))
    with refuses(UsageError, "frame-without-crs"):
        made.estimate(frame.set_crs(None, allow_override=True))
    with refuses(UsageError, "frame-column-taken"):
        made.estimate(frame.assign(cells=1))
    with refuses(UsageError, "frame-not-polygons"):
        made.estimate(frame.set_geometry(frame.boundary))
    with refuses(UsageError, "interval-unknown"):
        made.estimate(frame, interval="simulated")
    with refuses(UsageError, "region-error-unknown"):
        release(MESH, "ugrid").estimate(frame)


def test_the_work_on_many_polygons_does_not_grow_with_their_number(monkeypatch):
    """Nodes are followed together: as many steps for 200 polygons as for 2."""
    made = release(MESH)
    calls = []
    monkeypatch.setattr(
        region_interval,
        "_spread",
        lambda *args, f=region_interval._spread: calls.append(1) or f(*args),
    )
    monkeypatch.setattr(
        Grid, "encode", lambda grid, index, f=Grid.encode: calls.append(2) or f(grid, index)
    )
    steps = []
    for many in (2, 200):
        west = np.linspace(139, 139.4, many)
        shapes = shapely.box(west, 35, west + 0.05, 35.07)
        calls.clear()
        made.estimate(geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:6668"))
        steps.append(sorted(calls))
    assert steps[0] == steps[1] != []


def test_a_table_is_summed_once_for_all_estimates(monkeypatch):
    made = []

    def count(table):
        made.append(table)
        return NodeSums(table)

    monkeypatch.setattr("geodp.release.base.NodeSums", count)
    several = replace(release(MESH))
    for size in (2, 3, 5):
        several.estimate(np.indices((size, size)).reshape(2, -1))
    assert made == [several.table]


def test_each_node_of_a_region_is_looked_up_once(monkeypatch):
    made, calls, original = release(MESH), [], NodeSums.of

    def count(self, prefix, stride):
        calls.append((stride, prefix.tobytes()))
        return original(self, prefix, stride)

    monkeypatch.setattr(NodeSums, "of", count)
    shapes = [shapely.Point(139.2, 35.2).buffer(0.1), shapely.box(139.3, 35.3, 139.45, 35.4)]
    made.estimate(geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:6668"))
    assert len(calls) == len({*calls}) > 1


def test_middles_of_cells_are_worked_out_once_for_all_polygons(monkeypatch):
    made, calls, original = release(MESH), [], Lattice.edges
    monkeypatch.setattr(Lattice, "edges", lambda self: calls.append(1) or original(self))
    shapes = shapely.box(*np.array([[139.1, 35.1, 139.1 + n, 35.2] for n in (0.1, 0.2, 0.3)]).T)
    made.estimate(geopandas.GeoDataFrame(geometry=shapes, crs="EPSG:6668"))
    # Once for the cells inside, and once for those that are cut.
    assert calls == [1, 1]
