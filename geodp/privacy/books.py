"""State of an open ledger: the end of its chain, its accounts and its releases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.privacy.accounts import Account, Accounts, Charge
from geodp.privacy.chain.index import Index, digest_key
from geodp.privacy.chain.slots import Place
from geodp.privacy.chain.witness import Witness
from geodp.privacy.hash_chain import RESTORE, LedgerEntry, Log, canonical
from geodp.privacy.loss import parse
from geodp.privacy.names import canonical_name


def _key_of_dataset(content: dict[str, Any]) -> int | None:
    if content["kind"] not in ("dataset", "charge"):
        return None
    return digest_key("dataset", content["dataset"])


def _key_of_release(content: dict[str, Any]) -> int | None:
    if content["kind"] != "charge":
        return None
    return digest_key("release", content["dataset"], content["fingerprint"])


DATASETS = Index("by_dataset", _key_of_dataset)
"""The latest entry of every data set, which holds its account."""

RELEASES = Index("by_release", _key_of_release)
"""The charge of every release."""

_INDEXES = (DATASETS, RELEASES)


class Books:
    """The accounts and releases of an open ledger, read by the indexes of its last entry."""

    def __init__(self, log: Log) -> None:
        self.log = log

    @property
    def last(self) -> LedgerEntry:
        """The last entry."""
        last = self.log.last
        assert last is not None
        return last

    @property
    def witness(self) -> Path | None:
        """Path of the witness file, which stores the head as well; None without one."""
        path = self.last.content.get("witness")
        return None if path is None else Path(path)

    @contextmanager
    def hold_witness(self, *, write: bool = True) -> Iterator[Witness | None]:
        """Hold the witness, if there is one; it agrees with the last entry."""
        if self.witness is None:
            yield None
            return
        with Witness.held(self.witness, self.log.path, write=write) as witness:
            witness.compare(self.last)
            if write:  # where the last one who charged was killed before that
                witness.write(self.last.head)
            yield witness

    def move_witness(self, place: Path, *, compare: bool) -> None:
        """Change the ledger's witness, and commit.

        Parameters
        ----------
        place : Path
            New file, or one that has the ledger's head already.
        compare : bool
            Refuse a ledger that its present witness, or that file, does not agree with; otherwise
            they may be lost or older, but have seen nothing that the ledger lacks.
        """
        with ExitStack() as stack:
            held, former = list[Witness](), self.witness
            if compare and former == place:
                stack.enter_context(self.hold_witness())
                return
            # Both files are locked until the commit, so that no copy is charged against either
            # meanwhile.
            there = former is not None and os.path.exists(former)
            filled = os.path.exists(place) and os.path.getsize(place) > 0
            if former is None or (there and filled and os.path.samefile(former, place)):
                pass  # the file itself is compared below
            elif compare and (there or not filled):
                witness = stack.enter_context(self.hold_witness())
                held += [] if witness is None else [witness]
            elif there:
                old = Witness.held(former, self.log.path, write=False)
                stack.enter_context(old).require_within(self.log.follow())
            new = stack.enter_context(Witness.held(place, self.log.path, create=True))
            if not compare:
                new.require_within(self.log.follow())
            elif not new.is_empty():
                new.compare(self.last)
            new.write(self.last.head)
            self.enter({"kind": "witness", "witness": str(place)})
            self.log.commit()
            for witness in (*held, new):  # the former one too, so that copies that have it stop
                witness.write(self.log.head)

    def account(self, name: str) -> Account:
        """Return a data set's account; UsageError where there is none of the name."""
        # Digests as keys spread names evenly over the tree, whatever the names are.
        key = digest_key("dataset", canonical_name(name))
        with _as_written():
            entry = DATASETS.find(key, self.last, self.log.fetch)
            if entry is not None:
                return Account.read(entry.content)
        return self.accounts().find(name)

    def accounts(self) -> Accounts:
        """Return the accounts of all data sets, in the order of their entry."""
        with _as_written():
            entries = DATASETS.entries(self.last, self.log.fetch)
            accounts = [Account.read(entry.content) for entry in entries]
            return Accounts(sorted(accounts, key=lambda account: account.entered))

    def find_release(self, dataset: str, fingerprint: str) -> LedgerEntry | None:
        """Return the entry of a fingerprint that was charged before."""
        key = digest_key("release", dataset, fingerprint)
        with _as_written():
            return RELEASES.find(key, self.last, self.log.fetch)

    def enter(self, columns: dict[str, Any]) -> LedgerEntry:
        """Add an entry, with the branches of the indexes."""
        # Every entry repeats the witness's path, so that the last one alone shows what to compare
        # with.
        if self.witness is not None:
            columns = {"witness": str(self.witness), **columns}
        with _as_written():
            for index in _INDEXES:
                columns |= index.columns(columns, self.last, self.log.fetch)
        return self.log.append(columns)


