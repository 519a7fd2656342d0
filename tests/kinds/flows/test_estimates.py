"""Flows between regions: what is counted, and how often intervals hold the truth."""

import itertools

import numpy as np
import pytest

import geodp
from geodp import UsageError
from geodp.kinds.flows.estimates import MODEL_ERROR, spread_ends
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import count_between
from tests.kinds.flows.test_publish import GRID, publish, trips_on
from tests.refusals import refuses

WHOLE = (0, 0, 16, 16)


def box(corner, side):
    return (*corner, *(corner + side))


def region(bounds):
    rows, columns = np.mgrid[bounds[0] : bounds[2], bounds[1] : bounds[3]]
    return geodp.grid.region.Region.of_map(GRID, rows.ravel(), columns.ravel())


def test_all_trips_are_known_as_well_as_their_ends(release):
    found = release.estimate(region(WHOLE), region(WHOLE), simulations=40)
    assert found.standard_error < 1.1 * MODEL_ERROR * found.count


def test_the_seed_decides_and_more_simulations_are_possible(release):
    pair = region((0, 0, 8, 8)), region((8, 8, 16, 16))
    one, again, other = (release.estimate(*pair, simulations=20, seed=s) for s in (1, 1, 2))
    assert one == again != other
    for few in (0, 19, 20.0):
        with refuses(UsageError, "flows-simulations-few"):
            release.estimate(*pair, simulations=few)


def test_totals_of_blocks_are_divided_as_released():
    first = np.array([0, 3, 5])
    made = spread_ends(first, np.array([10, 3]), np.array([1, 0, 4, 0, 0]))
    assert made.tolist()[:3] == [2, 0, 8]
    assert made.sum() == 13
    assert (made >= 0).all()


def held(table, pairs, **more):
    """Whether intervals of four releases with kept keys hold the truth.

    All intervals of one release may be off together, where its decay is.
    """
    for number in range(4):
        release = publish(table, key=NoiseKey(number.to_bytes(32, "little")), **more)
        found = release.estimate_all(pairs, simulations=20)
        for one, n in zip(found, count_between(table, pairs), strict=True):
            yield one.low <= n <= one.high


@pytest.mark.parametrize("side", [1, 2, 4])
def test_intervals_of_small_regions_allow_for_trips_that_persons_repeat(side):
    """Commuters go ten times each between the same two zones, which no law of distance knows."""
    draw = np.random.default_rng(5)
    home = draw.integers(0, 16, (2, 600))
    work = np.clip(home + np.rint(draw.normal(0, 3, (2, 600))).astype(np.int64), 0, 15)
    index = np.concatenate([home, work])
    table = geodp.CountTable.from_index(GRID.pairs(), index, np.full(600, 10, np.int64))
    # Squares as measured blocks lie, around the ends of trips: where habits are.
    ends = index.T[:40].reshape(-1, 2, 2) // side * side
    pairs = [tuple(region(box(one, side)) for one in both) for both in ends]
    assert np.mean([*held(table, pairs, contribution=10)]) >= 0.94


@pytest.mark.law
def test_intervals_hold_the_truth_about_as_often_as_stated():
    draw, sides = np.random.default_rng(4), (1, 2, 4, 8) * 10
    pairs = [
        tuple(region(box(draw.integers(0, 17 - side, 2), side)) for _ in range(2))
        for side in sides * 4
    ]
    assert np.mean([*held(trips_on(number=60_000), pairs)]) > 0.92


def test_where_noise_hides_all_trips_intervals_are_as_wide_as_the_noise():
    """Releases that are simulated from hardly any trips are hardly ever wrong."""
    quarters = [region((row, col, row + 8, col + 8)) for row in (0, 8) for col in (0, 8)]
    pairs = [*itertools.product(quarters, repeat=2)]
    few = trips_on(number=400)
    assert np.mean([*held(few, pairs, contribution=10, epsilon="1/2")]) >= 0.94


def test_an_estimate_does_not_depend_on_what_else_is_asked(release):
    pairs = [((0, 0, 4, 4), (8, 8, 12, 12)), ((8, 0, 12, 4), (0, 0, 4, 4)), ((0, 0, 2, 2),) * 2]
    together = release.estimate_all(pairs, simulations=20)
    assert [release.estimate(*one, simulations=20) for one in pairs] == together
    assert release.estimate_all(pairs[::-1], simulations=20) == together[::-1]


def test_groups_of_regions_are_summed(release):
    quarters = [region((row, col, row + 8, col + 8)) for row in (0, 8) for col in (0, 8)]
    pairs = [(quarters[0], one) for one in quarters]
    ((whole,),) = release._estimator().estimate_sets([pairs], [{}], 20, 0)
    each = release.estimate_all(pairs, simulations=20)
    assert whole.count == sum(one.count for one in each)
    assert whole.standard_error < sum(one.standard_error for one in each)
