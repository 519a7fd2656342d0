"""Intervals of sums, ratios, shares and quantiles: against definitions, and by simulation."""

import numpy as np
import pytest
from shapely import box

import geodp
from geodp.kinds.amounts.english import PAGE
from geodp.kinds.amounts.estimates import (
    NEGLIGIBLE,
    AmountClasses,
    SumMargins,
    estimate_streams,
    list_outside,
    share_outside,
)
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.streams import AmountTable
from geodp.privacy.key import NoiseKey

SCALE = Scale.of((0, 1000), 1, "EUR", "income")


def ends(value, margin):
    value = np.atleast_1d(np.asarray(value, float))
    return value, value - margin, value + margin


def test_sums_of_multiples_have_the_root_of_the_squares():
    both = SumMargins.of([ends(10, 3), ends(7, 4)])
    value, low, high = both.combine([1, 1])
    assert (value[0], low[0], high[0]) == (17, 12, 22)
    value, low, high = both.combine([2, -1])
    assert value[0] == 13
    assert high[0] - 13 == pytest.approx(np.hypot(6, 4))


def test_a_negative_multiple_turns_an_interval_round():
    one = SumMargins.of([(np.array([10.0]), np.array([9.0]), np.array([15.0]))])
    value, low, high = one.combine([-1])
    assert (value[0], low[0], high[0]) == (-10, -15, -9)


@pytest.mark.parametrize(("u", "v"), [(300, 700), (5000, 1), (1, 5000), (40, 60)])
def test_a_share_may_be_any_at_which_the_difference_may_be_0(u, v):
    both = SumMargins.of([ends(u, 20), ends(v, 30)])
    value, low, high = (float(one[0]) for one in both.share())
    assert value == u / (u + v)
    # By its definition: (1 - p) u - p v is within its margin exactly between both ends.
    for p in np.linspace(0, 1, 2001):
        inside = abs((1 - p) * u - p * v) <= np.hypot((1 - p) * 20, p * 30)
        if abs(p - low) > 1e-3 and abs(p - high) > 1e-3:
            assert inside == (low < p < high) or (low == 0 and p < high) or (high == 1 and p > low)


def test_a_share_of_nothing_may_be_any():
    both = SumMargins.of([ends(0, 5), ends(0, 5)])
    assert [float(one[0]) for one in both.share()] == [0, 0, 1]


def test_what_the_clamp_took_is_added_up():
    sums, noise = [ends(10, 9), ends(7, 2)], [np.array([3.0]), np.array([4.0])]
    both = SumMargins.split(sums, noise)
    value, low, high = both.combine([1, 1])
    # 6 on top of the noise of the first; the second is as sure as its whole interval.
    half = np.hypot(3, 2) + 6
    assert (value[0], low[0], high[0]) == pytest.approx((17, 17 - half, 17 + half))
    value, low, high = SumMargins.split(sums, noise, rest=4.0).combine([1, 0])
    assert high[0] - 10 == pytest.approx(5 + 6)


def test_what_sums_of_nothing_are_lifted_by_is_added_up():
    small = [(np.array([6.0]), np.array([0.0]), np.array([26.0]))] * 4
    both = SumMargins.split(small, [np.array([20.0])] * 4)
    value, low, high = both.combine(np.ones(4))
    # A quarter of the noise's interval of each adds up; the rest, 1 each, is independent.
    assert (value[0], low[0]) == pytest.approx((24, 24 - 20 - 2))
    assert high[0] == pytest.approx(24 + 40)


def test_a_share_allows_for_what_the_clamp_took_of_either():
    both = SumMargins.split([ends(300, 25), ends(700, 45)], [np.array([20.0]), np.array([30.0])])
    _, low, high = (float(one[0]) for one in both.share())
    for p in np.linspace(0.2, 0.4, 2001):
        noise = np.hypot((1 - p) * 20, p * 30)
        inside = abs((1 - p) * 300 - p * 700) <= noise + (1 - p) * 5 + p * 15
        if abs(p - low) > 1e-3 and abs(p - high) > 1e-3:
            assert inside == (low < p < high)


