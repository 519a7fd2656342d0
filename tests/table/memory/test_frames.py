"""Confidential counts from an array of xarray: the same table as from NumPy, or a refusal."""

import numpy as np
import pytest
import xarray

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.table.counts import CountTable
from tests.refusals import refuses

KEY = geodp.NoiseKey(bytes(range(32)))
MESH = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
SEXES = METRES.with_attribute("sex", ("f", "m"))


def table(grid, n=40):
    rng = np.random.default_rng(4)
    key = np.unique(rng.integers(0, np.array(grid.shape)[:, None], (len(grid.shape), n)), axis=1)
    return CountTable.from_index(grid, key, rng.integers(1, 2**40, key.shape[1]))


def same(one, other):
    return (
        one.grid == other.grid
        and np.array_equal(one.key, other.key)
        and np.array_equal(one.count, other.count)
    )


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
    with refuses(UsageError, "array-dimensions"):
        CountTable.from_xarray(array, METRES)
    xs, ys = ((edge[1:] + edge[:-1]) / 2 for edge in METRES.places[0].edges())
    array = xarray.DataArray(np.zeros((8, 12)), coords={"y": ys, "x": xs + 1e6}, dims=("y", "x"))
    assert CountTable.from_xarray(array, METRES).key.size == 0
    array[2, 3] = 4
    with refuses(CodeError, "row-outside-domain"):
        CountTable.from_xarray(array, METRES)
    array[2, 3] = np.nan
    assert CountTable.from_xarray(array, METRES).key.size == 0
    array = array.assign_coords(x=xs)
    assert CountTable.from_xarray(array, METRES).key.size == 0
    array[2, 3] = 0.5
    with refuses(CodeError, "stored-fraction"):
        CountTable.from_xarray(array, METRES)


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
    with refuses(UsageError, "array-dimensions|coordinates-not-middles|coordinates-not-numbers"):
        CountTable.from_xarray(other, METRES)
    with refuses(UsageError, "array-dimensions"):
        CountTable.from_xarray(array.values, METRES)
    near = array.assign_coords({axis: middles + 0.9})
    assert same(CountTable.from_xarray(near, METRES), CountTable.from_xarray(array, METRES))
