"""What is prepared of every question: its sensitivity, its settings, and what is refused."""

from fractions import Fraction as F

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.selection.question import Quantile, Top
from geodp.kinds.selection.selected import prepare
from geodp.privacy.terms import ADD_REMOVE, REPLACE, Terms
from geodp.release.request import Request
from tests.refusals import refuses

SIDE = 4
GRID = geodp.Grid.regular((SIDE, SIDE))

QUESTIONS = {
    "top": Top(2),
    "top areas": Top(1, "2"),
    "quantile": Quantile(F(1, 4), "row"),
    "median": Quantile(F(1, 2), "col"),
}


def count_table(dense):
    grid = GRID if dense.shape == GRID.shape else geodp.Grid.regular(dense.shape)
    return geodp.CountTable.from_dense(dense, grid)


def test_labels_that_are_sums_of_others_are_refused_and_asked_about():
    grid = GRID.with_attribute("kind", ["p", "q", "r"])
    counts = np.ones((SIDE, SIDE, 3), int)
    counts[..., 1], counts[..., 2] = 2, 3
    table = geodp.CountTable.from_dense(counts, grid)
    question, request = Top(1), Request(terms=Terms.of(epsilon=1, contribution=1))
    with refuses(UsageError, "contribution-below-sums-found"):
        prepare(table, question, request)
    counts[0, 0, 2] = 4
    other = geodp.CountTable.from_dense(counts, grid)
    facts = prepare(other, question, request).design.shown.public_facts
    assert any("labels which count the sum of others" in fact for fact in facts)


def test_an_empty_table_is_refused_unless_it_is_allowed():
    nobody = np.zeros((SIDE, SIDE), int)
    terms = Terms.of(epsilon=1, contribution=1)
    for given in ({}, {"allow_empty": False}):
        with refuses(UsageError, "table-empty"):
            prepare(count_table(nobody), Top(1), Request(terms=terms, **given))
    allowed = prepare(count_table(nobody), Top(1), Request(terms=terms, allow_empty=True))
    assert allowed.design.shown.public_facts == ()


STATED = {
    "top": {"chosen": 2, "level": None},
    "top areas": {"chosen": 1, "level": "2"},
    "quantile": {"q": "1/4", "axis": "row"},
    "median": {"q": "1/2", "axis": "col"},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_card_has_the_settings_and_the_sensitivity_that_the_draws_go_by(name):
    question = QUESTIONS[name]
    for relation in (ADD_REMOVE, REPLACE):
        terms = Terms.of(epsilon=1, contribution=3, neighbours=relation)
        request = Request(terms=terms)
        at = prepare(count_table(np.ones((SIDE, SIDE), int)), question, request).design.shown
        card = at.card()
        found = {key: getattr(card.question, key) for key in STATED[name]}
        assert found == STATED[name]
        change = question.change.added if relation == ADD_REMOVE else question.change.moved
        assert F(card.guarantee.sensitivity) == 3 * change == at.event.sensitivity
        assert F(card.guarantee.rate) == at.event.rate
        assert card.guarantee.rounds == question.rounds
