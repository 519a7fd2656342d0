"""Spread by classes: bounds against all placings, intervals by simulation, what is not known."""

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.features.amounts import spread
from geodp.features.amounts.estimates import Classes, Margins
from geodp.privacy.key import NoiseKey
from tests.features.amounts.made import EDGES, incomes, publish
from tests.refusals import refuses

ALL = (0, 0, 16, 16)
X, Y, INCOME = incomes()
COUNTED = np.minimum(np.floor(INCOME + 0.5), 1000)


def gini_of(amounts):
    """Its definition: half of the mean difference of two amounts, in the mean."""
    apart = np.abs(amounts[:, None] - amounts).mean()
    return apart / (2 * amounts.mean())


def classes(counts, edges, margin=0.0):
    value = np.asarray(counts, float).reshape(len(counts), -1)
    return Classes(
        np.asarray(edges, float), Margins.of([(v, v - margin, v + margin) for v in value])
    )


@pytest.mark.parametrize("lower", [0.0, 50.0])
def test_bounds_hold_for_all_amounts_in_their_classes_and_are_reached(lower):
    draw = np.random.default_rng(1)
    edges = np.array([lower, 100, 200, 500, 1000])
    for _ in range(20):
        counts = draw.integers(0, 9, 4)
        counts[draw.integers(4)] += 1
        (one,) = spread.estimate_spread(classes(counts, edges), lower)
        low, high = np.repeat(edges[:-1], counts), np.repeat(edges[1:], counts)
        found = []
        for trial in range(300):
            part = draw.random(low.size)
            # Also at the edges, and all amounts of a class at one point.
            part = np.rint(part) if trial % 3 == 0 else part
            if trial % 3 == 1:
                part = np.repeat(np.rint(draw.random(4)), counts)
            amounts = low + part * (high - low)
            if amounts.sum():
                found.append((gini_of(amounts), amounts.std()))
        ginis, deviations = zip(*found, strict=True)
        for rows, bound in ((ginis, one.gini), (deviations, one.standard_deviation)):
            if bound is None:
                continue
            assert bound.least <= min(rows) + 1e-9
            assert bound.most >= max(rows) - 1e-9
            assert bound.least <= bound.value <= bound.most
            assert (bound.low, bound.high) == pytest.approx((bound.least, bound.most))


def reached(counts, edges, place, statistic):
    """The bound, and the number of records that are placed so."""
    value = np.array(counts, float)[:, None]
    points = place(value, np.asarray(edges, float))
    records = points.part * np.repeat(value, 2, axis=0)
    return float(statistic(points.at, records)[0][0]), points.at[:, 0], records[:, 0]


@pytest.mark.parametrize("place", ["place_near", "place_apart", "place_equal", "place_unequal"])
def test_no_other_placing_goes_further(place):
    statistic = spread.vary if place in ("place_near", "place_apart") else spread.differ
    sign = 1 if place in ("place_near", "place_equal") else -1
    counts, edges = [30, 50, 15, 5], [0, 100, 200, 500, 1000]
    best, at, records = reached(counts, edges, getattr(spread, place), statistic)
    assert (np.diff(at) >= 0).all()
    assert records.reshape(4, 2).sum(axis=1) == pytest.approx(counts)
    draw = np.random.default_rng(2)
    for _ in range(3000):
        points = np.sort(draw.uniform(edges[:-1], edges[1:], (2, 4)), axis=0)
        near = draw.random(4) < 0.5
        points[:, near] = np.stack([edges[:-1], edges[1:]])[:, near]
        part = draw.random(4)
        other = np.stack([part, 1 - part], axis=1) * np.array(counts)[:, None]
        found = statistic(points.T.reshape(-1, 1), other.reshape(-1, 1))[0][0]
        assert sign * found >= sign * best - 1e-9


@pytest.mark.parametrize("statistic", [spread.vary, spread.differ])
def test_gradients_are_those_of_the_number(statistic):
    at = np.array([0, 100, 100, 200, 500, 900.0])[:, None]
    records = np.array([3, 5, 0, 7, 2, 1.0])[:, None]
    number, gradient = statistic(at, records)
    for i in range(6):
        moved = records.copy()
        moved[i] += 1e-6
        assert (statistic(at, moved)[0] - number) / 1e-6 == pytest.approx(gradient[i], rel=1e-3)


def test_numbers_are_those_of_amounts_that_are_spread_evenly():
    edges, counts = np.array([0.0, 100, 300, 1000]), [300, 500, 200]
    (one,) = spread.estimate_spread(classes(counts, edges), 0.0)
    rows = zip(edges[:-1], edges[1:], counts, strict=True)
    amounts = np.concatenate([a + (b - a) * (np.arange(n) + 0.5) / n for a, b, n in rows])
    assert one.gini.value == pytest.approx(gini_of(amounts), rel=1e-3)
    assert one.standard_deviation.value == pytest.approx(amounts.std(), rel=1e-3)
    assert (one.clipped.value, one.clipped.low) == (pytest.approx(0.2), 0.0)


