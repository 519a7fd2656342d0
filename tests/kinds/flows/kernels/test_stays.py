"""Stays of records: kernels against slow twins, and each rule by itself."""

from collections import Counter

import numpy as np
import pytest

from geodp.kinds.flows.kernels import stays
from tests.kinds.flows.slow_stays import trips_of_records, trips_of_stays

LIMITS = (200, 50, 60, 300)
"""Radius, speed, dwell and gap, in centimetres and seconds."""


def trips_by_kernel(rows, limits=LIMITS):
    """Return the trips of sorted rows (unit, time, position, zone), as unit and pair of zones."""
    unit, time, position, zone = (list(one) for one in zip(*rows, strict=True))
    unit, time = np.array(unit, np.int64), np.array(time, np.int64)
    at = tuple(np.array(axis, np.int32) for axis in zip(*position, strict=True))
    zone, kept = np.array(zone, np.uint64), np.empty(len(rows), np.int64)
    kept = kept[: stays.select_records(unit, time, at, zone, limits[0], limits[1], kept)]
    within, first = np.empty(kept.size, np.bool_), np.empty(kept.size // 2, np.int64)
    place, follows = np.empty(first.size, np.uint64), np.empty(first.size, np.bool_)
    n = stays.find_stays(unit, time, at, zone, kept, limits, within, first, place, follows)
    assert within[first[:n]].all()
    ends = np.flatnonzero(follows[:n])
    found = zip(unit[kept[first[ends]]], place[ends - 1], place[ends], strict=True)
    return [tuple(int(one) for one in trip) for trip in found]


def made(seed, units=6, rows=160):
    """Rows of persons who stay, walk, jump, and report several times in a second."""
    draw = np.random.default_rng(seed)
    found = []
    for unit in range(units):
        time, place = 0, draw.integers(-1000, 1000, 3)
        for _ in range(int(draw.integers(1, rows))):
            time += int(draw.choice([0, 1, 10, 30, 200, 400], p=[0.1, 0.2, 0.3, 0.3, 0.08, 0.02]))
            if draw.random() < 0.1:
                place = place + draw.integers(-400, 400, 3)
            jump = draw.integers(-(10**6), 10**6, 3) if draw.random() < 0.05 else 0
            seen = place + draw.integers(-60, 60, 3) + jump
            found.append((unit, time, tuple(map(int, seen)), int(draw.integers(0, 5))))
    return sorted(found)


def at_line(*records, zone=None):
    """Rows of one unit: (time, metres on a line), each in its own zone or in that of the metre."""
    return [(0, t, (100 * x, 0, 0), (x + 500) // 10 if zone is None else zone) for t, x in records]


def trips_on_line(*records):
    return [(o * 10 - 500, d * 10 - 500) for _, o, d in trips_by_kernel(at_line(*records))]


@pytest.mark.parametrize("seed", range(60))
def test_trips_are_those_of_the_twin(seed):
    rows = made(seed)
    wanted = []
    for unit in sorted({row[0] for row in rows}):
        own = [row[1:] for row in rows if row[0] == unit]
        wanted += [(unit, *trip) for trip in trips_of_records(own, *LIMITS)]
    assert trips_by_kernel(rows) == wanted


def test_the_twin_is_asked_about_every_rule():
    """Each rule changes the trips of what is made, so that none of them could be left out."""
    radius, speed, dwell, gap = LIMITS
    others = [(radius, 10**6, dwell, gap), (radius, speed, dwell, 10**6), (radius, speed, 1, gap)]
    rows = [row for seed in range(20) for row in made(seed)]
    for limits in [*others, (50, speed, dwell, gap)]:
        assert any(
            trips_by_kernel(made(seed), limits) != trips_by_kernel(made(seed)) for seed in range(20)
        )
    assert len(rows) > 5000


def test_a_run_that_is_long_enough_is_a_stay():
    assert trips_on_line((0, 0), (60, 0), (100, 20), (160, 20)) == [(0, 20)]
    assert trips_on_line((0, 0), (59, 0), (100, 20), (160, 20)) == []


def test_records_are_within_the_radius_of_the_first():
    assert trips_on_line((0, 0), (60, 2), (100, 20), (160, 22)) == [(0, 20)]
    # From 3 metres away another run begins, of one record.
    assert trips_on_line((0, 0), (60, 3), (100, 20), (160, 22)) == []


def test_nothing_extends_over_a_gap():
    assert trips_on_line((0, 0), (60, 0), (360, 20), (420, 20)) == [(0, 20)]
    assert trips_on_line((0, 0), (60, 0), (361, 20), (421, 20)) == []
    # Before and after a gap a person is at the same place: two stays without a trip.
    assert trips_on_line((0, 0), (60, 0), (361, 0), (421, 0), (470, 20), (530, 20)) == [(0, 20)]
    # A gap on the way.
    assert trips_on_line((0, 0), (60, 0), (100, 10), (401, 20), (500, 20)) == []


def test_a_stay_that_is_resumed_soon_is_one():
    left = ((0, 0), (60, 0), (80, 9))
    assert trips_on_line(*left, (120, 0), (180, 0), (250, 20), (310, 20)) == [(0, 20)]
    # After more than the dwell it is a trip, there and back.
    assert trips_on_line(*left, (121, 0), (181, 0), (250, 20), (310, 20)) == [(0, 0), (0, 20)]
    # Without a record between, at any time up to the gap.
    assert trips_on_line((0, 0), (60, 2), (250, -1), (330, -1)) == []


def test_a_record_that_nobody_can_have_reached_is_left_out():
    assert trips_on_line((0, 0), (60, 0), (70, 9000), (80, 0), (130, 20), (200, 20)) == [(0, 20)]
    # Two of them are a step that breaks: what is before and after is kept, and no trip across.
    there = ((0, 0), (60, 0), (70, 9000), (80, 9001), (90, 0), (160, 0), (200, 20), (270, 20))
    assert trips_on_line(*there) == [(0, 20)]
    # Of two phones with one id, far apart, nothing remains but what is before the first jump.
    both = [(10 * n, 9000 * (n % 2)) for n in range(40)]
    assert trips_on_line(*both) == []


def test_of_one_second_the_lowest_record_counts():
    # Without the record at 20 metres in the same second a stay ends there.
    assert trips_on_line((0, 0), (60, 0), (60, 20), (100, 20), (160, 20)) == [(0, 20)]
    rows = [(0, 5, (3, 0, 0), 1), (0, 5, (2, 9, 9), 2), (0, 5, (2, 9, 9), 0)]
    kept = np.empty(3, np.int64)
    at = tuple(np.array(axis, np.int32) for axis in zip(*(row[2] for row in rows), strict=True))
    one, zone = np.zeros(3, np.int64), np.array([row[3] for row in rows], np.uint64)
    assert stays.select_records(one, one, at, zone, 1, 1, kept) == 1
    assert kept[0] == 2


def test_a_stay_is_resumed_near_the_mean_of_all_its_records():
    # At 0, at 2 and at 3.8 m: within 2 m of the mean of what was before, but not of the first.
    rows = [(0, 60 * n, (0, 0, 0), 1) for n in range(2)] + [(0, 80, (900, 0, 0), 3)]
    rows += [(0, 110 + 60 * n, (200, 0, 0), 2) for n in range(40)] + [(0, 2480, (900, 0, 0), 3)]
    rows += [(0, 2505 + 60 * n, (380, 0, 0), 4) for n in range(2)]
    rows += [(0, 2665 + 60 * n, (2000, 0, 0), 7) for n in range(2)]
    assert trips_by_kernel(rows) == [(0, 2, 7)]


def test_the_largest_distances_do_not_overflow():
    radius = 637_813_700
    across = [(0, 0, (radius, 0, 0), 1), (0, 60, (radius, 0, 0), 1)]
    across += [(0, 10**6, (-radius, 0, 0), 2), (0, 10**6 + 60, (-radius, 0, 0), 2)]
    assert trips_by_kernel(across, (100, 5_000, 60, 10**7)) == [(0, 1, 2)]
    assert trips_by_kernel(across, (100, 1_000, 60, 10**7)) == []
    far = [(0, 0, (0, 0, 0), 1), (0, 60, (0, 0, 0), 1)]
    far += [(0, 10**11, (radius, 0, 0), 2), (0, 10**11 + 60, (radius, 0, 0), 2)]
    assert trips_by_kernel(far, (100, 10**7, 60, 2**62)) == [(0, 1, 2)]


def chained(rows, gap):
    """Return the trips of sorted rows (unit, begin, end, zone), as unit and pair of zones."""
    unit, begin, end, zone = (np.array(one) for one in zip(*rows, strict=True))
    zone, first = zone.astype(np.uint64), np.empty(unit.size, np.int64)
    follows = np.empty(unit.size, np.bool_)
    n = stays.chain_stays(unit, begin, end, zone, gap, first, follows)
    ends = np.flatnonzero(follows[:n])
    found = zip(unit[first[ends]], zone[first[ends - 1]], zone[first[ends]], strict=True)
    return [tuple(int(one) for one in trip) for trip in found]


@pytest.mark.parametrize("seed", range(40))
def test_trips_of_stays_are_those_of_the_twin(seed):
    draw = np.random.default_rng(seed)
    rows, gap = [], int(draw.choice([0, 5, 2**63 - 1]))
    for unit in range(5):
        for _ in range(int(draw.integers(1, 30))):
            begin = int(draw.integers(0, 100))
            rows.append((unit, begin, begin + int(draw.integers(0, 9)), int(draw.integers(0, 3))))
    wanted = Counter()
    for unit in range(5):
        own = [row[1:] for row in rows if row[0] == unit]
        wanted.update((unit, *trip) for trip in trips_of_stays(own, gap))
    assert Counter(chained(sorted(rows), gap)) == wanted


def test_stays_without_an_end_in_their_period_follow():
    before, after = -(2**63), 2**63 - 1
    rows = [(0, before, 50, 1), (0, 90, after, 2), (0, 100, 120, 1), (1, before, after, 3)]
    assert chained(rows, 2**63 - 1) == [(0, 1, 2), (0, 2, 1)]
    assert chained(rows, 39) == [(0, 2, 1)]


def test_no_trip_leads_to_a_stay_of_the_same_begin():
    before, after = -(2**63), 2**63 - 1
    # Both began before the period: it is not known which was first.
    assert chained([(0, before, after, 2), (0, before, after, 5)], 2**63 - 1) == []
    rows = [(0, before, 30, 2), (0, before, 40, 5), (0, 50, 60, 2), (0, 50, 60, 5), (0, 70, 80, 1)]
    assert chained(rows, 2**63 - 1) == [(0, 5, 2), (0, 5, 1)]
    # A stay that was joined began with its first row.
    rows = [(0, 10, 20, 1), (0, 15, 25, 1), (0, 15, 30, 2)]
    assert chained(rows, 0) == [(0, 1, 2)]
