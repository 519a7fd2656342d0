"""The ledger: exact sums, caps, replays and refusals, and a model to compare with."""

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from fractions import Fraction as F

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from geodp.errors import BudgetError, UsageError
from geodp.privacy import hash_chain
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP, to_approximate
from geodp.privacy.terms import REPLACE
from tests.ledgers import START, charge, fingerprint
from tests.refusals import refuses

# -- charging


def test_charges_add_up_exactly_to_the_cap_and_not_beyond(ledger):
    for number in range(10):
        charge(ledger, PureDP(F(1, 10)), number=number)  # ten tenths, which floats miss
    assert ledger.spent("census") == PureDP(F(1))
    assert ledger.remaining("census") == PureDP(F(0))
    with refuses(BudgetError, r"cap-exceeded: \bepsilon 0\b"):
        charge(ledger, PureDP(F(1, 10**80)), number=10)
    assert len(ledger.charges("census")) == 10
    ledger.check()


def test_a_charge_tells_its_second_in_universal_time(ledger):
    before = datetime.now(UTC).replace(microsecond=0)
    at = datetime.fromisoformat(charge(ledger).at)
    assert charge(ledger).at == at.isoformat(timespec="seconds")
    assert (at.utcoffset(), at.microsecond) == (timedelta(0), 0)
    assert before <= at <= datetime.now(UTC)


def test_a_charge_tells_the_card_what_was_spent_before_and_in_all(ledger):
    charge(ledger, number=1)
    second = charge(ledger, PureDP(F(1, 3)), number=2, details={"split": [1, 2], "名": "é"})
    assert json.loads(second.details) == {"split": [1, 2], "名": "é"}
    assert second.describe() == {
        "ledger": ledger.check().ledger,
        "dataset": "census",
        "unit": "person",
        "neighbours": "add-remove-one",
        "loss": PureDP(F(1, 3)).describe(),
        "spent": PureDP(F(8, 15)).describe(),
        "cap": PureDP(F(1)).describe(),
        "earlier_releases": 1,
        "sequence": 3,
        "head": ledger.check().hash,
    }


def test_a_known_fingerprint_costs_nothing_and_has_the_same_card(ledger):
    first = charge(ledger, number=1)
    charge(ledger, number=2)
    again = charge(ledger, number=1)
    assert (first.replay, again.replay) == (False, True)
    assert again.describe() == first.describe()
    assert ledger.spent("census") == PureDP(F(2, 5))


def test_a_replay_is_recognised_when_nothing_is_left(ledger):
    charge(ledger, PureDP(F(1)), number=1)
    assert charge(ledger, PureDP(F(1)), number=1).replay


@pytest.mark.parametrize(
    "changed",
    [
        {"loss": PureDP(F(1, 2))},
        {"mechanism": "privelet"},
        {"neighbours": REPLACE},
        {"contribution": 2},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_fingerprint_of_another_release_is_refused(ledger, changed):
    charge(ledger)
    with refuses(UsageError, "fingerprint-reused"):
        charge(ledger, **changed)


def test_charges_are_listed_of_one_data_set_and_of_all(ledger):
    ledger.add_dataset("trips", PureDP(F(1)))
    ledger.add_dataset("empty", PureDP(F(1)))
    made = [
        charge(ledger, dataset=name, number=n) for n, name in enumerate(["census", "trips"] * 2)
    ]
    assert ledger.charges() == tuple(made)
    assert ledger.charges("trips") == (made[1], made[3])
    assert ledger.charges("empty") == ()
    with refuses(UsageError, r"dataset-unknown: \bother\b.*geodp budget show"):
        ledger.charges("other")


@pytest.mark.parametrize("head", ["", "abc", "A" * 64, "0" * 65])
def test_a_head_that_is_none_is_refused(ledger, head):
    with refuses(UsageError, "head-form"):
        ledger.check(head)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ledger: charge(ledger, mechanism="\n"), "name-length: ^The mechanism"),
        (lambda ledger: charge(ledger, dataset="x" * 201), "name-length: ^The name of a data set"),
        (lambda ledger: charge(ledger, fingerprint="0" * 15), "fingerprint-form"),
        (lambda ledger: charge(ledger, fingerprint="0" * 129), "fingerprint-form"),
        (lambda ledger: charge(ledger, contribution=1.0), "option-out-of-range"),
    ],
)
def test_a_refusal_names_what_was_wrong(ledger, call, message):
    with refuses(UsageError, message):
        call(ledger)


