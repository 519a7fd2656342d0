"""The budget ledger: what has been spent on every data set, in one file, before noise is drawn.

An SQLite database (see `geodp.privacy.hash_chain`) with one chain of entries: the genesis; every
data set with its cap; every charge. Each entry holds what its data set has spent since, and a
digest of the accounts of all data sets (see `geodp.privacy.accounts`).

What a charge guarantees
    `Ledger.charge` adds the new charge to the sum of all earlier ones as an exact fraction,
    refuses above the cap, and has the charge on disk before it returns, all in one transaction
    that no other process can interleave with. Because a refused charge draws no noise, the cap
    bounds the loss of all releases together even when each was chosen in the light of the earlier
    ones: for pure and approximate losses see Rogers, Roth, Ullman and Vadhan 2016, "Privacy
    odometers and filters"; for zero-concentrated ones Feldman and Zrnic 2021, "Individual privacy
    accounting via a Rényi filter". A charge is never taken back, also when its run fails later.

What a charge reads
    The last two entries and the accounts: names, caps and sums are taken from nowhere else, and a
    charge is refused unless the last entry has its hash and the accounts have the digest that it
    holds. So the work does not grow with the ledger, and damage, stale pages and rows put in from
    elsewhere change no sum unseen. A `Ledger` also remembers the head that it saw last: the chain
    must still contain it, and whatever came after it is verified. Changes of older entries change
    no sum and wait for `Ledger.check`.

What the chain shows
    `Ledger.check` finds every entry that was changed, added or taken out, except that entries cut
    off at the end need a head that was noted elsewhere: each release card carries one. With it,
    the check also finds a file that was replaced by an older copy, and two copies of which each
    was charged.

What it cannot show
    Without a noted head, a file cut back to an earlier state looks complete; whoever can write the
    file can also rewrite all of it, with new hashes. Two copies charged side by side each stay
    below the cap, and only comparing their heads tells. Names that differ in case, width, blanks
    or composition are one, but the ledger cannot know that two other names mean the same people,
    nor see a release that was made without it.

Nothing in it depends on the data, provided that fingerprints do not: see `Ledger.charge`.

Keep the ledger on a local disk, as SQLite's locks do not work on some network file systems. A file
with hard links is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.privacy.accounts import (
    CENTRAL,
    LOCAL,
    Accounts,
    require_neighbours,
    require_short,
)
from geodp.privacy.accounts import Account as Account
from geodp.privacy.accounts import Charge as Charge
from geodp.privacy.books import (
    Books,
    charge_of,
    replay_of,
    verify,
    verify_releases,
    write_details,
)
from geodp.privacy.hash_chain import (
    ROOT,
    VERSION,
    Chain,
    Head,
    canonical,
    recent,
    texts,
    verify_file,
)
from geodp.privacy.loss import Loss
from geodp.privacy.names import require_words
from geodp.privacy.neighbours import ADD_REMOVE, REPLACE
from geodp.privacy.samples import Records, read_records, write_records

_WHOSE = {CENTRAL: "releases of what an office holds", LOCAL: "devices' own reports"}


class Ledger:
    """A ledger file. Every call opens and closes it, so threads and forks may share a `Ledger`.

    `Ledger.open` and `Ledger.create` make one.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from geodp.privacy.loss import PureDP
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/office.ledger")
    ...     account = ledger.add_dataset("census", PureDP(Fraction(1)))
    ...     charge = ledger.charge(
    ...         "census",
    ...         PureDP(Fraction(1, 5)),
    ...         mechanism="topdown",
    ...         neighbours="add-remove-one",
    ...         contribution=1,
    ...         fingerprint="00" * 32,
    ...     )
    ...     print(charge.sequence, "|", charge.spent, "|", ledger.remaining("census"))
    2 | epsilon 1/5 | epsilon 4/5
    """

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._seen: Head | None = None

    @property
    def path(self) -> Path:
        """Absolute path of the file."""
        return self._chain.path

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Open the ledger at ``path``."""
        chain = Chain(path)
        with chain.transaction("BEGIN"):
            return cls(chain)  # or an error, where the file is no ledger

    @classmethod
    def create(cls, path: str | Path) -> Ledger:
        """Create a ledger; an existing file is refused unless it is empty."""
        ledger = cls(Chain(path))
        with ledger._chain.transaction("BEGIN IMMEDIATE", new=True) as db:
            books = Books(db, ROOT, Accounts())
            books.enter({"kind": "genesis", "version": VERSION})
        ledger._seen = books.head
        return ledger

    @contextmanager
    def _books(self, begin: str) -> Iterator[Books]:
        """Open verified books in a transaction.

        This object remembers their head when it is on disk.
        """
        seen = self._seen  # before the transaction: others may go on at once
        with self._chain.transaction(begin) as db:
            books = Books.read(db, seen)
            yield books
        self._remember(books.head)

    def _remember(self, head: Head) -> None:
        """Keep the latest head that was on disk."""
        if self._seen is None or self._seen.sequence < head.sequence:
            self._seen = head

    def add_dataset(
        self,
        name: str,
        cap: Loss,
        *,
        unit: str = "person",
        neighbours: str = ADD_REMOVE,
        model: str = CENTRAL,
    ) -> Account:
        """Enter a data set and the cap of all its releases, which is never changed afterwards.

        Parameters
        ----------
        name : str
            Stands in release cards. Unique also where case, width, blanks and composition of
            characters are not looked at.
        cap : Loss
            Its kind decides which charges add up: under a pure cap pure ones, under a
            zero-concentrated or an approximate cap also pure ones.
        unit : str
            Whom the guarantee protects, as a noun: person, household, person-day ...
        neighbours : {"add-remove-one", "replace-one"}
        model : {"central", "local"}
            Local: only rounds of devices' own reports are charged to it, by :meth:`charge_round`;
            central: only releases of what an office holds. Their losses mean different things.
        """
        new = Account.open(name, cap, unit, neighbours, model)
        with self._books("BEGIN IMMEDIATE") as books:
            books.accounts.require_new(new.name)
            terms = {"cap": str(cap), "unit": new.unit, "neighbours": neighbours}
            terms |= {} if model == CENTRAL else {"model": model}
            books.enter({"kind": "dataset", "name": new.name, **terms}, new)
        return new

    def charge(
        self,
        dataset: str,
        loss: Loss,
        *,
        mechanism: str,
        neighbours: str,
        contribution: int,
        fingerprint: str,
        details: dict[str, Any] | None = None,
        records: Records = None,
    ) -> Charge:
        """Charge a release before its noise is drawn; it stays, whatever happens to the run.

        Parameters
        ----------
        dataset, loss, mechanism, neighbours, contribution
            Of the release; the neighbours must be those of the data set.
        fingerprint : str
            Hexadecimal name of the release: the same only where data, parameters and noise are
            the same, so that publishing it again reveals nothing new. It must not depend on the
            data in a way that others can test: random, or derived with a secret key, never a bare
            digest of the table.
        details : dict, optional
            Further public parameters, plain values.
        records : {"all", "fresh-sample", "same-sample"} or SecretSample, optional
            What the release is made from; needed as soon as a table of a secret sample is charged
            to the data set. Of the same sample it is refused, see `geodp.privacy.samples`.

        Returns
        -------
        Charge
            Of this release, or the earlier one (``replay``) if the fingerprint is known.

        Raises
        ------
        BudgetError
            The cap would be exceeded; nothing was charged.
        UsageError
            The charge does not fit the data set, or the fingerprint an earlier charge.
        OutputError
            The ledger cannot be written, is full or busy; publish nothing.
        VerificationError
            The end of the chain or the accounts are not what geodp wrote; nothing was charged.
        """
        require_neighbours(neighbours)
        if isinstance(contribution, bool) or not isinstance(contribution, int) or contribution < 1:
            raise UsageError("contribution must be a whole number of at least 1.")
        terms = {"mechanism": mechanism, "neighbours": neighbours, "contribution": contribution}
        terms |= write_records(records)
        return self._charge(CENTRAL, dataset, loss, terms, fingerprint, details or {})

    def charge_round(
        self, dataset: str, loss: Loss, *, mechanism: str, fingerprint: str, details: dict[str, Any]
    ) -> Charge:
        """Charge a round of local collection before its first report is asked for.

        Parameters
        ----------
        dataset : str
            Entered for devices' own reports: its model is local.
        loss : Loss
            Of one report.
        mechanism : str
        fingerprint : str
            The round's random id.
        details : dict
            Public parameters, plain values.

        Raises
        ------
        BudgetError, UsageError, OutputError, VerificationError
            As :meth:`charge`.
        """
        terms = {"mechanism": mechanism, "neighbours": REPLACE, "contribution": 1}
        return self._charge(LOCAL, dataset, loss, terms, fingerprint, details)

    def _charge(
        self,
        model: str,
        dataset: str,
        loss: Loss,
        terms: dict[str, Any],
        fingerprint: str,
        details: dict[str, Any],
    ) -> Charge:
        """Charge what is of a model, under checked terms."""
        require_words(terms["mechanism"], "The mechanism")
        if not re.fullmatch("[0-9a-f]{16,128}", fingerprint):
            raise UsageError("A fingerprint has 16 to 128 hexadecimal digits, in lower case.")
        if not any(loss.amounts):
            raise UsageError("A charge must be above 0.")
        require_short(loss)
        terms = {"loss": str(loss), **terms}
        columns: dict[str, Any] = {"fingerprint": fingerprint, "details": write_details(details)}
        with self._books("BEGIN IMMEDIATE") as books:
            account = books.accounts.find(dataset)
            if (known := books.known(account.name, fingerprint)) is not None:
                return replay_of(charge_of(known, account), terms)
            if model != account.model:
                raise UsageError(
                    f"The budget of {account.name} is kept for {_WHOSE[account.model]}, and losses "
                    f"of {_WHOSE[model]} do not add to it; charge them to another data set."
                )
            if terms["neighbours"] != account.neighbours:
                raise UsageError(
                    f"The budget of {account.name} is kept for neighbours {account.neighbours}, "
                    f"and losses for {terms['neighbours']} do not add to it; publish with the "
                    "former."
                )
            after = account.charge(loss, read_records(terms))
            columns |= {"dataset": account.name, "spent": str(after.spent)}
            columns |= {"releases": after.releases}
            entry = books.enter({"kind": "charge", **terms, **columns}, after)
            row = [account.name, fingerprint, entry.head.sequence]
            books.db.execute("INSERT INTO release VALUES (?, ?, ?)", row)
        return charge_of(entry, after)

    def account(self, dataset: str) -> Account:
        """Return a data set and what it has spent."""
        with self._books("BEGIN") as books:
            return books.accounts.find(dataset)

    def accounts(self) -> tuple[Account, ...]:
        """All data sets, in the order of their entry."""
        with self._books("BEGIN") as books:
            return tuple(books.accounts)

    def charges(self, dataset: str | None = None) -> tuple[Charge, ...]:
        """Return the charges of one data set or of all, in order.

        The whole chain is read and verified.
        """
        with self._books("BEGIN") as books:
            wanted = {a.name: a for a in books.accounts}
            if dataset is not None:
                account = books.accounts.find(dataset)
                wanted = {account.name: account}
            entries = verify(books.db)[0]
        charges = (entry for entry in entries if entry.content["kind"] == "charge")
        return tuple(
            charge_of(entry, wanted[entry.content["dataset"]])
            for entry in charges
            if entry.content["dataset"] in wanted
        )

    def spent(self, dataset: str) -> Loss:
        """Return the loss of all releases of a data set."""
        return self.account(dataset).spent

    def remaining(self, dataset: str) -> Loss:
        """Return what its cap leaves."""
        return self.account(dataset).remaining

    def check(self, head: str | None = None) -> Head:
        """Verify the whole file: tables, pages, chain, sums, accounts, fingerprints.

        Parameters
        ----------
        head : str, optional
            A hash noted earlier, such as that of a release card; it must still be in the chain.

        Raises
        ------
        VerificationError
        """
        if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
            raise UsageError("A head has 64 hexadecimal digits, in lower case.")
        seen = self._seen
        with self._chain.transaction("BEGIN") as db:
            verify_file(db)
            recent(db, seen)
            entries, _ = verify(db)
            verify_releases(db, entries)
        if head is not None and head not in {entry.head.hash for entry in entries}:
            raise VerificationError(
                "The noted head is not in this ledger: it is another ledger, an older copy, or "
                "a copy that was charged separately."
            )
        self._remember(entries[-1].head)
        return entries[-1].head

    def export(self) -> Iterator[str]:
        """Every entry as one line of JSON, in order, for auditors; the chain is not verified.

        The hash of an entry is the SHA-256 of its line without ``hash``: keys sorted, no spaces,
        UTF-8.
        """
        with self._chain.transaction("BEGIN") as db:
            rows = [(text, hash_) for _, text, hash_ in texts(db, ROOT.sequence)]
        try:
            lines = [canonical({**json.loads(text), "hash": hash_}) for text, hash_ in rows]
        except (TypeError, ValueError):
            raise VerificationError("An entry of the ledger is no JSON text any more.") from None
        return iter(lines)
