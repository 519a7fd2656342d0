from fractions import Fraction as F

import pytest

from geodp.errors import UsageError
from geodp.privacy.loss import PureDP
from geodp.privacy.selected import Change, Selection, rate_of
from geodp.privacy.terms import Terms
from tests.refusals import refuses

COUNT = Change(F(1), F(1), monotone=True)


def selection(change=COUNT, rounds=1, origin="entropy", **terms):
    given = Terms.of(**{"epsilon": 1, "contribution": 1, **terms})
    return Selection.of("select-top:permute-and-flip", given, change, rounds, origin)


def test_rates_share_the_budget_among_rounds_and_contributions():
    assert selection(rounds=10).rate == F(1, 10)
    assert selection(rounds=10, contribution=3).rate == F(1, 30)
    assert selection(rounds=10, contribution=3, neighbours="replace-one").rate == F(1, 60)
    assert selection(Change(F(2), F(4), False), contribution=3).rate == F(1, 12)
    assert rate_of(F(1), F(2), True) == F(1, 2)
    assert rate_of(F(1), F(2), False) == F(1, 4)


def test_a_person_who_moves_may_change_more_and_nothing_is_monotone():
    found = selection(Change(F(2), F(4), True), neighbours="replace-one")
    assert (found.sensitivity, found.monotone) == (4, False)


def test_what_it_costs_is_epsilon():
    assert selection(epsilon="1/3", rounds=7).loss == PureDP(F(1, 3))
    assert selection().rho is None


@pytest.mark.parametrize("terms", [{"epsilon": None, "rho": 1}, {"delta": "1e-6"}])
def test_gaussian_budgets_are_refused(terms):
    with refuses(UsageError, "selection-under-epsilon"):
        selection(**terms)


def test_an_open_contribution_is_refused():
    with refuses(UsageError, "contribution-unbounded"):
        selection(contribution=None)


def test_words_say_what_is_promised_whom():
    assert selection(unit="trip", contribution=2).statement == (
        "Adding or removing one trip changes the probability of any choice by a factor of at most "
        "2.718 (exp(1)), if each trip is counted at most 2 times."
    )
    assert "Replacing one person" in selection(neighbours="replace-one").statement
    assert selection(origin="fixed").statement.startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in selection(origin="fixed").describe()["noise_key"]
