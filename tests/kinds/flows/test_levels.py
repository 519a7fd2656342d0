"""The blocks whose pairs are measured follow a public guess, and a plan shows each choice."""

from fractions import Fraction

import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.levels import (
    COARSE,
    CONCENTRATED,
    FINE,
    MOST_PAIRS,
    RULES,
    SEVERAL,
    FlowsOptions,
    choose_levels,
    count_pairs,
    count_trips,
)
from geodp.kinds.flows.publish import prepare_flows
from geodp.kinds.flows.zones import pairs_of
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.kinds.flows.forms import UNITS
from tests.kinds.flows.masks import coast
from tests.kinds.flows.test_publish import GRID, trips_on
from tests.refusals import refuses

LAND = coast(GRID)
SMALL, LARGE = geodp.Grid.regular((4, 5)), geodp.Grid.regular((150, 150))

GUESSES = [
    {},
    {"expected_trips": 1},
    {"expected_trips": 20_000},
    {"expected_trips": 1e9},
    {"concentrated": True},
    {"concentrated": True, "expected_trips": 1},
    {"levels": {2: "1/3"}},
]


def empty(grid):
    return geodp.CountTable.from_keys(pairs_of(grid), [], [])


@pytest.mark.parametrize("guess", GUESSES, ids=str)
@pytest.mark.parametrize("amounts", [{"epsilon": 1}, {"epsilon": "0.1"}, {"rho": 2}], ids=str)
@pytest.mark.parametrize("grid", [GRID, UNITS, LAND], ids=["map", "units", "land"])
def test_the_plan_shows_what_the_release_measures(grid, amounts, guess):
    request = Request(terms=Terms.of(**amounts, contribution=4), allow_empty=True)
    release = prepare_flows(empty(grid), request, FlowsOptions(**guess)).design.preview
    plan = geodp.flows.plan(grid, trips=4, **amounts, **guess)
    assert plan.shares == {one.side: one.share for one in release.index.guarantee.levels}
    # The others are what the other guesses choose, with the same options.
    shown = {one.rule: one.shares for one in (plan, *plan.others)}
    assert shown.keys() - {"given"} == {"default", *RULES}
    assert len(shown) == 1 + len(plan.others)
    alone = geodp.flows.plan(grid, trips=4, **amounts)
    assert shown["default"] == alone.shares


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("grid", [GRID, UNITS, LAND, SMALL, LARGE])
def test_fewer_trips_or_more_noise_have_larger_blocks(grid, concentrated):
    def finest(trips, per_loss):
        options = FlowsOptions(expected_trips=trips, concentrated=concentrated)
        levels = choose_levels(options.find_rule(grid, per_loss), grid, per_loss)
        assert count_pairs(grid, min(levels)) <= MOST_PAIRS
        assert 0 < sum(levels.values()) < 1
        return min(levels)

    sides = [finest(10**power, 10) for power in range(16)]
    assert sides == sorted(sides, reverse=True)
    assert len({*sides}) > 1
    assert sides == [finest(10 ** (power + 1), 100) for power in range(15)] + [sides[-1]]
    assert count_pairs(grid, sides[0]) >= SEVERAL**2


def test_rules_begin_where_the_documents_say():
    def rule(each, **more):
        return FlowsOptions(expected_trips=each * GRID.size * 3, **more).find_rule(GRID, 3)

    assert [rule(COARSE - 0.1), rule(COARSE), rule(FINE - 0.1), rule(FINE)] == [
        *("few-trips", "more-trips", "more-trips", "many-trips")
    ]
    both = [rule(one, concentrated=True) for one in (1, CONCENTRATED - 0.1, CONCENTRATED, 1e6)]
    assert both == ["few-trips", "more-trips", "concentrated", "concentrated"]
    assert count_trips(FINE, GRID, 3) == FINE * 256 * 3


def test_labels_and_periods_share_the_same_levels():
    given = {"expected_trips": 100, "trips": 2}
    labels = {"by": "mode", "labels": {"mode": ["car", "rail"]}}
    whole, part = (geodp.flows.plan(GRID, epsilon=1, **given, **one) for one in ({}, labels))
    left = 1 - Fraction(3, 20)
    assert {side: Fraction(share) for side, share in part.shares.items()} == {
        side: left * Fraction(share) for side, share in whole.shares.items()
    }
    # 3,000 trips are few with half of the budget alone.
    series = geodp.flows.publish_series(
        [trips_on(number=500)] * 2,
        times=["2023", "2024"],
        person="all",
        contribution=2,
        epsilon=1,
        expected_trips=3000,
    )
    assert geodp.flows.plan(GRID, trips=2, epsilon=1, expected_trips=3000).rule == "more-trips"
    half = geodp.flows.plan(GRID, trips=2, epsilon="1/2", expected_trips=3000)
    assert half.rule == "few-trips"
    for one in series.releases:
        assert {level.side: level.share for level in one.index.guarantee.levels} == half.shares


@pytest.mark.parametrize(
    ("guess", "code"),
    [
        *(({"expected_trips": one}, "option-out-of-range") for one in (0, -5, "many")),
        ({"expected_trips": float("nan")}, "option-out-of-range"),
        ({"expected_trips": 100, "levels": {4: "1/2"}}, "option-excludes-option"),
        ({"concentrated": True, "levels": {4: "1/2"}}, "option-excludes-option"),
    ],
    ids=str,
)
def test_guesses_without_sense_are_refused(guess, code):
    with refuses(UsageError, code):
        geodp.flows.publish(empty(GRID), epsilon=1, contribution=1, **guess)
    with refuses(UsageError, code):
        geodp.flows.plan(GRID, epsilon=1, trips=1, **guess)
