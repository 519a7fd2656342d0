"""The estimate of flows: nearer to the truth than its parts, and exact in both ends."""

import numpy as np
import pytest

import geodp
from geodp.kinds.flows import estimator
from geodp.kinds.flows.deconvolution import LearnedFlows
from geodp.kinds.flows.estimator import (
    FLAT,
    LargerFlows,
    NoisyPairs,
    SomePairs,
    estimate_flows,
    fit_pairs,
)
from geodp.kinds.flows.kernels import balancing, deconvolution
from geodp.kinds.flows.prior_flows import FlowsPrior, TrustedPrior
from geodp.kinds.flows.zones import Zones
from tests.kinds.flows.test_publish import trips_on

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
    origin, destination, count = flows.join()
    made[origin, destination] = count
    return made, flows


def right(dense, made):
    return np.minimum(dense, made).sum() / dense.sum()


@pytest.mark.parametrize("scales", [{1: 3}, {4: 10}, {4: 10, 8: 40}, {2: 10**4}])
def test_both_ends_are_exact(scales):
    dense = truth()
    made, flows = estimated(dense, scales)
    assert np.array_equal(made.sum(axis=1), dense.sum(axis=1))
    assert np.array_equal(made.sum(axis=0), dense.sum(axis=0))
    origin, destination, count = flows.join()
    assert (count > 0).all()
    place = origin * ZONES.number + destination
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


def thick_pairs(seed=3):
    """Trips from every zone go to two others, anywhere on the map, in very different numbers."""
    draw = np.random.default_rng(seed)
    dense = np.zeros((ZONES.number, ZONES.number), np.int64)
    for _ in range(2):
        partner = draw.permutation(ZONES.number)
        dense[np.arange(ZONES.number), partner] += draw.geometric(0.01, ZONES.number)
    return dense


@pytest.mark.parametrize("scales", [{1: 0.01}, {1: 0.01, 4: 0.05}, {4: 0.01}, {2: 0.01, 8: 0.02}])
def test_measured_exactly_no_trip_moves_to_a_pair_that_has_none(scales):
    for dense in (truth(5_000), thick_pairs()):
        made, _ = estimated(dense, scales)
        inner = ZONES.blocks(min(scales)).first[:-1]
        true, found = (
            np.add.reduceat(np.add.reduceat(one, inner, 0), inner, 1) for one in (dense, made)
        )
        assert not found[true == 0].any()
        assert np.abs(found - true).max() <= 1


def test_few_thick_pairs_are_found_through_noise(monkeypatch):
    """What a law of distance cannot know, and no shrinkage by one factor for pairs of a size."""
    dense = thick_pairs()
    (pairs,) = noisy(dense, {1: 5})
    made, _ = estimated(dense, {1: 5})
    assert right(dense, made) > 0.8
    law = np.outer(dense.sum(axis=1), dense.sum(axis=0)) / dense.sum()
    apart = dense.var()
    linear = np.maximum(law + apart / (apart + pairs.variance) * (pairs.noisy - law), 0)
    assert np.minimum(dense, linear).sum() / linear.sum() < 0.2
    thick = dense > 200
    assert made[thick].sum() == pytest.approx(dense[thick].sum(), rel=0.12)
    # Means of single pairs would spread more trips over pairs that have none.
    monkeypatch.setattr(LearnedFlows, "concentrate", lambda learned: learned.mean)
    assert right(dense, made) > right(dense, estimated(dense, {1: 5})[0])