def test_the_longest_and_the_shortest_that_is_allowed(ledger):
    ledger.add_dataset("x" * 200, PureDP(F(1)), unit="y" * 200)
    for fingerprint_ in ("0" * 16, "0" * 128):
        assert charge(ledger, dataset="x" * 200, fingerprint=fingerprint_).contribution == 1


def test_data_sets_have_budgets_of_their_own(ledger):
    ledger.add_dataset("trips", PureDP(F(1, 5)), unit="one trip", neighbours=REPLACE)
    charge(ledger, PureDP(F(1)))
    assert charge(ledger, dataset="trips", neighbours=REPLACE).replay is False
    assert [account.name for account in ledger.accounts()] == ["census", "trips"]
    assert ledger.remaining("trips") == PureDP(F(0))


@pytest.mark.parametrize(
    ("model", "whose", "others"),
    [
        ("central", "releases of an office's data", "devices' own reports"),
        ("local", "devices' own reports", "releases of an office's data"),
    ],
)
def test_a_data_set_is_kept_for_one_model(ledger, model, whose, others):
    ledger.add_dataset("phones", PureDP(1), neighbours=REPLACE, model=model)
    account = Ledger.open(ledger.path).account("phones")
    assert (account.model, account.releases, account.entered) == (model, 0, 2)
    given = {"mechanism": "grr", "fingerprint": fingerprint(0)}
    central = {**given, "neighbours": REPLACE, "contribution": 1}
    charges = {
        "central": lambda: ledger.charge("phones", PureDP(1), **central),
        "local": lambda: ledger.charge_round("phones", PureDP(1), **given, details={}),
    }
    rule = f"dataset-of-other-model: phones .*{whose}.*{others}"
    with refuses(UsageError, rule):
        charges.pop({"central": "local", "local": "central"}[model])()
    assert charges[model]().spent == PureDP(1)
    assert ledger.check().sequence == 3
    with refuses(UsageError, "model-unknown"):
        ledger.add_dataset("other", PureDP(1), model=f"{model}x")
    with refuses(UsageError, "devices-need-replace"):
        ledger.add_dataset("other", PureDP(1), model="local")


def test_pure_charges_count_as_half_their_square_under_a_cap_of_rho(ledger):
    ledger.add_dataset("panel", ZeroConcentratedDP(F(1, 2)))
    charge(ledger, PureDP(F(1, 2)), "panel", 1)
    charge(ledger, ZeroConcentratedDP(F(1, 4)), "panel", 2)
    assert ledger.spent("panel") == ZeroConcentratedDP(F(3, 8))
    with pytest.raises(BudgetError):
        charge(ledger, PureDP(F(51, 100)), "panel", 3)
    assert charge(ledger, PureDP(F(1, 2)), "panel", 4).loss == PureDP(F(1, 2))


def test_an_approximate_cap_bounds_both_parameters_and_keeps_the_original_ones(ledger):
    ledger.add_dataset("panel", ApproximateDP(2, F(1, 1000)))
    converted = to_approximate(ZeroConcentratedDP(F(1, 100)), F(1, 1500))
    assert charge(ledger, converted, "panel", 1).loss.original == ZeroConcentratedDP(F(1, 100))
    assert ledger.charges("panel")[0].loss == converted
    with pytest.raises(BudgetError):
        charge(ledger, ApproximateDP(F(1, 100), F(1, 1500)), "panel", 2)
    charge(ledger, PureDP(F(1)), "panel", 3)


