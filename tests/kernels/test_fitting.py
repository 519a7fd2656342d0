"""Parts of children in whole numbers that agree with the children and with the parts above."""

import numpy as np
import pytest

from geodp.kernels.part_tables import list_some, share_parts, tally
from tests.reference.parts import shared as parts_by_definition

NONE = np.empty((0, 0))


def shared(wanted, rows, members, columns, seed=0):
    out = np.full((rows.size, columns.shape[1]), -1)
    seeds = np.arange(members.size, dtype=np.uint64) + np.uint64(seed)
    share_parts(wanted.copy(), rows, members, columns, seeds, out)
    return out


def family(rng, children, parts, most):
    """People of a node: by child, and by part, some of which have nobody."""
    people = rng.integers(0, most, (children, parts)) * (rng.random((children, parts)) < 0.5)
    people[:, 0] += 1
    return people.sum(axis=1), people.sum(axis=0)


def assert_agree(out, rows, members, columns):
    assert (out >= 0).all()
    assert np.array_equal(out.sum(axis=1), rows)
    stops = np.cumsum(members)
    for stop, size, column in zip(stops, members, columns, strict=True):
        assert np.array_equal(out[stop - size : stop].sum(axis=0), column)


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("most", [2, 50, 1 << 20, 1 << 50])
def test_both_margins_are_met_whatever_is_wanted(measured, most):
    rng = np.random.default_rng(most)
    for children, parts in ((2, 2), (16, 16), (90, 3), (4, 64)):
        found = [family(rng, children, parts, most) for _ in range(5)]
        rows, columns = (np.concatenate(side) for side in zip(*found, strict=True))
        columns = columns.reshape(-1, parts)
        members = np.full(len(found), children)
        wanted = NONE
        if measured:
            wanted = rng.exponential(most, (rows.size, parts)) * (
                rng.random((rows.size, parts)) < 0.3
            )
        assert_agree(shared(wanted, rows, members, columns), rows, members, columns)


def test_counts_up_to_2_to_the_60_are_whole_numbers_throughout():
    rows = np.array([2**59 + 1, 2**59 - 1, 3])
    columns = np.array([[2**59 + 2, 2**59 - 2, 0, 3]])
    for wanted in (NONE, np.full((3, 4), 2.0**57)):
        out = shared(wanted, rows, np.array([3]), columns)
        assert_agree(out, rows, np.array([3]), columns)
        assert not out[:, 2].any()


def test_an_only_child_has_all_parts():
    out = shared(NONE, np.array([7, 5]), np.array([1, 1]), np.array([[3, 4], [5, 0]]))
    assert out.tolist() == [[3, 4], [5, 0]]


def test_without_a_measurement_every_child_has_its_nodes_shares_on_average():
    rows, columns = np.array([30, 10, 1]), np.array([[27, 13, 1, 0]])
    runs = np.array([shared(NONE, rows, np.array([3]), columns, seed) for seed in range(3000)])
    expected = rows[:, None] * columns[0] / 41
    error = runs.std(axis=0) / np.sqrt(len(runs)) + 2.0**-9
    assert (abs(runs.mean(axis=0) - expected) < 5 * error).all()


def test_what_is_wanted_is_kept_where_it_agrees_already():
    rng = np.random.default_rng(2)
    people = rng.integers(20, 60, (16, 8))
    rows, columns = people.sum(axis=1), people.sum(axis=0)[None]
    out = shared(people.astype(float), rows, np.array([16]), columns)
    assert abs(out - people).max() <= 1


def test_a_fit_is_proportional():
    """One of two equal children, which wants twice as much of a part, gets more of it."""
    rows, columns = np.array([100, 100]), np.array([[60, 140]])
    out = shared(np.array([[40.0, 60.0], [20.0, 80.0]]), rows, np.array([2]), columns)
    assert out[0].tolist() == [40, 60]


def test_counts_are_added_up_by_node_and_part():
    node = np.array([1, 4, 5], np.uint64)
    cell = np.array([0, 2, 2, 3, 9, 10, 30], np.uint64)
    part = np.array([0, 0, 1, 1, 0, 1, 1])
    count = np.array([5, 2**59, 3, 2**59 + 1, 7, 11, 13])
    sums = np.zeros((3, 2), np.int64)
    tally(node, np.uint64(2), cell, part, count, sums)
    assert sums.tolist() == [[2**59, 3 + 2**59 + 1], [7, 0], [0, 11]]


def test_counts_above_zero_are_listed_in_order():
    table = np.array([[0, 2], [0, 0], [3, 4]])
    some = np.empty(3, np.uint64), np.empty(3, np.int64), np.empty(3, np.int64)
    list_some(table, np.array([7, 8, 9], np.uint64), some)
    assert [array.tolist() for array in some] == [[7, 9, 9], [1, 0, 1], [2, 3, 4]]


@pytest.mark.parametrize("most", [3, 400, 1 << 50])
def test_tables_are_those_of_the_slow_twin(most):
    rng = np.random.default_rng(most)
    for children, parts, measured in ((3, 5, True), (6, 3, False), (70, 2, True), (1, 4, False)):
        rows, columns = family(rng, children, parts, most)
        wanted = rng.exponential(most, (children, parts)) if measured else None
        seed = int(rng.integers(0, 2**63))
        goal = NONE if wanted is None else wanted
        out = shared(goal, rows, np.array([children]), columns[None], seed)
        lines = None if wanted is None else wanted.tolist()
        assert out.tolist() == parts_by_definition(lines, rows.tolist(), columns.tolist(), seed)
