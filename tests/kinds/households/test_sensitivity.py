"""What one person and one household change, in all small worlds, and audits of what is released."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.kinds.households.inputs import Streams, sizes_of, streams_of
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.terms import NEIGHBOURS, Terms
from tests.kinds.amounts.worlds import loss
from tests.kinds.households.worlds import (
    GRID,
    LARGEST,
    by_size,
    one_household_more,
    one_person_more,
    two_tables,
    worlds,
)
from tests.laws.brute import Losses

METHOD = Pyramid("R")
ADD, REPLACE = NEIGHBOURS
AMOUNTS = ({"epsilon": Fraction(1)}, {"rho": Fraction(1, 8)})


def measure(streams, event):
    """All that is measured of both streams, exactly: pairs of a law and true counts."""
    levels = METHOD.descent(GRID, event)
    return [
        (law.identity, table.to_vector().reshape(-1, stride).sum(axis=1))
        for table in streams.tables
        for law, stride in zip(levels.laws, levels.strides, strict=True)
    ]


def of_tables(world):
    return streams_of(*two_tables(world), 100)


def of_sizes(world, max_size=LARGEST):
    return sizes_of(by_size(world), max_size).streams()


def clipped_by_cell(world, max_size=2):
    """Control: persons cut to what the households of their cell can hold, of each cell."""
    streams = of_tables(world)
    homes = streams.households.counts_at(streams.members.key)
    cut = np.minimum(streams.members.count, (max_size - 1) * homes)
    return Streams(streams.households, geodp.CountTable.from_keys(GRID, streams.members.key, cut))


def largest(make, neighbours, event, pairs=one_person_more):
    """The largest loss between neighbours, over all worlds."""
    found = set()
    for world in worlds(2):
        one = measure(make(world), event)
        others = [measure(make(other), event) for other in pairs(world)]
        found |= {loss(one, other) for other in others}
        if neighbours == REPLACE:
            # Two worlds with one person more differ in one person.
            found |= {loss(one, other) for one in others for other in others}
    return max(found)


@pytest.mark.parametrize("amounts", AMOUNTS, ids=["epsilon", "rho"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("make", [of_tables, of_sizes])
def test_one_person_costs_the_budget_and_no_more(make, neighbours, amounts):
    event = METHOD.event(GRID, Terms.of(**amounts, neighbours=neighbours, contribution=1))
    found = largest(make, neighbours, event)
    (claim,) = amounts.values()
    # A budget that were a quarter larger than stated would be above the claim.
    assert found <= claim < found * Fraction(5, 4) or neighbours == REPLACE
    assert found <= claim
    assert found >= claim / 2


@pytest.mark.parametrize("make", [of_tables, of_sizes])
def test_a_quarter_more_than_stated_is_found(make):
    """Control: noise for 5/4 of the budget costs more than the budget."""
    event = METHOD.event(GRID, Terms.of(epsilon="5/4", contribution=1))
    assert largest(make, ADD, event) > 1


def test_a_person_outside_households_changes_no_other_stream():
    """Three streams: who is outside households changes the third one, by one."""
    event = METHOD.event(GRID, Terms.of(epsilon=1, contribution=1))
    world = ((0, 2), (3, 1))
    streams = of_tables(world)
    some, more = (geodp.CountTable.from_keys(GRID, [0, 2], [7, n]) for n in (3, 4))
    one, other = (measure(streams.with_others(table), event) for table in (some, more))
    assert loss(one, other) == 1
    joined = measure(of_tables(((0, 3), (3, 1))).with_others(some), event)
    assert loss(one, joined) == 1


def test_sizes_that_are_cut_by_household_cost_no_more():
    event = METHOD.event(GRID, Terms.of(epsilon=1, contribution=1))
    assert largest(lambda world: of_sizes(world, 2), ADD, event) == 1


def test_persons_that_are_cut_by_cell_cost_more():
    event = METHOD.event(GRID, Terms.of(epsilon=1, contribution=1))
    assert largest(clipped_by_cell, ADD, event) > 1


def test_a_household_of_k_persons_costs_k_times_the_budget():
    event = METHOD.event(GRID, Terms.of(epsilon=1, contribution=1))
    for world in worlds(2):
        one = measure(of_tables(world), event)
        for size in (1, 2, 3):
            other = measure(of_tables((*world, (1, size))), event)
            assert loss(one, other) == size


def change(one, other):
    """How many households by size two worlds differ in."""
    return int(np.abs(by_size(one).to_dense() - by_size(other).to_dense()).sum())


def test_one_household_changes_one_size_and_one_person_two():
    changes = {"household": set(), "person": set()}
    for world in worlds(2):
        changes["household"] |= {change(world, other) for other in one_household_more(world)}
        changes["person"] |= {change(world, other) for other in one_person_more(world)}
    # A person who joins a household that is of the largest size already changes nothing.
    assert changes == {"household": {1}, "person": {1, 2}}


FULL = tuple((place, size) for place in range(4) for size in (1, 2, 3, 2, 2, 3, 1, 2) * 5)
"""Full cells, so that nothing is clamped and a stolen budget shows."""


def losses_of_sizes(share, world, pairs):
    """Losses of households by size, with a share of the budget for the households."""
    parts, table = Parts(Fraction(share)), by_size(world)
    event = parts.event(table.grid, Terms.of(epsilon=1, contribution=1, unit="household"))
    losses = Losses(parts, table, event)
    return {losses.of(by_size(other)) for other in pairs(world)}


def test_one_person_has_the_budget_of_a_household_too():
    """Who joins a household changes two sizes and no sum, which has half of the budget."""
    for world in (FULL, FULL[:5], ((0, 1),), ()):
        assert max(losses_of_sizes("1/2", world, one_household_more)) <= 1
        assert max(losses_of_sizes("1/2", world, one_person_more)) <= 1
    assert max(losses_of_sizes("1/2", FULL, one_person_more)) == 1


def test_one_person_has_the_budget_where_households_have_types_too():
    """A child who joins changes the size and the type of one household: two parts, no sum."""
    grid = GRID.with_attribute("size", ["1", "2", "3+"]).with_attribute("child", ["no", "yes"])
    before = np.full((2, 2, 3, 2), 40)
    after = before.copy()
    after[0, 0, 1, 0] -= 1
    after[0, 0, 2, 1] += 1
    tables = [geodp.CountTable.from_dense(one, grid) for one in (before, after)]
    event = Parts().event(grid, Terms.of(epsilon=1, contribution=1, unit="household"))
    assert Losses(Parts(), tables[0], event).of(tables[1]) == 1


def test_with_less_for_the_households_one_person_would_have_more():
    assert max(losses_of_sizes("1/4", FULL, one_person_more)) == Fraction(3, 2)
