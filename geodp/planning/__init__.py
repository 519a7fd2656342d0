"""What a release will cost in accuracy: planned before any data is read."""

from __future__ import annotations

from geodp.planning.areas import Planned
from geodp.planning.compared import Comparison, compare
from geodp.planning.planned import Plan, plan
from geodp.planning.wishes import Dominance, dominate, optimise
from geodp.planning.written import Settings, read_plan

__all__ = [
    "Comparison",
    "Dominance",
    "Plan",
    "Planned",
    "Settings",
    "compare",
    "dominate",
    "optimise",
    "plan",
    "read_plan",
]
