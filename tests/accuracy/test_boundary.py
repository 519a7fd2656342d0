"""Blocks at the edges of a box, against a count of every block there is."""

import numpy as np
import pytest

from geodp import Grid
from geodp.accuracy.variance import BoundaryBlocks
from tests.grids import CORNER, PLAIN

GRIDS = {
    "square": Grid.regular((16, 16)),
    "padded": Grid.regular((5, 11)),
    "one row": Grid.regular((1, 9)),
    "mesh": PLAIN,
    "several meshes, ages": CORNER,
}


def blocks(grid, digits):
    """Numbers of the blocks of so many digits that hold a cell, and the state of each."""
    index = np.indices(grid.shape).reshape(len(grid.shape), -1)
    order = grid.order
    keys = int(np.prod([int(radix) for radix in order.radices[digits:]], dtype=object))
    found = {}
    for at, key in zip(index.T, grid.encode(index).tolist(), strict=True):
        ends = [(i == 0, i == size - 1) for i, size in zip(at.tolist(), grid.shape, strict=True)]
        held = found.setdefault(key // keys, [[False, False] for _ in ends])
        for axis, (first, last) in enumerate(ends):
            held[axis][0] |= first
            held[axis][1] |= last
    return {number: tuple(map(tuple, held)) for number, held in found.items()}


@pytest.mark.parametrize("name", GRIDS)
def test_states_and_children_are_those_of_the_blocks_that_are_there(name):
    grid = GRIDS[name]
    edges, digits = BoundaryBlocks.of(grid), min(4, len(grid.order.radices))
    states = {edges.root}
    every = [blocks(grid, n) for n in range(digits + 1)]
    for digit in range(digits):
        assert set(every[digit].values()) == states
        inside = int(np.prod([int(radix) for radix in grid.order.radices[digit:digits]]))
        for number, state in every[digit].items():
            children = sum(block // inside == number for block in every[digits])
            assert edges.children(state, digit, digits) == children
        states = set().union(*(edges.below(state, digit) for state in states))
    assert set(every[digits].values()) == states
