"""The estimate of flows: nearer to the truth than its parts, and exact in both ends."""

import numpy as np
import pytest

import geodp
from geodp.features.flows import estimator
from geodp.features.flows.estimator import FLAT, NoisyPairs, estimate_flows, fit_pairs
from geodp.features.flows.zones import Zones
from tests.features.flows.test_publish import trips_on

GRID = geodp.Grid.regular((24, 20))
ZONES = Zones.of(GRID)


def truth(number=60_000, seed=1):
    """Trips between all pairs of zones, in their order."""
    table = trips_on(GRID, seed=seed, number=number)
    index = table.grid.decode(table.key)
    ends = [np.searchsorted(ZONES.key, GRID.encode(index[at : at + 2])) for at in (0, 2)]
    dense = np.zeros((ZONES.number, ZONES.number), np.int64)
    dense[tuple(ends)] = table.count
    return dense


def noisy(dense, scales, seed=2):
    draw = np.random.default_rng(seed)
    for side, scale in scales.items():
        blocks = ZONES.blocks(side)
        at = blocks.first[:-1]
        sums = np.add.reduceat(np.add.reduceat(dense, at, 0), at, 1)
        noise = np.rint(draw.laplace(0, scale, sums.shape)).astype(np.int64)
        yield NoisyPairs(blocks, sums + noise, 2 * scale**2)


def estimated(dense, scales):
    ends = dense.sum(axis=1), dense.sum(axis=0)
    flows = estimate_flows(ZONES, ends, [*noisy(dense, scales)], 7)
    made = np.zeros_like(dense)
    made[flows.origin, flows.destination] = flows.count
    return made, flows


def right(dense, made):
    return np.minimum(dense, made).sum() / dense.sum()


@pytest.mark.parametrize("scales", [{1: 3}, {4: 10}, {4: 10, 8: 40}, {2: 10**4}])
def test_both_ends_are_exact(scales):
    dense = truth()
    made, flows = estimated(dense, scales)
    assert np.array_equal(made.sum(axis=1), dense.sum(axis=1))
    assert np.array_equal(made.sum(axis=0), dense.sum(axis=0))
    assert (flows.count > 0).all()
    place = flows.origin * ZONES.number + flows.destination
    assert (np.diff(place) > 0).all()


def test_distance_is_learned_where_it_plays_a_role_and_only_there():
    dense = truth()
    assert estimated(dense, {4: 10})[1].decay < 8
    draw = np.random.default_rng(3)
    shuffled = dense[:, draw.permutation(ZONES.number)]
    assert estimated(shuffled, {4: 10})[1].decay == FLAT


def test_pairs_and_distance_together_are_better_than_either(monkeypatch):
    dense = truth()
    both, _ = estimated(dense, {4: 10})
    alone, _ = estimated(dense, {4: 10**7})
    monkeypatch.setattr(estimator, "choose_decay", lambda *_: FLAT)
    without, _ = estimated(dense, {4: 10})
    assert right(dense, both) > right(dense, alone)
    assert right(dense, both) > right(dense, without)


def test_without_noise_the_blocks_are_exact():
    dense = truth()
    made, _ = estimated(dense, {1: 1e-6})
    assert np.array_equal(made, dense)


def test_noise_that_hides_everything_moves_nothing():
    dense = truth()
    margins = dense.sum(axis=1), dense.sum(axis=0)
    blocks = [*noisy(dense, {1: 10**6})]
    fitted = fit_pairs(ZONES, margins, blocks, 3.0)
    law = ZONES.law(3.0, ZONES.blocks(1))
    estimator.balance_ends(law, margins, 60)
    # A few classes are too small to tell, and follow the noise a little.
    assert np.median(np.abs(fitted.expected - law)) < 0.05


def test_no_trips_are_no_flows():
    none = np.zeros(ZONES.number, np.int64)
    flows = estimate_flows(ZONES, (none, none), [*noisy(truth(), {4: 10})], 1)
    assert flows.count.size == 0


def test_larger_blocks_are_kept_as_sums():
    dense = truth()
    pairs = [*noisy(dense, {2: 5, 8: 1e-6})]
    margins = tuple(pairs[0].blocks.sums(dense.sum(axis=axis)) for axis in (1, 0))
    fitted = fit_pairs(ZONES, margins, pairs)
    inner = pairs[1].blocks.of_zone[pairs[0].blocks.first[:-1]]
    summed = np.zeros(pairs[1].noisy.shape)
    np.add.at(summed, (inner[:, None], inner[None]), fitted.expected)
    assert np.abs(summed - pairs[1].noisy).max() < 0.02 * pairs[1].noisy.max()
