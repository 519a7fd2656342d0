"""Intervals of sums, ratios, shares and quantiles: against definitions, and by simulation."""

import numpy as np
import pytest

from geodp.features.amounts.estimates import Classes, Margins, estimate_streams, narrow
from geodp.features.amounts.scale import Scale

SCALE = Scale.of((0, 1000), 1, "EUR", "income")


def ends(value, margin):
    value = np.atleast_1d(np.asarray(value, float))
    return value, value - margin, value + margin


def test_sums_of_multiples_have_the_root_of_the_squares():
    both = Margins.of([ends(10, 3), ends(7, 4)])
    value, low, high = both.combine([1, 1])
    assert (value[0], low[0], high[0]) == (17, 12, 22)
    value, low, high = both.combine([2, -1])
    assert value[0] == 13
    assert high[0] - 13 == pytest.approx(np.hypot(6, 4))


def test_a_negative_multiple_turns_an_interval_round():
    one = Margins.of([(np.array([10.0]), np.array([9.0]), np.array([15.0]))])
    value, low, high = one.combine([-1])
    assert (value[0], low[0], high[0]) == (-10, -15, -9)


@pytest.mark.parametrize(("u", "v"), [(300, 700), (5000, 1), (1, 5000), (40, 60)])
def test_a_share_may_be_any_at_which_the_difference_may_be_0(u, v):
    both = Margins.of([ends(u, 20), ends(v, 30)])
    value, low, high = (float(one[0]) for one in both.share())
    assert value == u / (u + v)
    # By its definition: (1 - p) u - p v is within its margin exactly between both ends.
    for p in np.linspace(0, 1, 2001):
        inside = abs((1 - p) * u - p * v) <= np.hypot((1 - p) * 20, p * 30)
        if abs(p - low) > 1e-3 and abs(p - high) > 1e-3:
            assert inside == (low < p < high) or (low == 0 and p < high) or (high == 1 and p > low)


def test_a_share_of_nothing_may_be_any():
    both = Margins.of([ends(0, 5), ends(0, 5)])
    assert [float(one[0]) for one in both.share()] == [0, 0, 1]


@pytest.mark.parametrize("gaussian", [True, False])
def test_intervals_of_means_hold_in_simulation(gaussian):
    draw = np.random.default_rng(1)
    n, mean, sd, times = 400, 310, 20_000, 4000
    u, v = n * mean, n * (1000 - mean)
    noise = draw.normal(0, sd, (2, times)) if gaussian else draw.laplace(0, sd / 2**0.5, (2, times))
    streams = [ends(u + noise[0], 2.0 * sd), ends(v + noise[1], 2.0 * sd)]
    found = estimate_streams(streams, SCALE, 1000)
    for name, true in {"count": n, "sum": u, "mean": mean}.items():
        value, low, high = found[name]
        assert 0.93 < np.mean((low <= true) & (true <= high)) < 0.98
        assert ((low <= value) & (value <= high)).all()


def test_a_lower_end_below_0_counts_in_the_sum():
    scale = Scale.of((-500, 1000), 1, "EUR", "profit")
    u, v = 10 * (200 + 500), 10 * (1000 - 200)
    found = estimate_streams([ends(u, 1), ends(v, 1)], scale, 1500)
    assert found["sum"][0][0] == pytest.approx(10 * 200)
    assert found["mean"][0][0] == pytest.approx(200)
    assert found["count"][0][0] == pytest.approx(10)


def test_narrowing_keeps_both_bounds():
    error = np.full(3, 10.0)
    _, low, high = narrow(
        np.array([500.0, 20.0, 500.0]), np.array([400.0, 0, 495.0]), np.array([600.0, 99, 505.0]),
        error, np.array([False, False, True]),
    )  # fmt: skip
    assert low.tolist() == [480, 0, 495]
    assert high.tolist() == [520, 20 + 23.3, 505]


EDGES = np.array([0.0, 100, 200, 400, 1000])


def classes(counts, margin):
    return Classes(EDGES, Margins.of([ends(one, margin) for one in counts]))


def test_quantiles_are_interpolated_in_their_class():
    one = classes([10, 30, 40, 20], 0.0)
    for share, amount in {0.1: 100, 0.25: 150, 0.5: 250, 0.8: 400, 0.9: 700}.items():
        value, low, high = (float(x[0]) for x in one.quantile(share))
        assert value == pytest.approx(amount)
        assert low == pytest.approx(amount)
        assert high == pytest.approx(amount)


def test_shares_below_a_line_are_interpolated():
    one = classes([10, 30, 40, 20], 0.0)
    for line, share in {0: 0, 50: 0.05, 100: 0.1, 300: 0.6, 1000: 1, 2000: 1}.items():
        assert float(one.share_below(line)[0][0]) == pytest.approx(share)


def test_a_quantile_and_the_share_below_it_agree():
    one = classes([10, 30, 40, 20], 6.0)
    value, low, high = (float(x[0]) for x in one.quantile(0.5))
    assert low < value < high
    # At the ends of the interval, one half is an end of the share below.
    assert float(one.share_below(low)[2][0]) == pytest.approx(0.5, abs=1e-6)
    assert float(one.share_below(high)[1][0]) == pytest.approx(0.5, abs=1e-6)


def test_a_quantile_of_nothing_may_be_any_amount():
    _, low, high = (float(x[0]) for x in classes([0, 0, 0, 0], 5.0).quantile(0.5))
    assert (low, high) == (0, 1000)


def test_many_regions_are_estimated_as_each_alone():
    draw = np.random.default_rng(2)
    counts = draw.integers(0, 90, (4, 50)).astype(float)
    several = Classes(EDGES, Margins.of([ends(one, 7.0) for one in counts]))
    for name, at in (("quantile", 0.3), ("share_below", 250.0)):
        together = getattr(several, name)(at)
        for i in range(50):
            alone = getattr(classes(counts[:, i], 7.0), name)(at)
            np.testing.assert_allclose([x[i] for x in together], [x[0] for x in alone])
