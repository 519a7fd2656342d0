"""The budget ledger: one file that records the loss of every release before it is published.

A text file (see `geodp.privacy.hash_chain`) with one chain of entries: the genesis; every data set
with its cap; every charge. Each holds what its data set has spent since, and the branches of two
indexes (see `geodp.privacy.books`): of the data sets' latest entries, and of the releases.

What a charge guarantees
    `Ledger.charge` adds the new charge to the sum of all earlier ones as an exact fraction, refuses
    above the cap, and has the charge on disk before it returns, all under one lock of the file.
    Because a refused charge publishes nothing, the cap bounds the loss of all releases together
    even when each was chosen in the light of the earlier ones: for pure and approximate losses see
    Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and filters"; for zero-concentrated
    ones Feldman and Zrnic 2021, "Individual privacy accounting via a Rényi filter". A charge is
    never taken back, also when its run fails later.

What a charge reads
    The last entry, and those that the indexes lead to: the latest of its data set, and the charge
    of the same release or the entries that show that there is none. Each is named by its hash in
    the one that leads to it, so caps, sums, and what recognises a replay are verified at every
    charge, and the work grows with the logarithm of the ledger. Damage, stale sectors and entries
    put in from elsewhere change no sum and hide no release unseen. A `Ledger` also remembers the
    head that it saw last: the chain must still contain it, and whatever came after it is verified.
    Changes of other entries change nothing and wait for `Ledger.check`.

Second names
    The lock is on the file itself, and all of the ledger is in it: under hard links, bind mounts
    and new names it is the same ledger, also after a kill. Where locks go by name (Windows), a file
    with hard links is refused.

What the chain shows
    `Ledger.check` finds every entry that was changed, added or taken out, except that entries cut
    off at the end need a head that was noted elsewhere: each release card carries one. With it,
    the check also finds a file that was replaced by an older copy, and two copies of which each
    was charged. A *witness* (`geodp.privacy.witness`) is such a head that every charge
    compares: with one, such a ledger is refused at its next charge.

What it cannot show
    Without a witness or a noted head, a file cut back to an earlier state looks complete, and two
    copies charged side by side each stay below the cap. Whoever can write the file, and the
    witness, can also rewrite all of it, with new hashes. Names that read alike are one
    (`geodp.privacy.samples`), but the ledger cannot know that two other names mean the same people,
    nor see a release that was made without it.

Nothing in it depends on the data, provided that fingerprints do not: see `Ledger.charge`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from geodp.errors import UsageError, VerificationError
from geodp.privacy.accounts import CENTRAL, LOCAL, require_short
from geodp.privacy.accounts import Account as Account
from geodp.privacy.accounts import Charge as Charge
from geodp.privacy.books import Books, charge_of, replay_of, verify, write_details
from geodp.privacy.hash_chain import VERSION, HashChain, Head, LedgerEntry, Log, canonical
from geodp.privacy.loss import Loss
from geodp.privacy.samples import (
    Records,
    SecretSample,
    read_records,
    require_label,
    require_new_sample,
    require_one_script,
    write_records,
)
from geodp.privacy.terms import ADD_REMOVE, REPLACE, read_contribution, require_neighbours
from geodp.privacy.witness import Witness, resolve_witness


class Ledger:
    """A ledger file, from `Ledger.open` or `Ledger.create`.

    Every call opens and closes it, so threads and forks may share a `Ledger`.

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

    def __init__(self, chain: HashChain) -> None:
        self._chain = chain
        self._seen: Head | None = None

    def __repr__(self) -> str:
        return f"Ledger({self.path.name!r})"

    @property
    def path(self) -> Path:
        """Absolute path of the file."""
        return self._chain.path

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Open the ledger at ``path``."""
        chain = HashChain(path)
        with chain.transaction():
            return cls(chain)  # or an error, where the file is no ledger

    @classmethod
    def create(cls, path: str | Path, *, witness: str | Path | None = None) -> Ledger:
        """Create a ledger, perhaps with a witness (see :meth:`set_witness`), in empty files."""
        ledger = cls(HashChain(path))
        place = None if witness is None else resolve_witness(witness, ledger.path)
        with ledger._chain.transaction(new=True) as log, ExitStack() as stack:
            genesis: dict[str, Any] = {"kind": "genesis", "version": VERSION}
            held = None
            if place is not None:
                genesis["witness"] = str(place)
                held = stack.enter_context(Witness.held(place, ledger.path, create=True))
                held.require_empty()
            log.append(genesis)
            log.commit()
            if held is not None:
                held.write(log.head)
        ledger._seen = log.head
        return ledger

    @property
    def id(self) -> str:
        """The random id, which every entry and the cards of releases have."""
        with self._transaction() as log:
            return log.head.ledger

    @property
    def witness(self) -> Path | None:
        """Path of the file that keeps the head, too, if there is one."""
        with self._books() as books:
            return books.witness

    def set_witness(self, path: str | Path, *, head: str | None = None) -> None:
        """Keep the head of the chain in a second file from now on, compared at every charge.

        An older copy, or one of two that are charged, lacks the witness's head and is refused.

        Parameters
        ----------
        path : str or Path
            New file, or the ledger's witness under a new name; best on another disk, and out of
            the ledger's backups. It has the same path for all who charge.
        head : str, optional
            Head of the latest release's card, which must be in the chain: if the ledger's
            witness is lost or was set back, nothing else shows that this ledger is the latest.
            An existing witness that has entries which the ledger lacks still takes precedence.

        Raises
        ------
        VerificationError, OutputError
            The ledger is not what its witness has seen, or a witness cannot be used.
        """
        place = resolve_witness(path, self.path)
        if head is not None:
            self.check(head, witness=False)
        with self._transaction(write=True) as log:
            Books(log).move_witness(place, compare=head is None)
        self._remember(log.head)

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[Log]:
        """Open the ledger, which must still contain the head that this object saw last."""
        seen = self._seen  # read before the lock is taken: other threads may charge meanwhile
        with self._chain.transaction(write=write) as log:
            if seen is not None:
                log.require(seen)
            yield log

    @contextmanager
    def _books(self, *, write: bool = False) -> Iterator[Books]:
        """Open verified books; what is entered is on disk, and with the witness, afterwards."""
        # The witness gets the head after the commit: a kill in between leaves the ledger ahead,
        # which is allowed, and never the witness ahead, which would look like a restored backup.
        with self._transaction(write=write) as log:
            books = Books(log)
            with books.hold_witness() if write else nullcontext() as witness:
                yield books
                if write:
                    log.commit()
                if witness is not None:
                    witness.write(log.head)
        self._remember(log.head)

    def _remember(self, head: Head) -> None:
        """Remember the latest head that was on disk."""
        # Threads may finish in another order than they charged; only the latest head counts.
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
            Stands in release cards; in one script, and unlike all others: see
            `geodp.privacy.samples`.
        cap : Loss
            Its kind decides which charges add up: under a pure cap pure ones, under a
            zero-concentrated or an approximate cap also pure ones.
        unit : str
            Whom the guarantee protects, as a noun: person, household, person-day ...
        neighbours : {"add-remove-one", "replace-one"}
        model : {"central", "local"}
            Local: only rounds of devices' own reports are charged to it, by :meth:`charge_round`;
            central: only releases of an office's data. Their losses mean different things.
        """
        Account.open(name, cap, unit, neighbours, model)  # refused before the ledger is opened
        require_one_script(name)
        with self._books(write=True) as books:
            entered = books.last.head.sequence + 1
            new = Account.open(name, cap, unit, neighbours, model, entered=entered)
            books.accounts().require_new(new.name)
            books.enter({"kind": "dataset", **new.columns()})
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
        """Charge a release before it is shown to anybody; it stays, whatever happens to the run.

        Parameters
        ----------
        dataset, loss, mechanism, neighbours, contribution
            Those of the release; the neighbours must be those of the data set.
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
            Charge of this release, or the earlier one (``replay``) if the fingerprint is known.

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
        terms = _terms_of(mechanism, neighbours, contribution, records)
        return self._charge(CENTRAL, dataset, loss, terms, fingerprint, details or {})

    def rehearse(
        self,
        dataset: str,
        loss: Loss,
        *,
        mechanism: str,
        neighbours: str,
        contribution: int,
        fingerprint: str,
        records: Records = None,
    ) -> None:
        """Raise the error that a charge would raise now, without charging anything.

        The file and its witness are opened for writing, too; only a disk that is full is found by
        the charge alone.
        """
        terms = _terms_of(mechanism, neighbours, contribution, records)
        _require_charge(loss, terms, fingerprint)
        with self._books(write=True) as books:
            _add_charge(books, CENTRAL, dataset, loss, terms, fingerprint)

    def charge_round(
        self, dataset: str, loss: Loss, *, mechanism: str, fingerprint: str, details: dict[str, Any]
    ) -> Charge:
        """Charge a round of local collection before its first report is asked for.

        Parameters
        ----------
        dataset : str
            Entered for devices' own reports: its model is local.
        loss : Loss
            Loss of one report.
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
        """Charge a loss under one model, with terms that are checked already."""
        _require_charge(loss, terms, fingerprint)
        columns: dict[str, Any] = {"fingerprint": fingerprint, "details": write_details(details)}
        with self._books(write=True) as books:
            after = _add_charge(books, model, dataset, loss, terms, fingerprint)
            if isinstance(after, Charge):
                return after
            terms_columns = {"kind": "charge", "loss": str(loss), **terms}
            entry = books.enter({**terms_columns, **columns, **after.columns()})
        return charge_of(entry)

    def find_charge(self, dataset: str, fingerprint: str) -> Charge | None:
        """Return the charge of a release by its fingerprint; None where there is none.

        What is returned is on the disk, and with the witness: what was paid may be published.
        """
        with self._books(write=True) as books:
            entry = books.find_release(books.account(dataset).name, fingerprint)
        return None if entry is None else charge_of(entry)

    def account(self, dataset: str) -> Account:
        """Return the account of a data set."""
        with self._books() as books:
            return books.account(dataset)

    def accounts(self) -> tuple[Account, ...]:
        """Return the accounts of all data sets, in the order of their entry."""
        with self._books() as books:
            return tuple(books.accounts())

    def charges(self, dataset: str | None = None) -> tuple[Charge, ...]:
        """Return the charges of one data set or of all, in order.

        The whole chain is read and verified.
        """
        return tuple(charge_of(entry) for entry in self._entries_of_charges(dataset))

    def find_sample(self, dataset: str, sample: SecretSample) -> Charge | None:
        """Return the charge of the table of a secret sample; None where there is none.

        The whole chain is read and verified; what is returned is on the disk, and with the witness.
        """
        for entry in self._entries_of_charges(dataset, write=True):
            if entry.content.get("sample") == sample.name:
                return charge_of(entry)
        return None

    def _entries_of_charges(self, dataset: str | None, *, write: bool = False) -> list[LedgerEntry]:
        with self._books(write=write) as books:
            name = None if dataset is None else books.account(dataset).name
            entries, _ = verify(books.log)
        charges = [entry for entry in entries if entry.content["kind"] == "charge"]
        return [entry for entry in charges if name in (None, entry.content["dataset"])]

    def spent(self, dataset: str) -> Loss:
        """Return the loss of all releases of a data set."""
        return self.account(dataset).spent

    def remaining(self, dataset: str) -> Loss:
        """Return the part of a data set's cap that is left."""
        return self.account(dataset).remaining

    def check(self, head: str | None = None, *, witness: bool = True) -> Head:
        """Verify the whole file: chain, sums, indexes, and the witness.

        Parameters
        ----------
        head : str, optional
            A hash noted earlier, such as that of a release card; it must still be in the chain.
        witness : bool
            Compare the ledger with its witness, if it has one.

        Raises
        ------
        VerificationError
        """
        if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
            raise UsageError("A head has 64 hexadecimal digits, in lower case.", code="head-form")
        with self._transaction() as log:
            entries, _ = verify(log)
            if head is not None and head not in {entry.head.hash for entry in entries}:
                raise VerificationError(
                    "The noted head is not in this ledger: it is another ledger, an older copy, or "
                    "a copy that was charged separately.",
                    code="head-not-in-ledger",
                )
            if witness:
                with Books(log).hold_witness(write=False):
                    pass
        self._remember(entries[-1].head)
        return entries[-1].head

    def export(self) -> Iterator[str]:
        """Yield every entry as one line of JSON, in order, for auditors; the chain is not verified.

        The hash of an entry is the SHA-256 of its line without ``hash``: keys sorted, no spaces,
        UTF-8.
        """
        with self._chain.transaction() as log:
            rows = list(log.lines())
        try:
            return iter([canonical({**json.loads(text), "hash": hash_}) for text, hash_ in rows])
        except (TypeError, ValueError):
            raise VerificationError(
                "An entry of the ledger is no JSON text any more.", code="ledger-entry-not-json"
            ) from None