def test_what_may_be_nothing_may_be_all_that_the_other_leaves():
    both = SumMargins.of([ends(5, 9), ends(70, 20)]).reach(np.array([130.0]))
    assert [float(both.combine(one)[2][0]) for one in ([1, 0], [0, 1])] == [130 - 50, 90]


def estimate(streams, scale=SCALE):
    """Estimate two streams, in records, whose count may be any."""
    number = sum(one[0] for one in streams)
    return estimate_streams(SumMargins.of(streams), scale, (number, 0 * number, 9 * number))


@pytest.mark.parametrize("gaussian", [True, False])
def test_intervals_of_means_hold_in_simulation(gaussian):
    draw = np.random.default_rng(1)
    n, mean, sd, times = 400, 310, 20, 4000
    u, v = n * mean / 1000, n * (1 - mean / 1000)
    noise = draw.normal(0, sd, (2, times)) if gaussian else draw.laplace(0, sd / 2**0.5, (2, times))
    found = estimate([ends(u + noise[0], 2.0 * sd), ends(v + noise[1], 2.0 * sd)])
    for name, true in {"sum": 1000 * u, "mean": mean}.items():
        value, low, high = found[name]
        assert 0.93 < np.mean((low <= true) & (true <= high)) < 0.98
        assert ((low <= value) & (value <= high)).all()


def test_a_lower_end_below_0_counts_in_the_sum():
    scale = Scale.of((-500, 1000), 1, "EUR", "profit")
    u, v = 10 * (200 + 500) / 1500, 10 * (1000 - 200) / 1500
    found = estimate([ends(u, 0.01), ends(v, 0.01)], scale)
    assert found["sum"][0][0] == pytest.approx(10 * 200)
    assert found["mean"][0][0] == pytest.approx(200)


def test_a_sum_is_no_smaller_than_its_records_allow():
    count = tuple(np.array([x]) for x in (5.0, 2.0, 7.0))
    both = SumMargins.of([ends(2, 9), ends(3, 9)])
    for clip, least, most in (((0, 1000), 0, 7000), ((100, 1000), 200, 7000),
                              ((-1000, -100), -7000, -200)):  # fmt: skip
        found = estimate_streams(both, Scale.of(clip, 1, "EUR", "income"), count)["sum"]
        assert (found[1][0], found[2][0]) == (least, most)


EDGES = np.array([0.0, 100, 200, 400, 1000])


def classes(counts, margin):
    return AmountClasses(EDGES, SumMargins.of([ends(one, margin) for one in counts]))


def test_quantiles_and_shares_below_a_line_are_interpolated_in_their_class():
    one = classes([10, 30, 40, 20], 0.0)
    for share, amount in {0.1: 100, 0.25: 150, 0.5: 250, 0.8: 400, 0.9: 700}.items():
        assert [float(x[0]) for x in one.quantile(share)] == pytest.approx([amount] * 3)
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
    several = AmountClasses(EDGES, SumMargins.of([ends(one, 7.0) for one in counts]))
    for name, at in (("quantile", 0.3), ("share_below", 250.0)):
        together = getattr(several, name)(at)
        for i in range(50):
            alone = getattr(classes(counts[:, i], 7.0), name)(at)
            np.testing.assert_allclose([x[i] for x in together], [x[0] for x in alone])


def thirty(epsilon, side):
    """Blocks of a map of about 30 records a cell in three releases: true records and estimates."""
    number = np.random.default_rng(3).poisson(30, (32, 32)).astype(np.int64)
    people = geodp.CountTable.from_dense(number, geodp.Grid.regular((32, 32)))
    table = AmountTable(people, 300 * people.count, SCALE)
    boxes = [(x, y, x + side, y + side) for y in range(0, 32, side) for x in range(0, 32, side)]
    true = [int(number[y:top, x:right].sum()) for x, y, right, top in boxes]
    for trial in range(3):
        key = NoiseKey(bytes([trial] * 32))
        made = geodp.amounts.publish(table, contribution=1, epsilon=epsilon, key=key)
        yield from zip(true, made.estimate_all(boxes), strict=True)


