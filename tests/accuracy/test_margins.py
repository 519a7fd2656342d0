"""Margins of single cells: classes, the table in the code, and what a tally says is needed."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.cell_interval import cell_intervals
from geodp.accuracy.closed_form import keys_of_domain
from geodp.accuracy.margins import (
    MARGINS,
    MIN_MARGIN,
    UNKNOWN,
    read_margins,
    span_of,
)
from geodp.privacy.key import NoiseKey
from geodp.release.settlements import ENOUGH, FURTHEST, STEPS, ErrorTally, largest
from tests.grids import half, masked

GRID = geodp.Grid.regular((64, 64))
ROW, COL = np.indices((64, 64))


def publish(people, method="pyramid:setting=R", grid=GRID, **more):
    table = geodp.CountTable.from_dense(people, grid)
    return geodp.publish(
        table, method=method, epsilon="1/10", key=NoiseKey(bytes(32)), **more, contribution=1
    )


def ends(release, margins, key):
    return cell_intervals(release.method, release.table, None, margins=margins).of(key)


def test_the_node_around_a_cell_has_16_keys_or_more():
    assert [span_of(chain) for chain in ((2,) * 9, (4, 8), (8, 64), (16, 8, 4, 4), (2, 2))] == [
        *(16, 32, 64, 16, 4),
    ]


def test_margins_are_infinite_where_nothing_is_known():
    found = read_margins("1/2 - - - -\n- 3/4 - - -\n- - - - -\n- - - - 5/6")
    at = np.array([0, 5, 19])
    assert found.down.reshape(-1)[at].tolist() == [1, np.inf, 5]
    assert found.up.reshape(-1)[at].tolist() == [2, np.inf, 6]
    assert np.isinf(UNKNOWN.up).all()
    assert UNKNOWN.up.shape == MARGINS.up.shape


def test_cells_with_company_are_narrower_than_the_closed_form_and_lone_ones_stay():
    """On a coast the closed form of a cell is that of all of its node's doubtful cells."""
    people = np.where(COL < 24 + ROW % 7, 2_000, 0)
    people[50, 60] = 5_000
    release = publish(people)
    key = release.table.key
    whole, own = ends(release, UNKNOWN, key), ends(release, MARGINS, key)
    alone = GRID.encode(np.array([[50], [60]]))
    assert (own[0] >= whole[0]).all()
    assert (own[1] <= whole[1]).all()
    shore = GRID.encode(np.array([ROW[:, 0], 23 + ROW[:, 0] % 7]))
    wide, narrow = (np.subtract(*ends(release, one, shore)[::-1]) for one in (UNKNOWN, MARGINS))
    assert narrow.mean() < 0.85 * wide.mean()
    held = np.isin(key, alone)
    np.testing.assert_array_equal(np.array(whole)[:, held], np.array(own)[:, held])


def test_a_tally_finds_the_margins_that_hold_what_was_put_in():
    tally = ErrorTally()
    errors = np.round(np.linspace(-6, 4, 10 * STEPS + 1) * STEPS).astype(int) + FURTHEST * STEPS
    np.add.at(tally.cells, (3, 3, errors), 1)
    tally.cells[1, 3, FURTHEST * STEPS] = ENOUGH - 1  # too few to be asked
    tally.cells[1, 5, FURTHEST * STEPS] = ENOUGH  # all without an error
    found = tally.margins()
    down, up = found.down.reshape(-1), found.up.reshape(-1)
    assert (down[3], up[3]) == pytest.approx((3.75, 5.75), abs=0.02)
    assert (down[5], up[5]) == (MIN_MARGIN, MIN_MARGIN)
    assert np.isinf(np.delete(up, [3, 5])).all()
    empty, few, some, populous = tally.held(found)
    assert np.isnan([empty, some]).all()
    assert few == 1
    assert populous == pytest.approx(0.95, abs=0.005)
    assert tally.shows_losses().reshape(-1).nonzero()[0].tolist() == [3]
    most = largest([found, UNKNOWN, read_margins("\n".join(["- - - 9/1 7/8"] + ["- - - - -"] * 3))])
    assert (most.down.reshape(-1)[3], most.up.reshape(-1)[3]) == pytest.approx((9, up[3]))
    assert (most.down[0, 4], most.up[0, 4]) == (7, 8)


