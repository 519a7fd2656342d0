"""A series as a kind of release: an index, and a release of a table for every snapshot."""

from __future__ import annotations

from typing import ClassVar

from geodp.errors import Rule
from geodp.kinds.series.card import SeriesCard
from geodp.release.index_kind import EXPLAIN_SERIES, IndexKind


class SeriesOfReleases(IndexKind):
    """The kind of release that ``geodp publish-series`` writes."""

    title: ClassVar[str] = "a series"
    index = SeriesCard
    refusal = Rule(
        "series-is-no-release",
        "This is a series of releases; give the folder of one of its snapshots, inside its "
        "public folder.",
    )
    doors: ClassVar[dict[str, str]] = {
        "verify": "kinds.series.verify:verify_series",
        "open": "kinds.series.series:open_series",
        "explain": EXPLAIN_SERIES,
    }


KINDS = (SeriesOfReleases(),)
