"""What the clamp took in halves that show it, and in those that do not."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.reach import RegionKeys, count_unseen, reach, strength
from geodp.grid.region import Region
from geodp.privacy.key import NoiseKey

GRID = geodp.Grid.regular((64, 64))


def test_halves_stand_for_one_that_shows_nothing_and_more_children_for_themselves():
    losses = [(3.0, 7.0), (2.0, 5.0), (1.0, 4.0)]
    assert count_unseen(losses, (16, 2, 4)) == [(3.0, 7.0), (4.0, 0.0), (1.0, 4.0)]
    assert count_unseen(None, (2, 2)) is None


@pytest.mark.parametrize("number", range(3))
def test_a_coast_of_many_halves_is_held_on_both_sides(number):
    """Every second cell is empty: each pair is split once, and half of the splits show a loss."""
    row, col = np.indices(GRID.shape)
    land = (row + col) % 2 == 0
    people = np.where(land, 100_000, 0)
    strong = (row < 16) & (col < 16)
    table = geodp.CountTable.from_dense(people, GRID)
    key = NoiseKey((1 + number).to_bytes(32, "little"))
    release = geodp.publish(table, method="topdown", epsilon=1, contribution=1, key=key)
    method, event = release.method, release.event
    tree, losses = method.tree_variance(GRID, event), method.clamp_losses(GRID, event)
    both = [Region.of(GRID, np.argwhere(some).T) for some in (land, ~land | strong)]
    truth = [people[land].sum(), people[~land | strong].sum()]
    cells = RegionKeys.of([region.key for region in both])
    around = reach(tree, release.node_sums, cells, strength(tree, cells, False))
    for seen in (losses, count_unseen(losses, tree.fanouts)):
        low, high = around.interval(None, seen)
        is_held = seen is not losses
        assert (truth[0] <= high[0], low[1] <= truth[1]) == (is_held, is_held)
    for region, true in zip(both, truth, strict=True):
        found = release.estimate(region, interval="worst-case")
        assert found.low <= true <= found.high
