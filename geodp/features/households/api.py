"""Persons and households of the same cells, as ``geodp.households``."""

from geodp.accuracy.bounds import Difference
from geodp.features.households.estimates import (
    HouseholdDifference,
    HouseholdEstimate,
    MeanSize,
    compare,
)
from geodp.features.households.households import Households
from geodp.features.households.kind import HouseholdsCard
from geodp.features.households.plan import PlannedError, plan
from geodp.features.households.publish import publish
from geodp.features.households.records import read_records

__all__ = [
    "Difference",
    "HouseholdDifference",
    "HouseholdEstimate",
    "Households",
    "HouseholdsCard",
    "MeanSize",
    "PlannedError",
    "compare",
    "plan",
    "publish",
    "read_records",
]
