"""Persons and households of the same cells, as ``geodp.households``."""

from geodp.kinds.households.estimates import HouseholdEstimate
from geodp.kinds.households.households import Households
from geodp.kinds.households.kind import HouseholdsCard
from geodp.kinds.households.plan import PlannedError, plan
from geodp.kinds.households.publish import publish
from geodp.kinds.households.records import read_records

__all__ = [
    "HouseholdEstimate",
    "Households",
    "HouseholdsCard",
    "PlannedError",
    "plan",
    "publish",
    "read_records",
]
