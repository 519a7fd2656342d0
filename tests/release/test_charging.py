"""What costs budget is asked for, drawn, kept and charged in this order."""

from fractions import Fraction

import pytest

import geodp
from geodp.errors import BudgetError, UsageError
from geodp.privacy.ledger import Ledger
from geodp.release.charging import draw_and_charge, find_charge
from tests.ledgers import small_ledger
from tests.refusals import refuses

EVENT = geodp.publish(
    geodp.CountTable.from_dense([[1, 2], [3, 4]], geodp.Grid.regular((2, 2))),
    epsilon="1/2",
    contribution=1,
).event
F = "f" * 64


@pytest.fixture
def steps(tmp_path, monkeypatch):
    """Return a ledger, and the list of what is done with it."""
    ledger, steps_taken = small_ledger(tmp_path), []

    def watch(name):
        original = getattr(Ledger, name)

        def note(self, *args, **more):
            steps_taken.append(name)
            return original(self, *args, **more)

        monkeypatch.setattr(Ledger, name, note)

    watch("rehearse")
    watch("charge")
    return ledger, steps_taken


def carry_out(ledger, steps_taken, **fails):
    def step(name, *_):
        steps_taken.append(name)
        if name in fails:
            raise fails[name]
        return name

    return draw_and_charge(
        *(ledger, "census", EVENT, F), lambda: step("draw"), lambda *_: step("keep")
    )


def test_the_order(steps):
    ledger, steps_taken = steps
    drawn, charge = carry_out(ledger, steps_taken)
    assert steps_taken == ["rehearse", "draw", "keep", "charge"]
    assert (drawn, charge.fingerprint, charge.replay) == ("draw", F, False)
    assert find_charge(ledger, "census", F) == charge


@pytest.mark.parametrize("name", ["draw", "keep"])
def test_what_fails_before_the_charge_costs_nothing(steps, name):
    ledger, steps_taken = steps
    with pytest.raises(OSError, match="full"):
        carry_out(ledger, steps_taken, **{name: OSError("full")})
    assert (steps_taken[-1], ledger.charges()) == (name, ())


def test_what_the_ledger_refuses_is_not_drawn(steps):
    ledger, steps_taken = steps
    terms = {"mechanism": "m", "neighbours": EVENT.neighbours, "contribution": 1}
    ledger.charge("census", EVENT.loss, **terms, fingerprint="a" * 64)
    ledger.charge("census", EVENT.loss, **terms, fingerprint="b" * 64)
    steps_taken.clear()
    with pytest.raises(BudgetError):
        carry_out(ledger, steps_taken)
    assert steps_taken == ["rehearse"]
    assert ledger.remaining("census").epsilon == Fraction(0)


def test_without_a_ledger_nothing_is_kept():
    stored = []
    made = draw_and_charge(None, None, EVENT, F, lambda: "drawn", lambda *one: stored.append(one))
    assert (made, stored) == (("drawn", None), [])


def test_a_charge_that_is_not_there_is_refused(steps):
    ledger, _ = steps
    for known in ((ledger, "census"), (ledger, None), (None, None)):
        with refuses(UsageError, "resumed-charge-missing"):
            find_charge(*known, F)
