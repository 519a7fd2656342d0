"""What one person changes where zones are the cells of a mask, and audits of what is released."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.kinds.flows.publish import estimate_ends, make_plan
from geodp.kinds.flows.streams import TripStreams
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable, ReleasedTable
from tests.kinds.flows.masks import masked
from tests.kinds.flows.test_sensitivity import AMOUNTS, LEVELS, Claim, loss
from tests.kinds.flows.worlds import WHERE
from tests.laws.audit import audited, caught

ADD, REPLACE = NEIGHBOURS
KEY = NoiseKey(bytes(range(32)))
INSIDE = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]], bool)
GRID = masked(Grid.regular((3, 3)), INSIDE)
ZONES = Zones.of(GRID)
PLACES, SEA = ((0, 0), (0, 2), (2, 1)), (1, 1)
"""Zones of the worlds, of three blocks of 2 x 2 zones, and a place outside the mask."""

PAIRS = tuple(itertools.product((*PLACES, SEA), repeat=2))


def table_of(world, trips, outside="drop"):
    """The table of pairs of a world, which lists each person's trips, bounded by person."""
    rows = [(f"p{i}", *start, *end) for i, listed in enumerate(world) for start, end in listed]
    columns = {
        name: [row[n] for row in rows] for n, name in enumerate(("id", "oy", "ox", "dy", "dx"))
    }
    types = {"id": pa.string()}
    table = pa.table({n: pa.array(one, types.get(n, pa.int64())) for n, one in columns.items()})
    return geodp.flows.read_trips(table, grid=GRID, **WHERE, trips=trips, key=KEY, outside=outside)


def plan_of(trips, neighbours=ADD, key_origin="entropy", **amounts):
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
    return make_plan(ZONES, terms, "pyramid:setting=R", LEVELS, key_origin)


def measure(table, plan):
    """All that is measured of a table, exactly: pairs of a law and true counts."""
    trips, descent = TripStreams.of(table, ZONES), plan.method.descent(GRID, plan.ends)
    of_ends = [
        (law.identity, one.to_vector().reshape(-1, stride).sum(axis=1))
        for one in (trips.origins, trips.destinations)
        for law, stride in zip(descent.laws, descent.strides, strict=True)
    ]
    sides = zip(plan.design.sides, plan.laws, strict=True)
    return of_ends + [(law.identity, trips.pairs(side).reshape(-1)) for side, law in sides]


def largest(trips, plan, neighbours=ADD, claimed=None):
    """The largest loss between neighbours, of all persons of up to two trips beside others."""
    found, claimed = Fraction(0), trips if claimed is None else claimed
    persons = [
        one for number in range(3) for one in itertools.combinations_with_replacement(PAIRS, number)
    ]
    for others in ((), (((PLACES[0], PLACES[1]), (PLACES[2], SEA)),)):
        base = measure(table_of(others, claimed), plan)
        several = [measure(table_of((*others, one), claimed), plan) for one in persons]
        found = max(found, *(loss(base, other) for other in several))
        if neighbours == REPLACE:
            few = several[:: max(1, len(several) // 30)]
            found = max(found, *(loss(a, b) for a, b in itertools.combinations(few, 2)))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("trips", [1, 2])
def test_one_person_costs_the_budget_and_no_more(trips, neighbours, amounts):
    (claim,) = amounts.values()
    found = largest(trips, plan_of(trips, neighbours, **amounts), neighbours)
    assert found <= claim
    if neighbours == ADD:
        assert found == claim


def test_a_quarter_more_than_stated_is_found():
    """Control: noise for 5/4 of the budget costs more than the budget."""
    assert largest(1, plan_of(1, epsilon=Fraction(5, 4))) == Fraction(5, 4)


def test_a_trip_more_than_is_stated_is_found():
    """Control: two trips are kept of a person, and the noise is for one."""
    assert largest(1, plan_of(1, epsilon=1), claimed=2) == 2


def test_a_trip_with_an_end_outside_changes_nothing():
    plan = plan_of(1, epsilon=1)
    base = measure(table_of((((PLACES[0], PLACES[1]),),), 1), plan)
    for trip in ((PLACES[0], SEA), (SEA, PLACES[1]), (SEA, SEA)):
        assert loss(base, measure(table_of((((PLACES[0], PLACES[1]),), (trip,)), 1), plan)) == 0


def release_pairs(table, event, key, times=1, most=1):
    """Release flows as a table of pairs; ``times``: how many times the budget is spent."""
    spent = plan_of(most, event.neighbours, "fixed", epsilon=event.epsilon * times)
    trips, key = TripStreams.of(table, ZONES), key.restrict(spent.declare())
    ends, noisy = spent.draw_ends(trips, key).tables, spent.draw_pairs(trips, key)
    flows = estimate_ends(ZONES, ends, noisy, spent.draw_seed(key))
    both = (flows.origin, flows.destination)
    index = np.stack([axis[end] for end in both for axis in (ZONES.row, ZONES.column)])
    made = CountTable.from_index(table.grid, index, flows.count)
    return ReleasedTable(table.grid, made.key, made.count, event)


class OfPairs(Claim):
    """The claim of a release, on the grid of pairs of cells of a mask."""

    def unsupported(self, grid):
        return None

    def sensitivity(self, grid):
        return 1


FULL = tuple(((a, b),) for a in PLACES for b in PLACES for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("others", [(), FULL], ids=["nobody else", "full zones"])
def test_the_release_keeps_its_claim(others):
    tables = [table_of(one, 1) for one in (others, (*others, ((PLACES[0], PLACES[2]),)))]
    assert audited(release_pairs, OfPairs(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_the_release_keeps_its_claim_where_a_person_replaces_another():
    ends = (PLACES[0], PLACES[2]), (PLACES[2], PLACES[0])
    tables = [table_of((*FULL, (one,)), 1) for one in ends]
    assert audited(release_pairs, OfPairs(), tables, REPLACE, trials=300) <= 1


@pytest.mark.law
def test_a_release_that_spends_too_much_is_caught():
    tables = [table_of(FULL, 1), table_of((*FULL, ((PLACES[0], PLACES[2]),)), 1)]

    def overspent(table, event, key):
        return release_pairs(table, event, key, times=25)

    assert caught(overspent, OfPairs(), tables, ADD, 1, trials=600)
