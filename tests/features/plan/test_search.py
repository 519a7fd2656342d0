"""Neighbours of a plan: as many digits, and what a move does not change stays."""

import numpy as np

from geodp.features.plan.search import PARTS, Candidate


def test_a_move_of_levels_keeps_digits_and_passes():
    random = np.random.default_rng(1)
    for passes in (1, 2):
        start = Candidate.of([2, 3, 1], [1, 2, 3, 4], passes)
        moved = [start.move(random, 0.5, fixed=False) for _ in range(300)]
        other = [one for one in moved if one.steps != start.steps]
        assert {len(one.steps) for one in other} == {2, 3, 4}
        for one in other:
            assert one.passes == passes
            assert sum(one.steps) == 6
            assert min(one.steps) >= 1
            assert len(one.parts) == len(one.steps) + 1
            assert sum(one.parts) == PARTS
