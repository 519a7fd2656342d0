"""Maps and parts: what a grid is made of, and how its keys fall apart."""

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from tests.golden.methods import grids

GRIDS = grids()
BELOW = [
    "odd",
    "three axes",
    "attribute below",
    "mask, attribute",
    "regions",
    "regions, attribute below",
]


@pytest.mark.parametrize("where", BELOW)
def test_every_cell_of_the_domain_is_a_part_of_a_cell_of_the_map(where):
    grid = GRIDS[where]
    joint = split_grid(grid)
    assert joint.map.attributes == ()
    assert grid.size == joint.map.size * joint.parts
    key = grid.domain.keys_of_ranks(np.arange(grid.size))
    cell, part = joint.split(key)
    assert joint.map.contains_keys(cell).all()
    assert np.array_equal(joint.join(cell, part), key)
    spatial = len(joint.map.shape)
    assert np.array_equal(joint.map.decode(cell), grid.decode(key)[:spatial])
    labels = np.array(np.unravel_index(part, joint.labels or (1,)))[: len(joint.labels)]
    assert np.array_equal(labels, grid.decode(key)[spatial:])


def test_the_map_is_that_of_a_grid_without_attributes():
    """Otherwise a map would be another release with its parts than without."""
    for where, map_of in (
        ("attribute below", "odd"),
        ("mask, attribute", "mask"),
        ("regions, attribute below", "regions"),
    ):
        assert split_grid(GRIDS[where]).map == GRIDS[map_of]
    places = Grid.mesh("inspire:10km", bounds=(4050000, 3060000, 4120000, 3110000))
    sexes = places.with_attribute("sex", ["f", "m"]).with_official_order()
    assert split_grid(sexes).map == GRIDS["official"]


@pytest.mark.parametrize("where", [name for name in GRIDS if "above" in name or "under" in name])
def test_attributes_above_any_of_the_map_are_no_parts(where):
    assert split_grid(GRIDS[where]) is None
    assert split_grid(GRIDS["attribute interleaved"]) is None


def test_parts_come_in_order_of_the_labels_the_last_attribute_first():
    grid = Grid.regular((2, 2)).with_attribute("sex", ["f", "m"])
    joint = split_grid(grid.with_attribute("age", ["child", "adult", "old"]))
    assert joint.labels == (2, 3)
    assert joint.low.tolist() == [0, 1, 2, 4, 5, 6]
