"""Persons and households of the same cells, as ``geodp.households``."""

from geodp.features.households.estimates import (
    HouseholdDifference,
    HouseholdEstimate,
    compare,
)
from geodp.features.households.households import Households
from geodp.features.households.kind import HouseholdsCard
from geodp.features.households.plan import PlannedError, plan
from geodp.features.households.publish import publish
from geodp.features.households.records import read_records

__all__ = [
    "HouseholdDifference",
    "HouseholdEstimate",
    "Households",
    "HouseholdsCard",
    "PlannedError",
    "compare",
    "plan",
    "publish",
    "read_records",
]
