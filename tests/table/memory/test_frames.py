"""Confidential counts from frames in memory: the same table as from arrays, or a refusal."""

import geopandas
import numpy as np
import pandas
import pytest
import shapely
import xarray

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.table.counts import CountTable

KEY = geodp.NoiseKey(bytes(range(32)))
MESH = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
SEXES = METRES.with_attribute("sex", ("f", "m"))


def table(grid, n=40):
    rng = np.random.default_rng(4)
    key = np.unique(rng.integers(0, np.array(grid.shape)[:, None], (len(grid.shape), n)), axis=1)
    return CountTable.from_index(grid, key, rng.integers(1, 2**40, key.shape[1]))


def frame_of(found):
    """Its cells as a frame, with codes, centres and outlines."""
    grid = found.grid
    index = grid.decode(found.key)
    place = grid.places[0]
    west, south, east, north = place.edges_at(*index[:2])
    columns = {
        "mesh": place.format(*index[:2]),
        "x": (west + east) / 2,
        "y": (south + north) / 2,
        "people": found.count,
    }
    for number, one in enumerate(grid.attributes):
        columns[one.name] = np.array(one.labels)[index[2 + number]]
    boxes = shapely.box(west, south, east, north)
    return geopandas.GeoDataFrame(columns, geometry=boxes, crs=place.crs)


def same(one, other):
    return (
        one.grid == other.grid
        and np.array_equal(one.key, other.key)
        and np.array_equal(one.count, other.count)
    )


def test_codes_and_coordinates_and_outlines_give_one_table():
    made = table(MESH)
    frame = frame_of(made)
    plain = pandas.DataFrame(frame.drop(columns="geometry"))
    for found in (
        CountTable.from_pandas(plain, MESH, code="mesh", value="people"),
        CountTable.from_pandas(plain.astype({"mesh": int}), MESH, code="mesh", value="people"),
        CountTable.from_pandas(plain, MESH, x="x", y="y", value="people"),
        CountTable.from_geopandas(frame, MESH, value="people"),
        CountTable.from_geopandas(
            frame.set_geometry(geopandas.points_from_xy(frame.x, frame.y, crs=frame.crs)),
            MESH,
            value="people",
        ),
    ):
        assert same(found, made)
        assert found.bound is None  # no row tells how often a person is counted


def test_large_counts_stay_exact():
    frame = pandas.DataFrame({"x": [4000500.0], "y": [2999500.0], "n": [2**59 + 1]})
    found = CountTable.from_pandas(frame, METRES, x="x", y="y", value="n")
    assert found.count.tolist() == [2**59 + 1]


def test_attributes_have_columns_of_their_own():
    made = table(SEXES)
    frame = frame_of(made).rename(columns={"sex": "F_M"})
    found = CountTable.from_geopandas(frame, SEXES, value="people", columns={"sex": "F_M"})
    assert same(found, made)
    assert found.bound is None
    with pytest.raises(UsageError, match="no attribute 'age'"):
        CountTable.from_geopandas(frame, SEXES, value="people", columns={"age": "F_M"})
    with pytest.raises(CodeError, match="unknown label"):
        CountTable.from_geopandas(frame.assign(sex="x"), SEXES, value="people")


def test_pairs_have_two_columns():
    grid = METRES.pairs()
    frame = pandas.DataFrame(
        {"a": [4000500.0, 4001500.0], "b": [2999500.0] * 2, "c": [4005500.0] * 2, "n": [3, 4]}
    )
    found = CountTable.from_pandas(frame, grid, x=("a", "c"), y=("b", "b"), value="n")
    assert grid.decode(found.key).T.tolist() == [[0, 0, 0, 5], [0, 1, 0, 5]]
    with pytest.raises(UsageError, match="two columns"):
        CountTable.from_pandas(frame, grid, x="a", y="b", value="n")


def test_rows_without_counts_are_records():
    frame = pandas.DataFrame({"x": [4000500.0, 4000400.0, 4001500.0], "y": [2999500.0] * 3})
    found = CountTable.from_pandas(frame, METRES, x="x", y="y")
    assert found.count.tolist() == [2, 1]
    assert found.bound is None
    with pytest.raises(UsageError, match="contribution"):
        geodp.publish(found, epsilon=1)


def test_rows_outside_are_refused_or_dropped():
    frame = pandas.DataFrame({"x": [4000500.0, 0.0], "y": [2999500.0, 0.0], "n": [2, 5]})
    with pytest.raises(CodeError, match="outside") as error:
        CountTable.from_pandas(frame, METRES, x="x", y="y", value="n")
    assert error.value.position == 1
    found = CountTable.from_pandas(frame, METRES, x="x", y="y", value="n", outside="drop")
    assert found.count.tolist() == [2]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"code": "mesh", "x": "x", "y": "y"}, "Give code="),
        ({"x": "x"}, "Give code="),
        ({"code": "none"}, "no column 'none'"),
        ({"x": "x", "y": "y", "value": "none"}, "no column 'none'"),
        ({"code": "people", "value": "people"}, "."),
    ],
)
def test_bad_calls_are_refused(given, rule):
    frame = frame_of(table(MESH))
    with pytest.raises(geodp.GeodpError, match=rule):
        CountTable.from_pandas(frame, MESH, **given)


