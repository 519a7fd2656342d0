"""Errors of parts: the sum over nodes by its definition, and what is known without any sum."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from geodp.accuracy.part_errors import (
    ABOVE,
    BELOW,
    FEWEST_NODES,
    TAILS,
    MapTree,
    PartEstimates,
    Split,
    StepNoise,
    difference,
    learn_factor,
)
from geodp.accuracy.part_errors import intervals_around as around
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable

GRID = Grid.regular((8, 8)).with_attribute("sex", ["f", "m"]).with_attribute("age", ["a", "b", "c"])
STRIDES, PARTS = (64, 16, 4, 1), 6
EVENT = Measurement.of("pyramid", Terms.of(epsilon=1, contribution=1), 1)
VARIANCES = [30.0, 12.0, 5.0, np.inf]


@pytest.fixture(scope="module")
def split():
    """People in 40 of 64 cells; parts are measured on three of four levels."""
    rng = np.random.default_rng(1)
    key = np.sort(rng.permutation(64)[:40]).astype(np.uint64)
    table = ReleasedTable(split_grid(GRID).map, key, rng.integers(1, 50, 40), EVENT)
    steps = (StepNoise(1, PARTS, np.array([VARIANCES])),)
    return Split(split_grid(GRID), table, MapTree.of(table, STRIDES), steps)


@pytest.fixture(scope="module")
def held(split):
    rng = np.random.default_rng(2)
    return rng.binomial(split.map.count, 0.3).astype(np.float64)


def slow_variance(split, held, part, region):
    """By dictionaries of nodes, from the docstring of the module."""
    people, own, inside = {}, {}, {}
    for cell, n, k in zip(split.map.key.tolist(), split.map.count.tolist(), held, strict=True):
        for level, stride in enumerate(STRIDES):
            node = level, cell // stride
            people[node] = people.get(node, 0) + n
            own[node] = own.get(node, 0) + k
            inside[node] = inside.get(node, 0) + n * (cell in region)
    above, noise, expected, squares = {}, {}, {}, {}
    for (level, number), t in people.items():
        node = level, number
        above[node] = (level - 1, number * STRIDES[level] // STRIDES[level - 1]) if level else node
        share = own[above[node]] / people[above[node]]
        mean = t * share * (1 - share)
        expected[node] = mean * (1 + 0.7 * mean**0.5)
        noise[node] = VARIANCES[level] * len(part) * (PARTS - len(part)) / PARTS
        squares[node] = (own[node] - t * share) ** 2
    alike = min(len(part), PARTS - len(part)) ** 0.5
    total, factor, known = 0.0, 1.0, False
    for level, variance in enumerate(VARIANCES):
        nodes = [node for node in people if node[0] == level]
        if level and variance < np.inf:
            ratios = [(squares[one], expected[one], noise[one]) for one in nodes]
            factor, known = slow_factor(ratios, factor, alike, level == VARIANCES.index(np.inf) - 1)
        for node in nodes:
            share, differ = own[above[node]] / people[above[node]], factor * expected[node]
            tau = TAILS * differ
            if noise[node] < np.inf:
                believed = differ / (differ + alike * noise[node]) if known else 1
                tau = (1 - believed) ** 2 * tau + believed**2 * noise[node]
                tau = min(tau, TAILS * noise[node])
            tau += min(people[node] * share, 0.25)
            f = inside[node] / people[node]
            outer = inside[above[node]] / people[above[node]] if level else 0
            total += tau * (f - outer) ** 2
    return total


def slow_factor(ratios, coarser, alike, is_last):
    """Solve for the factor that explains squared deviations; say whether it is believed."""

    def weigh(factor):
        return sum(
            factor * d * (factor * d + v) / (factor * d + alike * v) ** 2 for _, d, v in ratios
        )

    def missing(log2):
        return sum(square / (2**log2 * d) for square, d, _ in ratios) - weigh(2**log2)

    factor = 2 ** brentq(missing, -5, 9)
    nodes = weigh(factor)
    factor *= 1 + 2 * (2 / nodes) ** 0.5
    known = nodes >= FEWEST_NODES
    return factor if known else max(factor, coarser), known or is_last


@pytest.mark.parametrize("part", [[0], [1, 4], [0, 1, 2]])
@pytest.mark.parametrize("cells", [[0, 1, 2, 3], range(5, 40), range(64), [7]])
def test_a_region_s_variance_is_the_sum_over_nodes(split, held, part, cells):
    found = split.add_up(np.array(part), held).of_region(np.array(cells, np.uint64))
    slow = slow_variance(split, held, part, set(cells))
    # The bisection stops at a 290th of an octave.
    assert found.variance[0] == pytest.approx(slow, rel=0.01)


def test_a_cell_is_a_region_of_one_cell(split, held):
    own = split.add_up(np.array([2]), held)
    every = own.of_cells(split.map.key)
    for i, key in enumerate(split.map.key):
        one = own.of_region(np.array([key]))
        assert one.variance[0] == pytest.approx(every.variance[i])
        assert one.share[0] == pytest.approx(every.share[i])


def test_a_cell_without_anybody_has_the_shares_around_it(split, held):
    own = split.add_up(np.array([2]), held)
    empty = np.setdiff1d(np.arange(64, dtype=np.uint64), split.map.key)
    found = own.of_cells(empty)
    node = np.searchsorted(own.tree.node[2], empty // np.uint64(4))
    some = own.tree.node[2][np.minimum(node, own.tree.node[2].size - 1)] == empty // np.uint64(4)
    share = (own.held[2] / own.tree.count[2])[node[some]]
    assert np.allclose(found.share[some], share)
    assert (found.variance == 0).all()


@pytest.mark.parametrize("part", [[0], [3, 5], [0, 1, 2], [1, 4], [0, 2, 3, 4], [*range(6)]])
def test_noise_of_parts_is_that_of_measurements_that_are_made_to_add_up(part):
    """By matrices: groups of three parts share out the map's count, and parts that of the group."""
    groups = StepNoise(3, 2, np.array([[4.0]]))
    inside = StepNoise(1, 3, np.array([[10.0], [20.0]]))
    together = np.kron(np.eye(2), np.full((3, 3), 1 / 3))
    first = np.kron(np.eye(2), np.ones((3, 1)) / 3) @ (np.eye(2) - 0.5)
    second = (np.eye(6) - together) * np.sqrt([10.0] * 3 + [20.0] * 3)
    chosen = np.isin(np.arange(6), part)
    expected = 4 * ((chosen @ first) ** 2).sum() + ((chosen @ second) ** 2).sum()
    found = groups.of(np.array(part), inside.divide_evenly(6))
    found = found + inside.of(np.array(part), np.ones(6))
    assert found[0] == pytest.approx(expected)


