"""Flows between regions: what is counted, and how often intervals hold the truth."""

import numpy as np
import pytest

import geodp
from geodp import UsageError
from geodp.features.flows.estimates import (
    MODEL_ERROR,
    Unseen,
    find_left,
    hidden_variance,
    make_estimate,
    spread_ends,
)
from geodp.privacy.key import NoiseKey
from tests.features.flows.test_publish import GRID, publish, trips_on
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


def test_nothing_varies_within_whole_blocks(release):
    """But of a part of them: as flows of its size differ from the law, and the rest by as much."""
    estimator = release._estimator()
    fitted = estimator.fit()
    side = estimator.noisy[0].blocks.side
    whole = (0, 0, 2 * side, 2 * side)
    level = fitted.levels[-1]
    pair = estimator.match(fitted, region(whole), region(whole))
    expected = fitted.expected[np.ix_(pair.origin, pair.destination)]
    assert (pair.share == 1).all()
    assert pair.within == pytest.approx(hidden_variance(level, expected, 3).sum())
    parts = [region((0, 0, 2 * side, at)) for at in range(1, 2 * side + 1)]
    within = [estimator.match(fitted, one, region(whole)).within for one in parts]
    assert max(within) > 4 * within[-1]
    assert within[-1] == pytest.approx(pair.within)


def test_the_law_decides_how_blocks_are_divided(release):
    estimator = release._estimator()
    fitted, whole = estimator.fit(), region(WHOLE)
    side = estimator.noisy[0].blocks.side
    for width, divided in ((side, False), (side // 2, True)):
        pair = estimator.match(fitted, region((0, 0, 16, width)), whole)
        expected = fitted.expected[np.ix_(pair.origin, pair.destination)]
        part = expected * pair.share
        between = (find_left(fitted.levels[-1], expected) * part).sum()
        more = pair.modelled - between
        assert more == pytest.approx(0) if not divided else more > 0.1 * part.sum()


def test_what_the_law_decides_is_what_noisy_pairs_leave(release):
    estimator = release._estimator()
    fitted = estimator.fit()
    pair = estimator.match(fitted, region(WHOLE), region(WHOLE))
    left = find_left(fitted.levels[-1], fitted.expected)
    assert ((left >= 0) & (left <= 1)).all()
    assert pair.modelled == pytest.approx((left * fitted.expected).sum())
    assert pair.modelled < fitted.expected.sum()


def test_what_is_not_simulated_widens_an_estimate():
    errors = np.random.default_rng(1).normal(0, 10, 200)
    plain = make_estimate(1000, errors, 3).standard_error
    for unseen, known in (
        (Unseen(within=400.0), plain**2 + 400),
        (Unseen(noise=30.0), 900),
        (Unseen(noise=1.0), plain**2),
        (Unseen(modelled=500.0), plain**2 + (MODEL_ERROR * 500) ** 2),
        (Unseen(400.0, 30.0, 500.0), 900 + 400 + (MODEL_ERROR * 500) ** 2),
    ):
        assert make_estimate(1000, errors, 3, unseen).standard_error ** 2 == pytest.approx(known)


def test_where_no_law_fits_flows_differ_by_more():
    """Trips half a map away are not what a law of distance expects."""
    table, terms = trips_on(number=60_000), []
    index = table.grid.decode(table.key)
    index[2] = (index[2] + 8) % 16
    moved = geodp.CountTable.from_index(table.grid, index, np.asarray(table.count))
    for one in (table, moved):
        release = publish(one, epsilon=4, key=NoiseKey(bytes(32)))
        terms.append(release._estimator().fit().levels[-1].dispersion.squared)
    assert terms[1] > 2 * terms[0]


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
    (whole,) = release._estimator().estimate_sums([pairs], {}, 20, 0)
    each = release.estimate_all(pairs, simulations=20)
    assert whole.count == sum(one.count for one in each)
    assert whole.standard_error < sum(one.standard_error for one in each)
