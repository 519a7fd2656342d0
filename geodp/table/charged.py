"""Privacy losses and the ledger's charge, as a release's card states them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from geodp.privacy.accounts import Charge
from geodp.table.plain import AtLeast, Text, read_plain, write_plain

Exact = Annotated[str, Text(r"[0-9]{1,400}(/[0-9]{1,400})?")]
"""An exact number; an exponent could ask for more digits than memory holds."""

Count = Annotated[int, AtLeast(0)]
Amount = Annotated[float, AtLeast(0)]


@dataclass(frozen=True)
class PureLoss:
    """A privacy loss of pure differential privacy."""

    variant: Literal["pure"]
    epsilon: Exact
    epsilon_decimal: Amount


@dataclass(frozen=True)
class ConcentratedLoss:
    """A privacy loss of zero-concentrated differential privacy."""

    variant: Literal["zero-concentrated"]
    rho: Exact
    rho_decimal: Amount


@dataclass(frozen=True)
class ApproximateLoss:
    """A privacy loss of approximate differential privacy, and what it was converted from."""

    variant: Literal["approximate"]
    epsilon: Exact
    epsilon_decimal: Amount
    delta: Exact
    delta_decimal: Amount
    converted_from: ConcentratedLoss | None = None


StatedLoss = PureLoss | ConcentratedLoss | ApproximateLoss


@dataclass(frozen=True)
class StatedCharge:
    """Charge to a ledger, before the release was written.

    Attributes
    ----------
    ledger, dataset, unit, neighbours : str
    loss : StatedLoss
        Loss of this release; ``spent``: including it; ``cap``: the largest that is allowed.
    earlier_releases : int
    sequence : int
        Number of the ledger's entry; ``head``: its hash.
    """

    ledger: str
    dataset: str
    unit: str
    neighbours: str
    loss: StatedLoss
    spent: StatedLoss
    cap: StatedLoss
    earlier_releases: Count
    sequence: Count
    head: str

    @classmethod
    def of(cls, charge: Charge | StatedCharge) -> Self:
        """Convert a ledger's charge to its form on cards."""
        # By way of plain values, so that a new charge and one read from a card are checked alike.
        return read_plain(cls, charge.describe(), "budget")

    def describe(self) -> dict[str, Any]:
        """Return plain values for a card, as :meth:`geodp.privacy.ledger.Charge.describe` does."""
        plain: dict[str, Any] = write_plain(self)
        return plain
