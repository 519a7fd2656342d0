"""Public names of ``geodp.planning``, which accompanies ``geodp.plan``."""

from geodp.release.plan_file import Settings, read_plan
from geodp.tools.plan.plan import Comparison, Planned, compare, trust

__all__ = [
    "Comparison",
    "Planned",
    "Settings",
    "compare",
    "read_plan",
    "trust",
]
