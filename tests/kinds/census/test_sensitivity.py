"""What one person changes in all tables of a census, in all small worlds, and what that costs."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.census.inputs import CensusTables, divide_members, nearest_whole
from geodp.kinds.census.margins import Margins
from geodp.privacy.terms import NEIGHBOURS, Terms
from tests.kinds.census.worlds import (
    GRID,
    METHOD,
    changes,
    joined_tables_of,
    loss,
    measure,
    one_person_more,
    sized_tables_of,
    tables_of,
    worlds,
)
from tests.refusals import refuses

ADD, REPLACE = NEIGHBOURS
AMOUNTS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})
ONCE = METHOD.event(GRID, Terms.of(epsilon=1, contribution=1))


TABLES = (tables_of, joined_tables_of, sized_tables_of)
by_tables = pytest.mark.parametrize("count", TABLES)


@cache
def measured(world, count):
    return measure(count(world), ONCE)[0]


@cache
def differences(neighbours, count):
    """All that neighbours' measurements differ by, each once."""
    found = {}
    for world in worlds():
        others = [measured(other, count) for other in one_person_more(world)]
        pairs = [(measured(world, count), other) for other in others]
        if neighbours == REPLACE:
            # Two worlds with one person more differ in one person.
            pairs = itertools.combinations(others, 2)
        for one, other in pairs:
            change = changes(one, other)
            found.setdefault(frozenset(change.items()), change)
    return [*found.values()]


def largest(event, neighbours, count=tables_of):
    """The largest loss between neighbours, over all worlds."""
    laws = measure(count(next(worlds())), event)[1]
    return max(loss(change, laws) for change in differences(neighbours, count))


def event_of(amounts, neighbours=ADD):
    return METHOD.event(GRID, Terms.of(**amounts, neighbours=neighbours, contribution=1))


@by_tables
@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
def test_one_person_costs_the_budget_and_no_more(amounts, count):
    (claim,) = amounts.values()
    assert largest(event_of(amounts), ADD, count) == claim


@by_tables
@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
def test_one_person_in_place_of_another_costs_no_more(amounts, count):
    (claim,) = amounts.values()
    assert claim / 3 <= largest(event_of(amounts, REPLACE), REPLACE, count) <= claim


@by_tables
def test_one_person_changes_as_many_counts_as_is_stated(count):
    margins, found = count(next(worlds())).margins, set()
    for change in differences(ADD, count):
        assert {abs(by) for by in change.values()} == {1}
        each = Counter((table, level) for table, level, *_ in change)
        found |= {(table, number) for (table, _), number in each.items()}
    for table in margins.tables:
        assert max(number for name, number in found if name == table) == margins.changes(table)


FAULTS = {
    "two parts of households are counted as one": (Margins, "changes", lambda *_: 1),
    "persons have more": (Margins, "share", lambda own, *_: Fraction(1, len(own.margins))),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault, monkeypatch):
    """Control: of what is stated."""
    monkeypatch.setattr(*FAULTS[fault])
    assert largest(ONCE, ADD) > 1


@by_tables
def test_four_fifths_of_a_sensitivity_are_found(count):
    """Control: an event that states less than it is, for less noise."""
    assert largest(replace(ONCE, sensitivity=Fraction(4, 5)), ADD, count) == Fraction(5, 4)


# What is fitted.


def fit(total, parts, rest=None):
    """Fit the parts of many cells through the door: int64[cells, labels]."""
    grid = geodp.Grid.regular((len(total), 1))
    labels = [*map(str, range(parts.shape[1]))]
    table = geodp.CountTable.from_dense(parts[:, None], grid.with_attribute("sex", labels))
    persons = geodp.CountTable.from_dense(total[:, None], grid)
    named = {} if rest is None else {"sex": rest}
    made = CensusTables.of(persons, {"sex": table}, rest=named, contradictions="fit")
    return made.tables["sex"].to_dense()[:, 0]


def proportional(total, parts):
    """Control: completed in proportion, by largest remainders."""
    exact = (parts + 1e-9) * (total / (parts + 1e-9).sum(axis=1))[:, None]
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, axis=1, kind="stable")
    lacks = total - whole.sum(axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(parts.shape[1])[None], 1)
    return whole + (rank < lacks[:, None])


