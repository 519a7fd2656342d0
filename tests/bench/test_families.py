"""Families of regions of the benchmarks: their sums, their closed forms, and shares for them."""

from itertools import product

import numpy as np
import pytest

import geodp
from bench.inputs.families import FAMILIES, draw_families
from bench.measure.regions import MAX_DENSE, Blocks, CellSets, MapDifference
from bench.measure.shares import minimise_product
from bench.measure.simulation import public_key
from geodp import Grid
from geodp.accuracy.variance import from_below
from geodp.table.proxy import Proxy
from geodp.tools.plan.plan import plan
from tests.grids import half, masked

pytestmark = pytest.mark.law

SMALL = Grid.regular((24, 20))
OFFICIAL = Grid.mesh("inspire:10km", bounds=(4e6, 3e6, 4.2e6, 3.1e6))


def groups_of(grid, names=tuple(FAMILIES)):
    families = draw_families(names, grid, Proxy.make_up(grid, 5000.0))
    return [group for one in families for group in one.groups]


def keys_of(group, grid, number):
    """The cells of a group's region, cell by cell."""
    every = grid.domain.keys_of_ranks(np.arange(grid.domain.cells))
    if isinstance(group, Blocks):
        stride = int(np.prod(grid.order.radices[group.digits :]))
        return every[every // np.uint64(stride) == number]
    if isinstance(group, CellSets):
        return group.key[group.start[number] :][: np.diff([*group.start, group.key.size])[number]]
    row, col = grid.decode(every)[:2]
    low, high = group.low[:, number], group.high[:, number]
    inside = (row >= low[0]) & (row < high[0]) & (col >= low[1]) & (col < high[1])
    return every[inside]


@pytest.mark.parametrize(
    "grid",
    [
        SMALL,
        SMALL.with_attribute("sex", ["f", "m", "x"]),
        masked(SMALL, half(SMALL.shape, 0)),
        OFFICIAL.with_official_order(),
    ],
)
def test_sums_are_those_of_the_regions_cells(grid, monkeypatch):
    table = Proxy.make_up(grid, 5000.0).table
    released = geodp.publish(table, epsilon=1, contribution=1, key=public_key(0)).table
    truth = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    given = dict(zip(released.key.tolist(), released.count.tolist(), strict=True))
    groups = groups_of(grid)
    for most in (MAX_DENSE, 0):
        monkeypatch.setattr("bench.measure.regions.MAX_DENSE", most)
        difference = MapDifference.of(table, released)
        for group in groups:
            people, error = group.sums(difference)
            if isinstance(group, Blocks):  # in whatever order, without those where nobody is
                regions = range(int(np.prod(grid.order.radices[: group.digits])))
            else:
                assert people.size == group.count(grid)
                regions = range(0, people.size, 1 + people.size // 5)
            wanted = []
            for number in regions:
                keys = keys_of(group, grid, number).tolist()
                own = sum(truth.get(key, 0) for key in keys)
                wanted.append((own, sum(given.get(key, 0) for key in keys) - own))
            found = list(zip(people.tolist(), error.tolist(), strict=True))
            if isinstance(group, Blocks):
                found, wanted = (
                    sorted(pair for pair in pairs if any(pair)) for pairs in (found, wanted)
                )
            else:
                found = [found[number] for number in regions]
            assert found == wanted, group.name


@pytest.mark.parametrize("order", ["binary", "official"])
def test_squares_give_the_closed_form_of_regions(order):
    """Errors of regions of a domain without edges are those of the tree's own formula."""
    grid = Grid.regular((16, 16))
    if order == "official":
        grid = Grid.mesh("inspire:10km", bounds=(4e6, 3e6, 4.1e6, 3.1e6)).with_official_order()
    found = plan(grid, "pyramid:setting=R" if order == "binary" else "pyramid", epsilon=1)
    tree = found.method.tree_variance(grid, found.event)
    ends = np.cumsum([0, *[f.bit_length() - 1 for f in tree.fanouts]])
    if order == "official":
        ends = np.cumsum([0, *(digits for _, digits in grid.areas.steps)])
    for group in groups_of(grid):
        squares = group.squares(grid)[ends]
        fine = squares[1:] - np.array(tree.fanouts) * squares[:-1]
        closed = squares[0] * tree.variances[0] + float(np.array(tree.variances[1:]) @ fine)
        n = group.count(grid)
        each = [tree.region(np.sort(keys_of(group, grid, i))) for i in range(n)]
        assert closed == pytest.approx(np.mean(each), rel=1e-9), group.name


def test_shares_for_regions_are_as_small_as_by_brute_force():
    grid = Grid.regular((16, 16))
    groups = groups_of(grid, ("cells", "municipalities", "polygons"))
    squares = np.array([group.squares(grid) for group in groups])
    weights = np.array([0.25, 0.5, *[0.25 / (len(groups) - 2)] * (len(groups) - 2)])
    found = minimise_product([4, 4], squares, weights, np.full(9, np.inf))
    own = squares[:, [0, 4, 8]]
    own = np.column_stack([own[:, 0], own[:, 1:] - 16 * own[:, :-1]])
    values = []
    for a, b in product(np.arange(0.02, 0.97, 0.02), repeat=2):
        if a + b < 0.985:
            v = from_below((16, 16), tuple(2 / np.array([a, b, 1 - a - b]) ** 2))
            values.append(float(np.exp(weights @ np.log(own @ np.array(v)) / 2)))
    best = from_below((16, 16), tuple(2 / (np.array(found.parts) / 10_000) ** 2))
    assert float(np.exp(weights @ np.log(own @ np.array(best)) / 2)) <= min(values) * 1.001
