"""What costs budget is asked for, drawn, kept and charged in this order."""

import ast
from fractions import Fraction

import pytest

import geodp
from geodp.errors import BudgetError, UndeclaredDrawError, UsageError
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Ledger
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.release.transaction import draw_and_charge, find_charge, release_and_charge
from tests import sources
from tests.keys import secret
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


DRAWS = Draws.of([Draw(7, ("uniform", Fraction(1)))])
CONTENTS = digest(b"all that the release depends on")


def release(request, draw, keep=None):
    return release_and_charge(request, EVENT, DRAWS, lambda: CONTENTS, draw, keep)


def ask(**fields):
    return Request(terms=Terms.of(epsilon="1/2", contribution=1), **fields)


def test_the_key_is_derived_from_what_is_drawn_and_names_the_charge(steps):
    ledger, steps_taken = steps
    kept, stored = NoiseKey(secret("kept"), _origin="file"), []

    def draw(key):
        steps_taken.append("draw")
        with pytest.raises(UndeclaredDrawError):
            key.require(Draw(8, ("uniform", Fraction(1))))
        return key.words().tolist()

    charged = ask(key=kept, ledger=ledger, dataset="census")
    made, charge = release(charged, draw, lambda *one: stored.append(one))
    assert made == kept.derive(CONTENTS, DRAWS).words().tolist()
    assert charge.fingerprint == kept.fingerprint(CONTENTS)
    assert stored == [(made, charge.fingerprint)]
    assert steps_taken == ["rehearse", "draw", "charge"]
    # The kept key is the caller's, and is still there.
    assert release(charged, draw)[1].replay
    assert len(ledger.charges()) == 1


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "fresh"])
@pytest.mark.parametrize("fails", [None, "draw", "keep", "ledger"])
def test_the_derived_key_is_forgotten_whatever_happens(steps, kept, fails, monkeypatch):
    ledger, _ = steps
    keys = []

    def step(name, key=None):
        if key is not None:
            keys.append((key, key._secret))
        if name == fails:
            raise OSError("full")

    if fails == "ledger":
        monkeypatch.setattr(Ledger, "charge", lambda *_, **__: step("ledger"))
    key = NoiseKey(secret("kept"), _origin="file") if kept else None
    request = ask(key=key, ledger=ledger, dataset="census")
    if fails is None:
        release(request, lambda key: step("draw", key), lambda *_: step("keep"))
    else:
        with pytest.raises(OSError, match="full"):
            release(request, lambda key: step("draw", key), lambda *_: step("keep"))
    ((derived, held),) = keys
    assert held == bytes(32)
    with refuses(UsageError, "key-forgotten"):
        derived.words()
    assert len(ledger.charges()) == (fails is None)


def test_a_fresh_key_draws_new_noise_under_a_new_fingerprint(steps):
    ledger, _ = steps
    request = ask(ledger=ledger, dataset="census")
    (one, first), (other, second) = (release(request, lambda key: key.words()) for _ in range(2))
    assert one.tolist() != other.tolist()
    assert first.fingerprint != second.fingerprint
    assert len(ledger.charges()) == 2


def test_the_records_of_a_request_are_declared_to_the_ledger():
    with refuses(UsageError, "records-need-ledger"):
        release(ask(records="all"), lambda _: None)


def test_everything_that_is_drawn_here_is_drawn_and_charged_by_one_function():
    callers = {}
    for path in sources.FILES:
        for node in sources.walk(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                where = path.relative_to(sources.PACKAGE).as_posix()
                callers.setdefault(node.func.id, set()).add(where)
    assert callers["draw_and_charge"] == {"release/transaction.py"}
    # A cluster charges before it draws.
    assert callers["charge_event"] == {"cluster/run.py"}
    assert callers["release_and_charge"] == {"release/transaction.py"}
