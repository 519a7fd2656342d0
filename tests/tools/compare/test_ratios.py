"""Ratios: their intervals hold the true one as often as they say, with shared noise."""

import numpy as np
import pytest

import geodp
from geodp import compare
from geodp.errors import UsageError
from geodp.grid.region import Region
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16)).with_attribute("age", ["0-14", "15-64", "65-"])
RNG = np.random.default_rng(8)
COUNTS = RNG.integers(60, 200, GRID.shape)
TABLE = geodp.CountTable.from_dense(COUNTS, GRID)
AGES = {"0-14": 7.0, "15-64": 40.0, "65-": 75.0}


def square(size, labels=None, at=0):
    row, col = np.indices((size, size)).reshape(2, -1) + at
    return Region.of_map(GRID, row, col, labels)


def release(number, method="pyramid", table=TABLE):
    key = geodp.NoiseKey(number.to_bytes(32, "little"))
    return geodp.publish(table, method=method, epsilon=1, contribution=1, key=key)


def truth(region):
    return COUNTS[tuple(GRID.decode(region.key))].sum()


@pytest.mark.law
@pytest.mark.parametrize("method", ["laplace", "pyramid", "privelet"])
def test_intervals_of_shares_rates_and_means_hold(method):
    part, whole = square(6, {"age": "65-"}), square(6)
    apart = square(5, at=8)
    mean = sum(AGES[label] * truth(square(6, {"age": label})) for label in AGES) / truth(whole)
    true = [truth(part) / truth(whole), truth(part) / truth(apart), mean, 1.0]
    held, errors, off = np.zeros(4), np.zeros(4), []
    trials = 120
    for number in range(trials):
        one, two = release(number, method), release(number + 1000, method)
        found = [
            compare.estimate_ratio((one, part), (one, whole)),
            compare.estimate_ratio((one, part), (one, apart)),
            compare.estimate_mean(one, (0, 0, 6, 6), "age", AGES),
            compare.estimate_ratio((one, whole), (two, whole)),
        ]
        held += [f.low <= t <= f.high for f, t in zip(found, true, strict=True)]
        errors += [f.standard_error for f in found]
        off.append([f.value - t for f, t in zip(found, true, strict=True)])
    assert (held >= 0.88 * trials).all()
    scatter = np.std(off, axis=0)
    assert (np.abs(errors / trials / scatter - 1) < 0.3).all()


def test_shared_noise_is_taken_into_account():
    """Under a total that is nearly exact one half has what the other lacks."""
    method = "pyramid:chain=1-9,shares=100-1-1,passes=1"
    row, col = np.indices((8, 16)).reshape(2, -1)
    halves = [Region.of_map(GRID, row + at, col) for at in (0, 8)]
    one, two = release(1, method), release(2, method)
    shared = compare.estimate_ratio((one, halves[0]), (one, halves[1]))
    apart = compare.estimate_ratio((one, halves[0]), (two, halves[1]))
    assert shared.standard_error == pytest.approx(2**0.5 * apart.standard_error, rel=0.05)


def test_a_change_is_a_ratio_less_1():
    found = compare.estimate_ratio((release(1), square(8)), (release(2), square(8)))
    change = found.minus(1)
    assert change.value == found.value - 1
    assert (change.low, change.high) == (found.low - 1, found.high - 1)
    assert change.low < 0 < change.high


def test_a_mean_of_0_and_1_is_a_share():
    one = release(3)
    values = {"0-14": 0, "15-64": 0, "65-": 1}
    mean = compare.estimate_mean(one, (0, 0, 6, 6), "age", values)
    share = compare.estimate_ratio((one, square(6, {"age": "65-"})), (one, square(6)))
    assert mean.value == pytest.approx(share.value)
    assert mean.standard_error == pytest.approx(share.standard_error, rel=1e-6)


def test_clamped_parts_are_refused_or_get_the_widest_interval():
    few = geodp.CountTable.from_keys(GRID, [5, 300], [3, 2000])
    one = release(4, table=few)
    pair = (one, square(2)), (one, square(16))
    with refuses(UsageError, "ratio-clamped"):
        compare.estimate_ratio(*pair)
    found = compare.estimate_ratio(*pair, conservative=True)
    assert found.basis == "conservative"
    assert 0 <= found.low <= found.value <= found.high <= 1
    dense = few.to_dense()
    assert found.low <= dense[:2, :2].sum() / dense.sum() <= found.high


def test_a_denominator_that_may_be_0_is_refused():
    few = geodp.CountTable.from_keys(GRID, [5], [1])
    one = release(4, "laplace", few)
    with refuses(UsageError, "ratio-denominator-near-zero"):
        compare.estimate_ratio((one, square(3)), (one, square(4, at=9)))
    with refuses(UsageError, "mean-of-no-value"):
        compare.estimate_mean(one, (0, 0, 6, 6), "age", {"65-": float("nan")})
