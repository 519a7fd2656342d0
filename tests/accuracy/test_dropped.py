"""What a threshold drops is counted in intervals: bounds, sums, and coverage."""

from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.accuracy.variance import Drop, find_moved
from geodp.grid.region import Region

GRID = geodp.Grid.regular((64, 64))
ROW, COL = np.indices(GRID.shape)
METHODS = ["pyramid:prune=2", "pyramid:prune=7/2", "pyramid:prune=7/2,setting=R,passes=1"]


def villages(seed, unit):
    """Three of ten cells have people, most of them about as many as the threshold drops."""
    random = np.random.default_rng(seed)
    people = random.exponential(3 * unit, GRID.shape) * (random.random(GRID.shape) < 0.3)
    return geodp.CountTable.from_dense(np.rint(people).astype(np.int64), GRID)


def regions_of():
    """Rectangles and discs."""
    random = np.random.default_rng(0)
    found = {}
    for number in range(20):
        row, col = random.integers(4, 60, 2)
        disc = (ROW - row) ** 2 + (COL - col) ** 2 < random.integers(2, 20) ** 2
        low, high = np.sort(random.integers(0, 64, (2, 2)), axis=0)
        box = (low[0] <= ROW) & (high[0] >= ROW) & (low[1] <= COL) & (high[1] >= COL)
        found |= {f"disc {number}": disc, f"box {number}": box}
    return {name: Region.of(GRID, np.argwhere(some).T) for name, some in found.items()}


@pytest.mark.parametrize("seed", range(3))
def test_children_hide_no_more_than_is_said(seed):
    """Where noise lifts some of many equal children over the threshold."""
    random, drop = np.random.default_rng(seed), Drop(3.5, 1.0)
    for children in (8, 64, 1000):
        held = random.uniform(0, drop.threshold, 4000)
        noisy = held[:, None] + random.laplace(0, drop.scale, (held.size, children))
        kept = (noisy >= drop.threshold).sum(axis=1)
        most = drop.max_people(np.full(held.size, children), kept)
        assert np.mean(held <= most) >= 0.97
        assert np.mean(held <= 0.5 * most) < 0.95
        assert (most <= drop.threshold).all()
    assert Drop(3.5, 0.0).max_people(np.array([64]), np.array([1])) == [3.5]


def test_moved_people_are_those_of_dropped_children_with_siblings_elsewhere():
    """One node: 3 dropped and 1 kept in the region, 2 dropped and 3 kept outside; none is cut."""
    zero, kept = np.array([[3.0], [0.0], [2.0]]), np.array([[1.0], [0.0], [3.0]])
    drop = Drop(10.0, 0.0)
    both = find_moved(zero, kept, np.array([[1e9], [1e9]]), drop, None)
    assert both.tolist() == [[3 * 10 * 3 / 4], [2 * 10 * 1 / 4]]
    held = np.array([[7.0], [2.0]])  # so many people are outside, and inside
    assert find_moved(zero, kept, held, drop, np.array([0])).tolist() == [[7.0], [2.0]]
    alone = find_moved(zero, kept * [[1], [1], [0]], held, drop, None)  # nobody is kept outside
    assert alone.tolist() == [[0.0], [2.0]]


def hold(release, table, regions):
    """Whether intervals hold the true counts: of cells, and of regions."""
    truth = np.array([table.counts_at(one.key).sum() for one in regions])
    low, high = release.intervals().of(np.arange(GRID.size, dtype=np.uint64))
    people = table.counts_at(np.arange(GRID.size, dtype=np.uint64))
    some = release.estimate_all(regions)
    return (
        (low <= people) & (people <= high),
        [a.low <= b <= a.high for a, b in zip(some, truth, strict=True)],
    )


@pytest.mark.law
@pytest.mark.parametrize("method", METHODS)
def test_intervals_hold_what_was_dropped(method):
    held = [[], []]
    for seed in range(3):
        table = villages(seed, 30)
        release = geodp.publish(
            table,
            method=method,
            epsilon="1/10",
            contribution=1,
            key=geodp.NoiseKey(bytes([seed] * 32)),
        )
        now = hold(release, table, list(regions_of().values()))
        for some, more in zip(held, now, strict=True):
            some += list(more)
    for kind, some in zip(("cells", "regions"), held, strict=True):
        assert np.mean(some) >= 0.93, kind


@pytest.mark.law
def test_intervals_that_do_not_count_what_was_dropped_would_be_caught(monkeypatch):
    table = villages(0, 30)
    release = geodp.publish(
        table,
        method="pyramid:prune=7/2",
        epsilon="1/10",
        contribution=1,
        key=geodp.NoiseKey(bytes(32)),
    )
    tree = replace(release.method.tree_variance(GRID, release.event), drops=())
    monkeypatch.setattr(type(release.method), "tree_variance", lambda *_: tree)
    cells, regions = hold(geodp.Release(release.table), table, list(regions_of().values()))
    assert np.mean(cells) < 0.9
    assert np.mean(regions) < 0.9
