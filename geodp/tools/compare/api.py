"""Public names of ``geodp.compare``: tests and estimates from releases, which cost no budget."""

from geodp.tools.compare.changes import (
    CellChanges,
    CellDifferences,
    compare_cells,
    estimate_cell_changes,
)
from geodp.tools.compare.difference import Difference, Hypothesis, adjust
from geodp.tools.compare.logit import Logit, logit
from geodp.tools.compare.regions import Ratio, compare_regions, estimate_mean, estimate_ratio

__all__ = [
    "CellChanges",
    "CellDifferences",
    "Difference",
    "Hypothesis",
    "Logit",
    "Ratio",
    "adjust",
    "compare_cells",
    "compare_regions",
    "estimate_cell_changes",
    "estimate_mean",
    "estimate_ratio",
    "logit",
]
