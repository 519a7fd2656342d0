"""Flows between zones, as ``geodp.flows``."""

from geodp.features.flows.choice import TripsChoice, choose_trips
from geodp.features.flows.declaring import give_prior
from geodp.features.flows.evaluation import FlowsEvaluation, evaluate
from geodp.features.flows.flows import Flows
from geodp.features.flows.kind import FlowsCard
from geodp.features.flows.plan import PlannedFlows, plan
from geodp.features.flows.publish import publish
from geodp.features.flows.reading.pings import read_pings
from geodp.features.flows.reading.stays import read_stays
from geodp.features.flows.reading.trips import read_trips
from geodp.features.flows.screenlines import Crossing

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
