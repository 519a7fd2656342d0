"""Estimates as plain values for JSON: decimals of the step, and nothing that is no number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geodp.features.amounts.scale import Scale


def decimals_of(scale: Scale) -> int:
    """Return the decimals of amounts: those of the tables, and at least those of the step.

    Examples
    --------
    >>> from geodp.features.amounts.scale import Scale
    >>> decimals_of(Scale.of((0, 1000), "0.01", "EUR", "income"))
    3
    >>> decimals_of(Scale.of((0, 1000), "0.00001", "EUR", "income"))
    5
    """
    from geodp.features.amounts.formats.joint import count_places
    from geodp.features.amounts.scale import show_number

    _, _, decimals = show_number(scale.step).partition(".")
    return max(count_places(scale), len(decimals))


def round_plain(value: Any, places: int) -> Any:
    """Round the numbers of plain values to so many decimals; None in place of what is no number.

    Examples
    --------
    >>> round_plain({"value": 0.1 + 0.2, "low": float("nan"), "high": 1, "is": True}, 3)
    {'value': 0.3, 'low': None, 'high': 1, 'is': True}
    """
    if isinstance(value, dict):
        return {name: round_plain(one, places) for name, one in value.items()}
    if not isinstance(value, float):
        return value
    return round(value, places) if math.isfinite(value) else None
