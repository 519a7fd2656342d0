"""Statistics with biases: right where they are told, and not told where nobody can know."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.features.statistics import estimate
from geodp.features.statistics.api import estimate_statistics
from geodp.features.statistics.estimate import (
    INVERSION,
    MEASURED,
    NOT_ESTIMABLE,
    PRIOR,
    RELEASE,
    SMALL,
    _Evidence,
)
from geodp.features.statistics.figures import CLASSES, list_figures
from geodp.grid.mask import mask_of_blocks
from tests.features.statistics.test_unmixing import GRID, villages
from tests.refusals import refuses

pytestmark = pytest.mark.law

FIGURES = list(list_figures(np.ones((2, 2), bool), None, CLASSES).values())
KEY = geodp.NoiseKey(bytes(range(32)))
FINE = {
    "method": "pyramid:setting=fine",
    "epsilon": 2,
    "key": geodp.NoiseKey(bytes([14] * 32)),
    "contribution": 1,
}
"""A release that leaves something to be found on a map of 64 x 64 cells."""


def evidence(seen=90, **rows):
    """Make evidence of one number for all statistics; the release's is 100."""
    rows = {"refitted": rows.get("fitted", 100.0), **rows}
    rows = {"by_sharper": rows.get("by_release", 100.0), **rows}
    given = {name: np.full(len(FIGURES), rows.get(name, 100.0)) for name in ROWS}
    for name, otherwise in (("error", 0.0), ("measured", np.nan), ("measured_error", np.nan)):
        given[name] = np.full(len(FIGURES), rows.get(name, otherwise))
    for name in ("fewer", "more"):
        given[name] = np.full(len(FIGURES), rows.get(name, 0.0))
    about = {name: rows.get(name, other) for name, other in (("has_prior", True), ("years", 0.0))}
    return _Evidence(FIGURES, seen, 300, **given, **about)


ROWS = (
    *("shown", "simple", "fitted", "unaided", "refitted"),
    *("by_prior", "by_release", "by_sharper"),
)


def judged(name, **rows):
    return evidence(**rows).judge([one.name for one in FIGURES].index(name))


def test_what_a_prior_map_says_is_taken_if_the_fit_agrees():
    found = judged("inhabited", fitted=120.0, simple=124.0, refitted=125.0, unaided=100.0)
    assert (found.basis, found.corrected, found.bias) == (PRIOR, 123.0, -23.0)
    assert found.low < 123 < found.high


def test_what_a_prior_map_says_is_as_old_as_the_map():
    rows = {"fitted": 120.0, "simple": 120.0, "refitted": 120.0, "by_release": 120.0}
    by_map = {**rows, "by_prior": 120.0, "by_sharper": 110.0}
    for name, years, low, high in (
        ("inhabited", 7, 105, 128),  # as many as the changed tables have fewer or more
        ("median", 7, 105, 128),
        ("cells:20-99", 7, 103.2, 136.8),  # 2 % a year
        ("moran", 7, 103.2, 136.8),
        ("moran", 0, 120, 120),
    ):
        found = judged(name, **by_map, years=years, fewer=-15.0, more=8.0, seen=200)
        assert (found.basis, found.corrected) == (PRIOR, 120.0)
        assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    # A median falls where cells of one person appear.
    found = judged("median", **by_map, years=7, fewer=5.0, more=-20.0, seen=200)
    assert (found.low, found.high) == (100, 125)


def test_an_interval_wider_than_the_value_is_not_told():
    rows = {"fitted": 120.0, "simple": 120.0, "refitted": 120.0, "fewer": -60.0}
    assert judged("inhabited", **rows, more=59.0).basis == PRIOR
    for name in ("inhabited", "cells:1-19", "gini"):
        assert judged(name, **rows, more=61.0).basis == NOT_ESTIMABLE
    assert judged("cells:20-99", **rows, years=30, seen=200).basis == NOT_ESTIMABLE


def test_what_needs_no_prior_map_is_not_widened():
    rows = {"fitted": 120.0, "refitted": 120.0, "unaided": 120.0, "seen": 13, "has_prior": False}
    found = judged("inhabited", **rows, years=10, fewer=-15.0, more=8.0)
    assert (found.basis, found.low, found.high) == (INVERSION, 120, 120)
    small = judged("moran", years=10, has_prior=True)
    assert (small.basis, small.low, small.high) == (SMALL, *(100 + e * 1.96 for e in (-1, 1)))


def test_a_fit_whose_releases_are_not_like_the_release_is_not_taken():
    for prior in (True, False):
        rows = {"fitted": 120.0, "simple": 122.0, "unaided": 118.0, "has_prior": prior, "seen": 13}
        assert judged("inhabited", **rows, refitted=123.0).basis in (PRIOR, INVERSION)
        assert judged("inhabited", **rows, refitted=131.0).basis == NOT_ESTIMABLE


def test_what_contradicts_the_prior_map_is_not_told_without_it():
    assert judged("inhabited", fitted=120.0, simple=140.0, unaided=120.0).basis == NOT_ESTIMABLE


