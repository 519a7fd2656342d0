"""Mechanisms that choose among candidates: one published mechanism in each file.

Every module here whose ``SELECTORS`` lists mechanisms adds them to the table.
"""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.kinds.selection.mechanisms.base import Selector
from geodp.registry import list_offered

__all__ = ["SELECTORS", "Selector", "find_selector"]


SELECTORS: dict[str, Selector] = {
    selector.name: selector for selector in list_offered(__name__, "SELECTORS")
}
"""All mechanisms by name."""


def find_selector(chosen: str | Selector) -> Selector:
    """Look up a mechanism by name; UsageError for an unknown one."""
    if isinstance(chosen, Selector):
        return chosen
    if chosen not in SELECTORS:
        raise UsageError(
            f"The mechanism of a selection must be one of: {', '.join(SELECTORS)}.",
            code="selector-unknown",
        )
    return SELECTORS[chosen]
