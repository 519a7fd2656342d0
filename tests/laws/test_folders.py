"""Every folder with a card states the loss of all that lies in it, of every kind of release."""

import json
from fractions import Fraction

import pytest

from geodp.kinds.flows import publish as of_flows
from geodp.kinds.flows.flows import depend_ends
from geodp.kinds.flows.streams import DESTINATIONS, ORIGINS
from geodp.kinds.series.smoothing import Smoothing
from tests.laws.folders import KINDS, TIMES


@pytest.mark.parametrize("kind", KINDS)
def test_every_folder_states_the_loss_of_all_noise_that_it_depends_on(kind):
    made = KINDS[kind]
    assert made.stated() == made.losses()


@pytest.mark.parametrize("kind", KINDS)
def test_folders_with_a_card_are_those_that_are_checked(kind, tmp_path):
    made = KINDS[kind]
    made.make().write(tmp_path / "out")
    public, found = tmp_path / "out" / "public", {}
    for path in public.rglob("*.json"):
        card = json.loads(path.read_text("utf-8"))
        if "guarantee" in card:
            budget = card["guarantee"]["rho"] or card["guarantee"]["epsilon"]
            found[path.parent.relative_to(public).as_posix().removeprefix(".")] = Fraction(budget)
    assert found == made.stated()


def test_each_map_of_ends_is_made_of_both():
    """Without what cards say of other tables, too."""
    depends = KINDS["flows"].depends(cards=False)
    assert depends["origins"] == depends["destinations"] == {ORIGINS, DESTINATIONS}
    assert KINDS["flows"].losses(cards=False)["origins"] == 2 * Fraction(1, 4)


def test_ends_that_state_their_own_share_are_found(monkeypatch):
    """Control: what cards of earlier versions state."""
    monkeypatch.setattr(of_flows, "depend_ends", lambda plan: depend_ends(plan).own)
    stated = KINDS["flows"].stated()
    assert stated["origins"] == Fraction(1, 4) < KINDS["flows"].losses()["origins"] == 1


def test_smoothed_snapshots_that_state_their_own_share_are_found(monkeypatch):
    """Control: what cards of earlier versions state."""
    monkeypatch.setattr(Smoothing, "count_seen", lambda *_: 1)
    kind = KINDS["series, smooth both"]
    assert {kind.stated()[time] for time in TIMES} == {Fraction(1, 3)}
    assert {kind.losses(cards=False)[time] for time in TIMES} == {1}
