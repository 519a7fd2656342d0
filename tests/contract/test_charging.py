"""What a release costs: its budget, once, and nothing where it is refused."""

import pytest

import geodp
from geodp.errors import BudgetError
from geodp.privacy.loss import PureDP
from tests.contract.desk import CHARGED, count_draws

SMALL = ("--ledger", "ledger", "--dataset", "small")


def test_a_release_is_charged_once(released):
    """The loss is the budget that was asked for, and the card names the ledger's entry."""
    (charge,) = released.charges()
    assert charge.loss == PureDP(2)
    assert released.index()["budget"] == charge.describe()


def test_a_replay_is_charged_once(replayed):
    assert len(replayed.charges()) == 1


def test_a_second_release_adds(another):
    first, second = another.charges()
    assert (first.loss, second.loss) == (PureDP(2), PureDP(2))
    budget = another.index()["budget"]
    assert budget == second.describe()
    assert (budget["spent"]["epsilon"], budget["earlier_releases"]) == ("4", 1)


def test_a_cap_that_does_not_suffice_refuses(desk, another):
    """Nothing is written and drawn: neither is the next release that the cap allows."""
    desk.ledger().add_dataset("small", PureDP(1), unit=desk.kind.unit)
    before = desk.names()
    with count_draws() as drawn:
        done = desk.publish(*SMALL)
    assert done.returncode == 4, done.stderr
    assert "small" in done.stderr
    assert (drawn, desk.names()) == ([], before)
    assert [*desk.ledger().charges("small")] == []
    assert another.drawn


def test_a_ledger_without_a_data_set_is_refused(desk):
    """No charge is forgotten by a slip."""
    before = desk.names()
    done = desk.publish(*CHARGED[:2])
    assert done.returncode == 2, done.stderr
    assert "data set" in done.stderr
    assert desk.names() == before
    assert desk.charges() == []


def test_another_unit_than_the_ledger_s_is_refused(desk):
    desk.ledger().add_dataset("others", PureDP(9), unit="turtle")
    done = desk.publish("--ledger", "ledger", "--dataset", "others")
    assert done.returncode == 2, done.stderr
    assert "turtle" in done.stderr
    assert [*desk.ledger().charges("others")] == []


def test_a_release_is_charged_once_in_python(framed, released):
    (charge,) = framed.charges()
    assert charge.loss == PureDP(2)
    assert released.index()["budget"] == charge.describe()


def test_a_cap_that_does_not_suffice_refuses_in_python(desk):
    assert desk.kind.in_python is not None
    ledger = desk.ledger()
    ledger.add_dataset("small", PureDP(1), unit=desk.kind.unit)
    with count_draws() as drawn, pytest.raises(BudgetError, match="small"):
        desk.kind.in_python(desk.kind.frames(), ledger=ledger, dataset="small")
    assert drawn == []
    assert [*ledger.charges("small")] == []


def test_records_need_a_ledger_in_python(desk):
    """What a release is made from is declared to a ledger: without one it is refused."""
    assert desk.kind.in_python is not None
    with count_draws() as drawn, pytest.raises(geodp.UsageError, match="ledger"):
        desk.kind.in_python(desk.kind.frames(), records="all")
    assert drawn == []
