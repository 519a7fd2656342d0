"""Small ledgers for the tests of the ledger, of its command line and of its crashes."""

import sqlite3
from contextlib import closing
from fractions import Fraction as F

from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP, ZeroConcentratedDP
from geodp.privacy.neighbours import ADD_REMOVE

FIFTH = PureDP(F(1, 5))


def fingerprint(number):
    return f"{number:064x}"


def charge(ledger, loss=FIFTH, dataset="census", number=0, **changed):
    given = {
        "mechanism": "topdown",
        "neighbours": ADD_REMOVE,
        "contribution": 1,
        "fingerprint": fingerprint(number),
    }
    return ledger.charge(dataset, loss, **{**given, **changed})


def small_ledger(folder):
    """One data set with a cap of 1."""
    made = Ledger.create(folder / "office.ledger")
    made.add_dataset("census", PureDP(F(1)))
    return made


def used_ledger(folder):
    """Two data sets and four charges: seven entries."""
    made = small_ledger(folder)
    made.add_dataset("trips", ZeroConcentratedDP(F(1, 2)), unit="one trip")
    for number in range(4):
        charge(made, dataset=["census", "trips"][number % 2], number=number)
    made.check()
    return made


def filled(ledger, charges, dataset="census", loss=FIFTH):
    """Charges by the ledger's own rules, all in one transaction: as many again are quick."""
    with ledger._books("BEGIN IMMEDIATE") as books:
        for number in range(charges):
            after = books.accounts.find(dataset).charge(loss)
            columns = {
                "kind": "charge",
                "dataset": dataset,
                "loss": str(loss),
                "mechanism": "topdown",
                "neighbours": ADD_REMOVE,
                "contribution": 1,
                "fingerprint": fingerprint(number),
                "details": "{}",
                "spent": str(after.spent),
                "releases": after.releases,
            }
            entry = books.enter(columns, after)
            row = [dataset, fingerprint(number), entry.head.sequence]
            books.db.execute("INSERT INTO release VALUES (?, ?, ?)", row)


def forge(path, *statements):
    """Change a ledger by other means, and leave its schema as it was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = triggers.fetchall()
        for trigger, _ in triggers:
            db.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            db.execute(statement)
        for _, sql in triggers:
            db.execute(sql)
