"""Differences: of two releases their margins are added as squares, within one they are added."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Estimate, Interval
from geodp.kinds.households.estimates import HouseholdEstimate, compare
from tests.kinds.households.test_publish import publish, sizes_on, two_tables


def estimate(count, below, above):
    return Estimate(count, 1.0, count - below, count + above, clamped=False)


FIRST = HouseholdEstimate(estimate(100, 3, 5), estimate(40, 4, 4), Interval(2.5, 2.2, 2.6))
SECOND = HouseholdEstimate(estimate(120, 12, 4), estimate(30, 3, 3), Interval(4.0, 3.6, 4.8))


@pytest.mark.parametrize(("independent", "low", "high"), [(True, 13, 5), (False, 17, 7)])
def test_margins_of_persons(independent, low, high):
    one = compare(FIRST, SECOND, independent=independent).persons
    assert (one.value, one.low, one.high) == (20, 20 - low, 20 + high)
    assert one.is_certain is True


def test_what_may_be_either_way_is_not_certain():
    result = compare(FIRST, SECOND)
    assert (result.households.low, result.households.high) == (-17, -3)
    assert result.households.is_certain
    assert not compare(FIRST, FIRST).households.is_certain
    assert result.mean_size.low == pytest.approx(1.5 - 0.4 - 0.1)
    assert result.mean_size.high == pytest.approx(1.5 + 0.8 + 0.3)


def test_without_a_mean_size_there_is_no_difference_of_it():
    unknown = HouseholdEstimate(FIRST.persons, FIRST.households, None)
    assert compare(unknown, SECOND).mean_size is None
    assert compare(SECOND, unknown).mean_size is None


def test_differences_of_neighbouring_regions_hold():
    sizes = sizes_on(scale=4)
    persons, homes = (one.to_dense() for one in two_tables(sizes))
    regions = [(0, 0, 8, 8), (8, 0, 16, 8), (0, 8, 8, 16), (8, 8, 16, 16)]
    rows = [slice(0, 8), slice(0, 8), slice(8, 16), slice(8, 16)]
    held = []
    for trial in range(10):
        release = publish(by_size=sizes, key=geodp.NoiseKey(bytes([trial, 3] * 16)))
        found = release.estimate_all(regions)
        for i, j in ((0, 1), (0, 2), (1, 3)):
            result = compare(found[i], found[j])
            for name, dense in (("persons", persons), ("households", homes)):
                true = [
                    int(dense[rows[k], slice(8 * (k % 2), 8 * (k % 2) + 8)].sum()) for k in (i, j)
                ]
                one = getattr(result, name)
                held.append(one.low <= true[1] - true[0] <= one.high)
    assert np.mean(held) > 0.9
