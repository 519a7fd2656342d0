"""Persons and households as a kind of release: an index, and a release of each table."""

from __future__ import annotations

from typing import ClassVar

from geodp.errors import Rule
from geodp.features.households.card import HouseholdsCard, HouseholdsSeriesCard
from geodp.release.index_kind import IndexKind, SeriesKind


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
        "explain": "households.explanation:explain_households",
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
