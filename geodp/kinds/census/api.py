"""Whole tables of a census whose columns agree, as ``geodp.census``."""

from geodp.kinds.census.census import Census as Census
from geodp.kinds.census.kind import CensusCard as CensusCard
from geodp.kinds.census.kind import Column as Column
from geodp.kinds.census.margins import Margin as Margin
from geodp.kinds.census.plan import CensusPlan as CensusPlan
from geodp.kinds.census.plan import PlannedColumn as PlannedColumn
from geodp.kinds.census.plan import plan as plan
from geodp.kinds.census.publish import publish as publish
from geodp.kinds.census.reading import read_table as read_table
