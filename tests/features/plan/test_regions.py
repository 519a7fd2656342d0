"""Sums of regions where there is nothing, and means over settlements of several maps."""

import numpy as np

import geodp
from geodp.features.plan.regions import CellSets, MapDifference, Settlements


def test_a_map_without_cells_has_no_people_and_no_errors():
    nothing = np.empty(0)
    found = MapDifference(geodp.Grid.regular((8, 8)), np.empty(0, np.uint64), nothing, nothing)
    people, error = found.at(np.arange(3, dtype=np.uint64))
    assert people.tolist() == error.tolist() == [0, 0, 0]


def test_settlements_are_as_exact_as_they_are_on_the_mean_of_all_maps():
    grid = geodp.Grid.regular((8, 8))
    table = geodp.CountTable.from_keys(grid, [1], [5])
    few = CellSets.of("few", [np.arange(4, dtype=np.uint64)])
    many = CellSets.of("many", [np.arange(n, 16, dtype=np.uint64) for n in (0, 3, 5)])
    found = Settlements("all", ((table, few), (table, many))).squares(grid)
    np.testing.assert_allclose(found, (few.squares(grid) + 3 * many.squares(grid)) / 4)