def test_a_release_that_tells_of_the_cells_must_agree_with_the_prior_map():
    rows = {"fitted": 120.0, "simple": 122.0, "unaided": 105.0}
    assert judged("inhabited", **rows).basis == PRIOR  # the release shows cells from 90 people on
    for name in ("inhabited", "cells:1-19", "median"):
        assert judged(name, **rows, seen=13).basis == NOT_ESTIMABLE
        assert judged(name, **{**rows, "unaided": 118.0}, seen=13).basis == PRIOR


def test_without_a_prior_map_both_starts_must_agree():
    rows = {"fitted": 120.0, "refitted": 121.0, "unaided": 118.0, "has_prior": False}
    agree = judged("inhabited", **rows, seen=13)
    assert (agree.basis, agree.corrected) == (INVERSION, 120.5)
    untold = judged("inhabited", **rows)  # the release shows cells from 90 people on
    assert untold.basis == NOT_ESTIMABLE
    apart = judged("inhabited", fitted=120.0, unaided=105.0, has_prior=False, seen=13)
    assert (apart.basis, apart.bias, apart.low) == (NOT_ESTIMABLE, None, None)
    noisy = judged("inhabited", fitted=120.0, unaided=105.0, has_prior=False, seen=13, error=16.0)
    assert noisy.basis == INVERSION  # apart by less than the noise


def test_a_bias_that_is_small_in_all_ways_counts_as_none():
    found = judged("inhabited", fitted=100.4, unaided=99.6, has_prior=False, seen=13)
    assert (found.basis, found.bias, found.corrected) == (SMALL, 0.0, 100.0)
    assert judged("moran", by_release=100.6, has_prior=False, seen=13).basis == NOT_ESTIMABLE
    sharp = judged("moran", by_release=100.3, by_sharper=100.6, has_prior=False, seen=13)
    assert sharp.basis == NOT_ESTIMABLE


def test_measurements_go_before_what_is_simulated():
    rows = {"measured": 120.0, "fitted": 150.0, "unaided": 100.0, "seen": 13}
    found = judged("inhabited", measured_error=3.0, **rows)
    assert (found.basis, found.corrected, found.bias) == (MEASURED, 120.0, -20.0)
    assert (found.low, found.standard_error) == (pytest.approx(120 - 1.96 * 3, abs=0.01), 3.0)
    rough = judged("inhabited", measured_error=4.5, **rows)  # the bias may be 11 or 29
    assert (rough.basis, rough.corrected, rough.bias) == (MEASURED, 120.0, None)
    assert rough.low < 120 < rough.high
    untold = judged("inhabited", measured_error=3.0, **{**rows, "seen": 90})
    assert untold.basis == NOT_ESTIMABLE  # noise of more than the cells' people


def test_rough_measurements_leave_what_agrees_with_them():
    rows = {"fitted": 120.0, "simple": 122.0, "unaided": 119.0, "seen": 13, "measured_error": 8.0}
    assert judged("inhabited", measured=112.0, **rows).basis == PRIOR
    against = judged("inhabited", measured=98.0, **rows)
    assert (against.basis, against.bias, against.corrected) == (MEASURED, None, 98.0)


def test_large_cells_go_by_releases_of_the_release():
    assert judged("cells:500-1999", by_release=90.0).basis == RELEASE
    assert judged("cells:500-1999", by_release=90.0, by_sharper=80.0).basis == NOT_ESTIMABLE
    assert judged("cells:500-1999", by_release=90.0, error=11.0).basis == NOT_ESTIMABLE
    assert judged("cells:500-1999", by_release=99.2).basis == NOT_ESTIMABLE


def test_cells_that_a_release_shows_go_by_releases_of_a_sharper_map():
    found = judged("cells:100-499", by_sharper=90.0, fitted=88.0)
    assert (found.basis, found.corrected) == (RELEASE, 90.0)
    assert judged("cells:100-499", by_sharper=90.0, fitted=80.0).basis == NOT_ESTIMABLE


def test_what_depends_on_places_needs_a_prior_map():
    both = {"by_prior": 130.0, "by_release": 125.0}
    assert judged("moran", **both).basis == PRIOR
    assert judged("moran", **both, has_prior=False).basis == NOT_ESTIMABLE
    assert judged("moran", by_release=100.3, fitted=99.6, has_prior=False).basis == SMALL


def test_the_smallest_cells_of_unknown_inhabited_ones_are_unknown():
    names = [one.name for one in FIGURES]
    rows = evidence(fitted=120.0, simple=122.0, unaided=119.0)
    assert rows.judge(names.index("cells:1-19")).basis == PRIOR
    rows.simple[names.index("inhabited")] = 180.0
    assert rows.judge(names.index("cells:1-19")).basis == NOT_ESTIMABLE
    assert rows.judge(names.index("cells:20-99")).basis == PRIOR


