"""What one person changes in two periods together, in all small worlds."""

import itertools
from fractions import Fraction

import pytest

from geodp.kinds.amounts.publish import AmountsInputs
from geodp.kinds.amounts.series import AmountsSeriesOptions, design_series
from geodp.kinds.amounts.streams import AmountAxes
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.terms import ADD_REMOVE, NEIGHBOURS, REPLACE, Terms
from geodp.release.periods import Periods
from geodp.release.request import Request
from tests.kinds.amounts.worlds import (
    EDGES,
    FEW,
    GRID,
    METHOD,
    SCALE,
    loss,
    measure,
    one_record_more,
    table_of,
    worlds,
)

BUDGETS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})
SHAPES = {"sums": (), "sums and classes": EDGES}


def design_of(person, edges, bound=1, **terms):
    """How two periods share the budget."""
    request = Request(terms=Terms.of(**terms), method=METHOD.spec)
    inputs = AmountsInputs((), (None,), ContributionBound(bound))
    periods, options = Periods.of(["2015", "2020"]), AmountsSeriesOptions(person=person)
    return design_series(AmountAxes(SCALE, edges, GRID), periods, request, options, inputs)


def losses(design, edges, replaced):
    """Losses of one period between worlds that differ in a record more, or in one replaced."""
    found = set()
    for world in worlds(1, amounts=FEW):
        one = measure(table_of(world, edges), design)
        others = [
            measure(table_of(other, edges), design) for other in one_record_more(world, amounts=FEW)
        ]
        found |= {loss(one, other) for other in others}
        if replaced:
            found |= {loss(a, b) for a, b in itertools.combinations(others, 2)}
    return found


def largest(person, neighbours, edges, budget, spent=None):
    """The largest loss of both periods; ``spent``: a design in place of that of the series."""
    design = design_of(person, edges, neighbours=neighbours, **budget).parts[0].plan
    design = design if spent is None else spent
    # A person in all periods changes both, each in any way: noise is independent, and losses add
    # up. In one period only, a person who comes changes one; a person who replaces another changes
    # one in two records, or both periods in one record each.
    more = losses(design, edges, replaced=False)
    either = losses(design, edges, replaced=neighbours == REPLACE)
    if person == "all":
        return max(a + b for a, b in itertools.product(either, repeat=2))
    if neighbours == ADD_REMOVE:
        return max(more)
    return max(*either, *(a + b for a, b in itertools.product(more, repeat=2)))


@pytest.mark.parametrize("budget", BUDGETS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("person", ["all", "one"])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_person_costs_the_budget_of_all_periods_and_no_more(shape, person, neighbours, budget):
    (claim,) = budget.values()
    found = largest(person, neighbours, SHAPES[shape], budget)
    assert found <= claim
    if neighbours == ADD_REMOVE:
        assert found == claim
    # A replaced person has half of the budget in each of two periods, of which only one may differ
    # in two records, and Gaussian noise allows for two of one stream in one cell.
    assert found >= claim / 4


@pytest.mark.parametrize("budget", BUDGETS, ids=["epsilon", "rho"])
def test_periods_that_each_spend_the_whole_are_found(budget):
    """Control: a person in both periods, each of which has the budget of a person in one."""
    (claim,) = budget.values()
    spent = design_of("one", (), **budget).parts[0].plan
    assert largest("all", ADD_REMOVE, (), budget, spent) == 2 * claim


def test_the_largest_bound_of_all_periods_is_that_of_the_series():
    design = design_of("one", (), bound=3, epsilon=1)
    plan = design.parts[0].plan
    assert design.total.contribution == plan.whole.contribution == 3
    assert plan.of_sums.contribution == 3 * plan.notches
