"""Where Gaussian noise begins to win, against plans of every number of releases."""

import math
import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.mechanisms import mechanism
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, ZeroConcentratedDP, rho_for
from geodp.privacy.terms import Terms
from geodp.release.preview import SIDE, find_crossings, warn_of_delta

GRID = geodp.Grid.regular((64, 64))
TABLE = geodp.CountTable.from_dense(np.full((64, 64), 9), GRID)
DELTA = F(1, 10**6)


def first_win(grid, method, epsilon, delta):
    """The definition: one release more and more, until that with Gaussian noise is better."""
    rho = rho_for(epsilon, delta)
    for releases in range(1, 200):
        pure = geodp.plan(grid, method, epsilon=epsilon / releases).blocks[0]
        gaussian = geodp.plan(grid, method, rho=rho / releases).blocks[0]
        if gaussian.standard_error < pure.standard_error:
            return releases
    return None


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["pyramid", "topdown", "pyramid:setting=R"]),
    st.fractions(F(1, 10), 3, max_denominator=20),
    st.integers(3, 9).map(lambda n: F(1, 10**n)),
)
def test_the_number_for_a_cell_is_that_of_trying_each(method, epsilon, delta):
    terms = Terms.of(epsilon=epsilon, delta=delta)
    cell, _ = find_crossings(GRID, mechanism(method), terms)
    assert cell.releases == first_win(GRID, method, epsilon, delta)


def test_errors_are_those_of_a_single_release():
    terms = Terms.of(epsilon=1, delta=DELTA, contribution=3)
    cell, square = find_crossings(GRID, mechanism("pyramid"), terms)
    pure = geodp.plan(GRID, epsilon=1, contribution=3)
    gaussian = geodp.plan(GRID, epsilon=1, delta=DELTA, contribution=3)
    assert cell.pure == pure.blocks[0].standard_error
    assert cell.gaussian == gaussian.blocks[0].standard_error
    assert square.pure > cell.pure
    # About as many times as the square of the ratio.
    for one in (cell, square):
        assert abs(one.releases - math.ceil((one.gaussian / one.pure) ** 2)) <= 1


def test_a_release_of_the_number_wins_and_one_fewer_does_not():
    rho = rho_for(F(1), DELTA)
    cell, _ = find_crossings(GRID, mechanism("pyramid"), Terms.of(epsilon=1, delta=DELTA))

    def wins(releases):
        pure = geodp.plan(GRID, epsilon=F(1) / releases).blocks[0]
        gaussian = geodp.plan(GRID, rho=rho / releases).blocks[0]
        return gaussian.standard_error < pure.standard_error

    assert wins(cell.releases)
    assert not wins(cell.releases - 1)


@pytest.mark.parametrize(
    ("grid", "areas"),
    [
        (GRID, 2),
        (geodp.Grid.regular((SIDE - 1, 64)), 1),
        (geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36)), 2),
    ],
)
def test_the_square_needs_a_map_of_its_size(grid, areas):
    found = find_crossings(grid, mechanism("pyramid"), Terms.of(epsilon=1, delta=DELTA))
    assert len(found) == areas
    assert all(one.releases > 1 for one in found)


def test_of_parts_the_map_is_compared():
    grid = GRID.with_attribute("sex", ["f", "m"])
    # Noise of many people, whose discrete law has the proportions of the continuous one.
    terms = Terms.of(epsilon="1/20", delta=DELTA)
    cell, square = find_crossings(grid, mechanism("parts"), terms)
    # The map has half of the budget: twice the pure error, and the square root of it with Gaussian
    # noise, which so wins with half as many releases.
    alone, block = find_crossings(GRID, mechanism("pyramid"), terms)
    assert cell.pure == pytest.approx(2 * alone.pure, rel=0.01)
    assert cell.gaussian == pytest.approx(math.sqrt(2) * alone.gaussian, rel=0.01)
    assert (cell.releases, square.releases) == (-(-alone.releases // 2), -(-block.releases // 2))
    assert len(geodp.plan(grid, epsilon=1, delta=DELTA).warnings) == 2


def test_a_budget_without_epsilon_and_delta_has_nothing_to_compare():
    for terms in (Terms.of(epsilon=1), Terms.of(rho=1)):
        assert find_crossings(GRID, mechanism("pyramid"), terms) == ()
        assert warn_of_delta(GRID, mechanism("pyramid"), terms) == ()


def test_publish_and_plan_warn_before_the_charge():
    with pytest.warns(UserWarning, match="Without a delta, a pure release") as warned:
        geodp.publish(TABLE, epsilon=1, delta=DELTA, contribution=1)
    assert len(warned) == 2
    planned = geodp.plan(GRID, epsilon=1, delta=DELTA).warnings
    assert [str(one.message) for one in warned] == list(planned)
    assert "square of 24 x 24 cells" in planned[1]


@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 1},
        {"rho": F(1, 200)},
        {"rho": F(1, 200), "delta": DELTA},
        {"epsilon": 1, "delta": DELTA, "method": "topdown"},
    ],
)
def test_nothing_is_said_where_rho_is_asked_for_or_gaussian_noise_wins(budget):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        geodp.publish(TABLE, contribution=1, **budget)


def test_nothing_is_said_where_the_ledger_is_kept_in_rho(tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("in rho", ZeroConcentratedDP(1))
    ledger.add_dataset("with delta", ApproximateDP(9, DELTA * 9))
    given = {"epsilon": 1, "delta": DELTA, "contribution": 1, "ledger": ledger}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        geodp.publish(TABLE, dataset="in rho", **given)
    with pytest.warns(UserWarning, match="Without a delta"):
        geodp.publish(TABLE, dataset="with delta", **given)
