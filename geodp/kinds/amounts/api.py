"""Records, sums, means and medians of amounts, and series of them, as ``geodp.amounts``."""

from geodp.kinds.amounts.amounts import Amounts as Amounts
from geodp.kinds.amounts.clip import ClipChoice as ClipChoice
from geodp.kinds.amounts.clip import PlannedClip as PlannedClip
from geodp.kinds.amounts.clip import choose_clip as choose_clip
from geodp.kinds.amounts.clip import plan as plan
from geodp.kinds.amounts.estimates import AmountEstimate as AmountEstimate
from geodp.kinds.amounts.kind import AmountsCard as AmountsCard
from geodp.kinds.amounts.kind import AmountsSeriesCard as AmountsSeriesCard
from geodp.kinds.amounts.publish import publish as publish
from geodp.kinds.amounts.records import read_records as read_records
from geodp.kinds.amounts.scale import Scale as Scale
from geodp.kinds.amounts.series import AmountsSeries as AmountsSeries
from geodp.kinds.amounts.series import publish_series as publish_series
from geodp.kinds.amounts.streams import AmountTable as AmountTable
