"""What one person changes, in all small worlds of every form, and audits of what is released."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.grid.axes import Attribute
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.kinds.flows.flows import table_of_pairs
from geodp.kinds.flows.levels import FlowsOptions
from geodp.kinds.flows.publish import estimate_ends, make_plan
from geodp.kinds.flows.streams import (
    DESTINATIONS,
    DIVIDING,
    LABELS,
    ORIGINS,
    PAIRS,
    ROUNDING,
    LabelDesign,
    StreamDesign,
    StreamsPlan,
    TripStreams,
    count_labels,
)
from geodp.kinds.flows.zones import Zones, pairs_of
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable, ReleasedTable
from tests.grid.cells.libraries import need_h3
from tests.kinds.flows.masks import masked
from tests.kinds.flows.units import OTHER, list_codes, make_units, with_other
from tests.laws.audit import audited, caught

ADD, REPLACE = NEIGHBOURS
AMOUNTS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})
LEVELS = {1: "2/5", 2: "1/10"}
KEY = NoiseKey(bytes(range(32)))
MODES = ("walk", "car")
SHARE = Fraction(3, 20)
TOWNS = ["north"] * 3 + ["south"] * 3


@dataclass(frozen=True)
class Form:
    """Zones of one form, and persons who go between a few of them.

    Attributes
    ----------
    grid : Grid
    places : tuple
        Rows and columns of zones, or codes of units, also of places that are no zone.
    side : int or None
        Of the blocks whose trips are measured by label; None: trips have no label.
    most : int
        Most trips of a person.
    other : str or None
        Name of the zone of all other places.
    """

    grid: geodp.Grid
    places: tuple
    side: int | None = None
    most: int = 2
    other: str | None = None

    @property
    def trips(self):
        """All trips between these places, with every label."""
        return [*itertools.product(self.places, self.places, *[MODES] * (self.side is not None))]

    def persons(self, most):
        """All lists of at most so many trips of one person."""
        for number in range(most + 1):
            yield from itertools.combinations_with_replacement(self.trips, number)

    def table_of(self, world, trips):
        """The table of pairs of a world, which lists each person's trips, bounded by person."""
        is_map = isinstance(self.places[0], tuple)
        ends = [(f"{end}y", f"{end}x") if is_map else (f"{end}c",) for end in "od"]
        rows = [
            (f"p{n}", *((*one[0], *one[1]) if is_map else one[:2]), *one[2:])
            for n, listed in enumerate(world)
            for one in listed
        ]
        labels = ("mode",) if self.side is not None else ()
        columns = [*zip(*rows, strict=True)] or [[]] * 9
        kinds = {name: pa.int64() for one in ends for name in one} if is_map else {}
        table = pa.table(
            {
                name: pa.array(columns[at], kinds.get(name, pa.string()))
                for at, name in enumerate(("id", *ends[0], *ends[1], *labels))
            }
        )
        named = [one if is_map else one[0] for one in ends]
        more = {"by": "mode", "labels": {"mode": MODES}} if labels else {}
        more |= {"other": self.other} if self.other else {"outside": "drop"}
        return geodp.flows.read_trips(
            table, grid=self.grid, origin=named[0], destination=named[1], person="id",
            trips=trips, key=KEY, **more,
        )  # fmt: skip

    def plan_of(self, trips, neighbours=ADD, key_origin="entropy", levels=LEVELS, **amounts):
        """The plan of a release with a bound of trips."""
        terms = Terms.of(**amounts, neighbours=neighbours, contribution=trips)
        method = None if self.grid.hierarchy else "pyramid:setting=R"
        share = None if self.side is None else SHARE
        modes = () if self.side is None else (Attribute("mode", MODES),)
        options = FlowsOptions(levels=levels, label_share=share)
        made = make_plan(Zones.of(self.grid), terms, method, options, key_origin, modes)
        if self.side is None:
            return made
        return replace(made, design=StreamDesign.of(levels, LabelDesign(self.side, SHARE)))


MAP = geodp.Grid.regular((2, 2)), ((0, 0), (0, 1), (1, 1))
BAY = masked(geodp.Grid.regular((3, 3)), np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0]], bool))
SEA = (1, 1)
UNITS, IN_TOWNS = make_units(2, 3)[0], make_units(2, 3, town=TOWNS)[0]
FORMS = {
    "map": Form(*MAP, most=3),
    "mask": Form(BAY, ((0, 0), (0, 2), SEA)),
    "units": Form(UNITS, (*list_codes(UNITS, [0, 3, 5]),)),
    "other places": Form(with_other(UNITS), (*list_codes(UNITS, [0, 3]), "99"), other=OTHER),
    "map, labels": Form(MAP[0], MAP[1][::2], side=1),
    "map, labels of the whole": Form(MAP[0], MAP[1][::2], side=8),
    "units, labels": Form(UNITS, (*list_codes(UNITS, [0, 3]),), side=1),
    "units, labels of blocks": Form(UNITS, (*list_codes(UNITS, [0, 3]),), side=2),
    "towns, labels of the whole": Form(IN_TOWNS, (*list_codes(IN_TOWNS, [0, 3]),), side=8),
}
any_form = pytest.mark.parametrize("name", FORMS)


