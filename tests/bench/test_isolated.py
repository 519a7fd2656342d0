"""Settlements that stand alone on a public map: nobody else near, of the people that are said."""

import numpy as np
import pytest

import geodp
from bench.inputs.isolated import ISOLATION, MIN_ISOLATED, place_isolated
from geodp.release.settlements import AROUND, ISOLATED, SETTLEMENT_KINDS, SIZES
from geodp.table.proxy import Proxy
from tests.grids import half, masked
from tests.release.test_settlements import cells, near

GRID = geodp.Grid.regular((256, 256))


@pytest.mark.parametrize("grid", [GRID, masked(GRID, half(GRID.shape, 0))], ids=["all", "half"])
def test_nobody_else_lives_near_settlements_that_stand_alone(grid):
    towns = Proxy.make_up(grid, 3e6).table
    made_map = place_isolated(towns, 500, np.random.default_rng(0))
    people, domain = made_map.table.to_dense(), grid.domain.to_dense()
    assert len(made_map.kinds) >= 10
    assert [SETTLEMENT_KINDS[kind] for kind in made_map.kinds[:4]] == [
        (size, ISOLATED) for size in range(2, 6)
    ]
    for kind, keys, around in zip(made_map.kinds, made_map.cells, made_map.around, strict=True):
        place = cells(grid, keys)
        size = SETTLEMENT_KINDS[kind][0]
        assert 0.9 * SIZES[size] <= people[place].sum() <= 1.1 * SIZES[size + 1]
        assert people[near(place, ISOLATION)].sum() == people[place].sum()
        assert np.array_equal(cells(grid, around), domain & near(place, AROUND))
    every = np.concatenate(made_map.around)
    assert np.unique(every).size == every.size
    others = people.copy()
    others[tuple(grid.decode(np.concatenate(made_map.cells)))] = 0
    assert (others <= towns.to_dense()).all()
    assert others.sum() > 0.2 * towns.count.sum()


def test_a_small_domain_has_those_that_fit():
    towns = Proxy.make_up(geodp.Grid.regular((20, 20)), 1e4).table
    made_map = place_isolated(towns, 500, np.random.default_rng(0))
    assert 1 <= len(made_map.kinds) <= MIN_ISOLATED