def _terms_of(
    mechanism: str, neighbours: str, contribution: int, records: Records
) -> dict[str, Any]:
    """Return the terms of a release as a ledger's entry has them; UsageError for wrong ones."""
    require_neighbours(neighbours)
    times = read_contribution(contribution)
    terms = {"mechanism": mechanism, "neighbours": neighbours, "contribution": times}
    return terms | write_records(records)


def _require_charge(loss: Loss, terms: dict[str, Any], fingerprint: str) -> None:
    """Raise UsageError for a charge that no ledger accepts."""
    require_label(terms["mechanism"], "The mechanism")
    if not re.fullmatch("[0-9a-f]{16,128}", fingerprint):
        raise UsageError(
            "A fingerprint has 16 to 128 hexadecimal digits, in lower case.",
            code="fingerprint-form",
        )
    # A charge of 0 would claim a release without any loss, which no mechanism gives.
    if not any(loss.amounts):
        raise UsageError("A charge must be above 0.", code="charge-not-positive")
    require_short(loss)


def _add_charge(
    books: Books, model: str, dataset: str, loss: Loss, terms: dict[str, Any], fingerprint: str
) -> Account | Charge:
    """Return a data set's account after a charge, which is entered nowhere yet.

    Or the earlier charge of a release that is published again.
    """
    account = books.account(dataset)
    # A replay shows nothing new, so it costs nothing; that its parameters match is checked first.
    if (earlier := books.find_release(account.name, fingerprint)) is not None:
        return replay_of(charge_of(earlier), {"loss": str(loss), **terms})
    account.require(model, terms["neighbours"])
    records = read_records(terms)
    after = account.charge(loss, records)
    require_new_sample(records, account.samples)
    return after
