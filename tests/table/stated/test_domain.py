"""What a card answers of its domain."""

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.grid.units import grid_of_units, pairs_of_units
from geodp.io.verify.readback import grid_of
from geodp.table.stated.domain import StatedDomain
from tests.grids import FORMS, in_regions, masked

UNITS = grid_of_units({"block": ["11", "12", "21"], "tract": ["1", "1", "2"]}, "an example")


@pytest.mark.parametrize("grid", FORMS.values(), ids=list(FORMS))
def test_a_card_says_what_limits_a_domain_as_the_grid_does(grid):
    stated = StatedDomain.of(grid)
    assert (stated.source or "") == grid.domain.source
    assert (stated.regions is None) == (grid.hierarchy is None)
    assert not stated.lacks_table(grid)


def test_a_grid_of_a_card_lacks_the_table_that_orders_its_cells():
    for grid in (in_regions(), UNITS, pairs_of_units(UNITS)):
        stated = StatedDomain.of(grid)
        assert stated.lacks_table(grid_of(stated))
    for grid in (Grid.regular((2, 2)), masked(Grid.regular((1, 2)), np.array([[True, False]]))):
        stated = StatedDomain.of(grid)
        assert not stated.lacks_table(grid_of(stated))
