"""Rehearse an evaluation for ``geodp warmup``, so that a real one compiles nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geodp.features.evaluate.evaluate import evaluate
from geodp.table.counts import CountTable


def rehearse(tables: Sequence[CountTable], method: str, budget: Mapping[str, Any]) -> None:
    """Evaluate a method on a made-up table; several tables are a series, which is not evaluated."""
    if len(tables) == 1:
        evaluate(tables[0], methods=method, trials=1, rectangles=2, **budget)
