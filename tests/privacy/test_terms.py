"""Terms are checked once, exact, and make themselves again from what they say was given."""

import ast
from fractions import Fraction as F
from inspect import Parameter, signature

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP, budget
from geodp.privacy.terms import ADD_REMOVE, NAMES, NEIGHBOURS, REPLACE, Terms
from tests import sources
from tests.refusals import refuses

amounts = st.fractions(F(1, 1000), 10, max_denominator=1000)
budgets = st.one_of(
    st.fixed_dictionaries({"epsilon": amounts}),
    st.fixed_dictionaries({"rho": amounts}),
    st.sampled_from(["epsilon", "rho"]).flatmap(
        lambda name: st.fixed_dictionaries({name: amounts, "delta": st.just(F(1, 10**6))})
    ),
)


@given(
    budgets,
    st.sampled_from(NEIGHBOURS),
    st.none() | st.integers(1, 9),
    st.sampled_from(["person", "trip"]),
    st.none() | st.floats(1, 1e9),
)
def test_terms_make_themselves_again(spent, neighbours, contribution, unit, people):
    terms = Terms.of(
        **spent, neighbours=neighbours, contribution=contribution, unit=unit, people=people
    )
    assert terms.loss == budget(**spent)
    assert {name: terms.arguments[name] for name in spent} == spent
    assert Terms.of(**terms.arguments) == terms
    assert terms.gaussian == (spent.keys() != {"epsilon"})


def test_the_keywords_are_those_of_the_front_doors():
    assert tuple(signature(Terms.of).parameters) == NAMES
    assert tuple(Terms.of(epsilon=1).arguments) == NAMES


def test_terms_are_kept_in_one_form():
    terms = Terms.of(epsilon=0.1, contribution=np.int64(5), unit=" one  trip ", people=7)
    assert terms == Terms(PureDP(F(1, 10)), ADD_REMOVE, 5, False, "trip", 7.0)
    assert (type(terms.contribution), type(terms.people)) == (int, float)


def test_a_table_settles_the_contribution():
    terms = Terms.of(rho=1, neighbours=REPLACE, people=10)
    assert terms.contribution is None
    settled = Terms(ZeroConcentratedDP(1), REPLACE, 3, True, "person", 10)
    assert terms.bound(ContributionBound(3, "geodp")) == settled
    assert not settled.bound(ContributionBound(4)).enforced
    assert settled.bound(ContributionBound(1, "layout", "census (Census)")).layout.startswith(
        "census"
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"neighbours": "friends"}, "neighbours-unknown"),
        ({"contribution": 0}, "option-out-of-range"),
        ({"contribution": -1}, "option-out-of-range"),
        ({"contribution": True}, "option-out-of-range"),
        ({"contribution": 1.5}, "option-out-of-range"),
        ({"contribution": "2"}, "option-out-of-range"),
        ({"unit": ""}, "unit-missing"),
        ({"unit": "one"}, "unit-missing"),
        ({"unit": None}, "unit-missing"),
        ({"people": 0}, "people-not-positive"),
        ({"people": float("inf")}, "people-not-positive"),
        ({"people": float("nan")}, "people-not-positive"),
        ({"people": True}, "people-not-positive"),
        ({"people": "7"}, "people-not-positive"),
        ({"people": 1e25}, "people-not-positive"),
        ({"people": 10**400}, "people-not-positive"),
        ({"people": 2.0**60}, "people-not-positive"),
        ({"epsilon": None}, "epsilon-or-rho"),
        ({"rho": 1}, "epsilon-or-rho"),
    ],
)
def test_terms_that_make_no_sense_are_refused(changed, says):
    with refuses(UsageError, says):
        Terms.of(**{"epsilon": 1, **changed})


def test_losses_that_no_noise_has_are_refused():
    with refuses(UsageError, "budget-not-positive"):
        Terms(PureDP(F(0)))
    with refuses(UsageError, "delta-needs-rho"):
        Terms(ApproximateDP(1, F(1, 9)))


def test_the_names_of_the_relations_that_cards_and_ledgers_hold():
    assert NEIGHBOURS == (ADD_REMOVE, REPLACE) == ("add-remove-one", "replace-one")


FRONT_DOORS = [
    geodp.publish,
    geodp.publish_series,
    geodp.plan,
    geodp.evaluate,
    geodp.planning.compare,
    geodp.cluster.publish,
    geodp.cluster.write,
    geodp.amounts.publish,
    geodp.amounts.publish_series,
]
CHOOSE = [
    geodp.select.top_cells,
    geodp.amounts.choose_clip,
]
"""Selections have a budget of one kind only."""


@pytest.mark.parametrize("door", FRONT_DOORS + CHOOSE, ids=lambda door: door.__qualname__)
def test_front_doors_spell_the_terms_alike(door):
    """All are keywords with the defaults of ``Terms.of``, and no signature hides any."""
    said = signature(door).parameters
    assert not {one.kind for one in said.values()} & {Parameter.VAR_KEYWORD}
    terms = signature(Terms.of).parameters
    for name in NAMES:
        if door in CHOOSE and name in ("rho", "delta", "people"):
            assert name not in said
            continue
        assert said[name].kind is Parameter.KEYWORD_ONLY
        if not (door in CHOOSE and name == "epsilon"):
            assert said[name].default == terms[name].default


def test_a_wrong_keyword_is_told():
    with pytest.raises(TypeError, match="takes no epsilom=; give epsilon="):
        geodp.plan(geodp.Grid.regular((8, 8)), epsilom=1)


def test_nobody_behind_the_front_doors_spells_the_terms():
    """One value passes through; a ledger's cap and a charge are not terms: they have no budget."""
    spelt = set()
    for path in (one for one in sources.FILES if "contribution" in sources.read(one)):
        for node in sources.walk(path):
            if isinstance(node, ast.FunctionDef):
                names = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
                if "contribution" in names and names & {"epsilon", "rho"}:
                    spelt.add(node.name)
    # Selections, which take no rho, read their terms in one function.
    # Front doors that publish hand on the keywords of a request.
    assert spelt == {"of", "evaluate", "plan"}


def test_a_bound_of_one_unit_is_none_of_another():
    of_days = ContributionBound(2, "geodp", unit="person-day")
    assert Terms.of(epsilon=1, unit="person-day").bound(of_days).contribution == 2
    with refuses(UsageError, "bound-of-other-unit"):
        Terms.of(epsilon=1).bound(of_days)
