"""Audit conventional tables, as ``geodp.audit``: how much they reveal."""

from geodp.features.audit.classes import Columns, k_anonymity
from geodp.features.audit.comparison import ReleaseComparison, Size, compare_release
from geodp.features.audit.curve import Curve, Point, curve
from geodp.features.audit.recoding import Recoding, generalize
from geodp.features.audit.taxonomy import Taxonomy, ncp
from geodp.features.audit.threshold import (
    Diagnostic,
    Threshold,
    charge_threshold,
    find_threshold_charge,
    realized,
    sampled_threshold,
    smallest_k,
)

__all__ = [
    "Columns",
    "Curve",
    "Diagnostic",
    "Point",
    "Recoding",
    "ReleaseComparison",
    "Size",
    "Taxonomy",
    "Threshold",
    "charge_threshold",
    "compare_release",
    "curve",
    "find_threshold_charge",
    "generalize",
    "k_anonymity",
    "ncp",
    "realized",
    "sampled_threshold",
    "smallest_k",
]