def test_bad_values_are_refused_by_row_and_not_shown():
    frame = frame_of(table(MESH))
    for column, value in (("people", -3), ("people", 2.5), ("people", np.nan), ("mesh", "777")):
        bad = frame.astype({"people": float}) if column == "people" else frame.copy()
        bad.loc[4, column] = value
        with pytest.raises(CodeError) as error:
            CountTable.from_pandas(bad, MESH, code="mesh", value="people")
        assert error.value.position == 4
        assert str(value) not in str(error.value).replace("4", "")
    missing = frame.astype({"mesh": float})
    whole = CountTable.from_pandas(missing, MESH, code="mesh", value="people")
    assert whole.key.tolist() == table(MESH).key.tolist()
    for value in (np.nan, 53394611.5):
        missing.loc[4, "mesh"] = value
        with pytest.raises(CodeError) as error:
            CountTable.from_pandas(missing, MESH, code="mesh", value="people")
        assert error.value.position == 4


def test_geometries_that_are_no_cells_are_refused():
    frame = frame_of(table(METRES))
    whole = frame.geometry.iloc[2]
    west, south, east, north = whole.bounds
    for shape in (
        whole.buffer(400),
        shapely.Polygon([(west, south), (east, south), (east, north)]),
        shapely.LineString([(west, south), (east, north)]),
        shapely.Polygon(),
    ):
        bad = frame.copy()
        bad.loc[2, "geometry"] = shape
        with pytest.raises(CodeError) as error:
            CountTable.from_geopandas(bad, METRES, value="people")
        assert error.value.position == 2


def test_another_crs_is_refused_with_the_remedy():
    frame = frame_of(table(METRES))
    with pytest.raises(UsageError, match=r"to_crs\('EPSG:3035'\)"):
        CountTable.from_geopandas(frame.to_crs("EPSG:4326"), METRES, value="people")
    bare = frame.drop(columns="geometry").set_geometry(frame.geometry.values.copy(), crs=None)
    with pytest.raises(UsageError, match="no CRS"):
        CountTable.from_geopandas(bare.set_crs(None, allow_override=True), METRES, value="people")


@pytest.mark.parametrize("grid", [MESH, METRES, SEXES], ids=["north", "south", "sex"])
def test_arrays_go_out_and_come_back(grid):
    made = table(grid)
    released = geodp.publish(made, epsilon=10**6, contribution=1, key=KEY, method="geometric")
    assert same(released.table, made)
    array = released.to_xarray()
    assert array.dtype == np.int64
    assert int(array.sum()) == int(made.count.sum())
    assert (np.diff(array.y) < 0).all()
    assert same(CountTable.from_xarray(array, grid), made)
    assert same(CountTable.from_xarray(array.transpose().astype(float), grid), made)
    first = grid.decode(made.key[:1])
    west, south, east, north = grid.places[0].edges_at(*first[:2])
    where = {"x": (west + east)[0] / 2, "y": (south + north)[0] / 2}
    where |= {one.name: one.labels[first[2, 0]] for one in grid.attributes}
    assert int(array.sel(where, method=None if grid.attributes else "nearest")) == made.count[0]


def test_what_an_array_cannot_be():
    array = xarray.DataArray(np.zeros((8, 12)), dims=("y", "lon"))
    with pytest.raises(UsageError, match="dimensions y, x"):
        CountTable.from_xarray(array, METRES)
    xs, ys = ((edge[1:] + edge[:-1]) / 2 for edge in METRES.places[0].edges())
    array = xarray.DataArray(np.zeros((8, 12)), coords={"y": ys, "x": xs + 1e6}, dims=("y", "x"))
    assert CountTable.from_xarray(array, METRES).key.size == 0
    array[2, 3] = 4
    with pytest.raises(CodeError, match="outside"):
        CountTable.from_xarray(array, METRES)
    array[2, 3] = np.nan
    assert CountTable.from_xarray(array, METRES).key.size == 0
    array = array.assign_coords(x=xs)
    with pytest.raises(CodeError, match="whole number"):
        CountTable.from_xarray(array, METRES)


def test_coordinates_that_are_no_numbers_are_refused_without_showing_them():
    frame = pandas.DataFrame({"x": ["4000500", "at home"], "y": [2999500, 2999500]})
    with pytest.raises(UsageError, match="numbers") as caught:
        CountTable.from_pandas(frame, METRES, x="x", y="y")
    assert caught.value.__context__ is None
    with pytest.raises(UsageError, match="no geometries"):
        CountTable.from_geopandas(frame, METRES)


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("change", ["edges", "twice", "none", "texts"])
def test_an_array_that_is_not_of_the_grid_moves_nobody(axis, change):
    array = geodp.publish(table(METRES), epsilon=1, key=KEY, contribution=1).to_xarray()
    middles = array.coords[axis].values
    at = {"edges": middles - 500, "twice": np.append(middles[1:2], middles[1:])}
    if change == "none":
        other = array.drop_vars(axis)
    else:
        other = array.assign_coords({axis: at.get(change, middles.astype(str) + "m")})
    with pytest.raises(UsageError, match="oordinates"):
        CountTable.from_xarray(other, METRES)
    with pytest.raises(UsageError, match="dimensions"):
        CountTable.from_xarray(array.values, METRES)
    near = array.assign_coords({axis: middles + 9.0})
    assert same(CountTable.from_xarray(near, METRES), CountTable.from_xarray(array, METRES))
