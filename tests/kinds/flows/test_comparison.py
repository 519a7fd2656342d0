"""Differences of flows: by definition, by simulation, and what is refused."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.comparison import FlowSide
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import count_between
from tests.kinds.flows.test_by_label import labelled
from tests.kinds.flows.test_estimates import box, region
from tests.kinds.flows.test_publish import GRID, publish, trips_on
from tests.kinds.flows.worlds import WHERE
from tests.refusals import refuses

NEAR, FAR = ((0, 0, 8, 8), (0, 0, 8, 8)), ((8, 8, 16, 16), (0, 0, 8, 8))
TABLES = trips_on(number=60_000), trips_on(number=50_000, seed=4)


def of(pair):
    return tuple(map(region, pair))


def key_of(number):
    return NoiseKey(number.to_bytes(32, "little"))


@pytest.fixture(scope="module")
def later():
    return publish(trips_on(number=30_000, seed=5))


def test_a_difference_is_that_of_the_estimates(release, later):
    for second, other in ((None, FAR), (later, NEAR)):
        found = release.compare(of(NEAR), of(other), release=second)
        one = release.estimate(*of(NEAR))
        two = (second or release).estimate(*of(other))
        assert found.value == two.count - one.count
        # The margins of either are a part of those of the difference, which are no more than both.
        down = found.value - found.low
        least, most = max(two.count - two.low, one.high - one.count), two.count - two.low
        assert least <= down <= (most + one.high - one.count) * (1 + 1e-9)
        assert found.high - found.value <= (two.high - two.count + one.count - one.low) * (1 + 1e-9)
    assert release.compare(of(NEAR), of(FAR)).is_certain


def test_the_default_is_the_same_flow_in_both_releases(release, later):
    one = release.compare(of(NEAR), release=later)
    assert one == release.compare(of(NEAR), of(NEAR), release=later)
    back = later.compare(of(NEAR), release=release)
    assert (back.low, back.high) == (-one.high, -one.low)


def test_many_are_compared_as_each_alone(release, later):
    pairs = [NEAR, FAR]
    sides = [(FlowSide([of(pair)], {}),) * 2 for pair in pairs]
    found = release.compare_all(later, sides)
    assert [one.difference["trips"] for one in found] == [
        release.compare(of(pair), release=later) for pair in pairs
    ]


def test_labels_of_one_flow_are_compared():
    release = publish(labelled(grid=GRID))
    labels = {"hour": "6"}, {"hour": ["7", "8", "9"]}
    found = release.compare(of(NEAR), labels=labels)
    assert found.value > 0
    assert found.is_certain
    with refuses(UsageError, "flows-compare-overlap"):
        release.compare(of(NEAR), labels=({"hour": "6"}, {"day": "rest"}))


@pytest.mark.parametrize("labels", [({},), ({}, {}, {}), {"hour": 8}, {"a": 1, "b": 2}, "ab", None])
def test_labels_that_are_no_pair_are_refused(release, later, labels):
    for other in (None, later):
        with refuses(UsageError, "flows-compare-labels"):
            release.compare(of(NEAR), of(FAR), labels, release=other)


def test_parts_of_a_block_have_opposite_errors_and_blocks_far_apart_have_not():
    release = publish(trips_on(number=2000), levels={8: "1/4"})
    estimator = release._estimator

    def oppose(*pairs):
        one, other = estimator.sum_sets([[of(pair)] for pair in pairs], [{}, {}])
        return estimator.oppose((one, other), (0, 1))

    block, far = (0, 0, 8, 8), (8, 8, 16, 16)
    halves = [((0, col, 8, col + 4), block) for col in (0, 4)]
    assert oppose(*halves) > 0.5
    assert oppose((block, block), (far, far)) < 0.1
    # Of flows that are sums of ends it is not known.
    assert oppose((block, (0, 0, 16, 16)), (far, (0, 0, 16, 16))) == 1


@pytest.fixture(scope="module")
def held():
    """Which intervals hold in releases of two tables, between and within them."""
    draw, found = np.random.default_rng(7), {"between": [], "within": []}
    for trial in range(3):
        first, second = (
            publish(table, key=key_of(2 * trial + at)) for at, table in enumerate(TABLES)
        )
        for side in (2, 8):
            boxes = [box(draw.integers(0, 17 - side, 2), side) for _ in range(4)]
            pair = of(boxes[:2])
            one = first.compare(pair, release=second)
            (before,), (after,) = (count_between(table, [pair]) for table in TABLES)
            found["between"].append(one.low <= after - before <= one.high)
            # Apart from each other: back, where that is another flow.
            if boxes[0] != boxes[1] and not overlaps(boxes[0], boxes[1]):
                back = first.compare(pair, pair[::-1])
                (there,) = count_between(TABLES[0], [pair[::-1]])
                found["within"].append(back.low <= there - before <= back.high)
    return found


def overlaps(one, other):
    return all(one[i] < other[i + 2] and other[i] < one[i + 2] for i in (0, 1))


@pytest.mark.parametrize("which", ["between", "within"])
def test_intervals_of_differences_hold(held, which):
    assert len(held[which]) >= 3
    assert np.mean(held[which]) >= 0.9


def test_releases_that_are_not_alike_are_refused(release):
    more = publish(trips_on(number=30_000, seed=5), contribution=4)
    elsewhere = publish(trips_on(geodp.Grid.regular((32, 32))))
    for other, code in (
        (release, "compare-same"),
        (more, "flows-compare-bounds"),
        (elsewhere, "compare-grids"),
    ):
        with refuses(UsageError, code):
            release.compare(of(NEAR), release=other)
    for other in (NEAR, ((4, 4, 9, 9), (0, 0, 1, 1))):
        with refuses(UsageError, "flows-compare-overlap"):
            release.compare(of(NEAR), of(other))


@pytest.mark.parametrize("table", [trips_on(seed=4), labelled(grid=GRID)])
def test_a_release_is_not_compared_with_its_own_prior(table):
    before, other = publish(table), publish(table)
    now = publish(table, prior=before, prior_source="an earlier release")
    assert now.index.prior.weight > 0
    for one, release in ((before, now), (now, before)):
        with refuses(UsageError, "flows-compare-prior"):
            one.compare(of(NEAR), release=release)
    assert now.compare(of(NEAR), release=other).low < np.inf
    # Of a prior that was not used nothing is in the release.
    stated = replace(now.index.prior, weight=0.0)
    assert stated.is_used
    with refuses(UsageError, "flows-compare-prior"):
        replace(now, index=replace(now.index, prior=stated)).compare(of(NEAR), release=before)
    unused = replace(now, index=replace(now.index, prior=replace(stated, ends=())))
    unused.compare(of(NEAR), release=before)


def of_persons(trips=4, seed=0, **more):
    """A release of the trips of persons with weights, as they are bounded by geodp."""
    draw = np.random.default_rng(seed)
    rows = {name: draw.integers(0, 16, 600) for name in ("oy", "ox", "dy", "dx")}
    rows |= {"id": [f"p{n % 90}" for n in range(600)], "w": draw.integers(1, 5, 600)}
    return geodp.flows.publish(pa.table(rows), grid=GRID, **WHERE, trips=trips, epsilon=1, **more)


def test_releases_with_other_bounds_between_two_zones_are_not_compared(tmp_path):
    bounded, other, free = of_persons(per_pair=1), of_persons(per_pair=2), of_persons()
    bounded.write(tmp_path / "out")
    opened = geodp.open(tmp_path / "out")
    for one, two in ((bounded, other), (bounded, free), (free, bounded), (free, opened)):
        with refuses(UsageError, "flows-compare-per-pair"):
            one.compare(of(NEAR), release=two)
    # That of all trips is none, however it is said; and of counted rows nobody knows.
    for one, two in (
        (free, of_persons(seed=1, per_pair=4)),
        (bounded, of_persons(seed=1, per_pair=1)),
        (bounded, publish(contribution=4)),
    ):
        assert one.compare(of(NEAR), release=two)


def test_releases_that_weigh_trips_otherwise_are_not_compared():
    given = {"per_pair": 2, "weight": "w"}
    one = of_persons(2, **given, max_weight=4)
    for other, code in (
        (of_persons(8, per_pair=2), "flows-compare-per-pair"),
        (of_persons(4, **given, max_weight=2), "flows-compare-per-pair"),
        (of_persons(2, **given, max_weight=3), "flows-compare-bounds"),
    ):
        with refuses(UsageError, code):
            one.compare(of(NEAR), release=other)
