"""Flows as a kind of release: an index, and a release of flows, of origins and of destinations."""

from __future__ import annotations

from typing import ClassVar

from geodp.errors import Rule
from geodp.features.flows.card import FlowsCard, FlowsSeriesCard
from geodp.release.index_kind import IndexKind, SeriesKind


class FlowsKind(IndexKind):
    """The kind of release that ``geodp flows publish`` writes."""

    title: ClassVar[str] = "a release of flows"
    index = FlowsCard
    refusal = Rule(
        "flows-are-tables",
        "This is a release of flows; give the folder of one of its tables, inside its public "
        "folder.",
    )
    doors: ClassVar[dict[str, str]] = {
        "open": "flows.opening:open_flows",
        "explain": "flows.explanation:explain_flows",
    }


class FlowsSeriesKind(SeriesKind):
    """A series of releases of flows, one for every period."""

    title: ClassVar[str] = "a series of flows"
    index = FlowsSeriesCard
    refusal = Rule(
        "flows-series-are-tables",
        "This is a series of flows; give the folder of a table of one of its periods, inside its "
        "public folder.",
    )
    doors: ClassVar[dict[str, str]] = {}


KINDS = (FlowsKind(), FlowsSeriesKind())
