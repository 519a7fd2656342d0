"""Tables of secret samples in a ledger: what adds to them, and what is refused."""

import json
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import BudgetError, UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.privacy.accounts import Account, Accounts
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import ApproximateDP, PureDP
from geodp.privacy.samples import SecretSample
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from geodp.tools.audit.threshold import charge_threshold, sampled_threshold
from tests.reference import suppression
from tests.refusals import refuses

FOUND = sampled_threshold(10, "0.2", epsilon="1.0252")
CAP = ApproximateDP(Fraction(4), Fraction(1, 10**5))
TERMS = {"mechanism": "toy", "neighbours": "add-remove-one", "contribution": 1}


@pytest.fixture
def ledger(tmp_path):
    found = Ledger.create(tmp_path / "office.ledger")
    found.add_dataset("census", CAP)
    return found


def charge(ledger, number, **given):
    """An ordinary charge, of epsilon 1/4."""
    loss = PureDP(Fraction(1, 4))
    return ledger.charge("census", loss, fingerprint=f"{number:016x}", **TERMS, **given)


def entries(ledger):
    return [json.loads(line) for line in ledger.export()]


def test_what_does_not_declare_its_records_has_the_entries_that_it_always_had(ledger):
    charge(ledger, 1)
    names = {"at", "by_dataset", "by_release", "cap", "contribution", "dataset", "details"}
    names |= {"entered", "fingerprint", "hash", "kind", "ledger", "loss", "mechanism"}
    names |= {"neighbours", "previous", "releases", "sequence", "spent", "unit"}
    assert {*entries(ledger)[-1]} == names
    columns = Account.open("census", CAP, "person", "add-remove-one").columns()
    numbers = {"cap", "dataset", "entered", "neighbours", "releases", "spent", "unit"}
    assert {*columns} == numbers


def test_after_a_secret_sample_every_charge_declares_its_records(ledger):
    charge(ledger, 1)
    found = charge_threshold(FOUND, ledger, "census", "autumn  sample")
    assert found.loss == FOUND.loss
    assert found.mechanism == "sampled-threshold:k=10,rate=1/5,bound=exact"
    assert entries(ledger)[-1]["sample"] == "autumn sample"
    assert ledger.account("census").samples == ("autumn sample",)
    before = ledger.check()
    for records, said in (
        (None, r"records-undeclared: --records all\|fresh-sample\|same-sample"),
        ("same-sample", "sample-tells-who"),
        ("some", "records-unknown"),
        (SecretSample("Autumn-sample".replace("-", " ")), "sample-charged-already"),
    ):
        with refuses(UsageError, said):
            charge(ledger, 2, records=records)
    assert ledger.check() == before
    for number, records in enumerate(("all", "fresh-sample"), 3):
        charge(ledger, number, records=records)
        assert entries(ledger)[-1]["records"] == records
    charge_threshold(FOUND, ledger, "census", "winter sample")
    assert ledger.account("census").samples == ("autumn sample", "winter sample")
    spent = ledger.spent("census")
    assert spent == ApproximateDP(2 * FOUND.loss.epsilon + Fraction(3, 4), 2 * FOUND.loss.delta)
    assert Ledger.open(ledger.path).check().sequence == 6


def test_the_same_sample_is_refused_before_anything_was_charged_too(ledger):
    before = ledger.check()
    with refuses(UsageError, "sample-tells-who"):
        charge(ledger, 1, records="same-sample")
    assert ledger.check() == before


def test_a_sample_that_does_not_fit_is_refused(ledger, tmp_path):
    before = ledger.check()
    large = sampled_threshold(3, "0.2", epsilon="1.5973")
    with refuses(BudgetError, "cap-exceeded"):
        charge_threshold(large, ledger, "census", "a")
    with refuses(UsageError, "unit-differs-from-ledger: person of census.*household"):
        charge_threshold(FOUND, ledger, "census", "a", unit="household")
    for name in ("", "a\u200b", "a" * 201):
        with refuses(UsageError, "name-length: sample"):
            charge_threshold(FOUND, ledger, "census", name)
    assert ledger.check() == before
    ledger.add_dataset("pure", PureDP(Fraction(4)))
    with refuses(UsageError, "loss-of-other-kind"):
        charge_threshold(FOUND, ledger, "pure", "a")
    ledger.add_dataset("replaced", CAP, neighbours="replace-one")
    with refuses(UsageError, "dataset-of-other-neighbours: replace-one"):
        charge_threshold(FOUND, ledger, "replaced", "a")


