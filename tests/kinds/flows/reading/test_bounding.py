"""Which trips of a person are kept: by the person's own trips and the key alone."""

import numpy as np
import pyarrow as pa
import pytest

from geodp import UsageError
from geodp.kinds.flows.reading.units import MOST_TRIPS, TripBound, number_runs, require_bounds
from geodp.privacy.key import NoiseKey
from tests.refusals import refuses

KEY = NoiseKey(bytes(range(32)))


def kept(names, key, trips, per_pair=10**4, secret=KEY):
    bound, pairs = TripBound(trips, per_pair, secret), np.array(key, np.uint64)
    return sorted(pairs[bound.keep(pa.array(names), pairs)].tolist())


def made(seed, persons=40, rows=400):
    draw = np.random.default_rng(seed)
    return [f"p{n}" for n in draw.integers(0, persons, rows)], draw.integers(0, 30, rows).tolist()


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_no_person_keeps_more_and_none_fewer_than_there_are(trips):
    names, key = made(1)
    for name in set(names):
        own = [k for n, k in zip(names, key, strict=True) if n == name]
        assert len(kept([name] * len(own), own, trips)) == min(trips, len(own))


def test_the_order_of_rows_of_different_weights_does_not_matter():
    names, key = made(5, rows=200)
    weight = np.random.default_rng(5).integers(1, 4, 200)
    found = set()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(200)
        pairs, own = np.array(key, np.uint64)[order], weight[order]
        at = TripBound(3, 2, KEY).keep(pa.array([names[i] for i in order]), pairs, own)
        found.add(tuple(sorted(zip(pairs[at].tolist(), own[at].tolist(), strict=True))))
    assert len(found) == 1


def test_trips_of_all_weights_are_kept():
    """Of a person's trips between two zones, the heavy ones are kept as often as the light."""
    names = np.repeat([f"p{n}" for n in range(3000)], 4).tolist()
    key, weight = np.full(12_000, 7, np.uint64), np.tile(np.arange(1, 5), 3000)
    counts = np.bincount(weight[TripBound(1, 1, KEY).keep(pa.array(names), key, weight)])
    assert (np.abs(counts[1:] - 750) < 6 * 24).all()


def test_neither_other_persons_nor_the_order_of_rows_matter():
    """What is kept of all is what is kept of each alone: nobody interferes with anybody."""
    names, key = made(3)
    alone = []
    for name in set(names):
        own = [k for n, k in zip(names, key, strict=True) if n == name]
        alone += kept([name] * len(own), own, 3)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(key))
        assert kept([names[i] for i in order], [key[i] for i in order], 3) == sorted(alone)


def test_trips_of_one_pair_are_bounded():
    assert kept(["a"] * 9, [7] * 5 + [8] * 4, 10, per_pair=2) == [7, 7, 8, 8]
    assert len(kept(["a"] * 9, [7] * 5 + [8] * 4, 3, per_pair=2)) == 3


def test_the_choice_is_even_and_depends_on_the_key():
    chosen = [
        kept(["a"] * 10, range(10), 1, secret=NoiseKey(n.to_bytes(32, "big")))[0]
        for n in range(3000)
    ]
    counts = np.bincount(chosen, minlength=10)
    # 300 each, with a deviation of 16.
    assert (np.abs(counts - 300) < 6 * 16.5).all()


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_what_is_kept_is_an_even_sample_of_all_trips_of_a_person(trips):
    """A person who goes 20 times between two zones, and once between five others."""
    persons = 1500
    names = pa.array(np.repeat([f"p{n}" for n in range(persons)], 25).tolist())
    key = np.tile(np.array([0] * 20 + [1, 2, 3, 4, 5], np.uint64), persons)
    found = key[TripBound(trips, trips, KEY).keep(names, key)]
    assert found.size == trips * persons
    # Each with the deviation of a share of 0.8, or less.
    assert abs((found == 0).mean() - 0.8) < 6 * 0.4 / found.size**0.5
    # Also where one of a pair counts, all of its trips are candidates: the lowest of more ranks.
    found = key[TripBound(2, 1, KEY).keep(names, key)]
    # With equal chances of all six pairs, it would be kept of a third of the persons.
    assert (found == 0).sum() > 0.9 * persons


def test_a_kept_key_chooses_again_and_a_fresh_one_otherwise():
    names, key = made(4)
    assert kept(names, key, 2) == kept(names, key, 2)
    assert len({tuple(kept(names, key, 2, secret=None)) for _ in range(5)}) > 1


@pytest.mark.parametrize("bounds", [(0, 1), (1, 0), (True, 1), (1.5, 1), (1, None)])
def test_bounds_are_whole_numbers(bounds):
    with refuses(UsageError, "flows-bound-form"):
        require_bounds(*bounds)


def test_more_trips_than_noise_can_hide_are_refused():
    with refuses(UsageError, "flows-trips-too-many"):
        require_bounds(MOST_TRIPS + 1, 1)
    assert require_bounds(3, 9) == require_bounds(np.int64(3), np.int64(3)) == (3, 3)


def test_runs_are_numbered():
    assert number_runs(np.array([False, True, False, False])).tolist() == [0, 1, 0, 1, 2]
    assert kept([], [], 1) == []
