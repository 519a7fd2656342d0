"""Persons and households as a kind of release: an index, and a release of each table."""

from __future__ import annotations

from typing import ClassVar

from geodp.errors import Rule
from geodp.features.households.card import HouseholdsCard
from geodp.release.index_kind import IndexKind


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


KINDS = (HouseholdsKind(),)
