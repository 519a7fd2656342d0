"""Amounts as kinds of release: one with all its numbers, and a series of these."""

from __future__ import annotations

from typing import ClassVar

from geodp.errors import Rule
from geodp.features.amounts.card import AmountsCard
from geodp.features.amounts.series.card import AmountsSeriesCard
from geodp.release.index_kind import IndexKind, SeriesKind


class AmountsKind(IndexKind):
    """The kind of release that ``geodp amounts publish`` writes: index, numbers, and records."""

    title: ClassVar[str] = "a release of amounts"
    index = AmountsCard
    refusal = Rule(
        "amounts-are-tables",
        "This is a release of amounts; use geodp amounts, or give the folder count, inside its "
        "public folder, for what concerns the map of its records.",
    )
    doors: ClassVar[dict[str, str]] = {
        "open": "amounts.formats.reading:open_amounts",
        "view": "amounts.formats.joint:view_of",
        "draw": "amounts.drawing:draw_amounts",
        "explain": "amounts.explanation:explain_amounts",
    }


class AmountsSeriesKind(SeriesKind):
    """The kind that ``geodp amounts publish-series`` writes: an index, and a release a period."""

    title: ClassVar[str] = "a series of amounts"
    index = AmountsSeriesCard
    refusal = Rule(
        "amounts-series-are-tables",
        "This is a series of amounts; give the folder count of one of its periods, inside its "
        "public folder, for the map of its records, or use geodp amounts.",
    )
    doors: ClassVar[dict[str, str]] = {
        "series": "amounts.series.publish:AmountsSeries",
        "explain": "amounts.explanation:explain_series",
    }


KINDS = (AmountsKind(), AmountsSeriesKind())