def verify(log: Log) -> tuple[list[LedgerEntry], Accounts]:
    """Verify the chain; return its entries and the accounts that follow from them.

    All sums and all branches of the indexes are made again.
    """
    entries, accounts = list[LedgerEntry](), Accounts()
    by_place = dict[Place, LedgerEntry]()
    witness: Any = None
    # The indexes are recomputed, not trusted: a branch that hides a release would allow a second
    # charge.
    for entry in log.follow():
        content = entry.content
        accounts.follow(content)
        last = entries[-1] if entries else None
        columns: dict[str, Any] = {}
        with _as_written():
            for index in _INDEXES:
                columns |= index.columns(content, last, by_place.__getitem__)
        changes = content["kind"] in ("genesis", "witness")
        consistent = columns.items() <= content.items() and (
            changes or content.get("witness") == witness
        )
        if not consistent:
            raise VerificationError(
                f"Entry {content['sequence']} of the ledger lists other releases, data sets or "
                "another witness than its entries have.",
                code="ledger-lists-differ",
            )
        witness = content.get("witness")
        by_place[entry.place] = entry
        entries.append(entry)
    if not entries or entries[-1] != log.last:
        raise VerificationError(
            f"The ledger's file is damaged; {RESTORE}.", code="ledger-file-damaged"
        )
    return entries, accounts


@contextmanager
def _as_written() -> Iterator[None]:
    """Convert errors of an entry with a valid hash but foreign content to VerificationError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError):
        raise VerificationError(
            "The ledger's last entries were not written by geodp: another program "
            f"changed the file; {RESTORE}.",
            code="ledger-end-foreign",
        ) from None


def charge_of(entry: LedgerEntry) -> Charge:
    """Return the charge that an entry records."""
    content = entry.content
    names = ("at", "dataset", "unit", "neighbours", "mechanism", "contribution", "fingerprint")
    return Charge(
        ledger=entry.head.ledger,
        sequence=entry.head.sequence,
        hash=entry.head.hash,
        loss=parse(content["loss"]),
        spent=parse(content["spent"]),
        cap=parse(content["cap"]),
        earlier=content["releases"] - 1,
        details=content["details"],
        **{name: content[name] for name in names},
    )


def replay_of(charge: Charge, row: dict[str, Any]) -> Charge:
    """Return the earlier charge of a fingerprint, which must have been for the same release."""
    same = ("loss", "mechanism", "neighbours", "contribution")
    # Equal fingerprints with other parameters would let a different release pass as a replay.
    if any(str(getattr(charge, name)) != str(row[name]) for name in same):
        raise UsageError(
            "This fingerprint was charged with another loss, mechanism, neighbours or "
            "contribution; a fingerprint must change with every parameter.",
            code="fingerprint-reused",
        )
    return replace(charge, replay=True)


def write_details(details: dict[str, Any]) -> str:
    """Return further parameters as text; UsageError for what JSON cannot hold."""
    try:
        text = canonical(details)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            "details must be plain values that JSON can hold.", code="details-not-plain"
        ) from None
    return text
