"""Persons and households as kinds of release, and the public indexes of these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from geodp.errors import Rule
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.release.index_kind import IndexKind, SeriesKind
from geodp.table.card import File, LeftOut
from geodp.table.charged import Amount, Exact, StatedCharge
from geodp.table.index import PeriodInfo, PeriodsCard, TablesCard, Together
from geodp.table.plain import AtLeast
from geodp.table.stated.release import Size, Software, TableInfo

PERSONS, HOUSEHOLDS, OTHERS, SIZES = "persons", "households", "others", "sizes"
"""Names of the tables: of their folders, files and columns."""

Protect = Literal["person", "household"]
"""Whom the guarantee protects."""


@dataclass(frozen=True)
class HouseholdsGuarantee:
    """The privacy guarantee of all tables together.

    Attributes
    ----------
    in_words, mechanism : str
    other_unit : str
        What the guarantee means for a household, if a person is protected, or for a person.
    source : str
        Why it holds.
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal; ``spends``: as one line.
    neighbours, unit : str
    contribution : int
        The most that one unit adds to the sum of the counts that it is part of.
    assumptions : tuple of Assumption
        Assumptions about the input, and who answers for them.
    """

    in_words: str
    other_unit: str
    source: str
    mechanism: str
    epsilon: Exact | None
    epsilon_decimal: Amount | None
    rho: Exact | None
    rho_decimal: Amount | None
    delta: Exact | None
    delta_decimal: Amount | None
    spends: str
    neighbours: Literal["add-remove-one", "replace-one"]
    unit: Literal["person", "household"]
    contribution: Size
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class HouseholdsCard(TablesCard, kind="households"):
    """The contents of ``households.json``.

    Attributes
    ----------
    schema : "geodp-households-1"
    software : Software
    private : bool
        Whether the key of the noise was secret.
    protects : {"person", "household"}
    max_size : int
        Most persons of a household: every area has at most this number for each household.
    guarantee : HouseholdsGuarantee
    budget : StatedCharge or None
        Charge to a ledger, once for all tables.
    constraints : tuple of str
        What holds in every cell, and so in every area, a sentence each.
    tables : tuple of TableInfo
        Tables, each with a card of its own.
    files : tuple of File
        Files that show all tables together.
    left_out : tuple of LeftOut
    """

    schema: Literal["geodp-households-1"]
    software: Software
    private: bool
    protects: Literal["person", "household"]
    max_size: Annotated[int, AtLeast(2)]
    guarantee: HouseholdsGuarantee
    budget: StatedCharge | None
    constraints: tuple[str, ...]
    tables: tuple[TableInfo, ...] = ()
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def state_together(self, each: Measurement, total: Measurement) -> HouseholdsGuarantee:
        """State the guarantee of the periods of a series, of which one has this index.

        Parameters: see :meth:`geodp.table.index.TablesCard.state_together`.
        """
        promise: HouseholdsGuarantee = super().state_together(each, total)
        other = describe_other_unit(self.protects, total, self.max_size)
        return replace(promise, other_unit=other)

    @property
    def about(self) -> str:
        """What is in the release, in few words."""
        return f"{self.protects} protected"


def describe_other_unit(protects: Protect, event: Measurement, max_size: int) -> str:
    """Describe what the guarantee means for a household, or for a person."""
    budget = "rho" if event.rho is not None else "epsilon"
    amount = event.rho if event.rho is not None else event.epsilon
    assert amount is not None
    if protects == "household":
        return (
            f"A person is protected by the same {budget}, {amount}: who joins a household or "
            "leaves it changes the households of two sizes, but not their sum, which has half of "
            "the budget."
        )
    # k persons together are a group: k times epsilon, k squared times rho.
    times = max_size**2 if event.rho is not None else max_size
    power = "k squared" if event.rho is not None else "k"
    return (
        f"A household of k persons is protected by {power} times {budget}: one of {max_size} by "
        f"{times * amount}."
    )


@dataclass(frozen=True)
class HouseholdsSeriesGuarantee(Together, HouseholdsGuarantee):
    """The privacy guarantee of all periods together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class HouseholdsSeriesCard(PeriodsCard, kind="households-series"):
    """The contents of ``households-series.json``.

    Attributes
    ----------
    schema : "geodp-households-series-1"
    software : Software
    private : bool
        Whether the key of the noise was secret.
    step : {"year", "month", "day", "hour"}
        Length of a period.
    protects : {"person", "household"}
    max_size : int
        Most persons of a household, the same in all periods.
    guarantee : HouseholdsSeriesGuarantee
    budget : StatedCharge or None
        Charge to a ledger, once for all periods.
    periods : tuple of PeriodInfo
        In chronological order; empty before they are written.
    """

    period: ClassVar = HouseholdsCard
    promise: ClassVar = HouseholdsSeriesGuarantee

    schema: Literal["geodp-households-series-1"]
    software: Software
    private: bool
    step: Literal["year", "month", "day", "hour"]
    protects: Literal["person", "household"]
    max_size: Annotated[int, AtLeast(2)]
    guarantee: HouseholdsSeriesGuarantee
    budget: StatedCharge | None
    periods: tuple[PeriodInfo, ...] = ()

    @classmethod
    def take(cls, period: HouseholdsCard) -> dict[str, Any]:
        """Return whom the guarantee protects, and the largest size."""
        return {"protects": period.protects, "max_size": period.max_size}


class HouseholdsKind(IndexKind):
    """The kind of release that ``geodp households publish`` writes."""

    title: ClassVar[str] = "a release of persons and households"
    index = HouseholdsCard
    refusal = Rule(
        "households-are-tables",
        "This is a release of persons and households; give the folder of one of its tables, "
        "inside its public folder.",
    )
    doors: ClassVar[dict[str, str]] = {
        "open": "households.households:open_households",
        "explain": "households.page:explain_households",
    }


class HouseholdsSeriesKind(SeriesKind):
    """A series of releases of persons and households, one for every period."""

    title: ClassVar[str] = "a series of persons and households"
    index = HouseholdsSeriesCard
    refusal = Rule(
        "households-series-are-tables",
        "This is a series of persons and households; give the folder of a table of one of its "
        "periods, inside its public folder.",
    )
    doors: ClassVar[dict[str, str]] = {}


KINDS = (HouseholdsKind(), HouseholdsSeriesKind())