def test_errors_of_the_map_are_taken_evenly_by_what_is_measured_and_else_by_people(split, held):
    far = replace(split, steps=(StepNoise(1, PARTS, np.array([[1e9, 1e9, 1e9, np.inf]])),))
    near = replace(split, steps=(StepNoise(1, PARTS, np.full((1, 4), 1e-9)),))
    some = np.arange(20, dtype=np.uint64)
    measured, shrunk = (one.add_up(np.array([2]), held).of_region(some) for one in (near, far))
    assert measured.gain[0] == pytest.approx(1 / PARTS)
    assert shrunk.gain[0] == pytest.approx(held.sum() / split.map.count.sum(), rel=0.2)


def test_intervals_take_the_map_s_share_and_stay_within_it():
    known = PartEstimates(*np.array([[0.3], [0.0], [9.0], [0.5]]))
    low, high = around(
        np.array([50.0]), known, np.array([100.0]), (np.array([80.0]), np.array([104.0]))
    )
    assert low[0] == pytest.approx(50 - np.hypot(0.5 * 20, BELOW * 3))
    above = ABOVE * np.sqrt(9 + difference(4.0, 0.3))
    assert high[0] == pytest.approx(50 + np.hypot(0.5 * 4, above))
    low, high = around(np.array([3.0]), known, np.array([3.0]), (np.array([0.0]), np.array([5.0])))
    assert (low[0], high[0]) == (0.0, 5.0)


def test_who_differs_is_nobody_where_all_or_none_are_in_the_part():
    assert difference(np.array([10.0, 10.0]), np.array([0.0, 1.0])).tolist() == [0.0, 0.0]
    assert difference(40.0, 0.5) == pytest.approx(10 * (1 + 0.7 * 10**0.5))


@pytest.mark.parametrize("true", [0.1, 1.0, 8.0])
def test_the_factor_of_differences_is_found_behind_the_noise_and_shrinkage(true):
    random, mean = np.random.default_rng(5), np.geomspace(5, 500, 4000)
    expected, noise = mean * (1 + 0.7 * mean**0.5), np.full(mean.size, 300.0)
    differ = true * expected
    measured = random.normal(0, np.sqrt(differ + noise))
    factor, nodes = learn_factor(measured * differ / (differ + noise), expected, noise)
    assert nodes == pytest.approx((differ / (differ + noise)).sum(), rel=0.1)
    # Never below the truth, and above it by the allowance for the number of nodes.
    assert true < factor < true * (1 + 4 * np.sqrt(2 / nodes))


def test_of_a_release_of_nobody_any_part_may_be_everybody():
    """Whoever was lost with the map may have any label."""
    none = ReleasedTable(split_grid(GRID).map, np.empty(0, np.uint64), np.empty(0, np.int64), EVENT)
    steps = (StepNoise(1, PARTS, np.array([VARIANCES])),)
    empty = Split(split_grid(GRID), none, MapTree.of(none, STRIDES), steps)
    found = empty.add_up(np.array([1]), np.empty(0)).of_region(np.arange(9, dtype=np.uint64))
    low, high = around(np.zeros(1), found, np.zeros(1), (np.zeros(1), np.array([217.5])))
    assert low[0] == 0
    assert high[0] >= 217.5
