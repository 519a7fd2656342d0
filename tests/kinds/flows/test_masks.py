"""Zones that are the cells of a public mask: whole releases, their files, and what is read."""

import numpy as np
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.flows.regions import divide_zones
from geodp.kinds.flows.zones import pairs_of, zones_of
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import FORMS, ON_MASK, make
from tests.kinds.flows.masks import masked
from tests.kinds.flows.test_publish import MESH
from tests.refusals import refuses

GRID = ON_MASK
TABLE = FORMS["mask"].trips(3)
AMOUNTS = {"epsilon": 1, "contribution": 3}
KEY = NoiseKey(bytes(range(32)))
ENDS = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id", "trips": 5}


@pytest.fixture(scope="module")
def release(shared):
    return make(shared, "mask")


def test_pairs_carry_the_mask_of_their_zones():
    pairs = pairs_of(GRID)
    assert zones_of(pairs) == GRID
    assert pairs.size == GRID.size**2
    assert pairs != pairs_of(MESH)
    assert pairs.describe()["mask"] == GRID.describe()["mask"]
    with refuses(UsageError, "pairs-need-map"):
        GRID.pairs()


@pytest.mark.parametrize("method", ["pyramid", "laplace", "topdown"])
def test_no_other_method_measures_or_plans_pairs_of_a_mask(method):
    with refuses(UsageError, "pairs-of-mask"):
        geodp.publish(TABLE, method=method, **AMOUNTS)
    with refuses(UsageError, "pairs-of-mask"):
        geodp.plan(TABLE.grid, method, epsilon=1)


def test_gathered_pairs_are_those_of_the_mask(public, tmp_path, monkeypatch):
    from geodp.io.write.export import netcdf
    from geodp.io.write.export.netcdf import NetCDF
    from geodp.release.opening import open_view

    xarray = pytest.importorskip("xarray")
    monkeypatch.setattr(netcdf, "DENSE_BYTES", 1)
    view = open_view(public / "flows")
    NetCDF().write(view, tmp_path / "flows.nc")
    with xarray.open_dataset(tmp_path / "flows.nc") as data:
        sizes = [data.sizes[name] for name in data.flow.compress.split()]
        assert sizes == [GRID.size, GRID.size]
        ends = np.unravel_index(data.flow, sizes)
        codes = [
            data[name].values[at] for name, at in zip(("origin", "destination"), ends, strict=True)
        ]
        flows = view.all_rows.columns.to_pandas()
        assert codes[0].tolist() == [*map(int, flows["origin"])]
        assert codes[1].tolist() == [*map(int, flows["destination"])]


def test_lines_and_polygons_on_a_mask(release):
    line = shapely.LineString([(139.1, 34), (139.1, 36)])
    left, right = divide_zones(GRID, line)
    assert left.cells + right.cells == GRID.size
    west, east = shapely.box(139, 35, 139.1, 36), shapely.box(139.1, 35, 140, 36)
    there = release.estimate_across(line).there
    assert there == release.estimate(west, east)
    # All zones of the mask are on one side.
    sea = masked(MESH, np.indices(MESH.shape)[1] >= 8)
    with refuses(UsageError, "flows-line-divides"):
        divide_zones(sea, shapely.LineString([(139.05, 34), (139.05, 36)]))


MASK = np.array([[1, 1, 0], [1, 0, 1]], bool)
SMALL = masked(Grid.regular((2, 3)), MASK)
INSIDE, SEA, BEYOND = (0, 0, 1, 2), (0, 0, 0, 2), (0, 0, 5, 5)


def rows_of(*trips, **more):
    columns = zip(("oy", "ox", "dy", "dx"), zip(*trips, strict=True), strict=True)
    names = [f"p{n}" for n in range(len(trips))]
    return pa.table({"id": names} | {name: [*one] for name, one in columns} | more)


def test_trips_go_between_cells_of_the_mask_only():
    rows = rows_of(INSIDE, SEA, BEYOND)
    for outside in (None, "error", "crop"):
        with refuses(InputError, "cell-outside-domain") as refused:
            geodp.flows.read_trips(rows, grid=SMALL, outside=outside, **ENDS)
        assert refused.value.row == 2
    left = geodp.flows.read_trips(rows, grid=SMALL, outside="drop", **ENDS)
    assert left.grid.decode(left.key).T.tolist() == [[*INSIDE]]
    left = geodp.flows.read_trips(rows_of(INSIDE, BEYOND), grid=SMALL, outside="crop", **ENDS)
    assert left.count.tolist() == [1]
    counted = {**ENDS, "person": None, "trips": None, "value": "n"}
    rows = rows_of(INSIDE, SEA, n=[3, 4])
    with refuses(InputError, "cell-outside-domain"):
        geodp.flows.read_trips(rows, grid=SMALL, **counted)
    left = geodp.flows.read_trips(rows, grid=SMALL, outside="drop", **counted)
    assert left.count.tolist() == [3]


def test_what_is_kept_of_a_person_does_not_depend_on_trips_outside():
    inside, kept = [INSIDE, (1, 2, 0, 1), (1, 0, 0, 0)], []
    for more in ((), (SEA,) * 9):
        rows = rows_of(*inside, *more)
        rows = rows.set_column(0, "id", [["p"] * len(rows)])
        given = {"grid": SMALL, "outside": "drop", "key": KEY, **ENDS, "trips": 2}
        kept.append(geodp.flows.read_trips(rows, **given))
    assert np.array_equal(kept[0].key, kept[1].key)
    assert kept[0].count.sum() == 2


@pytest.mark.parametrize("read", [geodp.flows.read_pings, geodp.flows.read_stays])
def test_pings_and_stays_outside_the_mask_take_part_and_make_no_trips(read):
    grid = masked(MESH, (np.indices(MESH.shape).sum(axis=0) > 4))
    at = np.repeat([(35.1, 139.1), (35.005, 139.005), (35.1, 139.1)], 2, axis=0)
    times = [f"2024-05-01T{hour:02d}:{minute:02d}" for hour in (8, 9, 10) for minute in (0, 20)]
    rows = pa.table({"id": ["a"] * 6, "t": times, "y": at[:, 0], "x": at[:, 1]})
    where = {"grid": grid, "place": ("x", "y"), "time": "t", "person": "id", "trips": 5}
    with refuses(InputError, "cell-outside-domain"):
        read(rows, **where)
    found = read(rows, outside="drop", **where)
    # Nobody went from land to land: the way led over the sea.
    apart = found.grid.decode(found.key)
    assert (apart[:2] == apart[2:]).all()