@pytest.mark.parametrize(
    ("cap", "loss"),
    [
        (PureDP(9), ZeroConcentratedDP(1)),
        (PureDP(9), ApproximateDP(1, F(1, 10**9))),
        (ZeroConcentratedDP(9), ApproximateDP(1, F(1, 10**9))),
    ],
)
def test_a_weaker_kind_of_guarantee_cannot_be_charged_to_a_cap(ledger, cap, loss):
    ledger.add_dataset("other", cap)
    with refuses(UsageError, "loss-of-other-kind"):
        charge(ledger, loss, "other")


def test_rho_without_a_delta_is_refused_under_a_cap_with_one(ledger):
    ledger.add_dataset("other", ApproximateDP(9, F(1, 9)))
    with refuses(UsageError, "loss-without-delta: --delta"):
        charge(ledger, ZeroConcentratedDP(1), "other")
    stated = to_approximate(ZeroConcentratedDP(1), F(1, 10))
    charge(ledger, stated, "other")
    assert ledger.spent("other") == ApproximateDP(stated.epsilon, F(1, 10))


def test_a_refusal_under_a_cap_in_rho_tells_what_a_pure_loss_costs_in_it(ledger):
    ledger.add_dataset("panel", ZeroConcentratedDP(F(1, 20)))
    with refuses(BudgetError, r"cap-exceeded: epsilon 1 \(rho 1/2\) would take panel over"):
        charge(ledger, PureDP(1), "panel")
    with refuses(BudgetError, "cap-exceeded: rho 1 would take panel over"):
        charge(ledger, ZeroConcentratedDP(1), "panel")


@pytest.mark.parametrize(
    "changed",
    [
        {"dataset": "nobody"},
        {"neighbours": REPLACE},
        {"neighbours": "friends"},
        {"contribution": 0},
        {"contribution": True},
        {"mechanism": ""},
        {"fingerprint": "abc"},
        {"fingerprint": "AB" * 32},
        {"fingerprint": fingerprint(1) + "\n"},
        {"loss": PureDP(0)},
        {"loss": ApproximateDP(0, 1)},
        {"details": {"x": float("nan")}},
        {"details": {"x": F(1)}},
        {"details": {"x": "\ud800"}},
    ],
    ids=str,
)
def test_a_charge_that_does_not_fit_is_refused_and_leaves_nothing(ledger, changed):
    before = ledger.check()
    with pytest.raises(UsageError):
        charge(ledger, **changed)
    assert ledger.check() == before


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "census"},
        {"name": " "},
        {"name": "a\nb"},
        {"name": "x" * 201},
        {"name": "\ud800"},
        {"unit": ""},
        {"neighbours": "friends"},
        {"cap": PureDP(0)},
        {"cap": ApproximateDP(1, 0)},
        {"cap": ApproximateDP(1, 1)},
    ],
    ids=ascii,
)
def test_a_data_set_that_does_not_fit_is_refused(ledger, changed):
    given = {"name": "new", "cap": PureDP(1), "unit": "one person"}
    with pytest.raises(UsageError):
        ledger.add_dataset(**{**given, **changed})
    assert ledger.check().sequence == 1


# -- the file


def test_a_charge_is_flushed_before_its_slot_and_before_it_returns(ledger, monkeypatch):
    """Entry, flush, slot, flush: in this order, so that a slot never names what is not there."""
    steps = []
    flush = os.fsync

    def write(file, place, data, whole=hash_chain.write_at):
        steps.append("slot" if place < START else "entry")
        whole(file, place, data)

    monkeypatch.setattr(hash_chain, "write_at", write)
    monkeypatch.setattr(os, "fsync", lambda handle: (steps.append("flush"), flush(handle)))
    charge(ledger)
    assert steps == ["entry", "flush", "slot", "flush"]


def test_a_ledger_at_rest_is_one_file_that_may_be_moved(ledger, tmp_path):
    charge(ledger)
    assert [path.name for path in tmp_path.iterdir()] == ["office.ledger"]
    moved = tmp_path / "other place" / "100% ours?.ledger"
    moved.parent.mkdir()
    ledger.path.rename(moved)
    assert Ledger.open(moved).spent("census") == PureDP(F(1, 5))
    with refuses(UsageError, "ledger-missing"):
        charge(ledger, number=2)
    assert not ledger.path.exists()


