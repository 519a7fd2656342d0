"""What one person changes where trips have labels, in all small worlds, and an audit."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.kinds.flows.flows import table_of_pairs
from geodp.kinds.flows.publish import estimate_ends, make_plan
from geodp.kinds.flows.streams import (
    DIVIDING,
    LABELS,
    LabelDesign,
    StreamDesign,
    StreamsPlan,
    TripStreams,
    count_labels,
)
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import ReleasedTable
from tests.kinds.flows.test_sensitivity import ADD, KEY, REPLACE, ZONES, loss
from tests.kinds.flows.test_sensitivity import measure as measure_flows
from tests.kinds.flows.worlds import GRID, WHERE, rows_of
from tests.laws.audit import audited, caught

MODES = ("walk", "car")
ATTRIBUTES = (Attribute("mode", MODES),)
PLACES = (0, 3)
TRIPS = tuple(itertools.product(PLACES, PLACES, MODES))
LEVELS = {1: "2/5", 2: "1/10"}
SHARE = Fraction(3, 20)
AMOUNTS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})


def persons(most=3):
    """All lists of at most so many trips of one person, each two zones and a label."""
    for number in range(most + 1):
        yield from itertools.combinations_with_replacement(TRIPS, number)


def table_of(world, trips):
    """The table of pairs and labels of a world, with each person's trips bounded."""
    rows = rows_of([[trip[:2] for trip in one] for one in world])
    modes = [trip[2] for one in world for trip in one]
    return geodp.flows.read_trips(
        rows.append_column("mode", pa.array(modes, pa.string())),
        grid=GRID,
        **WHERE,
        trips=trips,
        by="mode",
        labels={"mode": MODES},
        key=KEY,
    )


def plan_of(trips, side, neighbours=ADD, **amounts):
    terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
    made = make_plan(ZONES, terms, "pyramid:setting=R", LEVELS, "fixed", ATTRIBUTES, SHARE)
    return replace(made, design=StreamDesign.of(LEVELS, LabelDesign(side, SHARE)))


def measure(table, plan):
    """All that is measured, exactly: pairs of a law and true counts."""
    trips, number = TripStreams.of(table, ZONES), count_labels(plan.attributes)
    labelled = [trips.labelled(*kind, number).reshape(-1) for kind in plan.design.labels.kinds]
    return measure_flows(table, plan) + [(plan.label_law.identity, one) for one in labelled]


def largest(trips, plan, neighbours=ADD, claimed=None):
    """The largest loss between neighbours: all persons beside others; ``claimed``: the bound."""
    found, claimed = Fraction(0), trips if claimed is None else claimed
    for others in ((), (((0, 3, "walk"), (0, 3, "car"), (3, 0, "car")),)):
        one = measure(table_of(others, claimed), plan)
        several = [measure(table_of((*others, p), claimed), plan) for p in persons()]
        found = max(found, *(loss(one, other) for other in several))
        if neighbours == REPLACE:
            few = several[:: max(1, len(several) // 40)]
            found = max(found, *(loss(a, b) for a, b in itertools.combinations(few, 2)))
    return found


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize(("trips", "side"), [(1, 1), (2, 1), (2, 8)])
def test_one_person_with_labels_costs_the_budget_and_no_more(trips, side, neighbours, amounts):
    (claim,) = amounts.values()
    found = largest(trips, plan_of(trips, side, neighbours, **amounts), neighbours)
    assert found <= claim
    # Trips with one label between the same two zones change the same counts.
    if neighbours == ADD:
        assert found == claim


@pytest.mark.parametrize("side", [1, 8])
def test_a_quarter_more_than_stated_is_found(side):
    """Control: noise for 5/4 of the budget costs more than the budget."""
    assert largest(1, plan_of(1, side, epsilon=Fraction(5, 4))) == Fraction(5, 4)


def test_labels_measured_with_a_quarter_more_than_their_share_are_found():
    """Control: counts by label alone are measured as if their share were 5/4 as large."""
    plan = plan_of(1, 1, epsilon=1)
    more = plan.design.labels.share * Fraction(5, 4)

    class Overspent(StreamsPlan):
        @property
        def label_law(self):
            return self.whole.law(more / 3)

    fields = (plan.zones, plan.design, plan.method, plan.whole, plan.ends, plan.attributes)
    assert largest(1, Overspent(*fields)) == 1 + SHARE / 4


def test_a_person_whose_labels_differ_changes_both():
    plan = plan_of(2, 1, epsilon=1)
    one, other = (
        measure(table_of((trips,), 2), plan) for trips in ((), ((0, 3, "walk"), (0, 3, "car")))
    )
    walk, car = one[-1][1].reshape(-1, 2).sum(axis=0), other[-1][1].reshape(-1, 2).sum(axis=0)
    assert walk.tolist() == [0, 0]
    assert car.tolist() == [1, 1]
    assert loss(one, other) == 1


def test_shares_add_up_exactly():
    for levels in (LEVELS, None):
        for share in (None, "1/7", "0.3"):
            terms = Terms.of(epsilon=1, contribution=1)
            design = make_plan(ZONES, terms, None, levels, "fixed", ATTRIBUTES, share).design
            assert 2 * design.end_share + sum(design.shares) + design.labels.share == 1
            assert 3 * design.labels.each == design.labels.share


def release_labelled(table, event, key, times=1):
    """Release flows by label; ``times``: how many times the budget is spent."""
    spent = plan_of(1, 1, event.neighbours, epsilon=event.epsilon * times)
    trips, key = TripStreams.of(table, ZONES), key.restrict(spent.declare())
    ends, noisy = spent.draw_ends(trips, key).tables, spent.draw_pairs(trips, key)
    labels, seed = spent.draw_labels(trips, key), spent.draw_seed(key, DIVIDING)
    flows = estimate_ends(ZONES, ends, noisy, spent.draw_seed(key))
    made = table_of_pairs(spent, flows, labels, seed, event)
    return ReleasedTable(table.grid, made.key, made.count, event)


class Claim(Pyramid):
    """A mechanism on pairs, whose sensitivity the audit asks for."""

    def sensitivity(self, grid):
        return 1


FULL = tuple((trip,) for trip in TRIPS for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("others", [(), FULL], ids=["nobody else", "full zones"])
def test_the_release_by_label_keeps_its_claim(others):
    tables = [table_of(others, 1), table_of((*others, ((0, 3, "car"),)), 1)]
    assert audited(release_labelled, Claim(), tables, ADD, trials=300) <= 1


@pytest.mark.law
def test_the_release_keeps_its_claim_where_only_the_label_differs():
    tables = [table_of((*FULL, ((0, 3, mode),)), 1) for mode in MODES]
    assert audited(release_labelled, Claim(), tables, REPLACE, trials=300) <= 1


@pytest.mark.law
def test_a_release_by_label_that_spends_too_much_is_caught():
    tables = [table_of(FULL, 1), table_of((*FULL, ((0, 3, "car"),)), 1)]

    def overspent(table, event, key):
        return release_labelled(table, event, key, times=25)

    assert caught(overspent, Claim(), tables, ADD, 1, trials=600)


def test_labels_have_keys_of_their_own():
    labelled = plan_of(1, 1, epsilon=1).declare().derived.keys()
    plain = make_plan(ZONES, Terms.of(epsilon=1, contribution=1), None, LEVELS).declare()
    assert labelled - plain.derived.keys() == {LABELS, DIVIDING}
