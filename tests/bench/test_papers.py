"""Methods written from their papers: what these state of them, and that their noise is enough."""

from math import exp, log, log1p

import numpy as np
import pytest

from bench.baselines.papers import adaptive_grid, hdmm, privtree

SMALL = np.random.default_rng(1).poisson(30, (32, 24)).astype(np.int64)


def tail(away):
    """Logarithm of the chance that Laplace noise of scale 1 exceeds a value."""
    return -away - log(2) if away >= 0 else log1p(-exp(away) / 2)


def lose(counts, scale):
    """Privacy loss of one more person in all nodes of a path, all split, or all but the last."""
    split = stop = 0.0
    for depth, count in enumerate(counts):
        both = privtree.score(np.array([count, count + 1.0]), depth, scale).tolist()
        one, two = ((privtree.THRESHOLD - x) / scale for x in both)
        stop = split + tail(-two) - tail(-one)
        split += tail(two) - tail(one)
    return max(abs(split), abs(stop))


def paths():
    """Counts down a path: never more than above; long ones at the decay's edge are the worst."""
    draw = np.random.default_rng(2)
    for _ in range(400):
        yield np.sort(draw.integers(0, 400, draw.integers(1, 60)))[::-1].astype(float)
    for height in (3, 10, 40):
        for least in range(0, 400, 7):
            yield np.full(height, float(least))


def test_a_tree_of_any_height_costs_no_more_than_its_budget():
    epsilon = 0.5
    scale = privtree.scale_of(epsilon)
    assert scale == pytest.approx(7 / 3 / epsilon)  # corollary 1, with four children
    assert privtree.decay_of(scale) == pytest.approx(scale * log(4))
    losses = [lose(path, scale) for path in paths()]
    assert max(losses) <= epsilon
    assert max(lose(path, scale / 2) for path in paths()) > epsilon  # half the noise is too little


def test_without_a_decay_a_high_tree_costs_more(monkeypatch):
    scale = privtree.scale_of(0.5)
    monkeypatch.setattr(privtree, "decay_of", lambda scale: 0.0)
    assert max(lose(path, scale) for path in paths()) > 0.5


def test_grids_have_the_sizes_of_the_paper():
    assert adaptive_grid.count_blocks(1_000_000, 1) == 80  # the root of N epsilon / 10 is 317
    assert adaptive_grid.count_blocks(9_000, 0.1) == 10
    assert adaptive_grid.count_parts(1000, 1) == 10
    assert adaptive_grid.count_parts(-50, 1) == 1


def test_a_person_is_in_one_block_and_in_one_part():
    ends = [adaptive_grid.divide(0, size, 10) for size in (32, 24)]
    below = np.zeros((33, 25))
    below[1:, 1:] = SMALL.cumsum(axis=0).cumsum(axis=1)
    blocks = adaptive_grid.sums_between(below, *ends)
    assert blocks.sum() == SMALL.sum()
    more = below.copy()
    more[8:, 6:] += 1
    assert np.abs(adaptive_grid.sums_between(more, *ends) - blocks).sum() == 1
    assert adaptive_grid.SHARE + (1 - adaptive_grid.SHARE) == 1


def test_a_strategy_for_ranges_is_as_good_as_its_authors():
    strategy = hdmm.choose(256)
    assert np.abs(strategy).sum(axis=0) == pytest.approx(1)
    assert hdmm.error_of(strategy, 256) < 5.75  # 5.736 in the description of their code
    assert hdmm.error_of(np.eye(256), 256) > 9


def test_with_next_to_no_noise_least_squares_gives_back_the_map():
    found = hdmm.release(SMALL, 1e6, np.random.default_rng(6))
    assert found == pytest.approx(SMALL, abs=1e-3)
