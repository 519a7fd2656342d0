"""Regions of zones by their names: a box has the zones of the mask alone."""

import numpy as np

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.regions import find_region
from tests.kinds.flows.masks import masked
from tests.refusals import refuses

GRID = geodp.Grid.regular((5, 11))


def test_a_box_has_the_zones_of_the_mask_alone():
    mask = np.zeros((5, 11), np.bool_)
    mask[:2] = True
    grid = masked(GRID, mask)
    assert find_region(grid, "1_0:4_10").key.size == 11
    with refuses(UsageError, "region-without-cell"):
        find_region(grid, "3_0")
