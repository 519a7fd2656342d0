"""What cells are called, as readers and writers ask for it."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.units import grid_of_units, pairs_of_units

MAP = Grid.regular((1, 3))
UNITS = grid_of_units({"block": ["11", "12", "21"], "tract": ["1", "1", "2"]}, "an example")
OUT = np.array([False, True, False]), np.array([True, False, False])


def test_cells_of_a_map_lie_on_it_and_units_do_not():
    assert (MAP.names.on_map, MAP.names.level, MAP.names.texts) == (True, "cell", "")
    for grid in (UNITS, pairs_of_units(UNITS)):
        assert (grid.names.on_map, grid.names.level, grid.names.texts) == (False, "block", "111221")
        with pytest.raises(UsageError, match=r"^A map, please\.$"):
            grid.names.require_map("A map, please.")
    MAP.names.require_map("unused")


@pytest.mark.parametrize(
    "cells", [[[0, 0, 0], [0, 1, 2]], [[0, 0], [0, 2]]], ids=["every cell", "some cells"]
)
def test_regions_are_units_only_where_each_is_one_cell_of_a_row_off_the_earth(cells):
    codes = [str(number) for number in range(len(cells[0]))]
    table = Hierarchy.of_cells(cells, {"block": codes}, "an example")
    alone = Hierarchy.of_cells(cells, {"block": ["1"] * len(codes)}, "an example")
    on_earth = Grid.regular((1, 3), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    assert not MAP.with_hierarchy(table).names.on_map
    for grid in (MAP.with_hierarchy(alone), on_earth.with_hierarchy(table)):
        assert grid.names.on_map
    assert Grid.regular((2, 3)).with_hierarchy(table).names.on_map


def test_a_table_is_required_with_the_sentence_that_refuses_maps():
    assert UNITS.names.require_table("unused") is UNITS.hierarchy
    with pytest.raises(UsageError, match=r"^Units, please\.$"):
        MAP.names.require_table("Units, please.")
    assert UNITS.names.cells is MAP.names.cells is None


def test_what_lies_outside_is_explained_by_bounds_or_by_units():
    inside, beyond = OUT
    told = {name: where.tolist() for name, where in MAP.names.explain_outside(*OUT, "mask").items()}
    assert told == {"bounds": beyond.tolist(), "mask": [False, False, True]}
    told = UNITS.names.explain_outside(*OUT, "regions")
    assert {name: where.tolist() for name, where in told.items()} == {"units": (~inside).tolist()}
