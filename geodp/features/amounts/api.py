"""Records, sums, means and medians of amounts, and series of them, as ``geodp.amounts``."""

from geodp.features.amounts.amounts import Amounts
from geodp.features.amounts.clip import ClipChoice, choose_clip
from geodp.features.amounts.comparison import AmountDifference
from geodp.features.amounts.estimates import AmountEstimate
from geodp.features.amounts.kind import AmountsCard, AmountsSeriesCard
from geodp.features.amounts.plan import PlannedClip, plan
from geodp.features.amounts.publish import publish
from geodp.features.amounts.records import read_records
from geodp.features.amounts.scale import Scale
from geodp.features.amounts.series import AmountsSeries, publish_series
from geodp.features.amounts.streams import AmountTable

__all__ = [
    "AmountDifference",
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
