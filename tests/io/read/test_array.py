"""Confidential counts from an array of xarray: the same table as from NumPy, or a refusal."""

import numpy as np
import pytest
import xarray

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.counting.choosing import read
from geodp.table.counts import CountTable
from tests.io.read.dialects import same
from tests.refusals import refuses

KEY = geodp.NoiseKey(bytes(range(32)))
MESH = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
SEXES = METRES.with_attribute("sex", ("f", "m"))


def table(grid, n=40):
    rng = np.random.default_rng(4)
    key = np.unique(rng.integers(0, np.array(grid.shape)[:, None], (len(grid.shape), n)), axis=1)
    return CountTable.from_index(grid, key, rng.integers(1, 2**40, key.shape[1]))


@pytest.mark.parametrize("grid", [MESH, METRES, SEXES], ids=["north", "south", "sex"])
def test_arrays_go_out_and_come_back(grid):
    made = table(grid)
    released = geodp.publish(made, epsilon=10**6, contribution=1, key=KEY, method="geometric")
    assert same(released.table, made)
    array = released.to_xarray()
    assert array.dtype == np.int64
    assert int(array.sum()) == int(made.count.sum())
    assert (np.diff(array.y) < 0).all()
    assert same(read(array, grid), made)
    assert same(read(array.transpose().astype(float), grid), made)
    first = grid.decode(made.key[:1])
    west, south, east, north = grid.places[0].edges_at(*first[:2])
    where = {"x": (west + east)[0] / 2, "y": (south + north)[0] / 2}
    where |= {one.name: one.labels[first[2, 0]] for one in grid.attributes}
    assert int(array.sel(where, method=None if grid.attributes else "nearest")) == made.count[0]


def test_what_an_array_cannot_be():
    array = xarray.DataArray(np.zeros((8, 12)), dims=("y", "lon"))
    with pytest.raises(UsageError, match="coordinates of y, lon: centres"):
        read(array, METRES)
    xs, ys = ((edge[1:] + edge[:-1]) / 2 for edge in METRES.places[0].edges())
    away = xarray.DataArray(np.zeros((8, 12)), coords={"y": ys, "x": xs + 1e6}, dims=("y", "x"))
    near = away.assign_coords(x=xs)
    for array, count, rule in (
        (away, 4, "cell-outside-domain"),
        (away, np.nan, ""),
        (near, np.nan, ""),
        (near, 0.5, "stored-fraction"),
    ):
        array[2, 3] = count
        if rule:
            with refuses(InputError, rule):
                read(array, METRES)
        else:
            assert read(array, METRES).key.size == 0


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
        read(other, METRES)
    with pytest.raises(UsageError, match="from_dense"):
        geodp.publish(array.values, grid=METRES, epsilon=1)
    near = array.assign_coords({axis: middles + 0.9})
    assert same(read(near, METRES), read(array, METRES))


DEGREES = Grid.regular((8, 12), crs="EPSG:4326", transform=(1, 0, 0, 0, -1, 8))


def of_degrees(x="x", y="y", **said):
    """An array of people on a map of degrees, with dimensions of any name."""
    counts = np.arange(96).reshape(8, 12)
    where = {y: (y, np.arange(7.5, 0, -1), said.get("y")), x: (x, np.arange(12) + 0.5)}
    return xarray.DataArray(counts, where, (y, x), "residents")


@pytest.mark.parametrize(("x", "y"), [("lon", "lat"), ("Longitude", "Latitude"), ("x", "lat")])
def test_columns_and_rows_are_found_by_their_names(x, y):
    wanted = read(of_degrees(), DEGREES)
    assert same(read(of_degrees(x, y), DEGREES), wanted)
    assert same(read(of_degrees("a", "b"), DEGREES, x="a", y="b"), wanted)
    named = of_degrees(x, "b")
    named["b"].attrs["standard_name"] = "latitude"
    assert same(geodp.read_raster(named, grid=DEGREES), wanted)
    with pytest.raises(UsageError, match="has b, a; x= and y= say which"):
        read(of_degrees("a", "b"), DEGREES)


def test_an_array_is_published_with_what_a_file_is_asked():
    given = {"method": "geometric", "epsilon": 10**6, "contribution": 1, "key": KEY}
    array = of_degrees("lon", "lat")
    release = geodp.publish(array, grid=DEGREES, **given)
    assert same(release.table, read(array, DEGREES))
    assert release.card().reading.form == "array"
    assert same(
        geodp.publish(of_degrees("a", "b"), grid=DEGREES, x="a", y="b", **given).table,
        (release.table),
    )
    with pytest.raises(UsageError, match="on which public grid"):
        geodp.publish(array, **given)
    with pytest.raises(UsageError, match=r"Not for a raster: person; reader='points' takes person"):
        geodp.publish(array, grid=DEGREES, person="who", **given)
    with pytest.raises(UsageError, match=r"give one of them: dataset\['population'\]"):
        geodp.publish(array.to_dataset(), grid=DEGREES, **given)


def test_an_array_is_cropped_and_rounded_as_a_file_is():
    array = of_degrees()
    half = Grid.regular((8, 6), crs="EPSG:4326", transform=(1, 0, 0, 0, -1, 8))
    table = read(array, half, outside="drop")
    assert table.to_dense().tolist() == array.values[:, :6].tolist()
    assert table.reading.sources[0].outside == 48
    rounded = read(array + 0.25, DEGREES, rounding="nearest")
    assert rounded.to_dense().tolist() == array.values.tolist()


def test_what_is_no_question_of_an_array_is_refused():
    array = of_degrees()
    with pytest.raises(UsageError, match="no bands and no members"):
        geodp.read_raster(array, grid=DEGREES, band=1)
    with pytest.raises(UsageError, match="name dimensions of an array in memory"):
        geodp.read_raster("people.tif", grid=DEGREES, x="lon")
    for reader in (geodp.read_table, geodp.read_points):
        with pytest.raises(UsageError, match="An array of xarray is a raster"):
            reader(array, grid=DEGREES, x="x", y="y")
    sexes = DEGREES.with_attribute("sex", ("f", "m"))
    both = xarray.concat([array, array], xarray.DataArray(["f", "m"], dims="sex", name="sex"))
    assert int(read(both, sexes).count.sum()) == 2 * int(array.sum())
    with pytest.raises(UsageError, match="A label of the array"):
        read(both.assign_coords(sex=["f", "w"]), sexes)
