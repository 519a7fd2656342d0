"""Dominating every method: what is planned, what is simulated, and what is said of it."""

import re

import numpy as np
import pytest

from geodp import METHODS, Grid
from geodp.errors import UsageError
from geodp.features.plan import dominance as module
from geodp.features.plan.api import dominate
from geodp.features.plan.dominance import FAMILIES, Dominance
from geodp.features.plan.families import draw_families
from geodp.features.plan.plan import plan
from geodp.features.plan.simulation import FRESH, ErrorRatio, PlanSimulation
from geodp.table.proxy import Proxy

pytestmark = pytest.mark.law

GRID = Grid.regular((16, 16))


QUICK = ("topdown", "laplace", "ugrid")


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[pytest.mark.law] * (m not in QUICK)) for m in METHODS]
)
def test_every_method_is_simulated_and_the_ratios_are_those_of_new_releases(method, monkeypatch):
    monkeypatch.setattr(module, "MOVES", 2)
    found = dominate(GRID, method, epsilon=1, releases=2, people=20_000.0)
    assert {one.name.partition(" ")[0] for one in found.simulated} == {
        "squares", "polygons", "rectangles"
    }  # fmt: skip
    assert bool(found.ratios) == bool(plan(GRID, method, epsilon=1).blocks)
    proxy = Proxy.make_up(GRID, 20_000.0)
    simulation = PlanSimulation(proxy, draw_families(FAMILIES, GRID, proxy))
    both = [
        simulation.run(one.method, one.event, range(FRESH, FRESH + 2))
        for one in (found.plan, plan(GRID, method, epsilon=1))
    ]
    some = both[1].mae > 0  # uniform's total is often exact
    assert some.sum() > 9
    for figure in ("mae", "rmse"):
        ours, theirs = (getattr(one, figure)[some] for one in both)
        told = np.array([getattr(one, figure) for one in found.simulated])
        np.testing.assert_allclose(told[some], ours / theirs)


def test_the_search_makes_the_largest_ratio_smaller(monkeypatch):
    given = {"epsilon": 1, "releases": 6, "people": 20_000.0}
    monkeypatch.setattr(module, "MOVES", 0)
    first = dominate(GRID, "agrid", **given)
    monkeypatch.setattr(module, "MOVES", 60)
    found = dominate(GRID, "agrid", **given)
    assert max(one.largest for one in found.conclusive) < max(
        one.largest for one in first.conclusive
    )
    assert found.largest == max(one.largest for one in found.conclusive)


def ratio(name, mae, rmse):
    return ErrorRatio(name, mae, 0.01, rmse, 0.02)


def test_sentences_say_by_how_much_and_where_it_fails():
    rows = ratio("squares of 4", 0.8, 0.9), ratio("polygons", 1.2, 1.1), ratio("total", 3.0, 3.0)
    found = Dominance(plan(GRID, epsilon=1), {}, rows, ("total",), "2 releases of a map")
    said = " ".join(found.sentences)
    assert "2 releases of a map" in said
    assert "largest ratio is 1.200 +- 0.010 (mean absolute error), of polygons" in said
    assert re.search(r"does not dominate there: polygons 1\.200 \+- 0\.010", said)
    assert "squares of 4" not in said
    assert "Too few to tell: total" in said
    assert found.to_dict()["dominance"] == list(found.sentences)
    more = Dominance(found.plan, {}, (*rows[1:2], ratio("areas", 1.3, 1.1)), (), "a map")
    assert re.search(r"there: polygons 1\.2[^;]*; areas 1\.3", " ".join(more.sentences))
    better = Dominance(found.plan, {}, rows[:1], (), "a map")
    assert "does not dominate" not in " ".join(better.sentences)
    assert "0.900 +- 0.020 (root-mean-square error)" in " ".join(better.sentences)
    assert Dominance(found.plan, {1: 0.5}).sentences == ()


def test_what_cannot_be_simulated_is_planned_or_refused():
    pairs = Grid.regular((4, 4)).pairs()
    assert dominate(pairs, "topdown", epsilon=1).simulated == ()
    for grid, other, given in (
        (pairs, "dawa", {}),
        (GRID, "mwem", {"releases": 0}),
        (GRID, [1.0] * 9, {"releases": 2}),
        (GRID, "topdown", {"releases": -1}),
        (Grid.regular((1, 2)), "topdown", {"releases": 1}),
    ):
        with pytest.raises(UsageError):
            dominate(grid, other, epsilon=1, **given)


def test_own_levels_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MOVES", 3)
    for method in ("topdown", "mwem"):
        found = dominate(GRID, method, epsilon=1, releases=2, chain="4-4")
        assert found.plan.name.startswith("pyramid:chain=4-4,")