@pytest.mark.parametrize("content", [b"", b"geodp ledger ?\n" * 999, b"x" * 99, b"\n" * 20000])
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with refuses(UsageError, "ledger-expected"):
        Ledger.open(path)
    assert path.read_bytes() == content
    if content:
        with pytest.raises(UsageError):
            Ledger.create(path)
        assert path.read_bytes() == content


def test_a_folder_is_no_ledger(tmp_path):
    for verb in (Ledger.open, Ledger.create):
        with refuses(UsageError, "ledger-expected"):
            verb(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of POSIX")
def test_a_pipe_is_no_ledger_and_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for verb in (Ledger.open, Ledger.create):
        with refuses(UsageError, "ledger-not-regular"):
            verb(tmp_path / "pipe")


def test_another_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (x)")
    content = path.read_bytes()
    for verb, words in ((Ledger.open, "ledger-expected"), (Ledger.create, "ledger-exists")):
        with refuses(UsageError, words):
            verb(path)
    assert path.read_bytes() == content


def test_a_ledger_is_never_overwritten_but_an_empty_file_is_filled(ledger, tmp_path):
    with refuses(UsageError, "ledger-exists"):
        Ledger.create(ledger.path)
    (tmp_path / "empty").touch()
    assert Ledger.create(tmp_path / "empty").accounts() == ()


def test_two_ledgers_have_different_ids(tmp_path):
    found = {Ledger.create(tmp_path / f"{i}").check().ledger for i in range(4)}
    assert len(found) == 4
    assert all(len(bytes.fromhex(identity)) == 16 for identity in found)


# -- model


class AgainstLists(RuleBasedStateMachine):
    """The ledger against lists of fractions."""

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.create(f"{self.folder.name}/ledger")
        self.caps, self.lists, self.known, self.heads = {}, {}, {}, []

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(
        number=st.integers(0, 3),
        cap=st.fractions(F(1, 100), 3, max_denominator=100),
        rho=st.booleans(),
    )
    def add(self, number, cap, rho):
        kind = ZeroConcentratedDP if rho else PureDP
        if number in self.caps:
            with pytest.raises(UsageError):
                self.ledger.add_dataset(f"set {number}", kind(cap))
            return
        self.ledger.add_dataset(f"set {number}", kind(cap))
        self.caps[number], self.lists[number] = kind(cap), []

    @rule(
        number=st.integers(0, 3),
        amount=st.fractions(F(1, 100), 2, max_denominator=100),
        kind=st.sampled_from([PureDP, ZeroConcentratedDP]),
        print_=st.integers(0, 30),
    )
    def spend(self, number, amount, kind, print_):
        loss = kind(amount)

        def attempt():
            return charge(self.ledger, loss, f"set {number}", print_)

        if number not in self.caps:
            with refuses(UsageError, "dataset-unknown|dataset-spelt-otherwise"):
                attempt()
            return
        cap = self.caps[number].amounts[0]
        in_rho = isinstance(self.caps[number], ZeroConcentratedDP)
        cost = amount**2 / 2 if in_rho and kind is PureDP else amount
        if (number, print_) in self.known:
            if self.known[number, print_] == loss:
                assert attempt().replay
            else:
                with refuses(UsageError, "fingerprint-reused"):
                    attempt()
        elif kind is ZeroConcentratedDP and not in_rho:
            with refuses(UsageError, "loss-of-other-kind"):
                attempt()
        elif sum(self.lists[number]) + cost > cap:
            with pytest.raises(BudgetError):
                attempt()
        else:
            done = attempt()
            assert not done.replay
            self.lists[number].append(cost)
            self.known[number, print_] = loss
            self.heads.append(done.hash)

    @rule()
    def open_again(self):
        self.ledger = Ledger.open(self.ledger.path)

    @rule()
    def check(self):
        for head in self.heads:
            self.ledger.check(head)

    @invariant()
    def sums_agree(self):
        assert {account.name: account.spent.amounts[0] for account in self.ledger.accounts()} == {
            f"set {number}": sum(costs) for number, costs in self.lists.items()
        }


AgainstLists.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestAgainstLists = AgainstLists.TestCase
