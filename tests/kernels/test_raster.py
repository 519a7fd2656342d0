"""Kernels of rasters equal a loop over cells."""

import numpy as np
import pytest

from geodp.kernels.raster import find_empty, spread


@pytest.fixture
def cells():
    """Counts of 12 x 10 cells, some empty, some outside the domain, and blocks of 4 x 3."""
    draw = np.random.default_rng(0)
    counts = draw.choice([0.0, 0.0, 5.0, -2.5, np.nan], (12, 10))
    counts[:4, :3] = np.nan  # a block without an empty cell
    return counts, np.arange(12) // 4, np.arange(10) // 3


def test_the_last_empty_cell_of_each_block_is_found(cells):
    counts, down, right = cells
    place = np.full((3, 4), -1)
    find_empty(counts, down, right, place)
    for row in range(3):
        for col in range(4):
            inside = (down[:, None] == row) & (right == col) & (counts == 0)
            assert place[row, col] == max(np.flatnonzero(inside), default=-1)
    assert place[0, 0] == -1


def test_empty_cells_share_a_value_and_others_have_their_own(cells):
    counts, down, right = cells
    shared = np.arange(12.0).reshape(3, 4)
    is_listed = (counts != 0) & ~np.isnan(counts)
    listed, values = 100 + np.arange(is_listed.sum()), np.empty(counts.shape)
    spread(counts, down, right, shared, listed.astype(np.float64), values)
    assert np.array_equal(values[is_listed], listed)
    assert np.isnan(values[np.isnan(counts)]).all()
    assert np.array_equal(values[counts == 0], shared[down[:, None], right][counts == 0])
