"""What a prior leaves of errors: against sums by hand and against releases, and refusals."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.features.amounts.plan import Guess
from geodp.features.amounts.planned_prior import draw_amounts, find_areas
from geodp.features.amounts.scale import Scale
from tests.features.amounts.made import GRID as SMALL
from tests.features.amounts.made import publish
from tests.refusals import refuses

SIDE = 64
GRID = geodp.Grid.regular((SIDE, SIDE))
TOLD = {"upper": 1000, "median": 250, "upper_tenth": 600, "epsilon": "1/10"}


def census(seed=0):
    draw = np.random.default_rng(seed)
    people = np.where(draw.random(GRID.shape) < 0.4, draw.lognormal(3, 1.5, GRID.shape), 0)
    return geodp.CountTable.from_dense(people.astype(np.int64), GRID)


def test_a_prior_leaves_less_of_the_errors_of_small_areas():
    found = geodp.amounts.plan_prior(GRID, census(), records=100, **TOLD)
    for name in ("count", "sum", "mean"):
        assert 0 < getattr(found.with_prior, name) < getattr(found.without, name)
    assert found.with_prior.count < 0.6 * found.without.count
    assert found.areas > 100


def test_incomes_that_differ_by_chance_are_not_hidden_by_a_prior():
    """At a large budget a prior of people says less of means than the data do."""
    left = [
        one.with_prior.mean / one.without.mean
        for one in (
            geodp.amounts.plan_prior(GRID, census(), records=500, **TOLD | {"epsilon": epsilon})
            for epsilon in ("1/10", 8)
        )
    ]
    assert left[0] < 0.7
    assert 0.8 < left[1] < 1.1


def test_errors_without_a_prior_are_those_of_releases():
    table, errors, sums = census(), [], []
    areas = find_areas(table, 200)
    found = geodp.amounts.plan_prior(GRID, table, records=200, releases=8, **TOLD)
    made = draw_amounts(table, Guess(250, 600), Scale.of((0, 1000), 1, "EUR", "income"))
    for _ in range(8):
        release = geodp.amounts.publish(made, epsilon="1/10", contribution=1)
        for one, true, into in ((release.count.table, table.count, errors),
                                (release.sum.table, made.above, sums)):  # fmt: skip
            off = areas.sums(one.key, one.count) - areas.sums(table.key, true)
            into.append(np.abs(off).mean())
    assert found.without.count == pytest.approx(np.mean(errors), rel=0.15)
    assert found.without.sum == pytest.approx(np.mean(sums), rel=0.15)


def test_areas_are_aligned_blocks_with_about_so_many_records():
    table = census()
    areas = find_areas(table, 300)
    held = areas.sums(table.key, table.count)
    assert ((held >= 150) & (held <= 600)).all()
    size = (areas.past - areas.first).astype(int)
    assert {*size.tolist()} > {1, 4}
    assert (areas.first.astype(int) % size == 0).all()
    for first, past, one in zip(areas.first[:50], areas.past[:50], held[:50], strict=True):
        assert table.count[(table.key >= first) & (table.key < past)].sum() == one


def test_amounts_are_those_of_the_guess():
    table = geodp.CountTable.from_dense(np.full(GRID.shape, 50), GRID)
    made = draw_amounts(table, Guess(250, 600), Scale.of((100, 900), 1, "EUR", "income"))
    income = np.random.default_rng(1).lognormal(np.log(250), Guess(250, 600).spread, 10**6)
    clipped = np.clip(income, 100, 900)
    means = 100 + made.above / 50
    assert means.mean() == pytest.approx(clipped.mean(), rel=0.005)
    assert means.std() == pytest.approx(clipped.std() / 50**0.5, rel=0.05)


def test_people_scale_the_prior():
    few, many = (
        geodp.amounts.plan_prior(GRID, census(), records=50, people=people, **TOLD)
        for people in (20_000, 200_000)
    )
    assert few.areas != many.areas


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"median": 0}, "amounts-plan-guess"),
        ({"records": 0}, "amounts-plan-records"),
        ({"records": 1e9}, "amounts-plan-prior-areas"),
        ({"releases": 0}, "amounts-plan-releases"),
        ({"upper": 0}, "amounts-plan-upper"),
        ({"upper": 10, "lower": 10}, "amounts-plan-upper"),
        ({"share": 0}, "amounts-plan-share"),
        ({"method": "laplace"}, "amounts-need-pyramid"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        geodp.amounts.plan_prior(GRID, census(), **TOLD | more)


def test_priors_that_are_no_map_of_people_are_refused():
    release = publish()
    for prior in (release, release.sum, {"count": 1}):
        with refuses(UsageError, "amounts-plan-prior-kind"):
            geodp.amounts.plan_prior(SMALL, prior, **TOLD)
    # Its map of records is one.
    assert geodp.amounts.plan_prior(SMALL, release.count, records=100, **TOLD).areas
    with refuses(UsageError, "prior-of-other-grid"):
        geodp.amounts.plan_prior(GRID, release.count, **TOLD)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("people", "code"),
    [
        (1e25, "people-not-positive"),
        (float("inf"), "people-not-positive"),
        (1e18, "amounts-sum-too-large"),
        (1e15, "amounts-sum-too-large"),
    ],
)
@pytest.mark.parametrize("shape", [(SIDE, SIDE), (1, 2)])
def test_more_people_than_can_be_counted_are_refused(people, code, shape):
    grid = geodp.Grid.regular(shape)
    one = geodp.CountTable.from_dense(np.full(shape, 9), grid)
    with refuses(UsageError, code):
        geodp.amounts.plan_prior(grid, one, people=people, **TOLD)
