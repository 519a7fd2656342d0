"""What one person changes of every question's utilities, by enumeration, and what that costs."""

from dataclasses import dataclass
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.selection.mechanisms import SELECTORS
from geodp.kinds.selection.question import Quantile, Top
from geodp.kinds.selection.selected import prepare
from geodp.privacy.key import NoiseKey
from geodp.privacy.selected import Change
from geodp.privacy.terms import ADD_REMOVE, REPLACE, Terms
from geodp.release.request import Request
from tests.keys import secret
from tests.refusals import refuses

SIDE = 4
GRID = geodp.Grid.regular((SIDE, SIDE))
LAW = pytest.mark.law
KEY = NoiseKey(secret("no draw goes by it"))

QUESTIONS = {
    "top": Top(2),
    "top areas": Top(1, "2"),
    "quantile": Quantile(F(1, 4), "row"),
    "median": Quantile(F(1, 2), "col"),
}


def count_table(dense):
    grid = GRID if dense.shape == GRID.shape else geodp.Grid.regular(dense.shape)
    return geodp.CountTable.from_dense(dense, grid)


def tables():
    """Yield small tables: empty, even, with one full cell, and one at random."""
    draw = np.random.default_rng(3)
    lone = np.zeros((SIDE, SIDE), int)
    lone[1, 2] = 9
    yield from (np.zeros((SIDE, SIDE), int), np.full((SIDE, SIDE), 2), lone)
    yield draw.integers(0, 4, (SIDE, SIDE))


def neighbours(table, relation, times=1):
    """Yield every table of one person more, or of one who is replaced, each counted ``times``."""
    places = list(product(range(SIDE), repeat=2))
    for place in places:
        if relation == ADD_REMOVE:
            other = table.copy()
            other[place] += times
            yield other
        elif table[place] >= times:
            for new in places[::5]:
                other = table.copy()
                other[place] -= times
                other[new] += times
                yield other


@dataclass(frozen=True, eq=False)
class Listing:
    """A selector that chooses what a script says, and keeps what it would have drawn by."""

    real: object
    script: tuple
    seen: list

    def draw(self, candidates, _key, _stream):
        self.seen.append(candidates)
        return self.script[len(self.seen) - 1] if len(self.seen) <= len(self.script) else 0


def rounds_of(prepared, script, real):
    """Return the candidates of every draw where the first ones end as the script says."""
    at, seen = prepared.design.shown, []
    selector = Listing(real, script, seen)
    at.question.draw(selector, GRID, prepared.draw.args[0], at.event.rate, KEY)
    return seen


def law(prepared, real):
    """Return the probability of every sequence of draws."""
    found = {}

    def follow(script, chance):
        seen = rounds_of(prepared, script, real)
        if len(script) == len(seen):
            answer = answer_of(prepared, script, real)
            found[answer] = found.get(answer, 0.0) + chance
            return
        one = seen[len(script)]
        far = [float(one.rate * int(d)) for d in one.deficit]
        far += [float(one.rate * one.beyond)] * one.others
        for choice, p in enumerate(real.weigh(np.exp(-np.array(far)))):
            follow((*script, choice), chance * p)

    follow((), 1.0)
    return found


def answer_of(prepared, script, real):
    at = prepared.design.shown
    chosen = at.question.draw(
        Listing(real, script, []), GRID, prepared.draw.args[0], at.event.rate, KEY
    )
    return str([sorted(one.items()) for one in chosen])


def worst_loss(question, relation, name, terms, tables_):
    worst = 0.0
    for table in tables_:
        laws = []
        given = Terms.of(**terms, neighbours=relation)
        for dense in (table, *neighbours(table, relation, terms["contribution"])):
            request = Request(terms=given, allow_empty=True)
            prepared = prepare(count_table(dense), question, request, name)
            laws.append(law(prepared, SELECTORS[name]))
        one, *others = laws
        for other in others:
            assert one.keys() == other.keys()
            worst = max(worst, *(abs(np.log(one[a] / other[a])) for a in one))
    return worst


LOSSES = {
    ("top areas", ADD_REMOVE, 2): 0.95,
    ("top areas", REPLACE, 1): 0.9,
    ("top", ADD_REMOVE, 1): 0.6,
    ("quantile", ADD_REMOVE, 1): 0.55,
    ("quantile", REPLACE, 1): 0.65,
    ("median", ADD_REMOVE, 2): 0.7,
}
"""Question, relation, contribution, and the part of epsilon that these tables show at least."""


@pytest.mark.parametrize("name", ["permute-and-flip", pytest.param("exponential", marks=LAW)])
@pytest.mark.parametrize(("question", "relation", "times"), LOSSES)
def test_the_loss_of_every_question_is_epsilon_at_most(question, relation, times, name):
    terms = {"epsilon": F(1, 2), "contribution": times}
    worst = worst_loss(QUESTIONS[question], relation, name, terms, list(tables())[1:3])
    assert worst <= 0.5 * (1 + 1e-9)
    assert worst >= 0.5 * LOSSES[question, relation, times] * (1 if name[0] == "p" else 0.6)


def utilities(question, dense):
    """Return the utility of every candidate in people, at one scale of the noise."""
    terms = Terms.of(epsilon=1, contribution=1)
    prepared = prepare(count_table(dense), question, Request(terms=terms, allow_empty=True))
    if isinstance(question, Top):
        table = prepared.draw.args[0]
        found = np.zeros(table.size, object)
        found[table.rank] = table.count
        return found
    (one, *_) = rounds_of(prepared, (), None)
    unit = one.rate / prepared.design.shown.event.rate
    return np.array([-unit * int(d) for d in one.deficit], object)


def largest_change(question, relation):
    """Return the most by which a utility differs between neighbours of the tables here."""
    worst = F(0)
    for table in tables():
        one = utilities(question, table)
        for other in neighbours(table, relation):
            worst = max(worst, *abs(one - utilities(question, other)))
    return worst


def stated(question, relation):
    """Return the sensitivity that a selection is drawn by."""
    terms = Terms.of(epsilon=1, contribution=1, neighbours=relation)
    prepared = prepare(count_table(np.ones((SIDE, SIDE), int)), question, Request(terms=terms))
    return prepared.design.shown.event.sensitivity


@pytest.fixture(scope="module")
def largest():
    return {
        (name, relation): largest_change(QUESTIONS[name], relation)
        for name, relation in product(QUESTIONS, (ADD_REMOVE, REPLACE))
    }


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_utility_changes_by_more_than_is_stated_nor_by_much_less(name, relation, largest):
    most = stated(QUESTIONS[name], relation)
    assert F(4, 5) * most < largest[name, relation] <= most


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_change_that_is_stated_too_small_by_a_fifth_is_seen(name, relation, largest, monkeypatch):
    question = QUESTIONS[name]
    real = question.change
    less = Change(real.added * F(4, 5), real.moved * F(4, 5), real.monotone)
    monkeypatch.setattr(type(question), "change", property(lambda _: less))
    assert largest[name, relation] > stated(question, relation)


def test_only_counts_of_added_people_are_monotone():
    for name, question in QUESTIONS.items():
        down = up = False
        for table in tables():
            one = utilities(question, table)
            for other in neighbours(table, ADD_REMOVE):
                step = utilities(question, other) - one
                down, up = down or min(step) < 0, up or max(step) > 0
        assert question.change.monotone is (not (down and up)), name


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
