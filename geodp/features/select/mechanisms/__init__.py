"""Mechanisms that choose among candidates: one published mechanism, one file.

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
    return [one for module in modules for one in getattr(module, "SELECTORS", ())]


SELECTORS: dict[str, Selector] = {one.name: one for one in _find_selectors()}
"""Every mechanism by its name."""


def find_selector(chosen: str | Selector) -> Selector:
    """Return a mechanism by name, or itself; UsageError for any other name."""
    if isinstance(chosen, Selector):
        return chosen
    if chosen not in SELECTORS:
        raise UsageError(
            f"A selection's mechanism is one of: {', '.join(SELECTORS)}.", code="selector-unknown"
        )
    return SELECTORS[chosen]
