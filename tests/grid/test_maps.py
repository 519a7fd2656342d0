"""What follows from how many maps a grid has."""

import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from tests.refusals import refuses

MAP = Grid.regular((2, 3))
PLAIN = Grid.regular((2, 3, 4))


def test_the_only_map_is_asked_for_with_the_sentence_that_refuses_others():
    assert MAP.require_map("unused") is MAP.places[0] is MAP.maps.one
    for grid in (MAP.pairs(), PLAIN):
        assert grid.maps.one is None
        with pytest.raises(UsageError, match=r"^One map, please\.$"):
            grid.require_map("One map, please.")


@pytest.mark.parametrize(
    ("grid", "codes", "axes", "centres", "geometry"),
    [
        (PLAIN, (), (), (), ""),
        (MAP, ("code",), ("row", "col"), ("x", "y"), "Polygon"),
        (
            MAP.pairs(),
            ("origin", "destination"),
            ("origin_row", "origin_col", "destination_row", "destination_col"),
            ("origin_x", "origin_y", "destination_x", "destination_y"),
            "LineString",
        ),
    ],
)
def test_columns_are_named_by_end(grid, codes, axes, centres, geometry):
    maps = grid.maps
    assert (maps.codes, maps.axes, maps.geometry) == (codes, axes, geometry)
    assert maps.name_columns("x", "y") == centres


def test_axes_of_attributes_come_after_the_others():
    grid = MAP.pairs().with_attribute("sex", ["male", "female"])
    assert (grid.plain_axes, grid.attribute_axes) == (range(4, 4), range(4, 5))
    assert (PLAIN.plain_axes, PLAIN.attribute_axes) == (range(3), range(3, 3))


def test_published_areas_are_those_of_the_only_map():
    grid = Grid.mesh("inspire:10km", bounds=(4_000_000, 3_000_000, 4_200_000, 3_200_000))
    assert grid.maps.areas == (("inspire:100km", 10), ("inspire:10km", 1))
    assert grid.pairs().maps.areas == MAP.maps.areas == ()


def test_a_plain_map_has_no_attributes_and_a_whole_one_no_mask():
    labelled = MAP.with_attribute("sex", ["male", "female"])
    assert MAP.plain_map is MAP.require_plain_map("unused") is MAP.places[0]
    assert labelled.plain_map is PLAIN.plain_map is None
    assert labelled.require_full_map("unused") is labelled.places[0]
    with pytest.raises(UsageError, match="without attributes"):
        labelled.require_plain_map("A map without attributes.")


def test_a_grid_has_two_places_at_most():
    with refuses(UsageError, "places-more-than-two"):
        Grid((Lattice(2, 2),) * 3)
