"""Audit conventional tables, as ``geodp.audit``: how much they reveal."""

from geodp.tools.audit.classes import Columns as Columns
from geodp.tools.audit.classes import k_anonymity as k_anonymity
from geodp.tools.audit.threshold import Curve as Curve
from geodp.tools.audit.threshold import Diagnostic as Diagnostic
from geodp.tools.audit.threshold import Point as Point
from geodp.tools.audit.threshold import ReleaseComparison as ReleaseComparison
from geodp.tools.audit.threshold import Size as Size
from geodp.tools.audit.threshold import Threshold as Threshold
from geodp.tools.audit.threshold import charge_threshold as charge_threshold
from geodp.tools.audit.threshold import compare_release as compare_release
from geodp.tools.audit.threshold import curve as curve
from geodp.tools.audit.threshold import find_threshold_charge as find_threshold_charge
from geodp.tools.audit.threshold import realized as realized
from geodp.tools.audit.threshold import sampled_threshold as sampled_threshold
from geodp.tools.audit.threshold import smallest_k as smallest_k
