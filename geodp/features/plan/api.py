"""Public names of ``geodp.planning``, which accompanies ``geodp.plan``."""

from geodp.features.plan.plan import Comparison, Planned, compare
from geodp.features.plan.trust import trust
from geodp.release.plan_file import Settings, read_plan

__all__ = [
    "Comparison",
    "Planned",
    "Settings",
    "compare",
    "read_plan",
    "trust",
]
