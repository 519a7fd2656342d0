"""Intervals of persons, households and mean size: they hold what they promise, or say nothing."""

import math

import numpy as np
import pytest

import geodp
from geodp.grid.region import Region
from geodp.kinds.households.estimates import Bounds, estimate_mean_sizes
from tests.kinds.households.test_publish import GRID, publish, sizes_on, two_tables


def estimate(count, margin):
    ends = (margin / 1.96, count - margin, count + margin)
    return Bounds(*(np.array([float(one)]) for one in (count, *ends)))


def estimate_mean_size(members, households, max_size):
    """Return the mean size of one region, or None."""
    return estimate_mean_sizes(members, households, max_size).at(0)


def test_the_interval_of_a_ratio_is_that_of_fieller_where_errors_are_alike():
    q, h, of_q, of_h = 130.0, 100.0, 30.0, 20.0
    size = estimate_mean_size(estimate(q, of_q), estimate(h, of_h), 7)
    # Ends r solve (q - r h)^2 = of_q^2 + r^2 of_h^2.
    for end in (size.low - 1, size.high - 1):
        assert (q - end * h) ** 2 == pytest.approx(of_q**2 + end**2 * of_h**2)
    assert size.value == 2.3


def test_a_side_without_error_gives_the_interval_of_the_other():
    size = estimate_mean_size(estimate(130, 26), estimate(100, 0), 7)
    assert (size.low, size.high) == (pytest.approx(2.04), pytest.approx(2.56))
    size = estimate_mean_size(estimate(130, 0), estimate(100, 20), 7)
    assert (size.low, size.high) == (pytest.approx(1 + 130 / 120), pytest.approx(1 + 130 / 80))


def test_in_the_worst_case_a_ratio_ends_at_those_of_opposite_ends():
    sums = estimate(130, 30), estimate(100, 20)
    worst = estimate_mean_sizes(*sums, 7, "worst-case").at(0)
    assert (worst.low, worst.high) == (pytest.approx(1 + 100 / 120), pytest.approx(1 + 160 / 80))
    usual = estimate_mean_size(*sums, 7)
    assert worst.low < usual.low < usual.high < worst.high


@pytest.mark.parametrize(
    ("members", "households"),
    [((0, 5), (0, 5)), ((9, 5), (5, 5)), ((9, 5), (5, 90)), ((9, 900), (100, 5))],
)
def test_what_may_be_any_size_is_not_estimable(members, households):
    assert estimate_mean_size(estimate(*members), estimate(*households), 7) is None


def test_intervals_stay_within_possible_sizes():
    size = estimate_mean_size(estimate(5, 30), estimate(100, 20), 7)
    assert size.low == 1
    size = estimate_mean_size(estimate(590, 130), estimate(100, 20), 7)
    assert size.high == 7


def test_sums_of_independent_counts_have_the_root_of_their_squares_and_others_the_sum():
    one, other = estimate(10, 4), estimate(5, 3)
    total = one.add(other)
    assert (total.count, total.low, total.high) == (15, 10, 20)
    assert total.error == pytest.approx(5 / 1.96)
    total = one.add_dependent(other)
    assert (total.count, total.low, total.high) == (15, 8, 22)
    assert total.error == pytest.approx(7 / 1.96)


def test_a_region_may_be_given_in_any_way():
    for protect in ("person", "household"):
        release = publish(by_size=sizes_on(scale=9), protect=protect)
        rows, columns = np.indices((8, 8)).reshape(2, -1)
        key = np.sort(GRID.encode(np.stack([rows, columns])))
        ways = [(0, 0, 8, 8), np.stack([rows, columns]), Region(GRID, key), key]
        found = release.estimate_all(ways)
        assert found == [found[0]] * 4
        assert found[0].persons.count == release.persons.table.counts_at(key).sum()
        assert found[0].households.count == release.households.table.counts_at(key).sum()


def squares(side):
    for row in range(0, 16, side):
        for column in range(0, 16, side):
            at = np.add(np.indices((side, side)).reshape(2, -1), [[row], [column]])
            yield at, np.ix_(range(row, row + side), range(column, column + side))


