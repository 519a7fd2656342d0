"""What one person changes, in all small worlds, and audits of what is released."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.kinds.flows.publish import estimate_ends, make_plan
from geodp.kinds.flows.streams import DESTINATIONS, ORIGINS, PAIRS, ROUNDING, TripStreams
from geodp.kinds.flows.zones import Zones
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable, ReleasedTable
from tests.kinds.flows.worlds import GRID, persons, table_of
from tests.laws.audit import audited, caught

ADD, REPLACE = NEIGHBOURS
AMOUNTS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})
LEVELS = {1: "2/5", 2: "1/10"}
KEY = NoiseKey(bytes(range(32)))
ZONES = Zones.of(GRID)


def plan_of(trips, neighbours=ADD, levels=LEVELS, **amounts):
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
    return make_plan(ZONES, terms, "pyramid:setting=R", levels)


def measure(table, plan):
    """All that is measured of a table of pairs, exactly: pairs of a law and true counts."""
    trips = TripStreams.of(table, ZONES)
    descent = plan.method.descent(GRID, plan.ends)
    of_ends = [
        (law.identity, one.to_vector().reshape(-1, stride).sum(axis=1))
        for one in (trips.origins, trips.destinations)
        for law, stride in zip(descent.laws, descent.strides, strict=True)
    ]
    sides = zip(plan.design.sides, plan.laws, strict=True)
    return of_ends + [(law.identity, trips.pairs(side).reshape(-1)) for side, law in sides]


def loss(one, other):
    """The loss of all measurements together, exactly."""
    total = Fraction(0)
    for (law, some), (same, others) in zip(one, other, strict=True):
        assert law == same
        by = [abs(int(n)) for n in some - others]
        total += (
            sum(by) / law[1] if law[0] == LAPLACE else Fraction(sum(n * n for n in by), 2) / law[1]
        )
    return total


def largest(trips, plan, neighbours=ADD, most=3, claimed=None):
    """The largest loss between neighbours: all persons beside others; ``claimed``: the bound."""
    found = Fraction(0)
    claimed = trips if claimed is None else claimed
    for others in ((), (((0, 1), (0, 1), (3, 0)),)):
        one = measure(table_of(others, claimed, KEY), plan)
        several = [measure(table_of((*others, p), claimed, KEY), plan) for p in persons(most)]
        found = max(found, *(loss(one, other) for other in several))
        if neighbours == REPLACE:
            few = several[:: max(1, len(several) // 40)]
            found = max(found, *(loss(a, b) for a, b in itertools.combinations(few, 2)))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("trips", [1, 2])
def test_one_person_costs_the_budget_and_no_more(trips, neighbours, amounts):
    (claim,) = amounts.values()
    found = largest(trips, plan_of(trips, neighbours, **amounts), neighbours)
    assert found <= claim
    # Trips between the same two zones change the same counts: the whole budget is needed.
    if neighbours == ADD:
        assert found == claim


@pytest.mark.parametrize("trips", [1, 2])
def test_a_quarter_more_than_stated_is_found(trips):
    """Control: noise for 5/4 of the budget costs more than the budget."""
    assert largest(trips, plan_of(trips, epsilon=Fraction(5, 4))) == Fraction(5, 4)


def test_a_trip_more_than_is_stated_is_found():
    """Control: three trips are kept of a person, and the noise is for two."""
    assert largest(2, plan_of(2, epsilon=1), claimed=3) == Fraction(3, 2)


def test_shares_add_up_exactly():
    for levels in (LEVELS, {1: "1/3"}, {1: "0.1", 2: "1/7"}, None):
        design = plan_of(1, levels=levels, epsilon=1).design
        assert 2 * design.end_share + sum(design.shares) == 1


PLAN = plan_of(1, epsilon=1)


def release_pairs(table, event, key, times=1, most=1):
    """Release flows as a table of pairs; ``times``: how many times the budget is spent."""
    terms = Terms.of(epsilon=event.epsilon * times, neighbours=event.neighbours, contribution=most)
    spent = make_plan(ZONES, terms, "pyramid:setting=R", LEVELS, "fixed")
    trips, key = TripStreams.of(table, ZONES), key.restrict(spent.declare())
    ends = spent.draw_ends(trips, key).tables
    noisy = spent.draw_pairs(trips, key)
    flows = estimate_ends(ZONES, ends, noisy, spent.draw_seed(key))
    index = np.stack(
        [
            axis[end]
            for end in (flows.origin, flows.destination)
            for axis in (ZONES.row, ZONES.column)
        ]
    )
    made = CountTable.from_index(table.grid, index, flows.count)
    return ReleasedTable(table.grid, made.key, made.count, event)


class Claim(Pyramid):
    """A mechanism on pairs, whose sensitivity the audit asks for."""

    def sensitivity(self, grid):
        return 1


FULL = tuple(((a, b),) for a in (0, 1, 3) for b in (0, 1, 3) for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("others", [(), FULL], ids=["nobody else", "full zones"])
def test_the_release_keeps_its_claim(others):
    tables = [table_of(others, 1, KEY), table_of((*others, ((0, 3),)), 1, KEY)]
    assert audited(release_pairs, Claim(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_the_release_keeps_its_claim_where_a_person_replaces_another():
    tables = [table_of((*FULL, (p,)), 1, KEY) for p in ((0, 3), (3, 0))]
    assert audited(release_pairs, Claim(), tables, REPLACE, trials=300) <= 1


@pytest.mark.law
@pytest.mark.parametrize(
    "person", [((0, 3),) * 3, ((0, 3), (3, 0), (1, 1))], ids=["one pair", "several"]
)
def test_a_person_with_several_trips_has_the_same_claim(person):
    """Neighbours differ by one person with three trips, and the noise is for three."""

    def release(table, event, key):
        return release_pairs(table, event, key, most=3)

    tables = [table_of(FULL, 3, KEY), table_of((*FULL, person), 3, KEY)]
    assert audited(release, Claim(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_a_release_that_spends_too_much_is_caught():
    tables = [table_of(FULL, 1, KEY), table_of((*FULL, ((0, 3),)), 1, KEY)]

    def overspent(table, event, key):
        return release_pairs(table, event, key, times=25)

    assert caught(overspent, Claim(), tables, ADD, 1, trials=600)


def test_streams_have_keys_of_their_own():
    assert len({ORIGINS, DESTINATIONS, PAIRS, ROUNDING}) == 4
    assert PLAN.declare().derived.keys() == {ORIGINS, DESTINATIONS, PAIRS, ROUNDING}
    assert isinstance(geodp.flows.publish(table_of(FULL, 1), epsilon=1), geodp.flows.Flows)
