"""Flows between zones, as ``geodp.flows``."""

from geodp.kinds.flows.choice import TripsChoice, choose_trips
from geodp.kinds.flows.declaring import give_prior
from geodp.kinds.flows.evaluation import FlowsEvaluation, evaluate
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.kind import FlowsCard
from geodp.kinds.flows.plan import PlannedFlows, plan
from geodp.kinds.flows.publish import publish
from geodp.kinds.flows.reading.pings import read_pings
from geodp.kinds.flows.reading.stays import read_stays
from geodp.kinds.flows.reading.trips import read_trips
from geodp.kinds.flows.screenlines import Crossing

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
