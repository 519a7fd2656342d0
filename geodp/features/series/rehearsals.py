"""Rehearse a series for ``geodp warmup``, so that a real one compiles nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geodp.features.series.publish import publish_series
from geodp.table.counts import CountTable


def rehearse(tables: Sequence[CountTable], method: str, budget: Mapping[str, Any]) -> None:
    """Publish made-up tables as a series; one table alone is none."""
    if len(tables) > 1:
        times = [str(2001 + number) for number in range(len(tables))]
        publish_series(tables, times=times, person="all", method=method, **budget)
