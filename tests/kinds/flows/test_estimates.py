"""Flows between regions: what is counted, and how often intervals hold the truth."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import gamma

import geodp
from bench.inputs.trips import make_partners
from geodp.kinds.flows.intervals import KnownFlows, Overdispersion
from geodp.kinds.flows.zones import zones_of
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import count_between
from tests.kinds.flows.test_publish import GRID, publish, trips_on

WHOLE = (0, 0, 16, 16)


def box(corner, side):
    return (*corner, *(corner + side))


def region(bounds, grid=GRID):
    rows, columns = np.mgrid[bounds[0] : bounds[2], bounds[1] : bounds[3]]
    return geodp.grid.region.Region.of_map(grid, rows.ravel(), columns.ravel())


def test_all_trips_are_those_of_the_map_of_ends(release):
    every = region(WHOLE)
    assert release.estimate(every, every) == release.origins.estimate(every)


def held(table, *groups, **more):
    """Return how often intervals of four releases with kept keys hold the truth, by group of pairs.

    All intervals of one release may be off together, where its decay is.
    """
    pairs = [pair for group in groups for pair in group]
    true, found = np.array(count_between(table, pairs)), []
    for number in range(4):
        release = publish(table, key=NoiseKey(number.to_bytes(32, "little")), **more)
        ends = np.array([(one.low, one.high) for one in release.estimate_all(pairs)])
        found.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
    parts = np.split(np.array(found), np.cumsum([len(group) for group in groups])[:-1], axis=1)
    return [part.mean() for part in parts]


def test_intervals_of_small_regions_allow_for_trips_that_persons_repeat():
    """Commuters go ten times each between the same two zones, which no law of distance knows."""
    draw = np.random.default_rng(5)
    home = draw.integers(0, 16, (2, 600))
    work = np.clip(home + np.rint(draw.normal(0, 3, (2, 600))).astype(np.int64), 0, 15)
    index = np.concatenate([home, work])
    table = geodp.CountTable.from_index(GRID.pairs(), index, np.full(600, 10, np.int64))
    # Squares as measured blocks lie, around the ends of trips: where habits are.
    ends = index.T[:40].reshape(-1, 2, 2)
    groups = [
        [tuple(region(box(one, side)) for one in both) for both in ends // side * side]
        for side in (1, 2, 4)
    ]
    assert min(held(table, *groups, contribution=10)) >= 0.94


def squares(draw, sides):
    return [
        tuple(region(box(draw.integers(0, 17 - side, 2), side)) for _ in range(2)) for side in sides
    ]


@pytest.mark.law
def test_intervals_hold_the_truth_about_as_often_as_stated():
    pairs = squares(np.random.default_rng(4), (1, 2, 4, 8) * 40)
    assert min(held(trips_on(number=60_000), pairs)) > 0.92


@pytest.mark.parametrize("levels", [None, {1: "1/2", 4: "7/20"}])
def test_intervals_hold_where_trips_go_to_few_partners(levels):
    """Squares around trips, each as often as it has some: three partners of a zone."""
    table, draw = make_partners(0, side=24), np.random.default_rng(2)
    index = table.grid.decode(table.key).T
    picked = index[draw.choice(len(index), 120, p=table.count / table.count.sum())]
    picked, zones, groups = picked.reshape(-1, 2, 2), zones_of(table.grid), []
    for side in (1, 2, 4):
        corners = np.clip(picked - draw.integers(0, side, picked.shape), 0, 24 - side)
        groups.append([tuple(region(box(one, side), zones) for one in both) for both in corners])
    assert min(held(table, *groups, contribution=10, levels=levels)) >= 0.93


def test_parts_of_blocks_reach_a_quantile_of_the_flow_that_a_trip_belongs_to():
    flow = np.array([0, 0.1, 2, 30, 5000])
    for clump, relative in ((1, 0), (40, 0), (12, 0.3)):
        scale = clump + relative * flow
        exact = gamma.ppf(0.975, flow / scale + 1, scale=scale) - flow
        assert np.allclose(Overdispersion(clump, relative).reach(flow), exact, rtol=0.02)


def test_intervals_that_are_half_as_wide_hold_far_less(monkeypatch):
    """A control: what the tests above count is not held anyway."""
    made = KnownFlows.estimate

    def halve(self, *given):
        found = made(self, *given)
        one = found.estimate
        low, high = (one.value + (end - one.value) / 2 for end in (one.low, one.high))
        return replace(found, estimate=replace(one, low=low, high=high))

    monkeypatch.setattr(KnownFlows, "estimate", halve)
    pairs = squares(np.random.default_rng(4), (2, 4) * 40)
    assert max(held(trips_on(number=60_000), pairs)) < 0.93


def test_where_noise_hides_all_trips_intervals_are_as_wide_as_the_noise():
    quarters = [region((row, col, row + 8, col + 8)) for row in (0, 8) for col in (0, 8)]
    pairs = [*itertools.product(quarters, repeat=2)]
    few = trips_on(number=400)
    assert min(held(few, pairs, contribution=10, epsilon="1/2")) >= 0.94


def test_an_estimate_does_not_depend_on_what_else_is_asked(release):
    pairs = [((0, 0, 4, 4), (8, 8, 12, 12)), ((8, 0, 12, 4), (0, 0, 4, 4)), ((0, 0, 2, 2),) * 2]
    together = release.estimate_all(pairs)
    assert [release.estimate(*one) for one in pairs] == together
    assert release.estimate_all(pairs[::-1]) == together[::-1]


def test_groups_of_regions_are_summed(release):
    quarters = [region((row, col, row + 8, col + 8)) for row in (0, 8) for col in (0, 8)]
    pairs = [(quarters[0], one) for one in quarters]
    ((whole,),) = release._estimator.estimate_sets([pairs], [{}])
    each = release.estimate_all(pairs)
    assert whole.count == sum(one.count for one in each)
    assert whole.high == pytest.approx(sum(one.high for one in each))


def lone_partners(zones, trips):
    """All trips from each zone go to one other: each zone is one trip's end, or the start."""
    side = int(zones**0.5)
    partner = np.random.default_rng(1).permutation(zones)
    start = np.arange(zones)
    index = np.stack([start // side, start % side, partner // side, partner % side])
    pairs = geodp.Grid.regular((side, side)).pairs()
    return geodp.CountTable.from_index(pairs, index, np.full(zones, trips, np.int64))


@pytest.mark.parametrize(("zones", "trips"), [(4, 0), (4, 1), (4, 3000), (16, 3000), (64, 20)])
@pytest.mark.parametrize("levels", [None, {1: "1/2"}, {2: "1/2"}])
def test_whatever_is_released_has_intervals(zones, trips, levels):
    """Also no trips, and pairs that have all trips of their zones, so that none are expected."""
    table, side = lone_partners(zones, trips), int(zones**0.5)
    for number in range(8):
        release = geodp.flows.publish(
            table, epsilon=10, contribution=1, levels=levels, allow_empty=True,
            key=NoiseKey(number.to_bytes(32, "little")),
        )  # fmt: skip
        west, east = (0, 0, side, side // 2), (0, side // 2, side, side)
        for one in release.estimate_all([(west, east), (west, west), ((0, 0, 1, 1), east)]):
            assert 0 <= one.low <= one.count <= one.high < np.inf
            assert one.standard_error > 0 or one.high == one.low
        assert np.isfinite(release.compare((west, east), (east, west)).high)
