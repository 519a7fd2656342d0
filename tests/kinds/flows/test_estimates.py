"""Flows between regions: what is counted, and how often intervals hold the truth."""

import numpy as np
import pytest

import geodp
from geodp import UsageError
from geodp.kinds.flows.estimates import MODEL_ERROR, spread_ends
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.test_publish import GRID, publish, trips_on
from tests.refusals import refuses

WHOLE = (0, 0, 16, 16)


def counted(release, start, end):
    flows = release.flows.table
    y, x, to_y, to_x = flows.grid.decode(flows.key)
    inside = (y >= start[0]) & (y < start[2]) & (x >= start[1]) & (x < start[3])
    inside &= (to_y >= end[0]) & (to_y < end[2]) & (to_x >= end[1]) & (to_x < end[3])
    return int(flows.count[inside].sum())


def box(corner, side):
    return (*corner, *(corner + side))


def region(bounds):
    rows, columns = np.mgrid[bounds[0] : bounds[2], bounds[1] : bounds[3]]
    return geodp.grid.region.Region.of_map(GRID, rows.ravel(), columns.ravel())


def test_counts_are_sums_of_the_flows(release):
    for start, end in (((0, 0, 5, 5), (3, 3, 9, 16)), (WHOLE, (1, 1, 2, 2)), (WHOLE, WHOLE)):
        found = release.estimate(region(start), region(end), simulations=20)
        assert found.count == counted(release, start, end)
        assert found.low <= found.count <= found.high


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


@pytest.mark.parametrize("side", [1, 2, 4])
def test_intervals_of_small_regions_allow_for_trips_that_persons_repeat(side):
    """Commuters go ten times each between the same two zones, which no law of distance knows."""
    draw, held = np.random.default_rng(5), []
    home = draw.integers(0, 16, (2, 600))
    work = np.clip(home + np.rint(draw.normal(0, 3, (2, 600))).astype(np.int64), 0, 15)
    index = np.concatenate([home, work])
    table = geodp.CountTable.from_index(GRID.pairs(), index, np.full(600, 10, np.int64))
    pairs, true = [], []
    # Squares as measured blocks lie, around the ends of trips: where habits are.
    for one in index.T[:40]:
        start, end = (one[at : at + 2] // side * side for at in (0, 2))
        pairs.append((region(box(start, side)), region(box(end, side))))
        inside = (index // side * side == np.append(start, end)[:, None]).all(axis=0)
        true.append(10 * int(inside.sum()))
    # Kept keys, as all intervals of one release may be off together, where its decay is.
    for number in range(4):
        release = publish(table, contribution=10, key=NoiseKey(number.to_bytes(32, "little")))
        for one, n in zip(release.estimate_all(pairs, simulations=20), true, strict=True):
            held.append(one.low <= n <= one.high)
    assert np.mean(held) >= 0.94


@pytest.mark.law
def test_intervals_hold_the_truth_about_as_often_as_stated():
    held, draw = [], np.random.default_rng(4)
    table = trips_on(number=60_000)
    y, x, to_y, to_x = table.grid.decode(table.key)
    for _ in range(4):
        release, pairs, true = publish(table), [], []
        for side in (1, 2, 4, 8) * 10:
            start, end = (box(draw.integers(0, 17 - side, 2), side) for _ in range(2))
            pairs.append((region(start), region(end)))
            inside = (y >= start[0]) & (y < start[2]) & (x >= start[1]) & (x < start[3])
            inside &= (to_y >= end[0]) & (to_y < end[2]) & (to_x >= end[1]) & (to_x < end[3])
            true.append(int(table.count[inside].sum()))
        for one, n in zip(release.estimate_all(pairs, simulations=20), true, strict=True):
            held.append(one.low <= n <= one.high)
    assert np.mean(held) > 0.92


def test_where_noise_hides_all_trips_intervals_are_as_wide_as_the_noise():
    """Releases that are simulated from hardly any trips are hardly ever wrong."""
    table, held = trips_on(number=400), []
    y, x, to_y, to_x = table.grid.decode(table.key)
    quarters = [(row, col, row + 8, col + 8) for row in (0, 8) for col in (0, 8)]
    pairs = [(start, end) for start in quarters for end in quarters]
    true = []
    for start, end in pairs:
        inside = (y // 8 * 8 == start[0]) & (x // 8 * 8 == start[1])
        inside &= (to_y // 8 * 8 == end[0]) & (to_x // 8 * 8 == end[1])
        true.append(int(table.count[inside].sum()))
    for number in range(4):
        key = NoiseKey(number.to_bytes(32, "little"))
        release = publish(table, contribution=10, epsilon="1/2", key=key)
        found = release.estimate_all([(region(a), region(b)) for a, b in pairs], simulations=20)
        held += [one.low <= n <= one.high for one, n in zip(found, true, strict=True)]
    assert np.mean(held) >= 0.94


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
