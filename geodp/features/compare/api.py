"""Public names of ``geodp.compare``: tests and estimates from releases, which cost no budget."""

from geodp.features.compare.averaged import AveragedModel, average_models, report_model
from geodp.features.compare.changes import (
    CellChanges,
    CellDifferences,
    compare_cells,
    estimate_cell_changes,
)
from geodp.features.compare.difference import Difference, Hypothesis, adjust
from geodp.features.compare.logit import Logit, logit
from geodp.features.compare.means import means, power, sample_size
from geodp.features.compare.ratios import Ratio, estimate_mean, estimate_ratio
from geodp.features.compare.regions import compare_regions
from geodp.features.local.oracles.mean import report_bits

__all__ = [
    "AveragedModel",
    "CellChanges",
    "CellDifferences",
    "Difference",
    "Hypothesis",
    "Logit",
    "Ratio",
    "adjust",
    "average_models",
    "compare_cells",
    "compare_regions",
    "estimate_cell_changes",
    "estimate_mean",
    "estimate_ratio",
    "logit",
    "means",
    "power",
    "report_bits",
    "report_model",
    "sample_size",
]
