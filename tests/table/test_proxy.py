"""Public stand-ins for a table: prior maps as they are or scaled, and maps that are made up."""

import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from tests.grids import half, in_regions, masked
from tests.refusals import refuses

SMALL = Grid.regular((24, 20))


@pytest.mark.parametrize("grid", [SMALL, masked(SMALL, half(SMALL.shape, 1)), in_regions()])
def test_a_made_up_map_lies_in_the_domain(grid):
    proxy = Proxy.make_up(grid, 10_000.0)
    assert grid.contains_keys(proxy.table.key).all()
    assert proxy.table.count.sum() == pytest.approx(10_000, rel=0.1)
    assert "synthetic" in proxy.description
    assert "10,000 people (as specified)" in proxy.description
    assert "assumed" in Proxy.make_up(grid, None).description


def test_a_prior_map_is_scaled_and_named():
    prior = CountTable.from_keys(SMALL, [1, 5, 9], [10, 20, 30])
    assert Proxy.of(SMALL, prior, None).table.count.tolist() == [10, 20, 30]
    scaled = Proxy.of(SMALL, prior, 600.0)
    assert scaled.table.count.tolist() == [100, 200, 300]
    assert scaled.description == "the prior map, scaled to 600 people"
    with refuses(UsageError, "prior-map-grid-differs"):
        Proxy.of(Grid.regular((3, 3)), prior, None)
    with refuses(UsageError, "prior-map-empty"):
        Proxy.of(SMALL, CountTable.from_keys(SMALL, [], []), None)
    with refuses(UsageError, "made-up-map-needs-one-map"):
        Proxy.of(SMALL.pairs(), None, None)
