"""The budget ledger: what has been spent on every data set, in one file, before noise is drawn.

An SQLite database (see `geodp.chain`) with one chain of entries: the genesis, which binds the
ledger's random id; every data set with its cap; every charge.

What a charge guarantees
    `Ledger.charge` adds up all earlier charges and the new one as exact fractions, refuses above
    the cap, and has the charge on disk before it returns, all in one transaction that no other
    process can interleave with. Because a refused charge draws no noise, the cap bounds the loss
    of all releases together even when each was chosen in the light of the earlier ones: for pure
    and approximate losses see Rogers, Roth, Ullman and Vadhan 2016, "Privacy odometers and
    filters"; for zero-concentrated ones Feldman and Zrnic 2021, "Individual privacy accounting
    via a Rényi filter". A charge is never taken back, also when its run fails later.

What the chain shows
    `Ledger.check` finds every entry that was changed, added or taken out, except that entries cut
    off at the end need a head that was noted elsewhere: each release card carries one. With it,
    the check also finds a file that was replaced by an older copy, and two copies of which each
    was charged.

What it cannot show
    Without a noted head, a file cut back to an earlier state looks complete; whoever can write the
    file can also rewrite all of it, with new hashes. Two copies charged side by side each stay
    below the cap, and only comparing their heads tells. The ledger cannot know that two names
    mean the same people, nor see a release that was made without it.

Nothing in it depends on the data, provided that fingerprints do not: see `Ledger.charge`.

Keep the ledger on a local disk, as SQLite's locks do not work on some network file systems, and
under one name, without hard links.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp.chain import Chain, Head, append, canonical, entries
from geodp.errors import BudgetError, UsageError, VerificationError
from geodp.loss import Loss, PureDP, compose, nothing, parse, remainder, within
from geodp.neighbours import ADD_REMOVE, NEIGHBOURS

_CHARGES = (
    "SELECT sequence, at, hash, dataset, loss, mechanism, neighbours, contribution, fingerprint, "
    "details FROM charge JOIN entry USING (sequence) WHERE dataset = ? ORDER BY sequence"
)


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge, as it stands in the ledger.

    Attributes
    ----------
    ledger : str
        Random id of the ledger.
    sequence, at, hash : int, str, str
        Place in the chain, time by the machine's clock, and the head right after it.
    dataset, unit, neighbours : str
    loss, spent, cap : Loss
        Of this release; of all releases up to it; the most that is allowed.
    mechanism : str
    contribution : int
    fingerprint : str
    details : str
        Further parameters as JSON.
    earlier : int
        Number of charges to the data set before it.
    replay : bool
        It had been charged before and cost nothing now.
    """

    ledger: str
    sequence: int
    at: str
    hash: str
    dataset: str
    unit: str
    neighbours: str
    loss: Loss
    spent: Loss
    cap: Loss
    mechanism: str
    contribution: int
    fingerprint: str
    details: str
    earlier: int
    replay: bool = False

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card; a replay has the same ones."""
        return {
            "ledger": self.ledger,
            "dataset": self.dataset,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "loss": self.loss.describe(),
            "spent": self.spent.describe(),
            "cap": self.cap.describe(),
            "earlier_releases": self.earlier,
            "sequence": self.sequence,
            "head": self.hash,
        }


@dataclass(frozen=True, slots=True)
class Account:
    """A data set and its charges at one moment.

    Attributes
    ----------
    name, unit, neighbours : str
    cap, spent : Loss
    charges : tuple of Charge
    """

    name: str
    unit: str
    neighbours: str
    cap: Loss
    spent: Loss
    charges: tuple[Charge, ...]

    @property
    def remaining(self) -> Loss:
        """What the cap leaves."""
        return remainder(self.cap, self.spent)


class Ledger:
    """A ledger file. Every call opens and closes it, so threads and forks may share a `Ledger`.

    `Ledger.open` and `Ledger.create` make one.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
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

    @property
    def path(self) -> Path:
        """Absolute path of the file."""
        return self._chain.path

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger at ``path``."""
        chain = Chain(path)
        with chain.transaction("BEGIN", verified=False):
            return cls(chain)  # or an error, where the file is no ledger

    @classmethod
    def create(cls, path: str | Path) -> Ledger:
        """A new ledger; an existing file is refused unless it is empty."""
        return cls(Chain.create(path))

    def add_dataset(
        self, name: str, cap: Loss, *, unit: str = "one person", neighbours: str = ADD_REMOVE
    ) -> Account:
        """Enter a data set and the cap of all its releases, which is never changed afterwards.

        Parameters
        ----------
        name : str
            Stands in release cards.
        cap : Loss
            Its kind decides which charges add up: under a pure cap pure ones, under a
            zero-concentrated or an approximate cap also pure ones.
        unit : str
            Whom the guarantee protects, in words: one person, one person on one day ...
        neighbours : {"add-remove-one", "replace-one"}
        """
        _words(name, "The name of a data set")
        _words(unit, "The unit of privacy")
        _relation(neighbours)
        if not all(amount > 0 for amount in cap.amounts) or getattr(cap, "delta", 0) >= 1:
            raise UsageError("A cap must be above 0, and its delta below 1.")
        with self._chain.transaction("BEGIN IMMEDIATE") as db:
            if db.execute("SELECT 1 FROM dataset WHERE name = ?", [name]).fetchone():
                raise UsageError(
                    f"The ledger has a data set {name} already, and a cap is never changed; "
                    "geodp budget show tells what it is."
                )
            row = {"name": name, "cap": str(cap), "unit": unit, "neighbours": neighbours}
            append(db, "dataset", row)
            return _account(db, name)

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
            The chain is broken; nothing was charged.
        """
        _words(mechanism, "The mechanism")
        _relation(neighbours)
        if isinstance(contribution, bool) or not isinstance(contribution, int) or contribution < 1:
            raise UsageError("contribution must be a whole number of at least 1.")
        if not re.fullmatch("[0-9a-f]{16,128}", fingerprint):
            raise UsageError("A fingerprint has 16 to 128 hexadecimal digits, in lower case.")
        if not any(loss.amounts):
            raise UsageError("A charge must be above 0.")
        row = {
            "dataset": dataset,
            "loss": str(loss),
            "mechanism": mechanism,
            "neighbours": neighbours,
            "contribution": contribution,
            "fingerprint": fingerprint,
            "details": _details(details or {}),
        }
        with self._chain.transaction("BEGIN IMMEDIATE") as db:
            account = _account(db, dataset)
            for charge in account.charges:
                if charge.fingerprint == fingerprint:
                    return _replay(charge, row)
            if neighbours != account.neighbours:
                raise UsageError(
                    f"The budget of {dataset} is kept for neighbours {account.neighbours}, and "
                    f"losses for {neighbours} do not add to it; publish with the former."
                )
            if not isinstance(loss, (PureDP, type(account.cap))):
                raise UsageError(
                    f"The cap of {dataset} is {account.cap}; a loss of {loss} cannot be charged to "
                    "it: choose a mechanism with the cap's kind of guarantee."
                )
            if not within(compose([account.spent, loss]), account.cap):
                raise BudgetError(
                    f"{loss} would take {dataset} over its cap of {account.cap}; "
                    f"{account.remaining} is left, and nothing was charged."
                )
            append(db, "charge", row)
            return _account(db, dataset).charges[-1]

    def account(self, dataset: str) -> Account:
        """A data set with its charges."""
        with self._chain.transaction("BEGIN") as db:
            return _account(db, dataset)

    def accounts(self) -> tuple[Account, ...]:
        """All data sets, in the order of their entry."""
        with self._chain.transaction("BEGIN") as db:
            names = db.execute("SELECT name FROM dataset ORDER BY sequence").fetchall()
            return tuple(_account(db, name) for (name,) in names)

    def spent(self, dataset: str) -> Loss:
        """The loss of all releases of a data set."""
        return self.account(dataset).spent

    def remaining(self, dataset: str) -> Loss:
        """What its cap leaves."""
        return self.account(dataset).remaining

    def check(self, head: str | None = None) -> Head:
        """Verify the whole file: schema, chain, references, sums.

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
        end = self._chain.check(head)
        for account in self.accounts():
            if not within(account.spent, account.cap):
                raise VerificationError(f"The charges of {account.name} are above its cap.")
        return end

    def export(self) -> Iterator[str]:
        """Every entry as one line of JSON, in order, for auditors; the chain is not verified.

        The hash of an entry is the SHA-256 of its line without ``hash``: keys sorted, no spaces,
        UTF-8.
        """
        with self._chain.transaction("BEGIN", verified=False) as db:
            lines = [canonical({**content, "hash": hash_}) for content, hash_ in entries(db)]
        return iter(lines)


def _account(db: sqlite3.Connection, dataset: str) -> Account:
    found = db.execute(
        "SELECT cap, unit, neighbours, (SELECT id FROM genesis) FROM dataset WHERE name = ?",
        [dataset],
    ).fetchone()
    if found is None:
        raise UsageError(
            f"The ledger has no data set {dataset}; geodp budget show lists those it has, and "
            "geodp budget init adds one."
        )
    cap, (unit, neighbours, ledger) = parse(found[0]), found[1:]
    spent, charges = nothing(cap), list[Charge]()
    rows = db.execute(_CHARGES, [dataset])
    names = [column[0] for column in rows.description]
    for row in rows:
        columns = dict(zip(names, row, strict=True))
        loss = parse(columns.pop("loss"))
        spent = compose([spent, loss])
        charges.append(
            Charge(
                ledger=ledger,
                unit=unit,
                loss=loss,
                spent=spent,
                cap=cap,
                earlier=len(charges),
                **columns,
            )
        )
    return Account(dataset, unit, neighbours, cap, spent, tuple(charges))


def _replay(charge: Charge, row: dict[str, Any]) -> Charge:
    """The earlier charge of a fingerprint, which must have been for the same release."""
    same = ("loss", "mechanism", "neighbours", "contribution")
    if any(str(getattr(charge, name)) != str(row[name]) for name in same):
        raise UsageError(
            "This fingerprint was charged with another loss, mechanism, neighbours or "
            "contribution; a fingerprint must change with every parameter."
        )
    return replace(charge, replay=True)


def _words(text: str, what: str) -> None:
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 200:
        raise UsageError(f"{what} must be 1 to 200 printable characters.")


def _relation(neighbours: str) -> None:
    if neighbours not in NEIGHBOURS:
        raise UsageError(f"neighbours must be one of: {', '.join(NEIGHBOURS)}.")


def _details(details: dict[str, Any]) -> str:
    try:
        text = canonical(details)
        text.encode()
    except (TypeError, ValueError):
        raise UsageError("details must be plain values that JSON can hold.") from None
    return text