def measure(plan, table):
    """All that is measured of a table, exactly: true counts of every stream."""
    trips = TripStreams.of(table, plan.zones)
    strides = plan.method.descent(plan.zones.grid, plan.ends).strides
    last, found = int(plan.zones.key.max()), []
    for one, stride in itertools.product((trips.origins, trips.destinations), strides):
        found.append(np.zeros(last // stride + 1, np.int64))
        np.add.at(found[-1], one.key.astype(np.int64) // stride, one.count)
    found += [trips.pairs(side).reshape(-1) for side in plan.design.sides]
    if plan.attributes:
        number = count_labels(plan.attributes)
        kinds = plan.design.labels.kinds
        found += [trips.labelled(*kind, number).reshape(-1) for kind in kinds]
    return found


def loss(plan, one, other):
    """The loss of all measurements together, exactly."""
    laws = [*plan.method.descent(plan.zones.grid, plan.ends).laws * 2, *plan.laws]
    laws += [plan.label_law] * (3 if plan.attributes else 0)
    total = Fraction(0)
    for law, some, others in zip(laws, one, other, strict=True):
        kind, scale = law.identity[:2]
        by = [abs(int(n)) for n in (some - others)[some != others]]
        total += sum(by) / scale if kind == LAPLACE else Fraction(sum(n * n for n in by), 2) / scale
    return total


@cache
def worlds_of(name, claimed):
    """What is measured of others, and of each person beside them, with a bound that is claimed."""
    form, found = FORMS[name], []
    plan, trips = form.plan_of(claimed, epsilon=1), form.trips
    for others in ((), ((trips[1], trips[1], trips[6]),)):
        persons = form.persons(min(claimed + 1, form.most))
        found.append(
            [
                measure(plan, form.table_of((*others, *one), claimed))
                for one in ((), *((person,) for person in persons))
            ]
        )
    return found


def largest(name, plan, claimed, neighbours=ADD):
    """The largest loss between neighbours; ``claimed``: the bound of trips."""
    found = Fraction(0)
    for base, *several in worlds_of(name, claimed):
        found = max(found, *(loss(plan, base, other) for other in several))
        if neighbours == REPLACE:
            few = several[:: max(1, len(several) // 30)]
            found = max(found, *(loss(plan, a, b) for a, b in itertools.combinations(few, 2)))
    return found


@any_form
@pytest.mark.parametrize(("trips", "amounts"), [(1, AMOUNTS[0]), (2, AMOUNTS[0]), (2, AMOUNTS[1])])
def test_one_person_costs_the_budget_and_no_more(name, trips, amounts):
    (claim,) = amounts.values()
    # Trips between the same two zones change the same counts: the whole budget is needed.
    assert largest(name, FORMS[name].plan_of(trips, **amounts), trips) == claim
    plan = FORMS[name].plan_of(trips, REPLACE, **amounts)
    assert claim / 4 < largest(name, plan, trips, REPLACE) <= claim


@any_form
def test_more_than_is_stated_is_found(name):
    """Controls: noise for 5/4 of the budget, and two trips are kept where the noise is for one."""
    more = FORMS[name].plan_of(1, epsilon=Fraction(5, 4))
    assert largest(name, more, 1) == Fraction(5, 4)
    assert largest(name, FORMS[name].plan_of(1, epsilon=1), 2) == 2


@pytest.mark.parametrize("name", [name for name in FORMS if "labels" in name])
def test_labels_measured_with_a_quarter_more_than_their_share_are_found(name):
    """Control: counts by label alone are measured as if their share were 5/4 as large."""
    plan = FORMS[name].plan_of(1, epsilon=1)

    class Overspent(StreamsPlan):
        @property
        def label_law(self):
            return self.whole.law(SHARE * Fraction(5, 4) / 3)

    fields = (plan.zones, plan.design, plan.method, plan.whole, plan.ends, plan.attributes)
    assert largest(name, Overspent(*fields), 1) == 1 + SHARE / 4


def test_a_trip_with_an_end_outside_changes_nothing():
    form = FORMS["mask"]
    plan, (first, last) = form.plan_of(1, epsilon=1), form.places[:2]
    base = measure(plan, form.table_of((((first, last),),), 1))
    for trip in ((first, SEA), (SEA, last), (SEA, SEA)):
        other = measure(plan, form.table_of((((first, last),), (trip,)), 1))
        assert loss(plan, base, other) == 0


@pytest.mark.parametrize("side", [None, 1, 2])
def test_trips_from_or_to_a_cell_s_outside_cost_the_same(side):
    """The zone of all other places is a block of its own in every kind of counts."""
    need_h3()
    grid = grid_of_cells("h3:6", (139, 35, 139.2, 35.15), other=OTHER)
    inside = next(code for code in list_codes(grid) if code != OTHER)
    form = Form(grid, (inside, OTHER), side=side, other=OTHER)
    plan = form.plan_of(1, epsilon=1)
    base = measure(plan, CountTable.from_keys(pairs_of(grid, plan.attributes), [], []))
    for trip in form.trips:
        assert loss(plan, base, measure(plan, form.table_of(((trip,),), 1))) == 1


def test_shares_add_up_exactly():
    for levels in (LEVELS, {1: "1/3"}, {1: "0.1", 2: "1/7"}, None):
        design = FORMS["map"].plan_of(1, levels=levels, epsilon=1).design
        assert 2 * design.end_share + sum(design.shares) == 1
        for share in (None, "1/7", "0.3"):
            terms, modes = Terms.of(epsilon=1, contribution=1), (Attribute("mode", MODES),)
            options = FlowsOptions(levels=levels, label_share=share)
            design = make_plan(Zones.of(MAP[0]), terms, None, options, "fixed", modes).design
            assert 2 * design.end_share + sum(design.shares) + design.labels.share == 1
            assert 3 * design.labels.each == design.labels.share


def test_streams_have_keys_of_their_own():
    streams = {ORIGINS, DESTINATIONS, PAIRS, ROUNDING}
    assert len({*streams, LABELS, DIVIDING}) == 6
    assert FORMS["map"].plan_of(1, epsilon=1).declare().derived.keys() == streams
    labelled = FORMS["map, labels"].plan_of(1, epsilon=1).declare().derived.keys()
    assert labelled - streams == {LABELS, DIVIDING}


class Claim(Pyramid):
    """A mechanism on pairs, whose sensitivity the audit asks for."""

    def unsupported(self, grid):
        return None

    def sensitivity(self, grid):
        return 1


def releasing(form, times=1, most=1):
    """Return what releases flows as one table; ``times``: how many times the budget is spent."""

    def release(table, event, key):
        spent = form.plan_of(most, event.neighbours, "fixed", epsilon=event.epsilon * times)
        trips, key = TripStreams.of(table, spent.zones), key.restrict(spent.declare())
        ends, noisy = spent.draw_ends(trips, key).tables, spent.draw_pairs(trips, key)
        labels = spent.draw_labels(trips, key)
        seed = spent.draw_seed(key, DIVIDING) if labels else 0
        flows = estimate_ends(spent.zones, ends, noisy, spent.draw_seed(key))
        made = table_of_pairs(spent, flows, labels, seed, event)
        return ReleasedTable(table.grid, made.key, made.count, event)

    return release


AUDITED = ("mask", "units", "map, labels")
"""Draws of every kind; what one person costs is shown exactly of every form."""


def full(form):
    """40 persons with each of the trips inside."""
    return tuple((trip,) for trip in form.trips if SEA not in trip for _ in range(40))


@pytest.mark.law
@pytest.mark.parametrize("name", AUDITED)
@pytest.mark.parametrize("crowded", [False, True], ids=["nobody else", "full zones"])
def test_the_release_keeps_its_claim(name, crowded):
    form = FORMS[name]
    others = full(form) if crowded else ()
    tables = [form.table_of(one, 1) for one in (others, (*others, (form.trips[1],)))]
    assert audited(releasing(form), Claim(), tables, ADD, trials=150) <= 1


@pytest.mark.law
@pytest.mark.parametrize("name", AUDITED)
def test_the_release_keeps_its_claim_where_a_person_replaces_another(name):
    """The other one goes back, or there with another label."""
    form = FORMS[name]
    first, last, *_ = form.places
    pair = [(first, last), (last, first)]
    if form.side is not None:
        pair = [(first, last, mode) for mode in MODES]
    tables = [form.table_of((*full(form), (one,)), 1) for one in pair]
    assert audited(releasing(form), Claim(), tables, REPLACE, trials=150) <= 1


@pytest.mark.law
@pytest.mark.parametrize("trips", [[1, 1, 1], [1, 6, 4]], ids=["one pair", "several"])
def test_a_person_with_several_trips_has_the_same_claim(trips):
    """Neighbours differ by one person with three trips, and the noise is for three."""
    form = FORMS["map"]
    person = tuple(form.trips[at] for at in trips)
    tables = [form.table_of(one, 3) for one in (full(form), (*full(form), person))]
    assert audited(releasing(form, most=3), Claim(), tables, ADD, trials=150) <= 1


@pytest.mark.law
@pytest.mark.parametrize("name", AUDITED)
def test_a_release_that_spends_too_much_is_caught(name):
    form = FORMS[name]
    tables = [form.table_of(one, 1) for one in (full(form), (*full(form), (form.trips[1],)))]
    assert caught(releasing(form, times=25), Claim(), tables, ADD, 1, trials=300)
