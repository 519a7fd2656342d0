"""Noise of parts: no two draws share an address, and what is spent of the budget adds up."""

from fractions import Fraction
from itertools import product

import pytest

from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.parts.measuring import STREAMS, Step, list_marginals, steps_of
from geodp.privacy.key import Stream
from geodp.privacy.terms import Terms


def grid_of(*sizes):
    found = Grid.regular((8, 8))
    for number, size in enumerate(sizes):
        found = found.with_attribute(f"a{number}", [str(label) for label in range(size)])
    return found


GRIDS = {sizes: grid_of(*sizes) for sizes in ((2,), (2, 3), (3, 50), (70, 2), (5, 5, 5))}


NAMES = {(2,): "", (2, 3): "a0+a1", (3, 50): "", (70, 2): "", (5, 5, 5): "a0+a0*a1"}
"""Marginals that the steps of each leave possible."""


@pytest.mark.parametrize("sizes", GRIDS)
def test_steps_and_marginals_have_streams_of_their_own(sizes):
    grid = GRIDS[sizes]
    joint = split_grid(grid)
    marginals = list_marginals(grid, joint, NAMES[sizes])
    steps = [*steps_of(joint), *(one.step for one in marginals)]
    for one in marginals:  # a table of its own, in which nothing was shared out before
        assert (one.step.groups, one.step.parts, one.step.inside) == (1, one.labels, 1)
    measured = [range(step.stream, step.stream + STREAMS) for step in steps]
    rounded = [range(step.rounding, step.rounding + STREAMS) for step in steps_of(joint)]
    every = [number for streams in (*measured, *rounded) for number in streams]
    assert len(set(every)) == len(every)
    assert all(Stream.PARTS <= one.start < one.stop <= Stream.PARTS_ROUNDING for one in measured)
    assert all(Stream.PARTS_ROUNDING <= one.start < one.stop <= Stream.STAGE for one in rounded)


@pytest.mark.parametrize("sizes", GRIDS)
def test_what_a_step_counts_is_in_its_queries(sizes):
    grid = GRIDS[sizes]
    method = mechanism("parts")
    event = method.event(grid, Terms.of(epsilon=1, contribution=1))
    queries = method.queries(grid, event)
    strides = method.schedule(grid).strides
    for step in steps_of(split_grid(grid)):
        assert step.description == ("parts of nodes of keys", step.groups, step.parts, step.inside)
        levels = {
            (query.stream - step.stream, *query.what[4:])
            for query in queries
            if query.what[:4] == step.description
        }
        assert levels == {
            (i, strides[i], many) for many in range(1, len(strides) + 1) for i in range(many)
        }
    assert len({(query.stream, query.noise, query.what) for query in queries}) == len(queries)


@pytest.mark.parametrize("sizes", [sizes for sizes, names in NAMES.items() if names])
def test_what_a_marginal_counts_is_in_its_queries(sizes):
    grid = GRIDS[sizes]
    method = mechanism(f"parts:marginals={NAMES[sizes]}")
    event = method.event(grid, Terms.of(epsilon=1, contribution=1))
    queries = method.queries(grid, event)
    strides = method.schedule(grid).strides
    for one in list_marginals(grid, split_grid(grid), method.marginals):
        words = ("labels of nodes of keys", one.name)
        found = {
            (query.stream - one.step.stream, *query.what[2:])
            for query in queries
            if query.what[:2] == words
        }
        many = range(1, len(strides) + 1)
        assert found == {(i, strides[i], levels) for levels in many for i in range(levels)}


def test_words_tell_every_field_that_is_counted_by():
    fields = product((1, 2), (3, 4), (5, 6))
    steps = [Step(0, groups, parts, 1, inside) for groups, parts, inside in fields]
    assert len({step.description for step in steps}) == len(steps)


@pytest.mark.parametrize("sizes", GRIDS)
@pytest.mark.parametrize(
    "setting", ["", ":share=1/3", ":last=8", ":marginals", ":share=1/7,last=3"]
)
def test_the_budget_of_every_path_is_the_whole(sizes, setting):
    """One person is in one node of the map's levels and one part of every vector's."""
    grid = GRIDS[sizes]
    if setting == ":marginals":
        setting = f":marginals={NAMES[sizes]}" if NAMES[sizes] else ""
    method = mechanism(f"parts{setting}")
    terms = Terms.of(epsilon=Fraction(5, 7), contribution=3)
    event = method.event(grid, terms)
    joint = split_grid(grid)
    own = method.event_of_map(joint, event)
    assert own.epsilon == event.epsilon * method.share
    schedule = method.schedule(grid)
    vectors = len(steps_of(joint)) + len(list_marginals(grid, joint, method.marginals))
    assert method.count_vectors(grid) == vectors
    for levels in range(1, len(schedule.strides) + 1):
        assert own.epsilon + event.epsilon * vectors * sum(schedule.shares(levels)) == event.epsilon


def test_gaussian_budgets_add_up_too():
    grid = GRIDS[2, 3]
    method = mechanism("parts:marginals=a0")
    event = method.event(grid, Terms.of(rho=Fraction(1, 7), contribution=2))
    own = method.event_of_map(split_grid(grid), event)
    rest = event.rho * method.count_vectors(grid) * method.schedule(grid).share
    assert own.rho + rest == event.rho
    assert (own.epsilon, own.delta) == (None, None)


def test_a_grid_of_one_part_spends_all_on_the_map():
    grid = grid_of(1)
    method = mechanism("parts")
    event = method.event(grid, Terms.of(epsilon=1, contribution=1))
    assert method.event_of_map(split_grid(grid), event).epsilon == 1


def test_the_map_spends_rho_alone_where_all_of_it_states_a_delta():
    grid = GRIDS[2, 3]
    method = mechanism("parts")
    for terms in ({"rho": Fraction(1, 7), "delta": "1e-6"}, {"epsilon": 1, "delta": "1e-6"}):
        event = method.event(grid, Terms.of(contribution=1, **terms))
        own = method.event_of_map(split_grid(grid), event)
        assert event.rho is not None
        assert own.rho == event.rho / 2
        assert (own.epsilon, own.delta) == (None, None)


@pytest.mark.parametrize("share", ["1/100", "1/2", "99/100"])
def test_the_least_share_is_that_of_the_widest_noise(share):
    grid, method = GRIDS[2, 3], mechanism(f"parts:share={share}")
    event = method.event(grid, Terms.of(epsilon=1, contribution=1))
    joint = split_grid(grid)
    shares = [part * Fraction(share) for part in Pyramid().levels(joint.map).shares]
    schedule = method.schedule(grid)
    for levels in range(1, len(schedule.strides) + 1):
        shares += schedule.shares(levels)
    assert method.min_share(grid, event) == min(shares)
    one = grid_of(1)
    own = method.event_of_map(split_grid(one), event)
    assert method.min_share(one, event) == Pyramid().min_share(split_grid(one).map, own)
