"""Counts of parts: sums over nodes, parts inside of groups, and what is shown of true ones."""

import numpy as np

from geodp.mechanisms.parts.measuring import Measured, Step, TrueParts

CELL = np.array([1, 1, 5, 6], np.uint64)
PART = np.array([0, 4, 2, 5])
COUNT = np.array([10, 20, 30, 40])
TRUTH = TrueParts(CELL, PART, COUNT)


def test_nodes_are_sums_of_their_cells_by_part():
    found = TRUTH.tally(np.array([0, 1, 2], np.uint64), 4, 6)
    expected = np.zeros((3, 6), np.int64)
    np.add.at(expected, (CELL.astype(np.int64) // 4, PART), COUNT)
    assert np.array_equal(found, expected)


def test_a_group_has_its_own_parts_by_their_number_in_it():
    assert TRUTH.of_group(0, Step(0, 1, 6, 6, 1)) is TRUTH
    step = Step(0, 2, 3, 3, 1)
    first, second = (TRUTH.of_group(group, step) for group in range(2))
    assert (first.cell.tolist(), first.part.tolist()) == ([1, 5], [0, 2])
    assert (second.part.tolist(), second.count.tolist()) == ([1, 2], [20, 40])


def test_true_counts_are_not_shown():
    assert repr(TRUTH) == "Truth(confidential)"


def test_places_of_nodes():
    level = Measured(np.array([2, 3, 9], np.uint64), np.zeros((3, 1)), np.ones(3))
    assert level.at(np.array([9, 2], np.uint64)).tolist() == [2, 0]
