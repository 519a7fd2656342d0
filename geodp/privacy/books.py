"""State of an open ledger: the end of its chain, an index of it, its accounts and its releases.

The index is inside the entries themselves, and finds the latest entry with a key. Keys are digests.
Every entry of an index is the root of a tree of all keys so far: its *branches*
hold, for each bit of its own key, the latest entry among those keys that share the bits before and
differ in this one. A search begins at the latest entry, goes to the branch of the first bit in
which the keys differ, and so on: about half of log2(n) steps for n keys. A new entry takes over
the branches that the search passed, so nothing that was written is ever changed.

A branch names an entry by its place and its hash. So the hash of the latest entry stands for the
whole index, as that of a hash chain stands for all entries: whatever a search meets, and that there
is nothing else to meet, is verified.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.privacy.accounts import Account, Accounts, Charge
from geodp.privacy.hash_chain import RESTORE, EntryPlace, LedgerEntry, Log, canonical
from geodp.privacy.loss import parse
from geodp.privacy.samples import canonical_name
from geodp.privacy.witness import Witness

Branches = list[EntryPlace | None]
Fetch = Callable[[EntryPlace], LedgerEntry]
"""Function that returns the verified entry of a place."""

_BITS = 256


def digest_key(*parts: str) -> int:
    """Return the key of some texts, a whole number of 256 bits."""
    return int.from_bytes(hashlib.sha256(canonical(parts).encode()).digest())


class Index:
    """One index over the entries of a ledger.

    Parameters
    ----------
    name : str
        Entries hold their branches under it. An entry that is none of the index holds the place of
        the latest one that is, under ``latest_`` and the name.
    key_of : callable
        Returns the key of an entry's content, or None where it is none of the index.
    """

    def __init__(self, name: str, key_of: Callable[[dict[str, Any]], int | None]) -> None:
        self.name = name
        self._latest = f"latest_{name}"
        self._key_of = key_of

    def columns(
        self, content: dict[str, Any], last: LedgerEntry | None, fetch: Fetch
    ) -> dict[str, Any]:
        """Return the columns that the index adds to a new entry.

        Parameters
        ----------
        content : dict
            Content of the new entry.
        last : Entry, optional
            The entry before it.
        """
        root = self._root(last)
        key = self._key_of(content)
        if key is not None:
            return {self.name: self._branches_of(key, root, fetch)}
        return {} if root is None else {self._latest: list(root)}

    def find(self, key: int, last: LedgerEntry, fetch: Fetch) -> LedgerEntry | None:
        """Return the latest entry with a key, if there is one."""
        place = self._root(last)
        while place is not None:
            entry = fetch(place)
            at = _first_difference(key, self._require_key(entry))
            if at is None:
                return entry
            branches = self._read(entry)
            place = branches[at] if at < len(branches) else None
        return None

    def entries(self, last: LedgerEntry, fetch: Fetch) -> Iterator[LedgerEntry]:
        """Yield the latest entry of every key, in no order."""
        root = self._root(last)
        open_places = [] if root is None else [(root, 0)]
        while open_places:
            place, depth = open_places.pop()
            entry = fetch(place)
            yield entry
            branches = self._read(entry)
            open_places += [
                (branch, at + 1)
                for at, branch in enumerate(branches)
                if branch is not None and at >= depth
            ]

    def _branches_of(
        self, key: int, root: EntryPlace | None, fetch: Fetch
    ) -> list[list[Any] | None]:
        """Return the branches of a new latest entry."""
        branches = Branches()
        place = root
        while place is not None:
            entry = fetch(place)
            existing = self._read(entry)
            at = _first_difference(key, self._require_key(entry))
            upto = len(existing) if at is None else at
            # Branches above the first difference lead to keys that share the prefix with the new
            # one, too.
            branches += existing[len(branches) : upto]
            if at is None:
                break
            branches += [None] * (at - len(branches))
            branches.append(place)
            place = existing[at] if at < len(existing) else None
        return [None if branch is None else list(branch) for branch in branches]

    def _root(self, last: LedgerEntry | None) -> EntryPlace | None:
        if last is None:
            return None
        if self._key_of(last.content) is not None:
            return last.place
        return _place(last.content.get(self._latest))

    def _read(self, entry: LedgerEntry) -> Sequence[EntryPlace | None]:
        return [_place(branch) for branch in entry.content[self.name]]

    def _require_key(self, entry: LedgerEntry) -> int:
        key = self._key_of(entry.content)
        if key is None:
            raise ValueError("a branch leads to an entry outside of the index")
        return key


def _place(value: Any) -> EntryPlace | None:
    if value is None:
        return None
    start, digest = value
    return EntryPlace(int(start), str(digest))


def _first_difference(one: int, other: int) -> int | None:
    """Return the first bit, from the highest, in which two keys differ."""
    # Keys are SHA-256 digests, so the tree is balanced whatever names an attacker chooses.
    different = one ^ other
    return _BITS - different.bit_length() if different else None


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
    by_place = dict[EntryPlace, LedgerEntry]()
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