def test_a_tally_counts_the_cells_that_have_company():
    people = np.where(COL < 30, 3_000, 0)
    release = publish(people)
    tally = ErrorTally()
    tally.add(geodp.CountTable.from_dense(people, GRID), release.table, release.intervals())
    empty, few, some, populous = tally.cells.sum(axis=(1, 2))
    assert populous > 0.9 * 30 * 64
    assert 0 < empty < 34 * 64
    assert few == some == 0
    assert all(share > 0.95 for share in tally.held(MARGINS) if share == share)


@pytest.mark.parametrize("mean", [60, 400])
def test_a_cell_is_isolated_without_another_of_three_standard_errors_in_its_node(mean):
    """The rule of the documents, by released counts; a smaller listed cell is no company."""
    people = np.random.default_rng(mean).poisson(mean, (64, 64)) * (COL < 30)
    release = publish(people)
    intervals, key = release.intervals(), np.arange(64 * 64, dtype=np.uint64)
    count = release.table.counts_at(key)
    sure = count >= 3 * np.sqrt(intervals.tree.variances[-1])
    node = (key // np.uint64(span_of(intervals.tree.fanouts))).astype(np.int64)
    assert np.bincount(node).min() >= 16
    others = np.bincount(node, sure)[node] - sure
    listed = np.bincount(node, count > 0)[node] - (count > 0)
    isolated = intervals.classes(key) < 0
    assert np.array_equal(isolated, others == 0)
    assert 0 < isolated.sum() < key.size
    assert (isolated & (listed > 0)).any()


FORMS = {"map": GRID, "mask": masked(geodp.Grid.regular((40, 33)), half((40, 33), 5))}


@pytest.mark.parametrize("method", ["pyramid:setting=R", "topdown", "laplace"])
@pytest.mark.parametrize("form", FORMS)
def test_the_card_states_how_far_cells_that_are_not_listed_may_be_off(form, method):
    grid = FORMS[form]
    rng = np.random.default_rng(4)
    key = np.sort(keys_of_domain(grid))
    count = rng.poisson(700, key.size) * (rng.random(key.size) < 0.2) * (key < key[key.size // 2])
    table = geodp.CountTable.from_keys(grid, key[count > 0], count[count > 0])
    release = geodp.publish(
        table, method=method, epsilon="1/10", key=NoiseKey(bytes(32)), contribution=1
    )
    stated = release.card().expected_error.cells
    free = key[release.table.counts_at(key) == 0]
    low, high = release.intervals().of(free)
    beside = np.ones(free.size, np.bool_)
    if release.method.nonnegative:
        beside = release.intervals().classes(free) >= 0
        assert 0 < beside.sum() < free.size
    slack = 1 + 1e-5  # six digits
    assert (low >= stated.low * slack).all()
    assert high[beside].max(initial=0) <= stated.beside * slack
    assert high[~beside].max(initial=0) <= stated.isolated * slack
    assert stated.simulated is None
    if release.method.nonnegative:
        assert stated.low == 0
        assert high.max() > 0.3 * stated.beside


def test_the_margins_of_public_maps_hold_cells_of_made_up_ones():
    """A coast with thirty times the noise in every cell, and one with as many as the noise."""
    for people in (np.where(COL < 30 + ROW % 11, n, 0) for n in (1_000, 32)):
        table, held = geodp.CountTable.from_dense(people, GRID), np.zeros(2)
        key = np.sort(keys_of_domain(GRID))
        truth = people[tuple(GRID.decode(key))]
        for number in range(6):
            noise = NoiseKey((1 + number).to_bytes(32, "little"))
            release = geodp.publish(table, epsilon="1/10", key=noise, contribution=1)
            low, high = release.intervals().of(key)
            inside = (low <= truth) & (truth <= high)
            held += inside[truth > 0].mean() / 6, inside[truth == 0].mean() / 6
        assert min(held) >= 0.94
