"""Planned errors are those of releases, before any data."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from tests.refusals import refuses

GRID = geodp.Grid.regular((32, 32))


def plan(**more):
    return geodp.households.plan(GRID, **{"protect": "person", "epsilon": 1, **more})


def test_it_states_the_closed_forms_of_the_release():
    full = geodp.CountTable.from_dense(np.full((32, 32), 900), GRID)
    homes = geodp.CountTable.from_dense(np.full((32, 32), 400), GRID)
    made = geodp.households.publish(full, homes, protect="person", epsilon=1, contribution=1)
    for row in plan():
        assert row.households == pytest.approx(made.households.standard_error(row.cells), rel=1e-4)
        assert row.persons == pytest.approx(row.households * 2**0.5, rel=1e-4)


def test_the_error_of_the_mean_size_falls_with_the_guess():
    few, many = plan(people=1e5)[0], plan(people=1e6)[0]
    assert few.mean_size == pytest.approx(10 * many.mean_size)
    assert plan()[0].mean_size is None


def test_of_households_the_errors_of_persons_depend_on_their_sizes():
    rows = plan(protect="household")
    assert all(one.persons is None for one in rows)
    assert rows[0].households == pytest.approx(2 * plan()[0].households, rel=0.05)


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"protect": "trip"}, "option-out-of-range"),
        ({"mean_size": 0.5}, "households-mean-size"),
        ({"mean_size": float("nan")}, "households-mean-size"),
        ({"mean_size": float("inf")}, "households-mean-size"),
        ({"max_size": 1}, "option-out-of-range"),
        ({"method": "hay"}, "pyramid-needed"),
        ({"epsilon": 0}, "budget-number-not-positive"),
    ],
)
def test_wrong_plans_are_refused(more, rule):
    with refuses(UsageError, rule):
        plan(**more)


def test_a_grid_with_attributes_is_refused():
    with refuses(UsageError, "households-with-attributes"):
        geodp.households.plan(GRID.with_attribute("sex", ["f", "m"]), protect="person", epsilon=1)
