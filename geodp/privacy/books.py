"""What a ledger's transaction works on: the end of its chain and the accounts that belong to it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.privacy.accounts import Account, Accounts, Charge, digest
from geodp.privacy.hash_chain import RESTORE, Entry, Head, append, canonical, find, follow, recent
from geodp.privacy.loss import parse

_RELEASES = "The ledger's list of releases is not that of its chain."


@dataclass
class Books:
    """What a transaction works on: the end of the chain and the accounts that belong to it."""

    db: sqlite3.Connection
    head: Head
    accounts: Accounts

    @classmethod
    def read(cls, db: sqlite3.Connection, seen: Head | None) -> Books:
        """Return verified books: the accounts have the digest that the last entry holds."""
        entry = recent(db, seen)
        rows = states(db)
        texts = [text for _, text in rows]
        apart = any(number != place for place, (number, _) in enumerate(rows))
        if apart or digest(texts) != entry.content.get("accounts"):
            raise VerificationError(
                "The accounts of the ledger are not those of its last entry: something else than "
                f"geodp changed the file; {RESTORE}."
            )
        return cls(db, entry.head, Accounts(map(Account.read, texts)))

    def enter(self, columns: dict[str, Any], account: Account | None = None) -> Entry:
        """Add an entry and the state of the account that it changes."""
        if account is not None:
            number = self.accounts.put(account)
            row = [number, account.text()]
            self.db.execute("INSERT OR REPLACE INTO account VALUES (?, ?)", row)
        entry = append(self.db, self.head, {**columns, "accounts": self.accounts.digest})
        self.head = entry.head
        return entry

    def known(self, dataset: str, fingerprint: str) -> Entry | None:
        """Return the verified entry of a fingerprint that was charged before."""
        where = "WHERE dataset = ? AND fingerprint = ?"
        (place,) = self.db.execute(
            f"SELECT max(sequence) FROM release {where}", [dataset, fingerprint]
        ).fetchone()
        if place is None:
            return None
        entry = find(self.db, place) if isinstance(place, int) else None
        said = {} if entry is None else entry.content
        if (said.get("dataset"), said.get("fingerprint")) != (dataset, fingerprint):
            raise VerificationError(_RELEASES)
        return entry


def verify(db: sqlite3.Connection) -> tuple[list[Entry], Accounts]:
    """Every entry of the chain, and the accounts that follow from them: all sums made again."""
    entries, accounts = list[Entry](), Accounts()
    for entry in follow(db):
        accounts.follow(entry.content)
        entries.append(entry)
    if [(i, account.text()) for i, account in enumerate(accounts)] != states(db):
        raise VerificationError("The accounts of the ledger are not those of its entries.")
    return entries, accounts


def verify_releases(db: sqlite3.Connection, entries: list[Entry]) -> None:
    """Verify that the list of releases, and no row of another table, is that of the chain."""
    charges = (entry for entry in entries if entry.content["kind"] == "charge")
    where = {(e.content["dataset"], e.content["fingerprint"], e.head.sequence) for e in charges}
    if set(db.execute("SELECT dataset, fingerprint, sequence FROM release")) != where:
        raise VerificationError(_RELEASES)
    if db.execute("SELECT count(*) FROM entry").fetchone() != (len(entries),):
        raise VerificationError("The ledger has rows outside of its chain.")


def states(db: sqlite3.Connection) -> list[tuple[int, str]]:
    """Return number and text of every account, as they stand in the file."""
    return db.execute("SELECT number, state FROM account ORDER BY number").fetchall()


def charge_of(entry: Entry, account: Account) -> Charge:
    """Return what an entry says of a charge to an account."""
    said = entry.content
    names = ("at", "dataset", "neighbours", "mechanism", "contribution", "fingerprint", "details")
    return Charge(
        ledger=entry.head.ledger,
        sequence=entry.head.sequence,
        hash=entry.head.hash,
        unit=account.unit,
        loss=parse(said["loss"]),
        spent=parse(said["spent"]),
        cap=account.cap,
        earlier=said["releases"] - 1,
        **{name: said[name] for name in names},
    )


def replay_of(charge: Charge, row: dict[str, Any]) -> Charge:
    """Return the earlier charge of a fingerprint, which must have been for the same release."""
    same = ("loss", "mechanism", "neighbours", "contribution")
    if any(str(getattr(charge, name)) != str(row[name]) for name in same):
        raise UsageError(
            "This fingerprint was charged with another loss, mechanism, neighbours or "
            "contribution; a fingerprint must change with every parameter."
        )
    return replace(charge, replay=True)


def write_details(details: dict[str, Any]) -> str:
    """Return further parameters as text; UsageError for what JSON cannot hold."""
    try:
        text = canonical(details)
        text.encode()
    except (TypeError, ValueError):
        raise UsageError("details must be plain values that JSON can hold.") from None
    return text
