"""Flows between zones, as ``geodp.flows``."""

from geodp.kinds.flows.evaluation import FlowsEvaluation, evaluate
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.kind import FlowsCard
from geodp.kinds.flows.publish import give_prior, publish
from geodp.kinds.flows.reading.stays import read_pings, read_stays
from geodp.kinds.flows.reading.trips import read_trips
from geodp.kinds.flows.regions import Crossing
from geodp.kinds.flows.trip_bound import PlannedFlows, TripsChoice, choose_trips, plan

__all__ = [
    "Crossing",
    "Flows",
    "FlowsCard",
    "FlowsEvaluation",
    "PlannedFlows",
    "TripsChoice",
    "choose_trips",
    "evaluate",
    "give_prior",
    "plan",
    "publish",
    "read_pings",
    "read_stays",
    "read_trips",
]
