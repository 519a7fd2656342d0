"""Audits fine enough for a quarter too much; `python -m tests.laws.side_by_side` runs them all."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import NEIGHBOURS, Terms
from tests.laws import side_by_side
from tests.laws.audit import counts_of
from tests.laws.side_by_side import CONTROLS, GRIDS, SETTINGS, SIDE_BY_SIDE, TOGETHER, Case

pytestmark = pytest.mark.law

FORMS = ("square", "masked", "regions")
TRIALS = 20_000
SPECS = ("pyramid", "topdown", "laplace", "laplace-nonnegative", "geometric", "filter:theta=1")
STACKED = (
    *("agrid", "barak:nonnegative=no", "dawa", "hay", "hb", "matrix", "mwem:rounds=1"),
    *("privelet", "privelet-2d", "quadtree", "ugrid", "uniform"),
)

SHORT = ("pyramid", "topdown", "laplace")
"""What `make test` audits, on the square; `make laws` audits the rest."""

law = pytest.mark.law


def chosen(specs):
    """Every method on every form; all but the short ones are laws."""
    for spec, form in itertools.product(specs, FORMS):
        short = spec in SHORT and form == "square"
        yield pytest.param(spec, form, marks=() if short else law)


def case_of(spec, form, relation, **budget):
    grid = GRIDS[form]
    if mechanism(spec).unsupported(grid):
        pytest.skip("takes no such grid")
    counts = next(iter(SETTINGS[relation].values()))
    return Case(spec, grid, *side_by_side.neighbours_of(grid, relation, counts), relation, **budget)


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize(("spec", "form"), [*chosen(SPECS + STACKED)])
def test_the_claim_holds(spec, form, relation):
    case = case_of(spec, form, relation)
    assert case.audited(TRIALS) <= case.claim


@pytest.mark.parametrize(("spec", "form"), [*chosen(["pyramid", "topdown"])])
def test_the_claim_of_gaussian_noise_holds(spec, form):
    case = case_of(spec, form, NEIGHBOURS[0], rho=Fraction(1, 8))
    assert case.audited(TRIALS) <= case.claim


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("spec", SHORT)
def test_four_times_the_budget_is_caught(spec, relation):
    case = case_of(spec, "square", relation)
    assert case.audited(TRIALS, overspent=Fraction(4)) > case.claim


@law
@pytest.mark.parametrize("method", CONTROLS)
def test_a_quarter_too_much_is_caught(method):
    case = CONTROLS[method]
    assert case.audited(SIDE_BY_SIDE, overspent=Fraction(5, 4)) > case.claim


@law
@pytest.mark.parametrize("form", ["square", "masked", "regions"])
@pytest.mark.parametrize("spec", ["pyramid", "topdown", "filter:theta=1"])
def test_copies_have_the_law_of_single_releases(spec, form):
    case, trials = case_of(spec, form, NEIGHBOURS[0]), 3_000
    method, counts = mechanism(spec), np.array(case.two, np.int64)
    event = method.event(case.grid, Terms.of(epsilon=1, contribution=1))
    together = TOGETHER[method.name](
        method, case.grid, event, counts, 10 * trials, NoiseKey(bytes([9]) + bytes(31))
    )
    single = side_by_side.one_by_one(
        method, case.grid, event, counts, trials, NoiseKey(bytes([9]) + bytes(31))
    )
    for look in (lambda v: v[:, -1:], lambda v: v.sum(axis=1, keepdims=True), lambda v: v > 0):
        seen = counts_of([look(run).astype(np.int64) for run in (together, single)])
        often = seen[:, seen[1] + seen[0] > 50]
        rest = seen.sum(axis=1, keepdims=True) - often.sum(axis=1, keepdims=True)
        table = np.concatenate([often, rest + 1], axis=1)
        assert stats.chi2_contingency(table).pvalue > 1e-6
