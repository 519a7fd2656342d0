"""The most trips of a unit by a quantile with a charge of its own."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import InputError, UsageError
from geodp.kinds.flows.reading.trips import Trips
from geodp.kinds.flows.reading.units import trips_of_units
from geodp.kinds.flows.trip_bound import (
    count_units,
    list_candidates,
)
from geodp.kinds.selection.question import Quantile
from geodp.kinds.selection.selected import prepare
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import ADD_REMOVE, REPLACE, Terms
from geodp.release.request import Request
from tests.kinds.flows.worlds import GRID, WHERE, persons, rows_of
from tests.refusals import refuses

MOST = 3


def rows_with(numbers):
    """Rows of persons who make so many trips each."""
    return rows_of(tuple(((0, 1),) * number for number in numbers))


def choose(rows, **more):
    return geodp.flows.choose_trips(
        rows, **({**WHERE, "grid": GRID, "largest": 20, "epsilon": 1} | more)
    )


def prepared(world, q, neighbours=ADD_REMOVE, largest=MOST):
    """What is measured of a world, ready to be drawn at epsilon 1."""
    reader = Trips(grid=GRID, **WHERE, trips=largest)
    request = Request(
        terms=Terms.of(epsilon=1, neighbours=neighbours, unit="person"), allow_empty=True
    )
    return prepare(count_units(reader, rows_of(world), largest), Quantile(q, "trips"), request)


@pytest.mark.parametrize("share", ["1/2", "1/4", "0.1", "0.02"])
def test_about_a_share_of_persons_has_more_trips(share):
    number = np.random.default_rng(1).geometric(0.3, 2_000)
    choice = choose(rows_with(number), share=share, epsilon=9)
    most = next(k for k in list_candidates(20) if np.mean(number > k) <= float(Fraction(share)))
    assert choice.trips == most
    release = geodp.flows.publish(
        rows_with(number), grid=GRID, **WHERE, trips=choice.trips, epsilon=1
    )
    assert release.index.guarantee.contribution == most


def test_a_person_with_many_trips_counts_once():
    numbers = [900, *[1] * 60]
    assert choose(rows_with(numbers), epsilon=20, share="1/10").trips == 1
    table = count_units(Trips(grid=GRID, **WHERE), rows_with(numbers), 20)
    assert table.key.tolist() == [0, list_candidates(20).size - 1]
    assert table.count.tolist() == [60, 1]
    assert table.bound.value == 1


@pytest.mark.parametrize("others", [(), (((0, 1), (0, 1), (3, 0)), ((1, 1),))])
def test_one_person_changes_each_rank_by_at_most_one(others):
    reader = Trips(grid=GRID, **WHERE)
    ranks = np.cumsum(count_units(reader, rows_of(others), 2).to_dense().ravel())
    for person in persons(3):
        table = count_units(reader, rows_of((*others, person)), 2)
        change = np.cumsum(table.to_dense().ravel()) - ranks
        assert set(change.tolist()) <= {0, 1}
        assert change[-1] == (1 if person else 0)


def log_chances(made, q):
    """Logarithms of the chances of all candidates, of the exponential mechanism's law."""
    before = np.concatenate([[0], np.cumsum(made.draw.args[0])])
    target = float(q) * before[-1]
    missing = np.maximum(np.maximum(before[:-1] - target, target - before[1:]), 0)
    score = -float(made.design.shown.event.rate) * missing
    return score - np.log(np.exp(score).sum())


def test_chances_are_those_that_the_documentation_states():
    rows = rows_with(np.random.default_rng(0).geometric(0.2, 3000))
    table, q = count_units(Trips(grid=GRID, **WHERE), rows, 100), Fraction(9, 10)
    number, chances = list_candidates(100), {}
    for epsilon in ("0.05", "0.01"):
        terms = Terms.of(epsilon=epsilon, neighbours=ADD_REMOVE, unit="person")
        chances[epsilon] = np.exp(
            log_chances(prepare(table, Quantile(q, "trips"), Request(terms=terms)), q)
        )
    few, many = np.isin(number, (9, 10, 12, 15)), (number >= 8) & (number <= 25)
    assert chances["0.05"][few].sum() == pytest.approx(0.99, abs=0.005)
    assert chances["0.01"][many].sum() == pytest.approx(0.74, abs=0.005)
    assert chances["0.01"][number >= 30].sum() == pytest.approx(0.22, abs=0.005)


def worst_loss(q, neighbours, most):
    """The largest loss between neighbours, of whom one person has up to so many trips."""
    worst = 0.0
    for others in ((), ((),) * 2, tuple(((0, 1),) * n for n in (1, 1, 2, 3, 3))):
        alone = [log_chances(prepared(others, q, neighbours), q)]
        added = [((0, 1),) * n for n in range(1, most + 1)]
        several = [log_chances(prepared((*others, one), q, neighbours), q) for one in added]
        pairs = itertools.product(alone, several)
        if neighbours == REPLACE:
            pairs = itertools.combinations(several, 2)
        worst = max(worst, *(np.abs(a - b).max() for a, b in pairs))
    return worst


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("neighbours", [ADD_REMOVE, REPLACE])
def test_a_person_costs_no_more_than_is_stated(q, neighbours):
    assert 0.3 < worst_loss(q, neighbours, 5) <= 1