def test_finer_classes_bring_the_bounds_together():
    widths = []
    for number in (5, 20, 100):
        edges = np.linspace(0, 1000, number + 1)
        counts = np.histogram(COUNTED, edges)[0]
        (one,) = spread.estimate_spread(classes(counts, edges), 0.0)
        widths.append((one.gini.most - one.gini.least, one.gini.value))
    assert widths[0][0] > 3 * widths[1][0] > 9 * widths[2][0]
    assert widths[-1][1] == pytest.approx(gini_of(COUNTED[:2000]), abs=0.02)


def test_what_is_not_known_has_no_number():
    (one,) = spread.estimate_spread(classes([5, 3, 2], [0, 1, 2, 3], margin=9.0), 0.0)
    assert (one.standard_deviation, one.gini) == (None, None)
    (poor,) = spread.estimate_spread(classes([9, 0, 0], [0, 1, 2, 3]), 0.0)
    assert poor.gini is None  # all of them may have nothing
    (none,) = spread.estimate_spread(classes([0, 0, 0], [0, 1, 2, 3]), 0.0)
    assert (none.standard_deviation, none.gini) == (None, None)
    # Of amounts below 0 there is no Gini coefficient, and both ends of the clip cut.
    (debts,) = spread.estimate_spread(classes([5, 3, 2], [-1, 1, 2, 3]), -1.0)
    assert debts.gini is None
    assert debts.clipped.value == pytest.approx(0.7)
    assert debts.standard_deviation.least < debts.standard_deviation.value


def test_where_all_may_be_clipped_that_is_told():
    (rich,) = spread.estimate_spread(classes([0, 0, 900], [0, 1, 2, 3], margin=9.0), 0.0)
    assert vars(rich.clipped) == {"value": 1.0, "low": 0.0, "high": 1.0}
    # Of nobody, or of what the noise may be, nothing is known.
    for counts in ([0, 0, 0], [2, 1, 3]):
        (none,) = spread.estimate_spread(classes(counts, [0, 1, 2, 3], margin=9.0), 0.0)
        assert none.clipped is None


def test_many_regions_are_estimated_as_each_alone():
    counts = np.random.default_rng(3).integers(1, 90, (4, 20))
    edges = [0, 100, 200, 500, 1000]
    together = spread.estimate_spread(classes(counts, edges, 3.0), 0.0)
    for i in range(20):
        (alone,) = spread.estimate_spread(classes(counts[:, i], edges, 3.0), 0.0)
        assert vars(together[i].gini) == pytest.approx(vars(alone.gini))
        assert vars(together[i].standard_deviation) == pytest.approx(vars(alone.standard_deviation))


def test_intervals_hold_what_was_published():
    held = []
    boxes = [(0, 0, 4, 4), (0, 0, 8, 8), (8, 0, 16, 8)]
    for trial in range(20):
        key = NoiseKey(trial.to_bytes(32, "little"))
        release = publish(key=key, classes=EDGES, means=False)
        for (west, south, east, north), one in zip(boxes, release.spread_all(boxes), strict=True):
            inside = (west <= X) & (east > X) & (south <= Y) & (north > Y)
            amounts = COUNTED[inside]
            gini = gini_of(amounts[:4000])
            held.append(one.gini.low <= gini <= one.gini.high)
            held.append(one.standard_deviation.low <= amounts.std() <= one.standard_deviation.high)
            held.append((INCOME[inside] > 1000).mean() <= one.clipped.high)
    assert np.mean(held) >= 0.95


def test_a_spread_needs_classes(release):
    if release.classes:
        assert release.spread(ALL).standard_deviation is not None
        return
    with refuses(UsageError, "amounts-without-classes"):
        release.spread(ALL)


def test_quantiles_and_shares_come_with_an_estimate():
    release = publish(classes=EDGES)
    one = release.estimate(ALL, quantiles=(0.1, 0.9), below=(150,))
    assert one.quantiles[0.1].value < one.median.value < one.quantiles[0.9].value
    assert one.below[150] == release.share_below(ALL, 150)
    assert one.quantiles[0.9] == release.quantile(ALL, 0.9)
    assert release.estimate(ALL).quantiles == {}
    with refuses(UsageError, "amounts-line-form"):
        release.estimate(ALL, below=(np.inf,))
    lower, upper = map(float, release.scale.clip)
    for line in (lower - 1, lower, upper, upper + 1):
        with refuses(UsageError, "amounts-line-beyond"):
            release.estimate(ALL, below=(line,))
