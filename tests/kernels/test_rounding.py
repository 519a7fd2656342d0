"""Tables of fractions that are rounded in rows and columns at once."""

import numpy as np
import pytest

from geodp.kernels.part_tables import round_table


def table_of(rng, shape, digits):
    """Whole people, some of which are cut into fractions that stay in their rows and columns."""
    unit = 1 << digits
    table = rng.integers(0, 3, shape) * unit
    first = rng.integers(0, shape, (6 * table.size, 2))
    other = (first + rng.integers(1, shape, first.shape)) % shape
    moves = rng.integers(0, unit, len(first)).tolist()
    for (a, c), (b, d), move in zip(first.tolist(), other.tolist(), moves, strict=True):
        if min(table[a, c], table[b, d]) >= move:
            table[a, c] -= move
            table[b, d] -= move
            table[a, d] += move
            table[b, c] += move
    return table


@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (3, 64), (70, 4), (130, 2)])
@pytest.mark.parametrize("digits", [0, 1, 12, 20])
def test_sums_stay_and_every_entry_goes_to_a_neighbour(shape, digits):
    rng = np.random.default_rng(digits)
    for seed in range(20):
        table = table_of(rng, shape, digits)
        rounded = table.copy()
        round_table(rounded, digits, np.uint64(seed))
        unit = 1 << digits
        assert not (rounded % unit).any()
        assert np.array_equal(rounded.sum(0), table.sum(0))
        assert np.array_equal(rounded.sum(1), table.sum(1))
        assert ((rounded == table // unit * unit) | (rounded == -(-table // unit) * unit)).all()


def test_no_entry_is_biased():
    """The mean of 4,000 roundings is the entry, within 5 standard errors of a coin of its odds."""
    table = table_of(np.random.default_rng(5), (6, 7), 12)
    found = np.zeros(table.shape)
    seeds = np.random.default_rng(7).integers(0, 2**64, 4000, np.uint64)
    for seed in seeds:
        rounded = table.copy()
        round_table(rounded, 12, seed)
        found += rounded
    odds = table % 4096 / 4096
    error = np.sqrt(odds * (1 - odds) / seeds.size) + 1e-12
    assert (abs(found / seeds.size - table) / 4096 < 5 * error).all()
    assert (odds > 0).mean() > 0.9


def test_other_seeds_round_otherwise_and_the_same_one_alike():
    table = table_of(np.random.default_rng(1), (8, 8), 12)
    found = []
    for seed in (3, 3, 4):
        found.append(table.copy())
        round_table(found[-1], 12, np.uint64(seed))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