CELLS = {2: 6, 3: 5, 4: 4, 5: 3}
"""Numbers of parts, and how many counts each of them takes."""


def contradictory(parts, most):
    """All cells whose parts are below a number, with all totals up to twice of it."""
    every = np.array([*itertools.product(range(2 * most), *[range(most)] * parts)])
    return every[:, 0], every[:, 1:]


def moved(make, parts, most):
    """The most that one person changes: in the total and a part, in the total, in a part."""
    total, counts = contradictory(parts, most)
    before, more = make(total, counts), np.eye(parts, dtype=np.int64)
    both = [make(total + 1, counts + one) for one in more]
    alone = make(total + 1, counts)
    part = [make(total, counts + one) for one in more]
    return [
        max(int(np.abs(each - before).sum(axis=1).max()) for each in some)
        for some in (both, [alone], part)
    ]


@pytest.mark.parametrize("parts", CELLS)
def test_one_person_changes_one_fitted_part(parts):
    """And two where a file counts it in a part and not in the total."""
    assert moved(fit, parts, CELLS[parts]) == [1, 1, 2]
    assert moved(lambda *given: fit(*given, "rest"), parts, CELLS[parts])[:2] == [1, 1]


def test_what_is_completed_in_proportion_costs_more():
    """Control."""
    assert moved(proportional, 3, 5)[0] > 1


def test_what_adds_up_is_not_changed():
    """So that one person changes one part between a file that is fitted and one that is not."""
    total, counts = contradictory(3, 4)
    some = counts.sum(axis=1) == total
    assert np.array_equal(fit(total, counts)[some], counts[some])
    some = counts.sum(axis=1) <= total
    assert np.array_equal(fit(total, counts, "rest")[some, :3], counts[some])


def test_fitted_parts_are_the_nearest():
    """Of equally near ones those that give more to earlier labels."""
    for z in itertools.product(range(4), repeat=3):
        for total in range(8):
            every = [x for x in itertools.product(range(total + 1), repeat=3) if sum(x) == total]
            squares = [sum((a - b) ** 2 for a, b in zip(x, z, strict=True)) for x in every]
            _, nearest = max(zip(-np.array(squares), every, strict=True))
            assert nearest_whole(np.array([z]), np.array([total])).tolist() == [[*nearest]]


def trimmed(persons, members, households):
    """Households, their other members and persons outside of many cells: int64[cells, 3]."""
    grid = geodp.Grid.regular((len(persons), 1))
    tables = [
        geodp.CountTable.from_dense(one[:, None], grid) for one in (persons, households, members)
    ]
    parts, _ = divide_members(*tables, 3)
    found = np.zeros((persons.size, 3), np.int64)
    found[parts.cell.astype(np.int64), parts.part] = parts.count
    return found


def test_one_person_changes_one_trimmed_count():
    """Who joins or opens a household, or lives in none, in cells that are possible and not."""
    every = np.array([*itertools.product(range(7), repeat=3)])
    before = trimmed(*every.T)
    assert (before >= 0).all()
    assert (before[:, 1] <= 2 * before[:, 0]).all()
    for more in ((1, 1, 0), (1, 1, 1), (1, 0, 0)):
        after = trimmed(*(every + more).T) - before
        assert (np.sort(after, axis=1) == [0, 0, 1]).all()


def test_a_rest_of_what_was_fitted_is_refused():
    """One person would change three parts: one of its own, and the rests of two fitted ones."""
    sex = GRID.with_attribute("sex", ["f", "m"])
    tables = {
        "sex": geodp.CountTable.from_dense(np.full((2, 2, 2), 9), sex),
        "job": geodp.CountTable.from_dense(
            np.full((2, 2, 2, 1), 4), sex.with_attribute("job", ["some"])
        ),
    }
    persons = geodp.CountTable.from_dense(np.full((2, 2), 17), GRID)
    with refuses(UsageError, "census-fit-nested"):
        CensusTables.of(persons, tables, rest={"job": "none"}, contradictions="fit")
