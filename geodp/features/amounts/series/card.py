"""The public index of a series of amounts: what all periods share, and their folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from geodp.features.amounts.card import (
    AmountsCard,
    AmountsGuarantee,
    StatedAmount,
    StatedAmountsPrior,
)
from geodp.table.charged import StatedCharge
from geodp.table.index import PeriodInfo, PeriodsCard, Together
from geodp.table.stated.release import Software


@dataclass(frozen=True)
class AmountsSeriesGuarantee(Together, AmountsGuarantee):
    """The privacy guarantee of all periods together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AmountsSeriesCard(PeriodsCard, kind="amounts-series"):
    """The contents of ``amounts-series.json``.

    Attributes
    ----------
    schema : "geodp-amounts-series-1"
    software : Software
    private : bool
        Whether the key of the noise was secret.
    step : {"year", "month", "day", "hour"}
        Length of a period.
    amount : StatedAmount
        The same in all periods.
    guarantee : AmountsSeriesGuarantee
    budget : StatedCharge or None
        Charge to a ledger, once for all periods.
    periods : tuple of PeriodInfo
        In chronological order; empty before they are written.
    prior : StatedAmountsPrior or None
        The prior of every period; what each learned of it is in its own index.
    """

    period: ClassVar = AmountsCard
    promise: ClassVar = AmountsSeriesGuarantee

    schema: Literal["geodp-amounts-series-1"]
    software: Software
    private: bool
    step: Literal["year", "month", "day", "hour"]
    amount: StatedAmount
    guarantee: AmountsSeriesGuarantee
    budget: StatedCharge | None
    periods: tuple[PeriodInfo, ...] = ()
    prior: StatedAmountsPrior | None = None

    @classmethod
    def take(cls, period: AmountsCard) -> dict[str, Any]:
        """Return the amount, and the prior of which nothing is learned yet."""
        prior = period.prior
        return {"amount": period.amount, "prior": None if prior is None else prior.unlearned}

    @property
    def about(self) -> str:
        """What is in the release, in few words."""
        return f"{self.amount.name}, {super().about}"
