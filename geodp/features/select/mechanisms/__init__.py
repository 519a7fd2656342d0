"""Mechanisms that choose among candidates: one published mechanism in each file.

Every module here whose ``SELECTORS`` lists mechanisms adds them to the table.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from geodp.errors import UsageError
from geodp.features.select.mechanisms.base import Selector

__all__ = ["SELECTORS", "Selector", "find_selector"]


def _find_selectors() -> list[Selector]:
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return [selector for module in modules for selector in getattr(module, "SELECTORS", ())]


SELECTORS: dict[str, Selector] = {selector.name: selector for selector in _find_selectors()}
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