def test_a_person_who_is_counted_by_trips_is_found(monkeypatch):
    """Control: each trip is counted, so that a person changes ranks by several."""

    def by_trip(names, key, of_pair):
        number = trips_of_units(names, key, of_pair)
        return number.repeat(number)

    monkeypatch.setattr("geodp.kinds.flows.trip_bound.trips_of_units", by_trip)
    assert worst_loss(Fraction(1, 2), ADD_REMOVE, 5) > 1.25


def test_no_order_of_rows_and_no_other_person_matters():
    draw = np.random.default_rng(2)
    names = np.array([f"p{n}" for n in draw.integers(0, 90, 900)])
    key, order = draw.integers(0, 9, 900).astype(np.uint64), draw.permutation(900)
    for of_pair in (1, 2, 99):
        whole = sorted(trips_of_units(pa.array(names), key, of_pair))
        again = sorted(trips_of_units(pa.array(names[order]), key[order], of_pair))
        parts = [names == one for one in np.unique(names)]
        alone = [*(trips_of_units(pa.array(names[own]), key[own], of_pair) for own in parts)]
        assert whole == again == sorted(np.concatenate(alone))
        assert len(whole) == len(parts)
    assert trips_of_units(pa.array(["a"] * 9), np.zeros(9, np.uint64), 2).tolist() == [2]


@pytest.mark.parametrize("largest", [1, 2, 10, 11, 35, 10_000])
def test_candidates_are_few_and_end_at_the_largest(largest):
    found = list_candidates(largest)
    assert found[-1] == largest
    assert found[0] == 1
    assert (np.diff(found) > 0).all()
    assert found.size < 42


def test_a_day_of_a_person_is_a_unit():
    rows = rows_with([4]).append_column(
        "t", [["2024-05-01T08:00", "2024-05-01T19:00", "2024-05-01T23:00", "2024-05-02T08:00"]]
    )
    table = count_units(Trips(grid=GRID, **WHERE, unit="person-day", time="t"), rows, 5)
    assert table.key.tolist() == [0, 2]
    choice = choose(rows, unit="person-day", time="t", epsilon=1)
    assert choice.selected.card().guarantee.unit == "person-day"


def test_trips_of_stays_and_pings_are_counted():
    clock = ["08:00", "08:10", "08:20", "09:00", "09:10"]
    rows = {"id": ["a"] * 5, "t": [f"2024-05-01T{one}" for one in clock], "lat": [35.05] * 5}
    rows = pa.table(rows | {"lon": [139.01] * 3 + [139.11] * 2})
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
    given = {"grid": grid, "place": ("lon", "lat"), "time": "t", "person": "id"}
    given |= {"largest": 9, "epsilon": 99, "share": "1/2"}
    assert geodp.flows.choose_trips(rows, form="pings", **given).trips == 1
    assert geodp.flows.choose_trips(rows, form="stays", **given).trips == 4


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"share": 0}, "budget-number-not-positive"),
        ({"share": 1}, "flows-choice-share"),
        ({"largest": 0}, "flows-bound-form"),
        ({"largest": 1}, "flows-choice-known"),
        ({"largest": 10**5}, "flows-trips-too-many"),
        *(({"per_pair": one}, "flows-bound-form") for one in (0, -1, 2.5, "2")),
        ({"form": "rows"}, "flows-choice-form"),
        ({"person": None}, "flows-choice-without-persons"),
        ({"unit": "person-day"}, "flows-unit-needs-time"),
        ({"gap": "2h"}, "option-not-for-reader: trips: gap"),
    ],
)
def test_what_makes_no_sense_is_refused(more, code):
    with refuses(UsageError, code):
        choose(rows_with([1, 2]), **more)


def test_a_row_without_a_person_is_refused_and_nothing_is_charged(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.add_dataset("trips", PureDP(Fraction(2)))
    rows = rows_with([1, 2]).set_column(0, "id", [["a", "", "b"]])
    with refuses(InputError, "person-missing"):
        choose(rows, ledger=ledger, dataset="trips")
    assert not ledger.charges("trips")


def test_trips_of_a_pair_count_up_to_their_bound():
    rows = rows_of((((0, 1),) * 9, ((0, 1),) * 2 + ((1, 0),) * 2))
    for per_pair, places in ((None, [3, 8]), (1, [0, 1]), (3, [2, 3]), (50, [3, 8])):
        table = count_units(Trips(grid=GRID, **WHERE, per_pair=per_pair), rows, 20)
        assert table.key.tolist() == places
