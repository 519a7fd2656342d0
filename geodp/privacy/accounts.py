"""The accounts of a ledger: what every data set may spend and has spent, as its entries tell.

The ledger writes its entries by the rules of this module and checks them by the same ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from geodp.errors import BudgetError, UsageError, VerificationError
from geodp.privacy.hash_chain import VERSION, canonical
from geodp.privacy.loss import Loss, PureDP, compose, no_loss, parse, remainder, within
from geodp.privacy.names import canonical_name, skeleton
from geodp.privacy.neighbours import NEIGHBOURS, REPLACE, canonical_unit
from geodp.privacy.samples import Records, follow_samples, read_records, write_records

CENTRAL, LOCAL = "central", "local"

LONGEST = 4096
"""Most bits of a loss: Python would not write a much longer fraction as text."""


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
    """A data set and what its releases have spent at one moment.

    Attributes
    ----------
    name, unit, neighbours : str
    cap, spent : Loss
    releases : int
        Number of charges.
    model : {"central", "local"}
        Whether an office adds the noise to what it holds, or every device to its own reports.
    samples : tuple of str
        Secret samples of which a table was charged.
    """

    name: str
    unit: str
    neighbours: str
    cap: Loss
    spent: Loss
    releases: int = 0
    model: str = CENTRAL
    samples: tuple[str, ...] = ()

    @classmethod
    def open(
        cls, name: str, cap: Loss, unit: str, neighbours: str, model: str = CENTRAL
    ) -> Account:
        """Open a checked account of which nothing is spent; UsageError for what makes no sense."""
        require_neighbours(neighbours)
        if model not in (CENTRAL, LOCAL):
            raise UsageError(f"model must be one of: {CENTRAL}, {LOCAL}.")
        if model == LOCAL and neighbours != REPLACE:
            raise UsageError(
                "Reports of devices hide where a device is, not that it takes part: their data "
                f"set needs neighbours {REPLACE}."
            )
        if not all(amount > 0 for amount in cap.amounts) or getattr(cap, "delta", 0) >= 1:
            raise UsageError("A cap must be above 0, and its delta below 1.")
        require_short(cap)
        names = canonical_name(name), canonical_unit(unit)
        return cls(*names, neighbours, cap, no_loss(cap), 0, model)

    @property
    def remaining(self) -> Loss:
        """What the cap leaves."""
        return remainder(self.cap, self.spent)

    def charge(self, loss: Loss, records: Records = None) -> Account:
        """Return the account after the loss of a release, of records that are declared.

        Raises
        ------
        BudgetError
            The cap would be exceeded.
        UsageError
            The loss is of a kind that the cap does not bound, the sum is too long a fraction, or
            the losses of such records do not add up.
        """
        require_short(loss)
        samples = follow_samples(self.name, self.samples, records)
        if not isinstance(loss, (PureDP, type(self.cap))):
            raise UsageError(
                f"The cap of {self.name} is {self.cap}; a loss of {loss} cannot be charged to "
                "it: choose a mechanism with the cap's kind of guarantee."
            )
        spent = compose([self.spent, loss])
        if not within(spent, self.cap):
            raise BudgetError(
                f"{loss} would take {self.name} over its cap of {self.cap}; "
                f"{self.remaining} is left, and nothing was charged."
            )
        require_short(spent)
        return replace(self, spent=spent, releases=self.releases + 1, samples=samples)

    def text(self) -> str:
        """All of it as one canonical JSON text."""
        plain = {name: str(getattr(self, name)) for name in ("name", "unit", "neighbours")}
        amounts = {"cap": str(self.cap), "spent": str(self.spent)}
        own: dict[str, Any] = {} if self.model == CENTRAL else {"model": self.model}
        own |= {"samples": self.samples} if self.samples else {}
        return canonical({**plain, **amounts, "releases": self.releases, **own})

    @classmethod
    def read(cls, text: str) -> Account:
        """Read what :meth:`text` wrote."""
        plain = json.loads(text)
        amounts = {name: parse(plain[name]) for name in ("cap", "spent")}
        return cls(**{**plain, **amounts, "samples": tuple(plain.get("samples", ()))})


class Accounts:
    """The accounts of a ledger in the order of their entry, by name."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._accounts: dict[str, Account] = {}
        self._hashes: dict[str, bytes] = {}
        for account in accounts:
            self.put(account)

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts.values())

    def put(self, account: Account) -> int:
        """Keep the newest state of an account; return its number."""
        self._accounts[account.name] = account
        self._hashes[account.name] = _hash(account.text())
        return list(self._accounts).index(account.name)

    @property
    def digest(self) -> str:
        """What :func:`digest` makes of their texts."""
        return _join(self._hashes.values())

    def find(self, name: str) -> Account:
        """Return the account of a name, exactly; UsageError where there is none."""
        name = canonical_name(name)
        if name in self._accounts:
            return self._accounts[name]
        near = self._near(name)
        if near is None:
            raise UsageError(
                f"The ledger has no data set {name}; geodp budget show lists those it has, and "
                "geodp budget init adds one."
            )
        raise UsageError(
            f"The ledger has no data set {name}; it has {near.name}: write the name so if that is "
            "meant."
        )

    def require_new(self, name: str) -> None:
        """Refuse a name that the ledger has, or that could be taken for one that it has."""
        if name in self._accounts:
            raise UsageError(
                f"The ledger has a data set {name} already, and a cap is never changed; "
                "geodp budget show tells what it is."
            )
        if (near := self._near(name)) is not None:
            raise UsageError(
                f"{name} reads like {near.name}, which the ledger has with a cap of its own; "
                "charge that one, or choose a name that differs in more than case, width, blanks "
                "or dashes."
            )

    def follow(self, content: dict[str, Any]) -> None:
        """Bring the accounts to where they are after an entry.

        Raises
        ------
        VerificationError
            The entry states other sums, goes over a cap, or breaks another rule.
        """
        try:
            if content["kind"] == "dataset":
                name, unit, neighbours = (content[n] for n in ("name", "unit", "neighbours"))
                self.require_new(name)
                model = content.get("model", CENTRAL)
                new = Account.open(name, parse(content["cap"]), unit, neighbours, model)
                self.put(new)
                agree = (new.name, new.unit) == (name, unit)
            elif content["kind"] == "charge":
                account, loss = self._accounts[content["dataset"]], parse(content["loss"])
                records = read_records(content)
                new = account.charge(loss, records)
                self.put(new)
                stated = (content["spent"], content["releases"], content["neighbours"])
                agree = stated == (str(new.spent), new.releases, new.neighbours)
                agree = agree and write_records(records).items() <= content.items()
            else:
                begun = (content["kind"], content["sequence"], content["version"])
                agree = begun == ("genesis", 0, VERSION)
            agree = agree and content["accounts"] == self.digest
        except BudgetError:
            raise VerificationError(
                f"The charges of {content['dataset']} are above its cap."
            ) from None
        except (AttributeError, KeyError, TypeError, ValueError):
            agree = False
        if not agree:
            raise VerificationError(
                f"Entry {content.get('sequence')} of the ledger states other sums than its "
                "entries have, or is none that geodp writes."
            )

    def _near(self, name: str) -> Account | None:
        """Return an account whose name could be taken for this one."""
        seen = skeleton(name)
        return next((a for a in self if skeleton(a.name) == seen), None)


def digest(texts: Iterable[str]) -> str:
    """SHA-256 over the SHA-256 of every account's text, which each entry holds."""
    return _join(map(_hash, texts))


def _hash(text: object) -> bytes:
    return hashlib.sha256(str(text).encode()).digest()


def _join(hashes: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(hashes)).hexdigest()


def require_short(loss: Loss) -> None:
    """Refuse a loss, or an exact sum of losses, of too many digits to be written."""
    bits = (n.numerator.bit_length() + n.denominator.bit_length() for n in loss.amounts)
    if sum(bits) > LONGEST:
        raise UsageError(
            "The exact sum of all losses would be too long a fraction; choose a budget with fewer "
            "digits, such as 1/10. Nothing was charged."
        )


def require_neighbours(neighbours: str) -> None:
    """Refuse what is no neighbouring relation."""
    if neighbours not in NEIGHBOURS:
        raise UsageError(f"neighbours must be one of: {', '.join(NEIGHBOURS)}.")