@pytest.mark.parametrize("epsilon", [8])
def test_errors_of_records_are_those_of_notches_and_not_of_whole_records(epsilon):
    """Noise on whole records would be much smaller where the budget is large."""
    found = [*thirty(epsilon, 4)]
    off = [(one.count.count - true) / one.count.standard_error for true, one in found]
    assert np.sqrt(np.mean(np.square(off))) < 1.25
    assert np.mean([one.count.low <= true <= one.count.high for true, one in found]) > 0.9


@pytest.mark.parametrize("epsilon", [8, 128])
def test_intervals_of_single_cells_allow_for_whole_records(epsilon):
    """Where noise is below one record, rounding to whole ones is most of the error."""
    found = [*thirty(epsilon, 1)]
    assert np.mean([one.count.low <= true <= one.count.high for true, one in found]) > 0.94
    assert np.mean([one.sum.low <= 300 * true <= one.sum.high for true, one in found]) > 0.94
    # A cell may be rounded either way, by less than one record.
    assert all(one.count.high - one.count.count >= 1 for _, one in found)


def test_files_have_the_errors_of_whole_records(tmp_path):
    made = geodp.amounts.publish(
        AmountTable(geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8))),
                    np.full(64, 2700), SCALE),
        contribution=1, epsilon=100,
    )  # fmt: skip
    low, high = made.count.intervals().of(made.count.table.key)
    assert (high - low >= 1.8).all()
    for one, ends in zip(made.estimate_all([(0, 0, 1, 1)]), [(low[0], high[0])], strict=True):
        assert (one.count.low, one.count.high) == pytest.approx(ends)
    # Records of classes are whole as they are measured.
    classes = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8)))
    alone = geodp.amounts.publish(
        AmountTable(classes, np.full(64, 2700), SCALE, (), (0, 500, 1000), (classes, classes)),
        contribution=1, epsilon=100, means=False,
    )  # fmt: skip
    assert alone.records.standard_error(1) < 0.1 < made.records.standard_error(1)


GRID = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 4))
EARTH = geodp.Grid.regular((180, 90), crs="EPSG:4326", transform=(1, 0, 150, 0, -1, 90))


@pytest.mark.parametrize(
    ("area", "share"),
    [
        (box(0, 0, 4, 4), 0),
        (box(1, 1, 2, 2), 0),
        (box(2, 0, 6, 4), 0.5),
        (box(0, -12, 4, 4), 0.75),
        (box(9, 9, 10, 10), 1),
        (box(0, 0, 4 * (1 + NEGLIGIBLE / 2), 4), 0),
        ("1kmN0E0", 0),
        ((0, 0, 9, 9), 0),
    ],
)
def test_shares_are_of_the_area(area, share):
    assert share_outside(GRID, area) == pytest.approx(share)


def test_polygons_go_on_across_180_degrees():
    # The map reaches from 150 degrees east to 120 degrees west.
    assert share_outside(EARTH, box(170, 0, 190, 10)) == 0
    assert share_outside(EARTH, box(-180, 0, -170, 10)) == 0
    assert share_outside(EARTH, box(-130, 0, -110, 10)) == pytest.approx(0.5)


def test_a_sentence_has_no_percentage_of_zero():
    shares = {"half": 0.5, "within": 0.0, "hardly": 0.0002}
    assert [*list_outside(shares, PAGE["outside"])] == [
        "half: 50.0 % of its area lies outside the map, and nothing there is counted.",
        "hardly: 0.1 % of its area lies outside the map, and nothing there is counted.",
    ]
