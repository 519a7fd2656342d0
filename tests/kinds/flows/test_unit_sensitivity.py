"""What one person changes where zones are areal units, and audits of what is released."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.kinds.flows.flows import table_of_pairs
from geodp.kinds.flows.publish import estimate_ends, make_plan
from geodp.kinds.flows.streams import (
    DIVIDING,
    LabelDesign,
    StreamDesign,
    StreamsPlan,
    TripStreams,
    count_labels,
)
from geodp.kinds.flows.zones import Zones, pairs_of
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable, ReleasedTable
from tests.grid.cells.libraries import need_h3
from tests.kinds.flows.test_sensitivity import AMOUNTS, LEVELS, Claim, loss
from tests.kinds.flows.units import make_units
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
    ends, noisy = spent.draw_ends(trips, key).tables, spent.draw_pairs(trips, key)
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


MODES = ("walk", "car")
ATTRIBUTES = (Attribute("mode", MODES),)
SHARE = Fraction(3, 20)
TRIPS = tuple(itertools.product((0, 3), (0, 3), MODES))
"""Trips of labelled worlds: units of both ends, and a label."""

ELSEWHERE = "elsewhere"


def labelled_table(world, trips, grid, other=None):
    """The table of pairs and labels of a world, bounded by person; ends are columns of units."""
    rows = [(f"p{i}", *trip) for i, listed in enumerate(world) for trip in listed]
    ends = [np.array([row[n] for row in rows], np.int64) for n in (1, 2)]
    names = [grid.names.format(0, np.stack([np.zeros_like(one), one])) for one in ends]
    columns = {end: one.tolist() for end, one in zip("od", names, strict=True)}
    columns |= {"id": [row[0] for row in rows], "mode": [row[3] for row in rows]}
    return geodp.flows.read_trips(
        pa.table({name: pa.array(one, pa.string()) for name, one in columns.items()}),
        grid=grid, origin="o", destination="d", person="id", trips=trips, key=KEY, other=other,
        by="mode", labels={"mode": MODES},
    )  # fmt: skip


def labelled_plan(grid, trips, side, neighbours=ADD, key_origin="entropy", **amounts):
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
    made = make_plan(Zones.of(grid), terms, None, LEVELS, key_origin, ATTRIBUTES, SHARE)
    return replace(made, design=StreamDesign.of(LEVELS, LabelDesign(side, SHARE)))


def measure_labelled(table, plan):
    """All that is measured of a table with labels, exactly."""
    trips, number = TripStreams.of(table, plan.zones), count_labels(plan.attributes)
    kinds = [trips.labelled(*kind, number).reshape(-1) for kind in plan.design.labels.kinds]
    return measure(table, plan) + [(plan.label_law.identity, one) for one in kinds]


def labelled_loss(grid, trips, plan, neighbours=ADD, claimed=None):
    """The largest loss between neighbours, of all persons with labelled trips beside others."""
    found, claimed = Fraction(0), trips if claimed is None else claimed
    persons = [
        one
        for number in range(claimed + 1)
        for one in itertools.combinations_with_replacement(TRIPS, number)
    ]
    for others in ((), (((0, 3, "walk"), (3, 0, "car")),)):
        base = measure_labelled(labelled_table(others, claimed, grid), plan)
        several = [
            measure_labelled(labelled_table((*others, one), claimed, grid), plan) for one in persons
        ]
        found = max(found, *(loss(base, other) for other in several))
        if neighbours == REPLACE:
            found = max(found, *(loss(a, b) for a, b in itertools.combinations(several, 2)))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize(("trips", "side"), [(1, 1), (2, 1), (2, 2), (2, 8)])
def test_one_person_with_labels_costs_the_budget_and_no_more(grid, trips, side, amounts):
    (claim,) = amounts.values()
    assert labelled_loss(grid, trips, labelled_plan(grid, trips, side, **amounts)) == claim


@pytest.mark.parametrize("side", [1, 2])
def test_a_person_in_place_of_another_costs_no_more_than_the_budget(side):
    grid = GRIDS["units"]
    plan = labelled_plan(grid, 1, side, REPLACE, epsilon=1)
    # The total of both maps is the same, whoever replaces whom.
    assert Fraction(1, 2) < labelled_loss(grid, 1, plan, REPLACE) <= 1


@pytest.mark.parametrize("side", [1, 2, 8])
def test_a_quarter_more_for_labels_is_found(side):
    """Control: counts by label alone are measured as if their share were 5/4 as large."""
    plan = labelled_plan(GRIDS["units"], 1, side, epsilon=1)

    class Overspent(StreamsPlan):
        @property
        def label_law(self):
            return self.whole.law(SHARE * Fraction(5, 4) / 3)

    fields = (plan.zones, plan.design, plan.method, plan.whole, plan.ends, plan.attributes)
    assert labelled_loss(GRIDS["units"], 1, Overspent(*fields)) == 1 + SHARE / 4


def test_a_labelled_trip_more_than_is_stated_is_found():
    """Control: two trips are kept of a person, and the noise is for one."""
    grid = GRIDS["units"]
    assert labelled_loss(grid, 1, labelled_plan(grid, 1, 2, epsilon=1), claimed=2) == 2


@pytest.mark.parametrize("side", [1, 2])
def test_labelled_trips_of_another_zone_cost_the_same(side):
    """The zone of all other places is a block of its own in every kind of counts by label."""
    need_h3()
    grid = grid_of_cells("h3:6", (139, 35, 139.2, 35.15), other=ELSEWHERE)
    last = grid.size - 1
    there = int(grid.names.find([ELSEWHERE], other=ELSEWHERE)[1, 0])
    inside = 0 if there else last
    plan = labelled_plan(grid, 1, side, epsilon=1)
    nobody = CountTable.from_keys(
        pairs_of(grid, ATTRIBUTES), np.empty(0, np.uint64), np.empty(0, np.int64)
    )
    base = measure_labelled(nobody, plan)
    for ends in ((there, inside), (inside, there), (there, there)):
        one = measure_labelled(labelled_table((((*ends, "car"),),), 1, grid, ELSEWHERE), plan)
        assert loss(base, one) == 1


def release_labelled(table, event, key, times=1):
    """Release flows by label; ``times``: how many times the budget is spent."""
    grid = GRIDS["units"]
    amounts = {"epsilon": event.epsilon * times}
    spent = labelled_plan(grid, 1, 1, event.neighbours, "fixed", **amounts)
    zones, key = spent.zones, key.restrict(spent.declare())
    trips = TripStreams.of(table, zones)
    ends, noisy = spent.draw_ends(trips, key).tables, spent.draw_pairs(trips, key)
    labels, seed = spent.draw_labels(trips, key), spent.draw_seed(key, DIVIDING)
    flows = estimate_ends(zones, ends, noisy, spent.draw_seed(key))
    made = table_of_pairs(spent, flows, labels, seed, event)
    return ReleasedTable(table.grid, made.key, made.count, event)


FULL_LABELLED = tuple((trip,) for trip in TRIPS for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("others", [(), FULL_LABELLED], ids=["nobody else", "full zones"])
def test_the_release_by_label_keeps_its_claim(others):
    grid = GRIDS["units"]
    worlds = (others, (*others, ((0, 3, "car"),)))
    tables = [labelled_table(one, 1, grid) for one in worlds]
    assert audited(release_labelled, OfPairs(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_the_release_keeps_its_claim_where_only_the_label_differs():
    worlds = ((*FULL_LABELLED, ((0, 3, mode),)) for mode in MODES)
    tables = [labelled_table(one, 1, GRIDS["units"]) for one in worlds]
    assert audited(release_labelled, OfPairs(), tables, REPLACE, trials=300) <= 1


@pytest.mark.law
def test_a_release_by_label_that_spends_too_much_is_caught():
    grid = GRIDS["units"]
    worlds = (FULL_LABELLED, (*FULL_LABELLED, ((0, 3, "car"),)))
    tables = [labelled_table(one, 1, grid) for one in worlds]

    def overspent(table, event, key):
        return release_labelled(table, event, key, times=25)

    assert caught(overspent, OfPairs(), tables, ADD, 1, trials=600)
