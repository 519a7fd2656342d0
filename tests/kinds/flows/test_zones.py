"""Zones, their blocks, and laws of distance between these."""

import numpy as np
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.kinds.flows.zones import LEAST_LAW, Zones, average_blocks, count_zone_blocks, zones_of
from tests.kinds.flows.forms import FORMS

GRIDS = [
    Grid.regular((7, 5)),
    Grid.regular((8, 8)),
    Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333")),
]
MASKED = [zones_of(FORMS[name].trips(3).grid) for name in ("mask", "odd mask", "narrow mask")]


@pytest.mark.parametrize("grid", [*GRIDS, *MASKED], ids=lambda grid: str(grid.shape))
@pytest.mark.parametrize("side", [1, 2, 4, 16])
def test_blocks_are_runs_of_zones_of_one_square(grid, side):
    zones = Zones.of(grid)
    blocks = zones.blocks(side)
    assert blocks.first[-1] == zones.number == grid.size
    assert grid.contains(np.stack([zones.row, zones.column])).all()
    assert np.array_equal(zones.find(grid.decode(zones.key)), np.arange(zones.number))
    assert np.array_equal(blocks.row[blocks.of_zone], zones.row // side)
    assert np.array_equal(blocks.column[blocks.of_zone], zones.column // side)
    assert len({*zip(blocks.row.tolist(), blocks.column.tolist(), strict=True)}) == blocks.number
    assert count_zone_blocks(grid, side) == blocks.number
    assert blocks.sums(np.ones(zones.number, np.int64)).sum() == zones.number


def test_the_law_of_zones_is_that_of_their_distance():
    zones = Zones.of(GRIDS[0])
    law = zones.law(2.0, zones.blocks(1))
    apart = np.hypot(zones.row[:, None] - zones.row, zones.column[:, None] - zones.column)
    assert law == pytest.approx(np.maximum(np.exp(-apart / 2), LEAST_LAW))


def test_the_law_of_blocks_is_the_mean_over_their_zones():
    zones = Zones.of(Grid.regular((8, 8)))
    fine = zones.law(3.0, zones.blocks(1))
    blocks = zones.blocks(4)
    at = blocks.first[:-1]
    mean = np.add.reduceat(np.add.reduceat(fine, at, 0), at, 1) / 16**2
    assert zones.law(3.0, blocks) == pytest.approx(mean)


def test_averages_of_one_place_change_nothing():
    law = np.arange(9.0)
    assert average_blocks(law, 1, 0).tolist() == [4, 5, 6, 7, 8]


def test_steps_are_kilometres_on_the_earth():
    high, wide, unit = Zones.of(GRIDS[2]).steps
    assert unit == "km"
    assert (round(high, 2), round(wide, 2)) == (0.93, 1.14)
    metres = Grid.regular((4, 4), crs="EPSG:3035", transform=(500, 0, 0, 0, 500, 0))
    assert Zones.of(metres).steps == (0.5, 0.5, "km")
    assert Zones.of(GRIDS[0]).steps == (1.0, 1.0, "cells")
    assert geodp.flows.plan(metres, trips=1, epsilon=1).trips == 1
