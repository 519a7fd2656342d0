"""How far down parts are measured, with which shares, and in which steps."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.mechanisms.parts.measuring import SIGNAL, PartNodes, Schedule, steps_of
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms

HALF = Fraction(1, 2)
SCHEDULE = Schedule((4, 16, 16, 16, 16), (1 << 18, 1 << 16, 1 << 12, 1 << 8, 1 << 4, 1), HALF)
EVENT = Measurement.of("parts", Terms.of(epsilon="1/10", contribution=1), 1)


@pytest.mark.parametrize("levels", range(1, 7))
def test_the_shares_of_the_measured_levels_add_up(levels):
    shares = SCHEDULE.shares(levels)
    assert sum(shares) == HALF
    weights = [6, 6, 10, 16, 25, 40][-levels:]
    assert [share * sum(weights) for share in shares] == [HALF * weight for weight in weights]
    assert SCHEDULE.min_share <= min(shares)


@pytest.mark.parametrize("levels", range(1, 7))
def test_the_last_measured_level_has_more_where_that_is_asked_for(levels):
    schedule = Schedule(SCHEDULE.fanouts, SCHEDULE.strides, HALF, 8)
    shares = schedule.shares(levels)
    assert sum(shares) == HALF
    weights = [6, 6, 10, 16, 25, 40][-levels:]
    weights[-1] *= 8
    assert [share * sum(weights) for share in shares] == [HALF * weight for weight in weights]
    assert schedule.min_share <= min(shares)


def test_the_last_measured_level_is_the_last_with_a_signal():
    for levels in range(2, 7):
        width = EVENT.width(SCHEDULE.shares(levels)[-1])
        expected = [1e9] * (levels - 1) + [SIGNAL * width * 16] + [0.0] * (6 - levels)
        assert SCHEDULE.count_measured(EVENT, 16, expected) == levels
        expected[levels - 1] *= 0.999
        assert SCHEDULE.count_measured(EVENT, 16, expected) < levels
    assert SCHEDULE.count_measured(EVENT, 16, [0.0] * 6) == 1


def test_nodes_are_those_with_somebody():
    nodes = PartNodes.of(np.array([0, 3, 8, 9, 31], np.uint64), np.array([5, 1, 2, 2**59, 4]), 4)
    assert nodes.prefix.tolist() == [0, 2, 7]
    assert nodes.count.tolist() == [6, 2 + 2**59, 4]
    nobody = PartNodes.of(np.empty(0, np.uint64), np.empty(0, np.int64), 4)
    assert nobody.prefix.size == nobody.count.size == 0


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ((1,), []),
        ((2, 8), [16]),
        ((64,), [64]),
        ((2, 21, 2), [42, 2]),  # nationalities inside of sex and age
        ((101,), [51, 2]),
        ((2, 100, 5), [50, 20]),  # four ages of each sex, with their five others
        ((4096,), [64, 64]),
    ],
)
def test_more_than_64_parts_come_in_two_steps(sizes, groups):
    grid = Grid.regular((2, 2))
    for number, size in enumerate(sizes):
        grid = grid.with_attribute(f"a{number}", [f"{label}" for label in range(size)])
    joint = split_grid(grid)
    steps = steps_of(joint)
    assert [step.parts for step in steps] == groups
    assert all(step.parts <= 64 for step in steps)
    if steps:
        last = steps[-1]
        assert (last.groups - 1) * last.parts + last.last == joint.parts
        assert 0 < last.last <= last.parts
    streams = [range(s, s + len(SCHEDULE.strides)) for t in steps for s in (t.stream, t.rounding)]
    drawn = [stream for run in streams for stream in run]
    assert len(drawn) == len(set(drawn))
