"""Slices of rows, and the memory of what is done with some rows at a time."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import geodp
from geodp.kinds.flows import estimator
from geodp.kinds.flows.estimates import ListedPairs
from geodp.kinds.flows.estimator import (
    SLAB,
    NoisyPairs,
    estimate_flows,
    fit_pairs,
    sort_counts,
    split_rows,
)
from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.streams import TripStreams
from geodp.kinds.flows.zones import Zones, pairs_of

ZONES = Zones.of(geodp.Grid.regular((48, 48)))
PAIRS = ZONES.number**2
SPARE = 24 << 20
"""Bytes for a few slabs of one MiB or two, and for all that has the size of the zones."""


def peak_of(run):
    """Return the most bytes of arrays that a call held at once, beside what there was before."""
    tracemalloc.start()
    try:
        made = run()
        return tracemalloc.get_traced_memory()[1], made
    finally:
        tracemalloc.stop()


def measure(zones):
    """Draw both ends and noisy pairs of few trips: zones, and blocks of 4 by 4 of them."""
    draw, noisy = np.random.default_rng(1), []
    ends = tuple(draw.poisson(30, zones.number) for _ in range(2))
    ends[0][0] += max(ends[1].sum() - ends[0].sum(), 0)
    ends[1][0] += max(ends[0].sum() - ends[1].sum(), 0)
    for side in (1, 4):
        blocks = zones.blocks(side)
        expected = blocks.sums(ends[0])[:, None] * blocks.sums(ends[1]) / ends[0].sum()
        counts = draw.poisson(expected) + draw.integers(-2, 3, expected.shape)
        noisy.append(NoisyPairs(blocks, counts, 2.0))
    return ends, noisy


@pytest.fixture(scope="module")
def measured():
    return measure(ZONES)


@pytest.mark.parametrize("columns", [1, 7, 4096, SLAB, 3 * SLAB])
def test_slices_hold_every_row_once_and_few_entries(columns):
    rows = [*split_rows((1001, columns))]
    assert (rows[0].start, rows[-1].stop) == (0, 1001)
    assert all(one.stop == other.start for one, other in pairwise(rows))
    assert all((one.stop - one.start) * columns <= max(SLAB, columns) for one in rows)
    assert [*split_rows((0, columns))] == []


def test_flows_take_one_array_of_all_pairs_beside_the_noisy_ones(measured):
    """Of 8 bytes a pair, and 2 of its entry; a tenth more for larger blocks; and listed flows."""
    ends, noisy = measured
    peak, flows = peak_of(lambda: estimate_flows(ZONES, ends, noisy, 1))
    listed = flows.count.size
    assert 8 * PAIRS < peak < 1.1 * 10 * PAIRS + 40 * listed + SPARE
    margins = tuple(noisy[0].blocks.sums(one) for one in ends)
    fitted, _ = peak_of(lambda: fit_pairs(ZONES, margins, noisy, flows.decay))
    assert 8 * PAIRS < fitted < 1.1 * 10 * PAIRS + SPARE


def test_a_prior_takes_one_more_while_it_is_weighed(measured):
    ends, noisy = measured
    origin, destination = np.divmod(np.arange(0, PAIRS, 50), ZONES.number)
    prior = FlowsPrior(ZONES.number, origin, destination, np.full(origin.size, 3), "a survey")
    peak, _ = peak_of(lambda: estimate_flows(ZONES, ends, noisy, 1, 5.0, prior))
    assert peak < 2.2 * 8 * PAIRS + 40 * PAIRS // 10 + SPARE


def test_slabs_change_no_bit(monkeypatch):
    """All rows at once, and a few rows at a time, give the same flows."""
    zones = Zones.of(geodp.Grid.regular((16, 16)))
    ends, noisy = measure(zones)
    found = []
    for size in (SLAB, 5 * zones.number, 1):
        monkeypatch.setattr(estimator, "SLAB", size)
        flows = estimate_flows(zones, ends, noisy, 7)
        fitted = estimator.fit_pairs(zones, ends, noisy, flows.decay)
        found.append((*(one.tobytes() for one in flows.join()), fitted.expected.flows.tobytes()))
    assert found[0] == found[1] == found[2]


def test_trips_take_few_bytes_a_pair_beside_their_table():
    """They have no array of all keys or places, and neither has the listing of a release much."""
    grid = pairs_of(ZONES.grid)
    key = np.sort(grid.domain.keys_of_ranks(np.arange(0, PAIRS, 2)))
    table = geodp.CountTable.from_keys(grid, key, np.ones(key.size, np.int64))
    peak, trips = peak_of(lambda: TripStreams.of(table, ZONES))
    assert trips.origins.count.sum() == trips.destinations.count.sum() == key.size
    assert peak < SPARE < 16 * key.size
    counted, pairs = peak_of(lambda: trips.pairs(1))
    assert pairs.sum() == key.size
    assert counted < 8 * PAIRS + SPARE
    listing, listed = peak_of(lambda: ListedPairs.of(ZONES, table))
    assert listed.count.sum() == key.size
    # Destinations as integers of two bytes, labels and counts of one.
    assert listing < 4 * key.size + SPARE


def test_sorting_takes_a_buffer_alone():
    key = np.random.default_rng(1).permutation(1 << 22).astype(np.uint64)
    count = key.view(np.int64).copy()
    peak, _ = peak_of(lambda: sort_counts(key, count))
    assert np.array_equal(key, np.arange(1 << 22))
    assert peak < 20 * estimator.SORTED
