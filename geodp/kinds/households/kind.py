"""Persons and households as kinds of release, and the public indexes of these."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from geodp.privacy.event import Measurement
from geodp.release.index_kind import IndexKind, SeriesKind
from geodp.table.index import PeriodsCard, TablesCard, TablesGuarantee, Together
from geodp.table.plain import AtLeast, before

PERSONS, HOUSEHOLDS, OTHERS, SIZES = "persons", "households", "others", "sizes"
"""Names of the tables and their folders."""

Protect = Literal["person", "household"]
"""Whom the guarantee protects."""


@dataclass(frozen=True, kw_only=True)
class HouseholdsGuarantee(TablesGuarantee):
    """The privacy guarantee of all tables together.

    Attributes
    ----------
    other_unit : str
        What the guarantee means for a household, if a person is protected, or for a person.
    contribution : int
        The most that one unit adds to the sum of the counts that it is part of.
    """

    other_unit: str = field(metadata=before("source"))
    unit: Literal["person", "household"]


@dataclass(frozen=True, kw_only=True, repr=False)
class HouseholdsCard(TablesCard, kind="households"):
    """The contents of ``households.json``.

    Attributes
    ----------
    protects : {"person", "household"}
    max_size : int
        Most persons of a household: every area has at most this number for each household.
    guarantee : HouseholdsGuarantee
    constraints : tuple of str
        What holds in every cell, and so in every area, a sentence each.
    """

    counts: ClassVar = {OTHERS: "persons_outside_households", SIZES: "households_by_size"}

    schema: Literal["geodp-households-1"]
    protects: Literal["person", "household"] = field(metadata=before("guarantee"))
    max_size: Annotated[int, AtLeast(2)] = field(metadata=before("guarantee"))
    guarantee: HouseholdsGuarantee

    def state_together(self, each: Measurement, total: Measurement) -> HouseholdsGuarantee:
        """State the guarantee of the periods of a series, of which one has this index.

        Parameters: see :meth:`geodp.table.index.TablesCard.state_together`.
        """
        promise: HouseholdsGuarantee = super().state_together(each, total)
        other = describe_other_unit(self.protects, total, self.max_size)
        return replace(promise, other_unit=other)


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
    protects : {"person", "household"}
    max_size : int
        Most persons of a household, the same in all periods.
    guarantee : HouseholdsSeriesGuarantee
    """

    period: ClassVar = HouseholdsCard
    promise: ClassVar = HouseholdsSeriesGuarantee

    schema: Literal["geodp-households-series-1"]
    protects: Literal["person", "household"] = field(metadata=before("guarantee"))
    max_size: Annotated[int, AtLeast(2)] = field(metadata=before("guarantee"))
    guarantee: HouseholdsSeriesGuarantee

    @classmethod
    def take(cls, period: HouseholdsCard) -> dict[str, Any]:
        """Return whom the guarantee protects, and the largest size."""
        return {"protects": period.protects, "max_size": period.max_size}


class HouseholdsKind(IndexKind):
    """The kind of release that ``geodp households publish`` writes."""

    title: ClassVar[str] = "a release of persons and households"
    index = HouseholdsCard
    doors: ClassVar[dict[str, str]] = {
        "open": "kinds.households.households:open_households",
        "explain": "kinds.households.page:explain_households",
        "page": "kinds.households.page:write_page",
    }


class HouseholdsSeriesKind(SeriesKind):
    """A series of releases of persons and households, one for every period."""

    title: ClassVar[str] = "a series of persons and households"
    index = HouseholdsSeriesCard


KINDS = (HouseholdsKind(), HouseholdsSeriesKind())
