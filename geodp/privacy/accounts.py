"""Accounts of a ledger: the cap of each data set, and what its releases have spent so far.

The ledger writes its entries by the rules of this module and checks them by the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from geodp.errors import BudgetError, UsageError, VerificationError
from geodp.privacy.hash_chain import VERSION
from geodp.privacy.loss import (
    ApproximateDP,
    Loss,
    PureDP,
    ZeroConcentratedDP,
    compose,
    no_loss,
    parse,
    remainder,
    within,
)
from geodp.privacy.samples import (
    Records,
    canonical_name,
    follow_samples,
    look_alike,
    read_records,
    write_records,
)
from geodp.privacy.terms import REPLACE, canonical_unit, require_neighbours
from geodp.reprs import one_line

CENTRAL, LOCAL = "central", "local"

_WHOSE = {CENTRAL: "releases of an office's data", LOCAL: "devices' own reports"}

LONGEST = 4096
"""Largest number of bits of a loss: Python refuses to print much longer integers."""


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
        Loss of this release; of all releases up to it; the largest that is allowed.
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

    __repr__ = one_line

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
    entered : int
        Number of the ledger's entry that opened it.
    """

    __repr__ = one_line

    name: str
    unit: str
    neighbours: str
    cap: Loss
    spent: Loss
    releases: int
    model: str
    samples: tuple[str, ...]
    entered: int

    def require_unit(self, unit: str) -> None:
        """Raise UsageError where a charge protects another unit than the ledger."""
        if self.unit != unit:
            raise UsageError(
                f"The ledger protects one {self.unit} of {self.name}, and this charge one {unit}; "
                "budgets of different units do not add up.",
                code="unit-differs-from-ledger",
            )

    @classmethod
    def open(
        cls,
        name: str,
        cap: Loss,
        unit: str,
        neighbours: str,
        model: str = CENTRAL,
        entered: int = 1,
    ) -> Account:
        """Open a new account with nothing spent; UsageError for invalid values."""
        require_neighbours(neighbours)
        if model not in (CENTRAL, LOCAL):
            raise UsageError(f"model must be one of: {CENTRAL}, {LOCAL}.", code="model-unknown")
        # Whether a device reports is visible to the collector, so its absence cannot be protected.
        if model == LOCAL and neighbours != REPLACE:
            raise UsageError(
                "Reports of devices hide where a device is, not that it takes part: their data "
                f"set needs neighbours {REPLACE}.",
                code="devices-need-replace",
            )
        if not all(amount > 0 for amount in cap.amounts) or getattr(cap, "delta", 0) >= 1:
            raise UsageError(
                "A cap must be above 0, and its delta below 1.", code="cap-not-positive"
            )
        require_short(cap)
        return cls(
            name=canonical_name(name),
            unit=canonical_unit(unit),
            neighbours=neighbours,
            cap=cap,
            spent=no_loss(cap),
            releases=0,
            model=model,
            samples=(),
            entered=entered,
        )

    @property
    def remaining(self) -> Loss:
        """The part of the cap that is not spent."""
        return remainder(self.cap, self.spent)

    def require(self, model: str, neighbours: str) -> None:
        """Raise UsageError for a charge of another model or for other neighbours."""
        if model != self.model:
            raise UsageError(
                f"The budget of {self.name} is for {_WHOSE[self.model]}, and losses "
                f"of {_WHOSE[model]} cannot be added; charge them to another data set.",
                code="dataset-of-other-model",
            )
        if neighbours != self.neighbours:
            raise UsageError(
                f"The budget of {self.name} is for neighbours {self.neighbours}, "
                f"and losses for {neighbours} cannot be added; publish with the former.",
                code="dataset-of-other-neighbours",
            )

    def cost(self, loss: Loss) -> Loss:
        """Convert the loss of a release to what it takes of the cap, exactly.

        Under a cap in rho a pure epsilon costs epsilon^2 / 2; under one with delta it costs no
        delta. Everything else costs what it is.

        Raises
        ------
        UsageError
            The cap does not bound such a loss.
        """
        if isinstance(self.cap, ApproximateDP) and isinstance(loss, ZeroConcentratedDP):
            # No delta is chosen here: any choice would spend what somebody else planned with.
            raise UsageError(
                f"The cap of {self.name} is {self.cap}, and {loss} has no delta: state with "
                "--delta how much of it this release takes, and its epsilon follows. Many such "
                "releases cost less under a cap in rho (geodp budget init --rho).",
                code="loss-without-delta",
            )
        if not isinstance(loss, (PureDP, type(self.cap))):
            raise UsageError(
                f"The cap of {self.name} is {self.cap}; a loss of {loss} cannot be charged to "
                "it: choose a mechanism with the cap's kind of guarantee.",
                code="loss-of-other-kind",
            )
        return compose([no_loss(self.cap), loss])

    def describe_cost(self, loss: Loss) -> str:
        """Describe a loss, and in brackets its cost under a cap in rho if it is none itself."""
        concentrated = isinstance(self.cap, ZeroConcentratedDP) and self.cost(loss) != loss
        return f"{loss} ({self.cost(loss)})" if concentrated else str(loss)

    def charge(self, loss: Loss, records: Records = None) -> Account:
        """Return the account after charging the loss of a release.

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
        # Exact fractions: a sum in floating point could stay below the cap when the true sum is
        # above it.
        spent = compose([self.spent, self.cost(loss)])
        if not within(spent, self.cap):
            raise BudgetError(
                f"{self.describe_cost(loss)} would take {self.name} over its cap of {self.cap}; "
                f"{self.remaining} is left, and nothing was charged.",
                code="cap-exceeded",
            )
        # The new sum may be longer than either part: its denominator is their least common
        # multiple.
        require_short(spent)
        return replace(self, spent=spent, releases=self.releases + 1, samples=samples)

    def columns(self) -> dict[str, Any]:
        """Return the account as plain values, as each of its entries stores it."""
        columns = {"dataset": self.name, "unit": self.unit, "neighbours": self.neighbours}
        columns |= {"cap": str(self.cap), "spent": str(self.spent)}
        numbers = {"releases": self.releases, "entered": self.entered}
        # Defaults are left out, so that entries of older versions keep their hashes.
        optional: dict[str, Any] = {} if self.model == CENTRAL else {"model": self.model}
        optional |= {"samples": [*self.samples]} if self.samples else {}
        return {**columns, **numbers, **optional}

    @classmethod
    def read(cls, columns: dict[str, Any]) -> Account:
        """Read what :meth:`columns` wrote."""
        return cls(
            name=columns["dataset"],
            cap=parse(columns["cap"]),
            spent=parse(columns["spent"]),
            model=columns.get("model", CENTRAL),
            samples=tuple(columns.get("samples", ())),
            **{name: columns[name] for name in ("unit", "neighbours", "releases", "entered")},
        )


class Accounts:
    """The accounts of a ledger in the order of their entry, by name."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._accounts = {account.name: account for account in accounts}

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts.values())

    def find(self, name: str) -> Account:
        """Return the account of a name, exactly; UsageError where there is none."""
        name = canonical_name(name)
        if name in self._accounts:
            return self._accounts[name]
        # A charge to a name that only looks right must fail: a second account would double the
        # budget.
        near = look_alike(name, self._accounts)
        if near is None:
            raise UsageError(
                f"The ledger has no data set {name}; geodp budget show lists those it has, and "
                "geodp budget init adds one.",
                code="dataset-unknown",
            )
        raise UsageError(
            f"The ledger has no data set {name}, but it has {near}; use that name if you mean it.",
            code="dataset-spelt-otherwise",
        )

    def require_new(self, name: str) -> None:
        """Raise UsageError for a name that the ledger has, or that looks like one that it has."""
        if name in self._accounts:
            raise UsageError(
                f"The ledger has a data set {name} already, and a cap is never changed; "
                "geodp budget show prints it.",
                code="dataset-exists",
            )
        if (near := look_alike(name, self._accounts)) is not None:
            raise UsageError(
                f"{name} reads like {near}, which the ledger has with its own cap; "
                "charge that one, or choose a name that differs in more than case, width, blanks, "
                "punctuation or letters that look alike.",
                code="dataset-looks-alike",
            )

    def follow(self, content: dict[str, Any]) -> None:
        """Update the accounts with an entry.

        Raises
        ------
        VerificationError
            The entry states other sums, goes over a cap, or breaks another rule.
        """
        try:
            consistent = self._follow(content)
        except BudgetError:
            raise VerificationError(
                f"The charges of {content['dataset']} are above its cap.", code="charges-above-cap"
            ) from None
        except (AttributeError, KeyError, TypeError, ValueError):
            consistent = False
        if not consistent:
            raise VerificationError(
                f"Entry {content.get('sequence')} of the ledger has sums that do not follow from "
                "the entries before it, or was not written by geodp.",
                code="ledger-sums-differ",
            )

    def _follow(self, content: dict[str, Any]) -> bool:
        """Apply an entry; return whether its sums follow from the entries before it."""
        kind, sequence = content["kind"], content["sequence"]
        if kind == "witness":
            return isinstance(content["witness"], str)
        if kind == "genesis":
            return (sequence, content["version"]) == (0, VERSION)
        name = content["dataset"]
        if kind == "dataset":
            # Look-alike names were checked when the data set was added. They are not checked again
            # here: later Unicode tables add look-alikes, and an old ledger must stay valid.
            new = Account.open(
                name,
                parse(content["cap"]),
                content["unit"],
                content["neighbours"],
                model=content.get("model", CENTRAL),
                entered=sequence,
            )
            invalid = name in self._accounts
        else:
            records = read_records(content)
            new = self._accounts[name].charge(parse(content["loss"]), records)
            invalid = kind != "charge" or not write_records(records).items() <= content.items()
        self._accounts[name] = new
        consistent = Account.read(content) == new and new.columns().items() <= content.items()
        return consistent and not invalid


def require_short(loss: Loss) -> None:
    """Raise UsageError for a loss, or a sum of losses, with too many digits to be written."""
    bits = (n.numerator.bit_length() + n.denominator.bit_length() for n in loss.amounts)
    if sum(bits) > LONGEST:
        raise UsageError(
            "The exact sum of all losses would be too long a fraction; choose a budget with fewer "
            "digits, such as 1/10. Nothing was charged.",
            code="sum-too-long",
        )