def follow(contents):
    accounts = Accounts()
    for number, content in enumerate(contents):
        accounts.follow({**content, "sequence": number})
    return accounts


def test_a_chain_that_breaks_the_rules_is_found(ledger):
    charge_threshold(FOUND, ledger, "census", "a")
    charge(ledger, 1, records="all")
    whole = entries(ledger)
    assert [account.samples for account in follow(whole)] == [("a",)]
    for last in ({"records": "same-sample"}, {"records": None}, {"sample": "A"}, {"sample": 1}):
        with pytest.raises(VerificationError):
            follow([*whole[:-1], {**whole[-1], **last}])
    with pytest.raises(VerificationError):
        follow([*whole[:-2], {**whole[-2], "sample": " a"}])
    with pytest.raises(VerificationError):
        follow([*whole[:-2], {k: v for k, v in whole[-2].items() if k != "sample"}])


def test_accounts_are_read_as_they_are_written(ledger):
    charge_threshold(FOUND, ledger, "census", "a")
    account = ledger.account("census")
    assert account.columns()["samples"] == ["a"]
    assert Account.read(json.loads(json.dumps(account.columns()))) == account
    local = Account.open("phones", CAP, "person", "replace-one", "local", 7)
    assert Account.read(json.loads(json.dumps(local.columns()))) == local


def test_a_sample_whose_name_looks_like_an_earlier_one_is_refused(ledger):
    charge_threshold(FOUND, ledger, "census", "autumn 2021")
    before = ledger.check()
    for name, words in (
        ("autumn 202l", "sample-looks-alike"),
        ("\u0430utumn", "name-mixes-scripts"),
    ):
        with refuses(UsageError, words):
            charge_threshold(FOUND, ledger, "census", name)
    assert ledger.check() == before


def test_releases_declare_their_records(ledger):
    table = CountTable.from_dense(np.full((4, 4), 9), Grid.regular((4, 4)))
    into = {"ledger": ledger, "dataset": "census", "epsilon": "1/4"}
    key = NoiseKey(bytes(32))
    assert publish(table, **into, contribution=1).charge.earlier == 0
    charge_threshold(FOUND, ledger, "census", "a")
    for records, said in (
        (None, "records-undeclared: --records"),
        ("same-sample", "sample-tells-who"),
    ):
        with refuses(UsageError, said):
            publish(table, records=records, **into, contribution=1)
    release = publish(table, records="all", **into, contribution=1)
    assert release.charge.spent.epsilon == FOUND.loss.epsilon + Fraction(1, 2)
    with refuses(UsageError, "records-need-ledger"):
        publish(table, epsilon=1, records="all", key=key, contribution=1)


@pytest.mark.parametrize(
    ("k", "rate", "epsilon", "two", "people", "least"),
    [(10, "1/5", "1.0252", 1, 17, 4.9e-5), (20, "1/2", "1", 2, 46, 0.13)],
)
def test_why_the_same_sample_is_refused(k, rate, epsilon, two, people, least):
    found = sampled_threshold(k, rate, epsilon=epsilon)
    both = found.epsilon + two
    rate = Fraction(rate)
    same = suppression.beside(k, rate, people, same=True)
    broken = suppression.together(*same, two, both)
    assert least < broken
    assert broken > 10 * found.delta  # what the sum of both losses promises
    for n in (k, people, people + k):
        every = suppression.beside(k, rate, n, same=False)
        assert suppression.together(*every, two, both) <= found.delta
