"""Audit conventional tables, as ``geodp.audit``: how much they reveal."""

from geodp.tools.audit.classes import Columns, k_anonymity
from geodp.tools.audit.threshold import (
    Curve,
    Diagnostic,
    Point,
    ReleaseComparison,
    Size,
    Threshold,
    charge_threshold,
    compare_release,
    curve,
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
    "ReleaseComparison",
    "Size",
    "Threshold",
    "charge_threshold",
    "compare_release",
    "curve",
    "find_threshold_charge",
    "k_anonymity",
    "realized",
    "sampled_threshold",
    "smallest_k",
]