def test_a_median_of_unknown_cells_is_unknown():
    names = [one.name for one in FIGURES]
    rows = evidence(has_prior=False)
    rows.fitted[names.index("inhabited")] = 150.0
    assert rows.judge(names.index("inhabited")).basis == NOT_ESTIMABLE
    assert rows.judge(names.index("median")).basis == NOT_ESTIMABLE


def test_inhabited_cells_of_a_release_with_a_map_of_another_date():
    table = villages(1)
    release = geodp.publish(table, **FINE)
    names = ["inhabited", "cells:1-19"]
    found = estimate_statistics(release, names, prior=villages(3), years=3)
    assert [one.name for one in found] == names
    for one, true in zip(found, (table.key.size, int((table.count < 20).sum())), strict=True):
        measured = one.value - true
        assert abs(measured) > 0.1 * true  # or there is nothing to be told
        assert one.basis in (PRIOR, INVERSION)
        assert abs(one.bias - measured) < 0.3 * abs(measured)
        assert one.low <= one.corrected <= one.high
        assert one.to_dict()["bias"] == one.bias


def test_intervals_are_the_wider_the_more_years_are_between():
    release = geodp.publish(villages(1), **FINE)
    given = {"names": ["inhabited"], "prior": villages(3)}
    found = [estimate_statistics(release, **given, years=years)[0] for years in (0, 1, 4)]
    assert {one.basis for one in found} == {PRIOR}
    widths = [one.high - one.low for one in found]
    assert widths[0] < widths[1] < widths[2]
    # Years that are not told are 10: with so few people, most cells may have come or gone.
    [untold], [told] = (estimate_statistics(release, **given, **one) for one in ({}, {"years": 10}))
    assert untold == told
    assert told.basis == NOT_ESTIMABLE


def test_inhabited_cells_by_measurements_of_all_cells():
    table = villages(1)
    release = geodp.publish(table, measurements="cell", **FINE)
    names = ["inhabited", "cells:1-19"]
    true = [table.key.size, int((table.count < 20).sum())]
    for one, people in zip(estimate_statistics(release, names), true, strict=True):
        assert (one.basis, one.name in names) == (MEASURED, True)
        assert abs(one.bias - (one.value - people)) < 0.3 * abs(one.value - people)
        assert one.low < people < one.high < 1.25 * people
    # Cells were visited, not all measured.
    upper = geodp.publish(table, measurements=16, **FINE)
    assert estimate_statistics(upper, names)[0].basis != MEASURED


def test_the_same_twice_and_nothing_of_the_true_table():
    table = villages(1)
    release = geodp.publish(table, epsilon=2, key=KEY, contribution=1)
    read = geodp.Release(release.table)  # what a stranger has
    first, again = (estimate_statistics(one, ["inhabited"]) for one in (release, read))
    assert first == again


def test_a_prior_of_another_place_is_laid_over_the_domain():
    release = geodp.publish(villages(1), epsilon=2, key=KEY, contribution=1)
    model = estimate.model_of(release, CLASSES)
    small = geodp.CountTable.from_dense(np.arange(15).reshape(3, 5), geodp.Grid.regular((3, 5)))
    laid = model.spread(estimate.lay_prior(model, small))
    row, col = np.indices((64, 64))
    assert np.array_equal(laid, row % 3 * 5 + col % 5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"years": 5}, 'years-without-prior'),
        ({"prior": villages(3), "years": -1}, 'years-negative'),
        ({"prior": villages(3), "years": float("nan")}, 'years-negative'),
        ({"names": ["mode"]}, 'statistic-unknown'),
        ({"prior": geodp.CountTable.from_dense(np.zeros((4, 4), int), geodp.Grid.regular((4, 4)))},
         'prior-map-empty'),
        ({"prior": geodp.CountTable.from_dense(np.ones(4, int), geodp.Grid.regular((4,)))},
         'prior-map-has-attributes'),
        ({"classes": (5, 5)}, 'classes-not-increasing'),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(change, words):
    release = geodp.publish(villages(1), epsilon=2, key=KEY, contribution=1)
    with refuses(UsageError, words):
        estimate_statistics(release, **change)


def test_maps_that_are_not_simulated_are_refused():
    pairs = GRID.with_attribute("sex", ["male", "female"])
    table = geodp.CountTable.from_keys(pairs, np.arange(9), np.full(9, 50))
    release = geodp.publish(table, epsilon=1, key=KEY, contribution=1)
    with refuses(UsageError, "statistics-need-plain-map"):
        estimate_statistics(release)
    wide = geodp.Grid.regular((1 << 13, 1 << 12))
    wide = wide.with_mask(mask_of_blocks(wide, np.array([[0, 0, 8, 8]]).T, "a corner"))
    table = geodp.CountTable.from_keys(wide, np.arange(9), np.full(9, 50))
    release = geodp.publish(table, epsilon=1, key=KEY, contribution=1)
    with refuses(UsageError, "statistics-map-too-large"):
        estimate_statistics(release)
