"""The levels of areas of a grid's order, as plans, files and methods ask for them."""

import pytest

from geodp.grid.area_levels import AreaLevels
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.units import grid_of_units, pairs_of_units

EUROPE = Grid.mesh("inspire:10km", bounds=(4_000_000, 3_000_000, 4_200_000, 3_200_000))
REGIONS = Hierarchy.of_cells(
    [[0, 0, 1, 1], [0, 1, 0, 1]], {"county": ["1", "1", "2", "2"]}, "an example"
)
UNITS = grid_of_units({"block": ["11", "12", "21"], "tract": ["1", "1", "2"]}, "an example")


def test_an_order_of_no_areas_has_no_steps():
    for grid in (EUROPE, Grid.regular((4, 4)), Grid.regular((4, 4)).pairs(), Grid.regular((4,))):
        assert grid.areas == AreaLevels(nested=False)
        assert (grid.areas.nested, grid.areas.steps, grid.areas.above_cells) == (False, (), ())


def test_official_areas_are_steps_and_tell_their_cells_by_one_code():
    grid = EUROPE.with_official_order()
    assert grid.areas == AreaLevels((("inspire:100km", 2), ("inspire:10km", 2)), (), 4)
    assert grid.areas.above_cells == (("inspire:100km", 2),)
    assert (grid.areas.name_codes(2), grid.areas.tables, grid.areas.levels) == (("code",), (), ())


def test_regions_are_told_by_those_that_hold_them():
    grid = Grid.regular((2, 2)).with_hierarchy(REGIONS)
    assert grid.areas == AreaLevels((("county", 1), ("cell", 1)), (), 2, REGIONS)
    assert (grid.areas.tables, grid.areas.levels) == ((REGIONS,), ("county", "cell"))
    assert (grid.areas.name_codes(1), UNITS.areas.name_codes(1)) == (("county",), ("tract",))
    assert pairs_of_units(UNITS).areas.above_cells == (("tract", 2),)


@pytest.mark.parametrize(
    ("under", "nodes"),
    [
        ("below", {"county": 1, "cell": 2, "cell by sex": 3}),
        ("county", {"county": 1, "county by sex": 2, "cell by sex": 3}),
        ("above", {"everywhere by sex": 1, "county by sex": 2, "cell by sex": 3}),
    ],
)
def test_nodes_are_named_by_the_attributes_above_them(under, nodes):
    grid = Grid.regular((2, 2)).with_attribute("sex", ["male", "female"])
    grid = grid.with_hierarchy(REGIONS, under)
    assert grid.areas.list_nodes() == nodes
    assert dict(grid.areas.above_cells) == {"county": 1 + (under == "above")}
