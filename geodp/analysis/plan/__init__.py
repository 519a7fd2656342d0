"""What a release will cost in accuracy: planned before any data is read."""

from __future__ import annotations

from geodp.analysis.plan.areas import Planned
from geodp.analysis.plan.compare import Comparison, compare
from geodp.analysis.plan.objectives import Dominance, dominate, optimise
from geodp.analysis.plan.plan import Plan, plan
from geodp.analysis.plan.settings import Settings, read_plan

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
