"""How far a place stands alone, where settlements are planted, and what a coast gives away."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import NodeSums
from geodp.accuracy.isolation_depth import (
    draw_empty,
    find_depths,
    list_nodes,
    node_margins,
    settlement_cells,
    tilt,
)
from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable

GRID = Grid.regular((16, 16))
TREE = TreeVariance((4, 8, 8), (1.0, 1.0, 1.0, 1.0))
LOSSES = [(0.0, 0.0), (0.0, 0.0), (70.0, 1.0)]
"""Losses on the lowest level: 10 for each empty child, up to seven of eight."""


def released(key, count, grid=GRID):
    terms = Terms.of(epsilon=1, contribution=1)
    event = Measurement.of("pyramid", terms, 1, "fixed")
    return ReleasedTable(grid, np.array(key, np.uint64), np.array(count, np.int64), event)


def keys(*numbers):
    return np.array(numbers, np.uint64)


def test_depths_count_the_levels_without_others_from_the_cells_up():
    table = released([0, 1, 64], [900, 1, 900])
    cells = keys(0, 1, 2, 8, 64, 65, 130)
    depths = find_depths(TREE, NodeSums(table), cells)
    # 0: its only sibling is weak, but another node of its quarter is not there; the quarters are
    # two. 1 and 2: beside 0. 8: alone in its node, whose neighbour is full.
    assert depths.tolist() == [2, 0, 0, 1, 2, 0, 2]
    assert find_depths(TREE, NodeSums(released([], [])), cells).tolist() == [3] * 7


def test_drawn_cells_are_empty_ones_of_the_domain_near_and_far():
    grid = Grid.regular((11, 13))
    full = np.sort(grid.encode(np.indices((5, 13)).reshape(2, -1)))
    table = released(full, np.full(full.size, 40), grid)
    drawn = draw_empty(table, TREE, np.random.default_rng(0))
    assert grid.contains_keys(drawn).all()
    assert not np.isin(drawn, full).any()
    assert drawn.size == grid.size - full.size  # so small a domain is drawn as a whole


def test_a_settlement_keeps_to_empty_cells_of_the_domain():
    table = released(np.sort(GRID.encode(np.array([[3], [4]]))), [5])
    first = GRID.encode(np.array([[3], [3]]))
    cells = GRID.decode(settlement_cells(table, first, 2)).T.tolist()
    assert sorted(cells) == [[3, 3], [4, 3], [4, 4]]
    corner = GRID.encode(np.array([[15], [15]]))
    assert settlement_cells(table, corner, 3).tolist() == corner.tolist()


def tilt_of(table, key):
    return tilt(TREE, table.grid, list_nodes(TREE, table), key, LOSSES)


def test_a_region_along_a_coast_gives_and_its_sea_takes():
    table = released([0, 1, 2, 3], [500] * 4)
    # All four occupied cells of a node of eight: the four empty ones outside take.
    assert tilt(
        TREE, table.grid, list_nodes(TREE, table), keys(0, 1, 2, 3), LOSSES
    ) == pytest.approx(40)
    assert tilt(
        TREE, table.grid, list_nodes(TREE, table), keys(4, 5, 6, 7), LOSSES
    ) == pytest.approx(-40)
    assert tilt(
        TREE, table.grid, list_nodes(TREE, table), keys(0, 1, 4, 5), LOSSES
    ) == pytest.approx(0)
    # A whole node gives nothing to anybody, nor does one where nobody was released.
    assert tilt_of(table, np.arange(8, dtype=np.uint64)) == 0
    assert tilt_of(table, keys(64, 65)) == 0
    assert tilt_of(table, keys()) == 0


def test_children_outside_the_domain_take_nothing():
    grid = Grid.regular((2, 3))  # six of eight keys
    full = np.sort(grid.encode(np.array([[0, 1, 0, 1], [0, 0, 1, 1]])))
    table = released(full, [500] * 4, grid)
    tree = TreeVariance((8,), (1.0, 1.0))
    assert tilt(tree, table.grid, list_nodes(tree, table), full, LOSSES[2:]) == pytest.approx(20)


def test_a_node_has_the_error_of_its_cells_together():
    tree = TreeVariance((4, 8, 8), (9.0, 7.0, 5.0, 3.0))
    margins = node_margins(tree)
    for level, keys_of_node in enumerate((1, 8, 64, 256)):
        variance = tree.region(np.arange(keys_of_node, dtype=np.uint64))
        assert margins[level] == pytest.approx(1.96 * variance**0.5)


@pytest.mark.law
def test_intervals_of_isolated_settlements_hold_their_people():
    grid, random = Grid.regular((128, 128)), np.random.default_rng(5)
    cells = np.stack(np.meshgrid(*[np.arange(16, 128, 32)] * 2)).reshape(2, -1)
    people = np.zeros(grid.shape, np.int64)
    people[tuple(cells)] = random.integers(800, 3000, cells.shape[1])
    source, own = geodp.CountTable.from_dense(people, grid), np.sort(grid.encode(cells))
    around = [grid.encode(cells[:, [i]] + np.indices((3, 3)).reshape(2, -1) - 1) for i in range(16)]
    held = []
    for trial in range(20):
        key = geodp.NoiseKey(bytes([trial + 1]) * 32)
        release = geodp.publish(source, epsilon="1/10", contribution=1, key=key)
        low, high = release.intervals().of(own)
        held += [*((low <= source.counts_at(own)) & (source.counts_at(own) <= high))]
        truth = [int(source.counts_at(np.sort(one)).sum()) for one in around]
        estimates = release.estimate_all(around)
        held += [one.low <= n <= one.high for one, n in zip(estimates, truth, strict=True)]
    # With the cell's own noise alone as the margin below, a sixth of them was too high.
    assert np.mean(held) > 0.95
