"""The objective islands: settlements that stand alone lose less with a plan made for them."""

import numpy as np
import pytest

from geodp import Grid
from geodp.errors import UsageError
from geodp.features.plan.api import Objective, Objectives, serve
from geodp.features.plan.families import draw_families
from geodp.features.plan.plan import plan
from geodp.features.plan.regions import Settlements
from geodp.features.plan.simulation import MIN_LOSS, PlanSimulation, public_key
from geodp.release.settlement_map import place_isolated
from geodp.table.proxy import Proxy
from tests.refusals import refuses

pytestmark = pytest.mark.law

SMALL = Grid.regular((24, 20))
SEA = Grid.regular((256, 256))


def test_a_plan_for_islands_loses_less_of_those_that_it_has_not_seen():
    """Losses of settlements, maps and noise that the search did not see."""
    text = "islands=1"
    found = serve(SEA, text, releases=2, people=5e5, epsilon="1/10")
    towns, off = Proxy.make_up(SEA, 5e5).table, {found.name: 0.0, "pyramid": 0.0}
    people = 0
    for seed in range(4):
        settled = place_isolated(towns, 500, np.random.default_rng(100 + seed))
        around = np.concatenate(settled.around)
        people += settled.table.counts_at(around).sum()
        for name in off:
            one = plan(SEA, name, epsilon="1/10")
            for trial in range(5):
                released = one.method.release(settled.table, one.event, public_key(500 + trial))
                off[name] += released.counts_at(around).sum() / 5
    lost = {name: 1 - held / people for name, held in off.items()}
    assert abs(lost[found.name]) < 0.03
    assert abs(lost[found.name]) < 0.6 * lost["pyramid"]
    assert "settlements of 500 to 1,000" in found.reasons[-1]
    assert "Mean absolute" not in " ".join(found.reasons)  # where islands are all that is asked for


def test_what_settlements_lose_is_a_sum_on_a_map_of_their_own():
    prior = Proxy(Proxy.make_up(SEA, 5e5).table, "")
    families = draw_families(Objectives.parse("islands=1,cells=1"), SEA, prior)
    lone = families[0].groups
    found = PlanSimulation(prior, families).run(
        (one := plan(SEA, epsilon="1/10")).method, one.event, range(2)
    )
    for at, group in enumerate(lone):
        assert isinstance(group, Settlements)
        assert len(group.parts) > 1
        people = sum(table.counts_at(around.key).sum() for table, around in group.parts)
        for trial in range(2):
            held = 0
            for table, around in group.parts:
                released = one.method.release(table, one.event, public_key(trial))
                held += released.counts_at(around.key).sum()
            assert found.gained[trial, at] == pytest.approx(held / people - 1)
    error = one.method.release(prior.table, one.event, public_key(0)).to_dense()
    error = np.abs(error - prior.table.to_dense())
    assert found.absolute[0, len(lone)] == pytest.approx(error.mean())
    parts = np.append(MIN_LOSS + np.abs(found.gained.mean(axis=0)[:-1]), found.mae[-1])
    weights = [*[0.5 / len(lone)] * len(lone), 0.5]
    wanted = np.exp(np.log(parts) @ weights)
    assert found.objective(families, relative=False) == pytest.approx(wanted)


def test_islands_are_simulated_on_one_map():
    with refuses(UsageError, "islands-need-simulation"):
        serve(SMALL, "cells=1,islands=1", releases=0, epsilon=1)
    with refuses(UsageError, "islands-need-plain-map"):
        serve(SMALL.with_attribute("sex", ["f", "m"]), "islands=1", epsilon=1)
    asked = Objectives((Objective("islands", 1.0), Objective("cells", 1.0)))
    own = serve(SMALL, asked, chain="5-5", releases=1, epsilon=1)
    text = serve(SMALL, "islands=1,cells=1", chain="5-5", releases=1, epsilon=1)
    assert (own.name, own.reasons) == (text.name, text.reasons)
    assert own.name.startswith("pyramid:chain=5-5,")
    assert "Mean absolute errors there" in own.reasons[2]
    assert own.reasons[3].startswith("Gains and losses of settlements")
