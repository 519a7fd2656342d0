"""Sums and errors of official areas and regions, against explicit covariance matrices."""

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from geodp import CountTable, Grid, NoiseKey, publish
from geodp.accuracy.area_sums import areas_of
from geodp.errors import UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.io.verify.verify import verify
from geodp.io.write.areas import file_names
from tests.io.verify.forging import sign
from tests.reference.blocks import largest_variances, least_squares, shared_out
from tests.refusals import refuses

EDGES = (139.0125, 35.0125, 139.40625, 35.3)
FEW = (139.0125, 35.0125, 139.1625, 35.1)
"""24 x 21 cells, few enough for the covariance matrix of all of them."""


def grids(bounds=EDGES):
    half = Grid.mesh("jis:half", bounds=bounds)
    sexes = half.with_attribute("sex", ["male", "female"])
    cell = np.array(np.nonzero(np.ones(half.shape)))
    row, col = cell
    table = {
        "prefecture": (row // 20).astype(str),
        "city": ((row // 7) * 10 + col // 9).astype(str),
    }
    regions = Hierarchy.of_cells(
        cell[:, row + col > 5], {k: v[row + col > 5] for k, v in table.items()}, "x"
    )
    return {
        "official": half.with_official_order(),
        "below": sexes.with_official_order(),
        "above": sexes.with_official_order("above"),
        "under": sexes.with_official_order("jis:secondary"),
        "regions": half.with_hierarchy(regions),
        "regions and sexes": sexes.with_hierarchy(regions, "prefecture"),
    }


@pytest.fixture(params=list(grids()))
def grid(request):
    return grids()[request.param]


def released(grid, method="pyramid"):
    index = grid.decode(np.unique(grid.encode(_all(grid))))
    counts = np.random.default_rng(0).poisson(60, index.shape[1])
    table = CountTable.from_index(grid, index, counts)
    key = NoiseKey(bytes(32))
    return publish(table, method=method, epsilon=1, key=key, contribution=1)


def _all(grid):
    index = np.array(np.nonzero(np.ones(grid.shape, np.bool_)))
    return index[:, grid.contains(index)]


@pytest.mark.law
def test_every_level_adds_up(grid):
    release = released(grid)
    found = list(release.areas())
    assert [areas.level for areas in found] == [name for name, _ in grid.areas.above_cells]
    for areas in found:
        assert areas.count.sum() == release.table.total
        index = grid.decode(release.table.key)
        if areas.table is not None:
            own = areas.table.grid
            codes = own.places[0].format(*own.decode(areas.table.key)[:2])
            fine = grid.places[0].format(*index[:2])
            long = len(codes[0])
            if areas.level == "jis:5km":
                continue  # its codes are no piece of finer ones
            for code in set(codes):
                assert (
                    areas.count[codes == code].sum()
                    == release.table.count[
                        np.char.startswith(fine, code) if long < len(fine[0]) else fine == code
                    ].sum()
                )
        else:
            at = grid.hierarchy.levels.index(areas.level)
            number = np.searchsorted(grid.hierarchy.number, grid.hierarchy.number_of(index[:2]))
            names = np.array(grid.hierarchy.codes[at])[grid.hierarchy.region[at, number]]
            for code in set(areas.texts[areas.level]):
                here = np.array(areas.texts[areas.level]) == code
                assert areas.count[here].sum() == release.table.count[names == code].sum()


@pytest.mark.law
@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=R", "pyramid:passes=1"])
def test_the_error_of_an_area_is_that_of_its_region(grid, method):
    release = released(grid, method)
    tree = release.method.tree_variance(grid, release.event)
    cells = grid.encode(_all(grid))
    for areas, (_, digits) in zip(release.areas(), grid.areas.above_cells, strict=True):
        stride = int(np.prod(grid.order.radices[digits:], dtype=np.int64))
        node = np.unique(release.table.key // np.uint64(stride))
        for at in np.random.default_rng(1).choice(node.size, min(5, node.size), replace=False):
            key = np.sort(cells[cells // np.uint64(stride) == node[at]])
            if areas.standard_error is None:
                assert grid.hierarchy is not None
                assert method == "pyramid:setting=R"
            else:
                assert areas.standard_error[at] ** 2 == pytest.approx(tree.region(key, grid))


@pytest.mark.parametrize("name", list(grids()))
def test_the_largest_error_is_that_of_some_block(name):
    grid = grids(FEW)[name]
    release = released(grid)
    tree = release.method.tree_variance(grid, release.event)
    key = np.sort(grid.encode(_all(grid)))
    if grid.hierarchy is None:
        covariance = shared_out(key, tree.fanouts, tree.variances)
    else:
        covariance = least_squares(key, tree.fanouts, tree.measured)
    exact = largest_variances(covariance, key, grid.order.radices)
    assert tree.largest(grid) == pytest.approx(exact)


def test_no_levels_in_morton_order():
    grid = Grid.mesh("jis:half", bounds=EDGES)
    assert grid.areas.above_cells == ()
    assert list(areas_of(released(grid).table, None)) == []


@pytest.mark.law
def test_a_written_release_has_a_table_for_every_level(grid, tmp_path):
    release = released(grid)
    release.write(tmp_path / "out")
    public = tmp_path / "out" / "public"
    card = release.card()
    checks = verify(tmp_path / "out")
    assert [check for check in checks if not check.ok] == []
    stems = file_names(grid, "population")
    assert set(stems) == {name for name, _ in grid.areas.above_cells}
    for areas, stated in zip(release.areas(), card.expected_error.areas, strict=True):
        rows = pandas.read_csv(public / f"{stems[areas.level]}.csv")
        assert rows["population"].tolist() == areas.count.tolist()
        assert rows["standard_error"].to_numpy() == pytest.approx(areas.standard_error, rel=1e-5)
        assert rows["standard_error"].max() <= stated.largest
        assert stated.standard_error <= stated.largest
    cells = card.expected_error.blocks[0]
    assert cells.cells == 1
    assert cells.standard_error > 0


def test_a_changed_level_is_found(tmp_path):
    grid = grids()["official"]
    released(grid).write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "population-basic.parquet"
    rows = pyarrow.parquet.read_table(path)
    count = rows["population"].to_numpy().copy()
    count[:2] += [1, -1]
    at = rows.schema.names.index("population")
    pyarrow.parquet.write_table(rows.set_column(at, "population", pyarrow.array(count)), path)
    sign(path.parent)
    (wrong,) = (check for check in verify(tmp_path / "out") if not check.ok)
    assert wrong.detail == "Not what the release holds: population-basic.parquet."


def test_two_levels_with_one_file_are_refused():
    half = Grid.mesh("jis:half", bounds=EDGES)
    codes = ["1"] * 4
    regions = Hierarchy.of_cells([[0, 0, 1, 1], [0, 1, 0, 1]], {"a b": codes, "a/b": codes}, "x")
    assert half.with_hierarchy(regions).areas.above_cells == ()  # one region of each is the total
    regions = Hierarchy.of_cells(
        [[0, 0, 1, 1, 2], [0, 1, 0, 1, 0]], {"a b": list("11222"), "a/b": list("12233")}, "x"
    )
    with refuses(UsageError, "region-levels-share-file"):
        file_names(half.with_hierarchy(regions), "population")
