"""What a conventional table reveals, as ``geodp.audit``."""

from geodp.analysis.audit.charge import charge_threshold, find_threshold_charge
from geodp.analysis.audit.classes import k_anonymity
from geodp.analysis.audit.curve import Curve, curve
from geodp.analysis.audit.instead import Instead, release_instead
from geodp.analysis.audit.realized import Diagnostic, realized
from geodp.analysis.audit.recoding import Recoding, generalize
from geodp.analysis.audit.smallest import smallest_k
from geodp.analysis.audit.taxonomy import Taxonomy, ncp
from geodp.analysis.audit.threshold import Threshold, sampled_threshold

__all__ = [
    "Curve",
    "Diagnostic",
    "Instead",
    "Recoding",
    "Taxonomy",
    "Threshold",
    "charge_threshold",
    "curve",
    "find_threshold_charge",
    "generalize",
    "k_anonymity",
    "ncp",
    "realized",
    "release_instead",
    "sampled_threshold",
    "smallest_k",
]