def test_raking_leaves_what_is_known_and_meets_the_margins():
    dense = thick_pairs()
    (pairs,) = noisy(dense, {1: 10})
    margins = dense.sum(axis=1), dense.sum(axis=0)
    expected, _ = estimator.expect_pairs(ZONES, margins, [pairs], FLAT)
    learned = estimator.learn_level(expected, estimator.combine_levels([pairs])[0])
    learned.variance[learned.variance < 25] = 0
    made = np.empty(dense.shape)
    deconvolution.look_up(pairs.noisy.astype(float), learned.entry, learned.mean, made)
    raked, known = expected.flows, learned.variance[learned.entry] == 0
    raked[:] = made
    estimator.rake_some(expected, learned, margins)
    assert known.any()
    assert np.array_equal(raked[known], made[known])
    apart = [np.abs(one.sum(axis=1) - margins[0]).sum() for one in (made, raked)]
    assert apart[1] < 0.2 * apart[0]
    assert raked.min() >= 0


def test_noise_that_hides_everything_moves_nothing():
    dense = truth()
    margins = dense.sum(axis=1), dense.sum(axis=0)
    blocks = [*noisy(dense, {1: 10**6})]
    fitted = fit_pairs(ZONES, margins, blocks, 3.0)
    law = ZONES.law(3.0, ZONES.blocks(1))
    estimator.balance_ends(law, margins, 60)
    # A few classes are too small to tell, and follow the noise a little.
    assert np.median(np.abs(fitted.expected.whole() - law)) < 0.05


def test_no_trips_are_no_flows():
    none = np.zeros(ZONES.number, np.int64)
    flows = estimate_flows(ZONES, (none, none), [*noisy(truth(), {4: 10})], 1)
    assert [one.size for one in flows.join()] == [0, 0, 0]


@pytest.mark.parametrize("scales", [{1: 3}, {2: 3, 8: 10}, {4: 10}])
@pytest.mark.parametrize("weight", [None, 0.5, "chosen"])
def test_blocks_without_trips_are_left_out_to_the_last_bit(scales, weight, monkeypatch):
    """Of the fit, and of what was learned."""
    dense, prior = truth(3_000), None
    dense[120:], dense[:, 250:] = 0, 0
    pairs = [*noisy(dense, scales)]
    margins = tuple(pairs[0].blocks.sums(dense.sum(axis=axis)) for axis in (1, 0))
    if weight is not None:
        rows, columns = np.nonzero(truth(500, seed=3))
        prior = FlowsPrior(ZONES.number, rows, columns, np.ones(rows.size, np.int64), "a survey")
        prior = prior if weight == "chosen" else TrustedPrior.of(prior, weight, 3_000)
    found = []
    for left_out in (estimator.LEFT_OUT, 10**9):
        monkeypatch.setattr(estimator, "LEFT_OUT", left_out)
        fitted = fit_pairs(ZONES, margins, pairs, 3.0, prior)
        assert fitted.expected.are_all is (left_out > estimator.SLAB)
        learned = fitted.learned.mean, fitted.learned.variance
        found.append([one.tobytes() for one in (*learned, fitted.expected.whole())])
    assert found[0] == found[1]


def test_larger_blocks_are_kept_as_sums():
    dense = truth()
    pairs = [*noisy(dense, {2: 5, 8: 1e-6})]
    margins = tuple(pairs[0].blocks.sums(dense.sum(axis=axis)) for axis in (1, 0))
    fitted = fit_pairs(ZONES, margins, pairs)
    inner = pairs[1].blocks.of_zone[pairs[0].blocks.first[:-1]]
    summed = np.zeros(pairs[1].noisy.shape)
    np.add.at(summed, (inner[:, None], inner[None]), fitted.expected.whole())
    assert np.abs(summed - pairs[1].noisy).max() < 0.004 * pairs[1].noisy.max()


