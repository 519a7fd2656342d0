"""The public index of a series of amounts: what all periods share, and their folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from geodp.features.amounts.card import AmountsGuarantee, StatedAmount, StatedAmountsPrior
from geodp.table.charged import StatedCharge
from geodp.table.index import IndexCard
from geodp.table.plain import Text
from geodp.table.stated.release import Digest, Size, Software

OF_PERIOD = "that it is the period of "
"""How the fact begins by which cards of a period name it."""

PERIOD_FACT = (
    OF_PERIOD + "{time} in a series of {number}, from {first} to {last}, of which a {unit} is in "
    "{where}; together they spend {spends}, charged once"
)
"""Statement on the series of a period, which may be passed on alone: others share its budget."""


class PeriodOfSeries(NamedTuple):
    """The series of a period, as the cards of the period state it.

    Attributes
    ----------
    time, number, first, last, spends : str
    """

    time: str
    number: str
    first: str
    last: str
    spends: str


def find_period(facts: Iterable[str]) -> PeriodOfSeries | None:
    """Find of which period a release is by its facts; None: it is part of no series."""
    names = {name: f"(?P<{name}>.+)" for name in (*PeriodOfSeries._fields, "unit", "where")}
    form = re.compile(PERIOD_FACT.format(**names))
    found = next((one for fact in facts if (one := form.fullmatch(fact))), None)
    return None if found is None else PeriodOfSeries(*found.group(*PeriodOfSeries._fields))


@dataclass(frozen=True)
class AmountsSeriesGuarantee(AmountsGuarantee):
    """The privacy guarantee of all periods together.

    Attributes
    ----------
    person : {"all", "one"}
        Whether a person may be in all periods or in one.
    changed : int
        Maximal number of periods that differ between neighbours; each has 1 / changed of the
        budget.
    each_spends : str
        Budget of one period.
    """

    person: Literal["all", "one"]
    changed: Size
    each_spends: str


@dataclass(frozen=True)
class PeriodInfo:
    """A period: its time, which is also its folder's name, and the digest of its index.

    Attributes
    ----------
    time : str
        In ISO 8601.
    index_sha256 : str
        Of ``amounts.json`` in its folder.
    """

    time: Annotated[str, Text(r"\d{4}(-\d{2}(-\d{2}(T\d{2})?)?)?")]
    index_sha256: Digest


@dataclass(frozen=True, kw_only=True, repr=False)
class AmountsSeriesCard(IndexCard, kind="amounts-series"):
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

    schema: Literal["geodp-amounts-series-1"]
    software: Software
    private: bool
    step: Literal["year", "month", "day", "hour"]
    amount: StatedAmount
    guarantee: AmountsSeriesGuarantee
    budget: StatedCharge | None
    periods: tuple[PeriodInfo, ...] = ()
    prior: StatedAmountsPrior | None = None

    @property
    def about(self) -> str:
        """What is in the release, in few words."""
        return f"{self.amount.name}, {len(self.periods)} {self.step}s"
