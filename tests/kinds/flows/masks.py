"""Maps with a mask for tests of flows, and trips between the cells inside."""

import numpy as np

import geodp
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.kinds.flows.zones import pairs_of

BAY = "a made-up coastline"


def masked(grid, inside, source=BAY):
    """A grid restricted to the cells where a boolean array [rows, cols] is true."""
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(np.asarray(inside)), source))


def land(shape):
    """A made-up coast: a slope, with a lake in it and an island apart."""
    row, col = np.indices(shape)
    inside = row + col >= max(shape) // 2
    inside &= np.hypot(row - 0.6 * shape[0], col - 0.6 * shape[1]) > 1.6
    inside[0, 0] = True
    return inside


def coast(grid):
    return masked(grid, land(grid.shape))


def masked_trips(grid, seed=3, number=20_000):
    """Trips between near cells of the mask of a grid, by pair."""
    draw = np.random.default_rng(seed)
    at = grid.decode(grid.domain.keys_of_ranks(np.arange(grid.size)))
    start = at[:, draw.integers(0, grid.size, number)]
    end = start + np.rint(draw.normal(0, 2, (2, number))).astype(np.int64)
    # Whoever would end at sea stays.
    inside = grid.contains(end)
    end[:, ~inside] = start[:, ~inside]
    index = np.concatenate([start, end])
    return geodp.CountTable.from_index(pairs_of(grid), index, np.ones(number, np.int64))
