"""What one person changes where zones are areal units, and audits of what is released."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.features.flows.publish import estimate_ends, make_plan
from geodp.features.flows.streams import TripStreams
from geodp.features.flows.zones import Zones, pairs_of
from geodp.grid.cells.grid import grid_of_cells
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.neighbours import NEIGHBOURS
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from tests.features.flows.test_sensitivity import AMOUNTS, LEVELS, Claim, loss
from tests.features.flows.units import make_units
from tests.grid.cells.libraries import need_h3
from tests.laws.audit import audited, caught

ADD, REPLACE = NEIGHBOURS
KEY = NoiseKey(bytes(range(32)))
TOWNS = ["north"] * 3 + ["south"] * 3
GRIDS = {"units": make_units(2, 3)[0], "units of towns": make_units(2, 3, town=TOWNS)[0]}
PLACES = (0, 3, 5)
"""Columns of the units of the worlds."""

PAIRS = tuple(itertools.product(PLACES, repeat=2))


def table_of(world, trips, grid):
    """The table of pairs of a world, which lists each person's trips, bounded by person."""
    rows = [(f"p{i}", *trip) for i, listed in enumerate(world) for trip in listed]
    at = [np.array([row[n] for row in rows], np.int64) for n in (1, 2)]
    names = [grid.names.format(0, np.stack([np.zeros_like(one), one])) for one in at]
    table = pa.table(
        {"id": pa.array([row[0] for row in rows], pa.string())}
        | {end: pa.array(one.tolist(), pa.string()) for end, one in zip("od", names, strict=True)}
    )
    return geodp.flows.read_trips(
        table, grid=grid, origin="o", destination="d", person="id", trips=trips, key=KEY
    )


def plan_of(grid, trips, neighbours=ADD, key_origin="entropy", **amounts):
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
    return make_plan(Zones.of(grid), terms, None, LEVELS, key_origin)


def measure(table, plan):
    """All that is measured of a table, exactly: pairs of a law and true counts."""
    zones = plan.zones
    trips, descent = TripStreams.of(table, zones), plan.method.descent(zones.grid, plan.ends)
    measured = []
    for one in (trips.origins, trips.destinations):
        for law, stride in zip(descent.laws, descent.strides, strict=True):
            counts = np.zeros(int(zones.key.max()) // stride + 1, np.int64)
            np.add.at(counts, one.key.astype(np.int64) // stride, one.count)
            measured.append((law.identity, counts))
    sides = zip(plan.design.sides, plan.laws, strict=True)
    return measured + [(law.identity, trips.pairs(side).reshape(-1)) for side, law in sides]


def largest(grid, trips, plan, claimed=None):
    """The largest loss between neighbours, of all persons of up to two trips beside others."""
    found, claimed = Fraction(0), trips if claimed is None else claimed
    persons = [
        one
        for number in range(claimed + 1)
        for one in itertools.combinations_with_replacement(PAIRS, number)
    ]
    for others in ((), (((0, 3), (5, 0)),)):
        base = measure(table_of(others, claimed, grid), plan)
        several = [measure(table_of((*others, one), claimed, grid), plan) for one in persons]
        found = max(found, *(loss(base, other) for other in several))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("trips", [1, 2])
def test_one_person_costs_the_budget_and_no_more(grid, trips, amounts):
    (claim,) = amounts.values()
    assert largest(grid, trips, plan_of(grid, trips, **amounts)) == claim


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_a_quarter_more_than_stated_is_found(grid):
    """Control: noise for 5/4 of the budget costs more than the budget."""
    assert largest(grid, 1, plan_of(grid, 1, epsilon=Fraction(5, 4))) == Fraction(5, 4)


def test_a_trip_more_than_is_stated_is_found():
    """Control: two trips are kept of a person, and the noise is for one."""
    grid = GRIDS["units"]
    assert largest(grid, 1, plan_of(grid, 1, epsilon=1), claimed=2) == 2


def test_trips_of_another_zone_cost_the_same():
    """A trip from or to a place outside changes one count of the zone of all others."""
    need_h3()
    grid = grid_of_cells("h3:6", (139, 35, 139.2, 35.15), other="elsewhere")
    plan = plan_of(grid, 1, epsilon=1)
    rows = {"id": ["a"], "oy": [10.0], "ox": [20.0], "dy": [35.1], "dx": [139.1]}
    places = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id"}

    def read(*ends):
        table = pa.table(
            rows | dict(zip(("oy", "ox", "dy", "dx"), ([e] for e in ends), strict=True))
        )
        return geodp.flows.read_trips(table, grid=grid, other="elsewhere", **places)

    nobody = CountTable.from_keys(pairs_of(grid), np.empty(0, np.uint64), np.empty(0, np.int64))
    base = measure(nobody, plan)
    for ends in ((10.0, 20.0, 35.1, 139.1), (35.1, 139.1, 10.0, 20.0), (10.0, 20.0, -5.0, 3.0)):
        assert loss(base, measure(read(*ends), plan)) == 1


def release_pairs(table, event, key, times=1, most=1):
    """Release flows as a table of pairs; ``times``: how many times the budget is spent."""
    grid = GRIDS["units"]
    amounts = {"epsilon": event.epsilon * times}
    spent = plan_of(grid, most, event.neighbours, "fixed", **amounts)
    zones, key = spent.zones, key.restrict(spent.declare())
    trips = TripStreams.of(table, zones)
    ends, noisy = spent.draw_ends(trips, key), spent.draw_pairs(trips, key)
    flows = estimate_ends(zones, ends, noisy, spent.draw_seed(key))
    both = (flows.origin, flows.destination)
    index = np.stack([axis[end] for end in both for axis in (zones.row, zones.column)])
    made = CountTable.from_index(table.grid, index, flows.count)
    return ReleasedTable(table.grid, made.key, made.count, event)


class OfPairs(Claim):
    """The claim of a release, on the grid of pairs of units."""

    unsupported = Pyramid.unsupported


FULL = tuple(((a, b),) for a, b in PAIRS for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("others", [(), FULL], ids=["nobody else", "full zones"])
def test_the_release_keeps_its_claim(others):
    grid = GRIDS["units"]
    tables = [table_of(others, 1, grid), table_of((*others, ((0, 3),)), 1, grid)]
    assert audited(release_pairs, OfPairs(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_the_release_keeps_its_claim_where_a_person_replaces_another():
    tables = [table_of((*FULL, (one,)), 1, GRIDS["units"]) for one in ((0, 3), (3, 0))]
    assert audited(release_pairs, OfPairs(), tables, REPLACE, trials=300) <= 1


@pytest.mark.law
def test_a_release_that_spends_too_much_is_caught():
    grid = GRIDS["units"]
    tables = [table_of(FULL, 1, grid), table_of((*FULL, ((0, 3),)), 1, grid)]

    def overspent(table, event, key):
        return release_pairs(table, event, key, times=25)

    assert caught(overspent, OfPairs(), tables, ADD, 1, trials=600)
