"""Attributes that add up: the map is released as ever, and its parts agree with it."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.joint import split_grid
from geodp.mechanisms import default_method, mechanism
from geodp.mechanisms.central.parts import Parts
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.release.noise_identity import release_digest
from tests.golden.methods import grids, table_of
from tests.ledgers import small_ledger
from tests.refusals import refuses

PLACES = geodp.Grid.regular((32, 32))
GRID = PLACES.with_attribute("sex", ["f", "m"]).with_attribute("age", ["child", "adult", "old"])


def made(people, grid=GRID):
    return geodp.CountTable.from_dense(people, grid)


def published(people, grid=GRID, **given):
    terms = {"epsilon": "1/2", "contribution": 1, "key": geodp.NoiseKey(bytes(range(32)))}
    return geodp.publish(made(people, grid), **{"contribution": 1} | terms | given)


def test_it_is_the_default_where_there_are_attributes(people):
    assert published(people).event.mechanism == "parts"
    assert default_method(PLACES) == "pyramid"
    above = GRID.with_attribute_order("above")
    assert default_method(above) == "pyramid"
    assert geodp.plan(GRID, epsilon=1, contribution=1).name == "parts"


@pytest.mark.parametrize("noise", [{"epsilon": "1/2"}, {"rho": "1/8", "epsilon": None}])
@pytest.mark.parametrize("share", ["1/2", "7/10"])
def test_the_map_is_bit_for_bit_that_of_a_release_without_parts(people, key, noise, share):
    budget = {
        name: None if amount is None else Fraction(amount) * Fraction(share)
        for name, amount in noise.items()
    }
    alone = geodp.publish(
        made(people.sum(axis=(2, 3)), PLACES), key=key, **{"contribution": 1, **budget}
    ).table
    both = published(people, method=f"parts:share={share}", key=key, **noise)
    assert np.array_equal(both.table.to_dense().sum(axis=(2, 3)), alone.to_dense())


def test_the_map_does_not_depend_on_how_people_are_split(people, key):
    other = people[:, :, ::-1]
    one, two = (published(table, key=key).table.to_dense() for table in (people, other))
    assert np.array_equal(one.sum(axis=(2, 3)), two.sum(axis=(2, 3)))
    assert not np.array_equal(one, two)


def test_parts_of_other_people_have_other_noise(people, key):
    """Otherwise two releases of one map would tell the difference of their parts."""
    moved = people.copy()
    moved[tuple(np.argwhere(people[:, :, 0, 1] > 0)[0])] += [[0, -1, 1], [0, 0, 0]]
    one, two = (published(table, key=key, epsilon=4).table.to_dense() for table in (people, moved))
    assert np.array_equal(one.sum(axis=(2, 3)), two.sum(axis=(2, 3)))
    assert (abs(one - two).sum(axis=(0, 1)) > 10).all()


def test_a_ledger_is_charged_once_for_both_and_a_replay_is_free(people, key, tmp_path):
    ledger = small_ledger(tmp_path)
    given = {"key": key, "ledger": ledger, "dataset": "census"}
    one = published(people, **given)
    two = published(people, **given)
    assert two.charge.replay
    assert ledger.spent("census") == PureDP(Fraction(1, 2))
    assert np.array_equal(one.table.count, two.table.count)
    table, method = made(people), Parts()
    base = method.base(table.grid, one.event)
    assert base.event.epsilon == Fraction(1, 4)
    assert release_digest(table, method, one.event) != release_digest(
        method.first(table), base.method, base.event
    )


@pytest.mark.parametrize("where", [name for name in grids() if "attribute" in name])
@pytest.mark.parametrize("amount", [{"epsilon": "1/2"}, {"rho": "1/8"}])
def test_masks_areas_and_regions_hold_all_parts(where, amount):
    grid = grids()[where]
    method = Parts()
    refusal = method.unsupported(grid)
    if "above" in where or "under" in where or "interleaved" in where:
        assert refusal.startswith("parts needs attributes below the cells")
        return
    table = table_of(grid)
    event = method.event(grid, Terms.of(**{"contribution": 1, **amount}), "fixed")
    found = method.release(table, event, geodp.NoiseKey(bytes(32)))
    assert grid.contains_keys(found.key).all()
    assert (found.count > 0).all()


@pytest.mark.law
def test_small_labels_are_not_biased(people):
    """Below the noise of a cell, and above that of all: today's other methods make them larger.

    Five standard errors of the mean of 40 releases.
    """
    old = people[:, :, :, 2].sum()
    sums = []
    for number in range(40):
        found = published(people, epsilon="1/10", key=geodp.NoiseKey(bytes([number]) * 32))
        sums.append(found.table.to_dense()[:, :, :, 2].sum())
    error = np.std(sums, ddof=1) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - old) < 5 * error
    below = geodp.publish(
        made(people), method="pyramid", epsilon="1/10", contribution=1
    ).table.to_dense()
    assert abs(below[:, :, :, 2].sum() - old) > 20 * error, "what it is better than"


@pytest.mark.parametrize("last", [0, 65])
def test_a_weight_of_the_last_level_out_of_range_is_refused(last):
    with refuses(UsageError, r"method-setting-out-of-range: parts:last.*\b64\b"):
        mechanism(f"parts:last={last}")


def test_parts_of_cells_are_known_better_where_their_level_has_more(people):
    """At a budget at which cells are measured, and at the expense of large areas."""
    off = {}
    for last in (1, 8):
        trials = [
            published(
                people,
                method=f"parts:last={last}",
                epsilon=4,
                key=geodp.NoiseKey(bytes([number]) * 32),
            ).table.to_dense()
            - people
            for number in range(4)
        ]
        blocks = np.array(trials).reshape(4, 2, 16, 2, 16, 2, 3).sum(axis=(2, 4))
        off[last] = np.mean(np.abs(trials)), np.mean(np.abs(blocks))
    assert off[8][0] < 0.9 * off[1][0]
    assert off[8][1] > off[1][1]


def test_more_than_64_parts_agree_too():
    rng = np.random.default_rng(3)
    places = geodp.Grid.regular((8, 8))
    grid = places.with_attribute("sex", ["f", "m"]).with_attribute("age", list(map(str, range(60))))
    counts = rng.poisson(rng.gamma(1, 8, (8, 8, 1, 1)) * np.linspace(2, 0, 60), (8, 8, 2, 60))
    found = published(counts, grid, epsilon=20)
    dense = found.table.to_dense()
    alone = geodp.publish(
        made(counts.sum(axis=(2, 3)), places),
        epsilon=10,
        contribution=1,
        key=geodp.NoiseKey(bytes(range(32))),
    ).table.to_dense()
    assert np.array_equal(dense.sum(axis=(2, 3)), alone)
    true = counts.sum(axis=(0, 1, 2))
    assert abs(dense.sum(axis=(0, 1, 2)) - true).max() < 60


def test_what_it_cannot_take_is_refused_in_a_sentence(people):
    grid = geodp.Grid.regular((2, 2)).with_attribute("one", list(map(str, range(64))))
    most = grid.with_attribute("other", list(map(str, range(64))))
    assert split_grid(most).parts == 4096
    assert Parts().unsupported(most) is None
    many = grid.with_attribute("other", list(map(str, range(65))))
    assert "at most 4,096 combinations" in Parts().unsupported(many)
    # Never another method in silence, which biases small labels by far more than it states.
    for ask in (default_method, lambda one: geodp.plan(one, epsilon=1, contribution=1)):
        with refuses(UsageError, "parts-too-many-combinations: this grid has 4,160"):
            ask(many)
    with refuses(UsageError, "parts-too-many-combinations"):
        published(np.ones(many.shape, int), many)
    assert geodp.plan(many, epsilon=1, contribution=1, method="pyramid").name == "pyramid"
    for share in ("0", "1", "3/2"):
        with refuses(UsageError, "method-setting-out-of-range"):
            mechanism(f"parts:share={share}")
    with refuses(UsageError, "method-has-no-measurements"):
        published(people, measurements=True)


def test_without_attributes_it_is_the_pyramid(people, key):
    table = made(people.sum(axis=(2, 3)), PLACES)
    one, two = (
        geodp.publish(table, method=name, epsilon=1, key=key, contribution=1).table
        for name in ("parts", "pyramid")
    )
    assert np.array_equal(one.key, two.key)
    assert np.array_equal(one.count, two.count)


def test_visited_are_the_nodes_with_somebody_times_the_parts(people):
    found = published(people).table
    cell = split_grid(GRID).split(found.key)[0]
    nodes = sum(np.unique(cell // np.uint64(1 << bits)).size for bits in (10, 8, 4, 0))
    assert Parts().visited(found) == 6 * nodes


def test_threads_do_not_show(people, monkeypatch):
    from geodp.mechanisms.parts import chain

    whole = published(people).table
    monkeypatch.setattr(chain, "ENTRIES", 64)
    cut = published(people).table
    assert np.array_equal(whole.key, cut.key)
    assert np.array_equal(whole.count, cut.count)