def test_finest_pairs_are_expected_from_larger_ones_and_both_ends(monkeypatch):
    dense, seen, learn = truth(), [], estimator.learn_level
    pairs = [*noisy(dense, {2: 30, 8: 1})]
    margins = tuple(pairs[0].blocks.sums(dense.sum(axis=axis)) for axis in (1, 0))
    monkeypatch.setattr(
        estimator, "learn_level", lambda *one: seen.append(one[0].flows.copy()) or learn(*one)
    )
    fit_pairs(ZONES, margins, pairs)
    larger, finest = seen
    first = pairs[1].blocks.of_zone[pairs[0].blocks.first[:-1]]
    at = np.searchsorted(first, np.arange(pairs[1].blocks.number))
    summed = np.add.reduceat(np.add.reduceat(finest, at, 0), at, 1)
    off = [np.abs(one - pairs[1].noisy).sum() for one in (larger, summed)]
    assert off[1] < 0.2 * off[0]
    for axis, margin in zip((1, 0), margins, strict=True):
        assert np.abs(finest.sum(axis=axis) - margin).sum() < 0.003 * dense.sum()


def test_sums_of_larger_blocks_are_kept_as_closely_as_they_are_known():
    every, parent = (np.arange(4), np.arange(4)), np.array([0, 0, 1, 1])
    flows = SomePairs(4, every, np.arange(1.0, 17).reshape(4, 4))
    before = flows.sums(parent).flows
    known = SomePairs(2, (np.arange(2), np.arange(2)), 3 * before)
    # Of four pairs with a variance of 2 each, beside larger blocks with 8, 0 and many more.
    spread = np.array([[8.0, 0.0], [1e12, 8.0]])
    learned = LearnedFlows(np.zeros((4, 4), np.uint16), *np.array([[0.0], [2.0]]), spread, {})
    sums = LargerFlows(parent, known, spread).sums_of(flows, np.arange(4), learned)
    assert sums.gain == pytest.approx(np.array([[0.5, 1], [0, 0.5]]), abs=1e-9)
    assert sums.target == pytest.approx(before * [[2, 3], [1, 2]])
    sums.keep(flows.flows)
    assert flows.sums(parent).flows == pytest.approx(before * [[1.5, 3], [1, 1.5]])


def find_factors_of_all(matrix, margins, rounds):
    """Factors by all rows, columns and rounds."""
    left, right = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    sums = np.empty(matrix.shape[0])
    for _ in range(rounds):
        balancing.multiply(matrix, right, sums)
        left = np.divide(margins[0], sums, out=np.zeros(sums.size), where=sums > 0)
        balancing.multiply_left(matrix, left, sums)
        right = np.divide(margins[1], sums, out=np.zeros(sums.size), where=sums > 0)
    return left, right


@pytest.mark.parametrize("empty", [0, 0.5, 0.98, 1])
@pytest.mark.parametrize("rounds", [1, 2, 40])
@pytest.mark.parametrize("holes", [False, True])
def test_factors_are_the_same_to_the_last_bit_without_empty_ends(empty, rounds, holes):
    draw = np.random.default_rng([int(100 * empty), rounds])
    matrix = draw.gamma(0.3, 1e3, (90, 90))
    if holes:
        matrix[draw.random(matrix.shape) < 0.7] = 0
        matrix[draw.random(90) < 0.2] = 0
    margins = tuple(draw.poisson(50, 90) * (draw.random(90) >= empty) for _ in range(2))
    found = estimator.find_factors(matrix, margins, rounds)
    for one, other in zip(found, find_factors_of_all(matrix, margins, rounds), strict=True):
        assert one.tobytes() == other.tobytes()


def test_few_trips_cost_few_sums(monkeypatch):
    """Of zones without trips only the first sums of rows know anything, and settled ones stop."""
    sizes = []
    for name in ("multiply", "multiply_left", "fit_rows"):
        run = getattr(balancing, name)
        monkeypatch.setattr(
            balancing, name, lambda *given, run=run: (sizes.append(given[0].shape), run(*given))
        )
    margins = tuple(np.eye(500, dtype=np.int64)[at] * 7 for at in (3, 9))
    estimator.find_factors(np.ones((500, 500)), margins, 40)
    assert sizes[0] == (1, 500)
    assert {*sizes[1:]} == {(1, 1)}
    assert len(sizes) < 5
