"""Nodes of levels: those of the domain, and those that a release visits."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.table import measured
from geodp.table.counts import Cells, CountTable
from tests.refusals import refuses

BOX = geodp.Grid.regular((6, 5))
MASK = np.indices((6, 5)).sum(axis=0) % 4 > 0
MASKED = BOX.with_mask(mask_of_blocks(BOX, blocks_of_array(MASK), "a test"))
LAW = ("discrete Laplace", 1, 2.0)


def levels(*digits):
    """Counts of nodes of these digits."""
    above = (0, *digits)
    return tuple(
        measured.NodeLevel(own, under, "count", LAW[:2], LAW[2])
        for own, under in zip(digits, above, strict=False)
    )


@pytest.mark.parametrize("grid", [BOX, MASKED])
def test_nodes_of_the_domain_are_those_that_hold_a_cell(grid):
    inside = np.flatnonzero(grid.contains_keys(np.arange(64, dtype=np.uint64)))
    some = levels(0, 2, 5, 6)
    for level, node in zip(some, measured.public_nodes(grid, some), strict=True):
        expected = np.unique(inside // measured.stride_of(grid, level.digits))
        assert node.tolist() == expected.tolist()


def test_a_node_with_one_half_in_the_domain_has_no_difference():
    some = tuple(measured.NodeLevel(i, i, "difference", LAW[:2], 2.0) for i in range(6))
    inside = MASKED.contains_keys(np.arange(64, dtype=np.uint64))
    for i, node in enumerate(measured.public_nodes(MASKED, some)):
        halves = inside.reshape(1 << i, 2, -1).any(axis=2)
        assert node.tolist() == np.flatnonzero(halves.all(axis=1)).tolist()


def test_visited_nodes_lie_below_somebody():
    cells = Cells(BOX, np.array([3, 33], np.uint64), np.array([1, 2]))
    (_, four, two) = levels(0, 4, 5)
    assert measured.visited_nodes(BOX, four, cells).size == 9  # all in the domain, by the root
    assert measured.visited_nodes(BOX, two, cells).tolist() == [0, 1, 16, 17]


def test_truth_is_exact_beyond_floats():
    n = 1 << 59
    table = CountTable.from_keys(BOX, [0, 1, 2], [n - 3, n - 4, 3])
    count, half = levels(0, 5)[1], measured.NodeLevel(5, 5, "difference", LAW[:2], 2.0)
    node = np.array([0, 1], np.uint64)
    assert measured.truth_of(BOX, count, node, table).tolist() == [2 * n - 7, 3]
    assert measured.truth_of(BOX, half, node, table).tolist() == [1, 3]


def test_too_many_nodes_are_refused():
    grid = geodp.Grid.regular((1 << 20, 1 << 20))
    nodes = measured.public_nodes(grid, levels(0, 16, 32))
    assert [next(nodes).size for _ in range(2)] == [1, 1 << 16]
    with refuses(UsageError, "measurements-too-many"):
        next(nodes)
