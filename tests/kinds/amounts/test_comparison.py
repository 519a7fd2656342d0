"""Differences between regions and releases: by definition, by simulation, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.kinds.amounts.comparison import correlate
from geodp.privacy.key import NoiseKey
from tests.kinds.amounts.made import EDGES, GRID, incomes, publish, rows
from tests.refusals import refuses

BOX, ALL = (0, 0, 8, 8), (0, 0, 16, 16)
PAIRS = {
    "siblings": ((0, 0, 8, 8), (8, 0, 16, 8)),
    "small siblings": ((0, 0, 2, 2), (2, 0, 4, 2)),
    "halves of odd blocks": ((0, 0, 3, 5), (3, 0, 7, 5)),
    "far": ((0, 0, 4, 4), (8, 8, 12, 12)),
}
ALL_EDGES = np.array([0, *EDGES, 1000.0])
X, Y, INCOME = incomes()
COUNTED = np.minimum(np.floor(INCOME + 0.5), 1000)


def key_of(trial):
    return NoiseKey(trial.to_bytes(32, "little"))


def truth(box):
    """Count, sum, mean and interpolated median of a box."""
    west, south, east, north = box
    one = COUNTED[(west <= X) & (east > X) & (south <= Y) & (north > Y)]
    reached = np.append(0, np.cumsum(np.histogram(one, ALL_EDGES)[0]))
    median = np.interp(reached[-1] / 2, reached, ALL_EDGES)
    return {"count": one.size, "sum": one.sum(), "mean": one.mean(), "median": median}


@pytest.fixture(scope="module")
def held():
    """Which intervals hold in 15 releases, by pair and number."""
    found = {(name, n): [] for name in PAIRS for n in ("count", "sum", "mean", "median")}
    true = {name: tuple(map(truth, pair)) for name, pair in PAIRS.items()}
    for trial in range(15):
        release = publish(key=key_of(trial), classes=EDGES)
        for name, pair in PAIRS.items():
            one = release.compare(*pair)
            for n in true[name][0]:
                difference = one[n]
                exact = true[name][1][n] - true[name][0][n]
                found[name, n].append(difference.low <= exact <= difference.high)
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_intervals_of_differences_hold(held, name):
    for n in ("count", "sum", "mean", "median"):
        assert np.mean(held[name, n]) >= 0.8
    assert np.mean([held[name, n] for n in ("count", "sum", "mean", "median")]) >= 0.92


def test_a_difference_is_that_of_the_estimates(release):
    one, other = release.estimate(BOX), release.estimate((8, 0, 16, 8))
    apart = release.compare(BOX, (8, 0, 16, 8))
    assert apart["count"].value == other.count.count - one.count.count
    for name in ("sum", "mean", "median"):
        before, after, found = getattr(one, name), getattr(other, name), apart.get(name)
        if before is None or after is None:
            assert found is None
            continue
        assert found.value == pytest.approx(after.value - before.value)
        # The margins of either are a part of those of the difference, which are no more than both.
        down, up = found.value - found.low, found.high - found.value
        sums = (after.value - after.low + before.high - before.value,
                after.high - after.value + before.value - before.low)  # fmt: skip
        assert down <= sums[0] * (1 + 1e-9)
        assert up <= sums[1] * (1 + 1e-9)
        assert down >= 0.99 * max(after.value - after.low, before.high - before.value)
    back = release.compare((8, 0, 16, 8), BOX)["count"]
    assert (-back.value, -back.high, -back.low) == pytest.approx(
        (apart["count"].value, apart["count"].low, apart["count"].high)
    )


def test_siblings_have_opposite_errors_and_far_regions_none():
    release = publish()
    one, beside = (Region.of(GRID, box) for box in (BOX, (8, 0, 16, 8)))
    assert correlate(release.streams[0], one, beside) < -0.1
    small = [Region.of(GRID, box) for box in ((0, 0, 1, 1), (15, 15, 16, 16))]
    assert abs(correlate(release.streams[0], *small)) < 0.02
    errors = []
    for trial in range(40):
        rows = publish(key=key_of(trial)).estimate_all([one, beside])
        errors.append([each.sum.value for each in rows])
    found = np.corrcoef(np.array(errors).T)[0, 1]
    assert abs(found - correlate(release.streams[0], one, beside)) < 0.25


def test_two_releases_are_compared_in_every_region():
    first, second = publish(key=key_of(1), classes=EDGES), publish(key=key_of(2), classes=EDGES)
    apart = first.compare(BOX, release=second)
    assert apart["mean"].value == second.estimate(BOX).mean.value - first.estimate(BOX).mean.value
    assert not apart["mean"].is_certain
    assert first.compare(BOX, (8, 0, 16, 8))["count"].is_certain
    # Releases of other edges have medians that differ by the edges alone.
    other = publish(key=key_of(3), classes=EDGES[1:])
    assert first.compare(BOX, release=other)["median"] is None
    assert apart["median"] is not None


@pytest.mark.parametrize("release", ["means"], indirect=True)
def test_what_cannot_be_compared_is_refused(release, public):
    """The same release is known by its numbers."""
    weighed = {"data": rows().append_column("w", pa.array([3] * 20_000)), "weight": "w"}
    two, five = (publish(**weighed, max_weight=most, key=key_of(most)) for most in (2, 5))
    for one, regions, other, code in (
        (release, (BOX, ALL), None, "compare-regions-overlap"),
        (release, (BOX,), None, "compare-regions-overlap"),
        (release, (BOX,), release, "compare-same"),
        (release, (BOX,), geodp.open(public), "compare-same"),
        (release, (BOX,), publish(clip=(0, 900)), "amounts-compare-clips"),
        (two, (BOX,), five, "amounts-compare-weights"),
        (publish(), (BOX,), two, "amounts-compare-weights"),
    ):
        with refuses(UsageError, code):
            one.compare(*regions, release=other)
    again = publish(**weighed, max_weight=2, key=key_of(3))
    assert not two.compare(BOX, release=again)["mean"].is_certain


def test_two_releases_with_equal_counts_are_compared():
    data = pa.table({"x": [0.5] * 50, "y": [0.5] * 50, "income": [100.0] * 50})
    first, second = (publish(data, epsilon=500, key=key_of(trial)) for trial in (1, 2))
    assert np.array_equal(first.count.table.count, second.count.table.count)
    apart = first.compare(BOX, release=second)
    assert apart["count"].value == 0
    assert not apart["mean"].is_certain
