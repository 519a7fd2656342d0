"""Differences: of two releases their margins are added as squares, within one they are added."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.interval import Estimate, Interval
from geodp.accuracy.interval_arithmetic import subtract_all
from tests.kinds.households.test_publish import publish, sizes_on, two_tables


def estimate(count, below, above):
    return Estimate(count, count - below, count + above, 1.0, clamped=False)


FIRST = {"persons": estimate(100, 3, 5), "mean_size": Interval(2.5, 2.2, 2.6)}
SECOND = {"persons": estimate(120, 12, 4), "mean_size": Interval(4.0, 3.6, 4.8)}


@pytest.mark.parametrize(("opposite", "low", "high"), [(0.0, 13, 5), (1.0, 17, 7)])
def test_margins_of_persons(opposite, low, high):
    one = subtract_all(FIRST, SECOND, opposite)["persons"]
    assert (one.value, one.low, one.high) == (20, 20 - low, 20 + high)
    assert one.is_certain is True


def test_what_may_be_either_way_is_not_certain():
    assert not subtract_all(FIRST, FIRST, 1.0)["persons"].is_certain
    found = subtract_all(FIRST, SECOND, 1.0)["mean_size"]
    assert found.low == pytest.approx(1.5 - 0.4 - 0.1)
    assert found.high == pytest.approx(1.5 + 0.8 + 0.3)


def test_without_a_mean_size_there_is_no_difference_of_it():
    unknown = {**FIRST, "mean_size": None}
    assert subtract_all(unknown, SECOND)["mean_size"] is None
    assert subtract_all(SECOND, unknown)["mean_size"] is None


def test_differences_of_neighbouring_regions_hold():
    sizes = sizes_on(scale=4)
    persons, homes = (one.to_dense() for one in two_tables(sizes))
    regions = [(0, 0, 8, 8), (8, 0, 16, 8), (0, 8, 8, 16), (8, 8, 16, 16)]
    rows = [slice(0, 8), slice(0, 8), slice(8, 16), slice(8, 16)]
    held = []
    for trial in range(10):
        release = publish(by_size=sizes, key=geodp.NoiseKey(bytes([trial, 3] * 16)))
        for i, j in ((0, 1), (0, 2), (1, 3)):
            result = release.compare(regions[i], regions[j])
            for name, dense in (("persons", persons), ("households", homes)):
                true = [
                    int(dense[rows[k], slice(8 * (k % 2), 8 * (k % 2) + 8)].sum()) for k in (i, j)
                ]
                one = result[name]
                held.append(one.low <= true[1] - true[0] <= one.high)
    assert np.mean(held) > 0.9