@pytest.mark.parametrize("protect", ["person", "household"])
@pytest.mark.parametrize("epsilon", ["1/4", "2"])
def test_intervals_hold_the_truth_as_often_as_they_say(protect, epsilon):
    sizes = sizes_on(scale=4)
    persons, homes = (one.to_dense() for one in two_tables(sizes))
    held = {"persons": [], "households": [], "mean size": []}
    for trial in range(5):
        key = geodp.NoiseKey(bytes([trial, 7] * 16))
        release = publish(by_size=sizes, protect=protect, epsilon=epsilon, key=key)
        for side in (1, 4, 8):
            at, true = zip(*squares(side), strict=True)
            for one, cells in zip(release.estimate_all(at), true, strict=True):
                p, h = int(persons[cells].sum()), int(homes[cells].sum())
                held["persons"].append(one.persons.low <= p <= one.persons.high)
                held["households"].append(one.households.low <= h <= one.households.high)
                if one.mean_size is not None and h:
                    size = one.mean_size
                    held["mean size"].append(size.low <= p / h <= size.high)
                    assert 1 <= size.low <= size.value <= size.high <= 7
    for name, each in held.items():
        # 95 %, less what chance and shared noise of nested squares may take.
        assert np.mean(each) > 0.95 - 4 * math.sqrt(0.05 / len(each) * 4), name


def lone(draw, size):
    """Households in 40 cells of an otherwise empty map."""
    homes = np.zeros((32, 32), int)
    homes.flat[draw.choice(homes.size, 40, replace=False)] = draw.integers(1, 12, 40)
    return homes, draw.binomial(homes * (size - 1), SHARE) + homes


def many(draw, size):
    """About 60 households in every cell."""
    homes = draw.poisson(60, (32, 32))
    return homes, draw.binomial(homes * (size - 1), SHARE) + homes


SHARE = 0.95
"""Members beyond the first, of the most possible ones: a mean size near the largest one."""


def publish_world(world, size, trial):
    grid = geodp.Grid.regular((32, 32))
    homes, persons = world(np.random.default_rng(trial), size)
    tables = [geodp.CountTable.from_dense(one, grid) for one in (persons, homes)]
    key, method = geodp.NoiseKey(bytes([trial, 9] * 16)), "pyramid:setting=R"
    return publish(*tables, max_size=size, key=key, method=method), homes, persons


@pytest.mark.parametrize("size", [3, 20])
@pytest.mark.parametrize("world", [lone, many])
def test_intervals_of_persons_hold_where_households_are_full(world, size):
    """Members are cut off at the households, which noise may have made too few, or none."""
    held, of_size = [], []
    for trial in range(3):
        release, homes, persons = publish_world(world, size, trial)
        cells = np.random.default_rng(trial).permutation(np.argwhere(homes >= 0))[:200]
        for cell, one in zip(cells, release.estimate_all(cells[..., None]), strict=True):
            p, h = persons[tuple(cell)], homes[tuple(cell)]
            held.append(one.persons.low <= p <= one.persons.high)
            assert one.persons.low <= one.persons.count <= one.persons.high
            if one.mean_size is not None and h:
                of_size.append(one.mean_size.low <= p / h <= one.mean_size.high)
    assert np.mean(held) > 0.94
    assert np.mean(of_size or [1]) > 0.94


@pytest.mark.parametrize("size", [3, 20])
def test_worst_case_intervals_hold_lone_households(size):
    """Which the usual ones hold half the time; what is not lone is estimated as usual."""
    held = {"usual": [], "worst-case": []}
    for trial in range(3):
        release, homes, persons = publish_world(lone, size, trial)
        cells = np.argwhere(homes > 0)
        for interval, each in held.items():
            found = release.estimate_all(cells[..., None], interval=interval)
            for cell, one in zip(cells, found, strict=True):
                p, h = persons[tuple(cell)], homes[tuple(cell)]
                sure = one.mean_size or geodp.Interval(1, 1, size)
                ends = (one.persons, p), (one.households, h), (sure, p / h)
                each.append([one.low <= true <= one.high for one, true in ends])
    usual, bound = (np.mean(each, axis=0) for each in held.values())
    assert usual[0] < 0.8
    assert (bound > 0.94).all()


@pytest.mark.parametrize("protect", ["person", "household"])
def test_persons_alone_claim_no_errors(protect):
    """Their errors depend on the households: the card says where there are intervals."""
    release = publish(by_size=sizes_on(), protect=protect)
    card = release.persons.card()
    assert card.expected_error.cells is None
    assert card.expected_error.blocks is None
    assert release.persons.errors() is None
    assert any("households estimate" in one for one in card.post_processing)


@pytest.mark.parametrize("size", [20])
def test_a_cell_that_is_not_listed_has_as_many_persons_as_its_households_may_have(size):
    held = []
    for trial in range(3):
        release, homes, persons = publish_world(lone, size, trial)
        _, high = release.households.card().expected_error.cells.ends
        cells = np.argwhere(homes >= 0)
        gone = ~np.isin(release.persons.grid.encode(cells.T), release.persons.table.key)
        held += (persons[tuple(cells.T)][gone] <= size * high).tolist()
    assert held
    assert np.mean(held) > 0.95
