"""What a threshold drops is counted in intervals: bounds, sums, and coverage."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import geodp
from geodp.accuracy.margins import DROPPED, MARGINS, UNKNOWN, margins_of
from geodp.accuracy.reach import RegionKeys, reach, strength
from geodp.accuracy.variance import Drop, find_moved
from geodp.grid.region import Region
from geodp.io.verify.verify import verify
from geodp.release.card import state_cells
from geodp.release.remaking import errors_of
from tests.grids import half, masked

GRID = geodp.Grid.regular((64, 64))
ROW, COL = np.indices(GRID.shape)
METHODS = ["pyramid:prune=2", "pyramid:prune=7/2", "pyramid:prune=7/2,setting=R,passes=1"]


def villages(seed, unit):
    """Three of ten cells have people, most of them about as many as the threshold drops."""
    random = np.random.default_rng(seed)
    people = random.exponential(3 * unit, GRID.shape) * (random.random(GRID.shape) < 0.3)
    return geodp.CountTable.from_dense(np.rint(people).astype(np.int64), GRID)


def regions_of(table):
    """Rectangles, discs, and, as nobody would choose them, the inhabited and the empty of them."""
    random = np.random.default_rng(0)
    people, found = table.to_dense(), {}
    for number in range(6):
        row, col = random.integers(4, 60, 2)
        disc = (ROW - row) ** 2 + (COL - col) ** 2 < random.integers(2, 20) ** 2
        low, high = np.sort(random.integers(0, 64, (2, 2)), axis=0)
        box = (low[0] <= ROW) & (high[0] >= ROW) & (low[1] <= COL) & (high[1] >= COL)
        found |= {f"disc {number}": disc, f"box {number}": box}
        found[f"inhabited {number}"] = disc & (people > 0)
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


@pytest.mark.parametrize("grid", [GRID, masked(GRID, half(GRID.shape, 0))], ids=["all", "half"])
@pytest.mark.parametrize("method", METHODS)
def test_many_cells_at_once_have_what_regions_of_one_have(grid, method):
    people = np.where(grid.domain.to_dense(), villages(1, 30).to_dense(), 0)
    table = geodp.CountTable.from_dense(people, grid)
    release = geodp.publish(table, method=method, epsilon="1/10", contribution=1)
    tree, domain = release.method.tree_variance(grid, release.event), grid
    key = np.sort(grid.domain.keys_of_ranks(np.arange(0, grid.domain.cells, 13)))
    cells = RegionKeys(key, np.arange(key.size))
    found = reach(tree, release.node_sums, cells, strength(tree, cells, False), domain)
    both = np.concatenate(
        [paths.moved for _, paths, *_ in release.intervals().climb_paths(key)], axis=1
    )
    np.testing.assert_allclose(both, found.moved)
    assert both.max() > 0


def hold(release, table, regions):
    """Whether intervals hold the true counts: of all cells, and of regions in two ways."""
    truth = np.array([table.counts_at(one.key).sum() for one in regions])
    low, high = release.intervals().of(np.arange(GRID.size, dtype=np.uint64))
    people = table.counts_at(np.arange(GRID.size, dtype=np.uint64))
    found = [((low <= people) & (people <= high))[people > 0]]
    for how in ("closed-form", "simulation"):
        some = release.estimate_all(regions, method=how)
        found.append([a.low <= b <= a.high for a, b in zip(some, truth, strict=True)])
    return found


@pytest.mark.law
@pytest.mark.parametrize("method", METHODS)
def test_at_least_94_percent_of_intervals_hold_what_was_dropped(method, monkeypatch):
    monkeypatch.setattr("geodp.release.simulation.RELEASES", 60)
    held = [[], [], []]
    for seed in range(3):
        table = villages(seed, 30)
        regions = list(regions_of(table).values())
        release = geodp.publish(
            table,
            method=method,
            epsilon="1/10",
            contribution=1,
            key=geodp.NoiseKey(bytes([seed] * 32)),
        )
        for some, now in zip(held, hold(release, table, regions), strict=True):
            some += list(now)
    for kind, some in zip(("cells", "closed form", "simulation"), held, strict=True):
        assert np.mean(some) >= 0.94, kind


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
    monkeypatch.setattr("geodp.release.simulation.RELEASES", 60)
    cells, _, simulated = hold(
        geodp.Release(release.table), table, list(regions_of(table).values())
    )
    assert np.mean(cells) < 0.93
    assert np.mean(simulated) < 0.9


def test_margins_are_those_of_the_next_larger_threshold():
    assert margins_of(()) is MARGINS
    up = [margins_of((Drop(2.0 * p, 2.0),)).up for p in (*DROPPED, Fraction(7, 2))]
    assert np.array_equal(up[-1], margins_of((Drop(4.0, 1.0),)).up)
    known = [side[np.isfinite(side)] for side in up[:-1]]
    assert all((a <= b).all() for a, b in pairwise(known))
    assert margins_of((Drop(5.1, 1.0),)) is UNKNOWN
    assert margins_of((Drop(1.0, 0.0),)) is UNKNOWN  # Gaussian: nobody measured it


def test_a_card_says_which_intervals_count_what_was_dropped(tmp_path):
    table = villages(0, 30)
    for method, version in (("pyramid", 4), ("pyramid:prune=2", 5)):
        release = geodp.publish(table, method=method, epsilon="1/10", contribution=1)
        assert state_cells(release).version == version
    release.write(tmp_path / "new")
    assert "computed again" in str(verify(tmp_path / "new", errors_of))
    far = state_cells(release)
    assert far.isolated >= max(drop.threshold for drop in release.intervals().tree.drops)
