"""Statistics with biases: right where they are told, and not told where nobody can know."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.mask import mask_of_blocks
from geodp.tools.statistics.api import estimate_statistics
from geodp.tools.statistics.estimate import (
    CLASSES,
    NOT_ESTIMABLE,
    RELEASE,
    SMALL,
    _Evidence,
    list_figures,
    model_of,
)
from tests.refusals import refuses

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((64, 64))
FIGURES = list(list_figures(1.0, (100, 500)).values())
KEY = geodp.NoiseKey(bytes(range(32)))


def villages(seed):
    """Make a map with many small cells and 64 large ones."""
    random = np.random.default_rng(seed)
    people = random.poisson(8, GRID.shape) * (random.random(GRID.shape) < 0.3)
    people[:8, :8] += 900
    return geodp.CountTable.from_dense(people, GRID)


def judged(name, by_release=100.0, by_sharper=None, error=0.0):
    """Judge a statistic of 100, which shows cells from 300 people on."""
    sharper = by_release if by_sharper is None else by_sharper
    rows = (np.full(len(FIGURES), one) for one in (100.0, by_release, sharper, error))
    return _Evidence(FIGURES, 300, *rows).judge([one.name for one in FIGURES].index(name))


def test_large_cells_go_by_releases_of_the_release():
    found = judged("cells:500+", by_release=90.0, by_sharper=88.0)
    assert (found.basis, found.corrected.value, found.bias) == (RELEASE, 90.0, 10.0)
    assert found.corrected.low == pytest.approx(90 - 1.96 * 2, abs=0.01)
    assert found.corrected.high == pytest.approx(90 + 1.96 * 2, abs=0.01)
    assert judged("cells:500+", by_release=90.0, by_sharper=80.0).basis == NOT_ESTIMABLE
    assert judged("cells:500+", by_release=90.0, by_sharper=80.0, error=9.9).basis == NOT_ESTIMABLE
    assert judged("cells:500+", by_release=90.0, by_sharper=85.0, error=9.0).basis == RELEASE


def test_a_bias_within_the_noise_or_one_per_cent_is_not_told():
    assert judged("cells:500+", by_release=90.0, error=11.0).basis == NOT_ESTIMABLE
    unknown = judged("cells:500+", by_release=99.2)
    assert (unknown.basis, unknown.bias, unknown.corrected) == (NOT_ESTIMABLE, None, None)


@pytest.mark.parametrize("name", ["cells:500+", "top-100", "urban-centres"])
def test_a_bias_that_is_small_in_both_ways_counts_as_none(name):
    found = judged(name, by_release=100.4, by_sharper=99.6)
    assert (found.basis, found.bias, found.corrected.value) == (SMALL, 0.0, 100.0)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((98.04, 101.96), abs=0.01)
    assert judged(name, by_release=100.4, by_sharper=100.6).basis == NOT_ESTIMABLE
    assert judged(name, by_release=100.4, by_sharper=np.nan).basis == NOT_ESTIMABLE


def test_nothing_confirms_a_larger_bias_of_towns():
    for name in ("top-100", "people-in-urban-clusters"):
        assert judged(name, by_release=90.0).basis == NOT_ESTIMABLE


def test_cells_that_noise_may_hide_are_unknown_whatever_the_ways_say():
    for by_release in (100.0, 90.0):
        assert judged("cells:100-499", by_release=by_release).basis == NOT_ESTIMABLE


def test_an_interval_wider_than_the_value_is_not_told():
    assert judged("cells:500+", error=25.0).basis == SMALL
    assert judged("cells:500+", error=26.0).basis == NOT_ESTIMABLE


def test_large_cells_of_a_release_are_told_with_an_interval_that_holds():
    release = geodp.publish(villages(1), epsilon=0.5, key=KEY, contribution=1)
    large, top = estimate_statistics(release, ["cells:500+", "top-100"], classes=(500,))
    people = np.sort(villages(1).to_dense().reshape(-1))
    for one, true in ((large, 64), (top, people[-100:].sum())):
        assert one.basis == SMALL
        assert one.corrected.low < true < one.corrected.high
        assert one.to_dict()["corrected"]["value"] == one.value
    # Its cells have fewer people than the noise.
    assert estimate_statistics(release, ["cells:5+"], classes=(5,))[0].basis == NOT_ESTIMABLE


def test_a_statistic_does_not_depend_on_others_that_are_asked_for():
    release = geodp.publish(villages(1), epsilon=1, key=KEY, contribution=1)
    every = {one.name: one for one in estimate_statistics(release)}
    assert list(every) == ["cells:500-1999", "cells:2000+", "top-100"]  # no place on the Earth
    assert estimate_statistics(release, ["top-100"]) == [every["top-100"]]


def test_the_same_twice_and_nothing_of_the_true_table():
    release = geodp.publish(villages(1), epsilon=2, key=KEY, contribution=1)
    read = geodp.Release(release.table)  # what a stranger has
    first, again = (estimate_statistics(one, ["top-100"]) for one in (release, read))
    assert first == again


def test_a_model_has_the_cells_of_the_domain_row_by_row():
    inside = mask_of_blocks(GRID, np.array([[0, 0, 8, 8]]).T, "a corner")
    table = geodp.CountTable.from_keys(GRID.with_mask(inside), np.arange(9), np.full(9, 50))
    model = model_of(geodp.publish(table, epsilon=1, key=KEY, contribution=1))
    count = np.arange(64)
    assert np.array_equal(model.spread(count)[:8, :8], count.reshape(8, 8))
    assert model.spread(count).sum() == count.sum()
    assert np.array_equal(model.take(model.table), model.table.to_dense()[:8, :8].reshape(-1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ["mode"]}, "statistic-unknown"),
        ({"names": ["inhabited"]}, "statistic-unknown"),
        ({"classes": (5, 5)}, "classes-not-increasing"),
    ],
)
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


TOWN = np.zeros((12, 12))
TOWN[2:6, 2:6] = 5000  # 80,000 people on 16 cells of 1 km2
TOWN[6, 6] = 400  # at its corner: of the cluster, not of the centre
TOWN[9, 9] = 6000  # a lone cell: a cluster, no centre


def figures(people, km2=1.0, classes=CLASSES):
    return {name: one.of(people) for name, one in list_figures(km2, classes).items()}


def test_every_statistic_of_a_town():
    assert figures(TOWN) == {
        **{"cells:500-1999": 0, "cells:2000+": 17, "top-100": 86_400},
        **{"urban-centres": 1, "people-in-urban-centres": 80_000},
        **{"urban-clusters": 2, "people-in-urban-clusters": 86_400},
    }


def test_size_classes_share_out_the_inhabited_cells():
    people = np.random.default_rng(1).pareto(0.5, (30, 30)).round()
    found = figures(people, classes=(1, 3, 10, 11))
    classes = [value for name, value in found.items() if name.startswith("cells:")]
    assert len(classes) == 4
    assert sum(classes) == (people > 0).sum()


def test_the_density_of_towns_goes_by_the_area_of_a_cell():
    assert figures(TOWN, km2=4.0)["urban-centres"] == 0  # 5,000 people on 4 km2 are 1,250 a km2
    assert "urban-centres" not in figures(TOWN, km2=None)


def test_nobody_has_no_statistics_but_zeros():
    assert set(figures(np.zeros((4, 4))).values()) == {0.0}


@pytest.mark.parametrize("classes", [(), (0, 5), (5, 5), (20, 1)])
def test_size_classes_that_are_none_are_refused(classes):
    with refuses(UsageError, "classes-not-increasing"):
        figures(TOWN, classes=classes)
