"""Records, sums, means and medians of amounts, and series of them, as ``geodp.amounts``."""

from geodp.kinds.amounts.amounts import Amounts
from geodp.kinds.amounts.clip import ClipChoice, PlannedClip, choose_clip, plan
from geodp.kinds.amounts.estimates import AmountEstimate
from geodp.kinds.amounts.kind import AmountsCard, AmountsSeriesCard
from geodp.kinds.amounts.publish import publish
from geodp.kinds.amounts.records import read_records
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.series import AmountsSeries, publish_series
from geodp.kinds.amounts.streams import AmountTable

__all__ = [
    "AmountEstimate",
    "AmountTable",
    "Amounts",
    "AmountsCard",
    "AmountsSeries",
    "AmountsSeriesCard",
    "ClipChoice",
    "PlannedClip",
    "Scale",
    "choose_clip",
    "plan",
    "publish",
    "publish_series",
    "read_records",
]
