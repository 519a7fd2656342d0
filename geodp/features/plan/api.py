"""Public names of ``geodp.planning``, which accompanies ``geodp.plan``."""

from geodp.features.plan.areas import Planned
from geodp.features.plan.comparison import Comparison, compare
from geodp.features.plan.dominance import Dominance, dominate
from geodp.features.plan.families import Objective, Objectives
from geodp.features.plan.objectives import optimise
from geodp.features.plan.purpose import serve
from geodp.features.plan.simulation import ErrorRatio
from geodp.features.plan.trust import trust
from geodp.release.plan_file import Settings, read_plan

__all__ = [
    "Comparison",
    "Dominance",
    "ErrorRatio",
    "Objective",
    "Objectives",
    "Planned",
    "Settings",
    "compare",
    "dominate",
    "optimise",
    "read_plan",
    "serve",
    "trust",
]
