"""What a release will cost in accuracy, as ``geodp.planning`` beside ``geodp.plan``."""

from geodp.analysis.plan.comparison import Comparison, compare
from geodp.analysis.plan.dominance import Dominance, dominate
from geodp.analysis.plan.families import Objective, Objectives
from geodp.analysis.plan.objectives import optimise
from geodp.analysis.plan.purpose import serve
from geodp.analysis.plan.settings import Settings, read_plan

__all__ = [
    "Comparison",
    "Dominance",
    "Objective",
    "Objectives",
    "Settings",
    "compare",
    "dominate",
    "optimise",
    "read_plan",
    "serve",
]
