"""Persons and households of the same cells, as ``geodp.households``."""

from geodp.kinds.households.estimates import HouseholdEstimate as HouseholdEstimate
from geodp.kinds.households.households import Households as Households
from geodp.kinds.households.kind import HouseholdsCard as HouseholdsCard
from geodp.kinds.households.kind import HouseholdsSeriesCard as HouseholdsSeriesCard
from geodp.kinds.households.plan import PlannedError as PlannedError
from geodp.kinds.households.plan import plan as plan
from geodp.kinds.households.publish import publish as publish
from geodp.kinds.households.records import read_records as read_records
from geodp.kinds.households.series import publish_series as publish_series
