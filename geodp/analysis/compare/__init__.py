"""Tests of what came back, as ``geodp.compare``: post-processing, which costs no budget."""

from geodp.analysis.compare.cells import CellDifferences, compare_cells
from geodp.analysis.compare.changes import CellChanges, estimate_cell_changes
from geodp.analysis.compare.difference import Difference
from geodp.analysis.compare.logit import Logit, logit
from geodp.analysis.compare.many import adjust
from geodp.analysis.compare.means import means, power, sample_size
from geodp.analysis.compare.ratios import Ratio, estimate_mean, estimate_ratio
from geodp.analysis.compare.regions import compare_regions
from geodp.mechanisms.local.mean import report_bits

__all__ = [
    "CellChanges",
    "CellDifferences",
    "Difference",
    "Logit",
    "Ratio",
    "adjust",
    "compare_cells",
    "compare_regions",
    "estimate_cell_changes",
    "estimate_mean",
    "estimate_ratio",
    "logit",
    "means",
    "power",
    "report_bits",
    "sample_size",
]
