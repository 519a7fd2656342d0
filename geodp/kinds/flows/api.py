"""Flows between zones, as ``geodp.flows``."""

from geodp.kinds.flows.evaluation import FlowsEvaluation as FlowsEvaluation
from geodp.kinds.flows.evaluation import evaluate as evaluate
from geodp.kinds.flows.flows import Flows as Flows
from geodp.kinds.flows.kind import FlowsCard as FlowsCard
from geodp.kinds.flows.kind import FlowsSeriesCard as FlowsSeriesCard
from geodp.kinds.flows.publish import give_prior as give_prior
from geodp.kinds.flows.publish import publish as publish
from geodp.kinds.flows.reading.stays import read_pings as read_pings
from geodp.kinds.flows.reading.stays import read_stays as read_stays
from geodp.kinds.flows.reading.trips import read_trips as read_trips
from geodp.kinds.flows.regions import Crossing as Crossing
from geodp.kinds.flows.series import publish_series as publish_series
from geodp.kinds.flows.trip_bound import PlannedFlows as PlannedFlows
from geodp.kinds.flows.trip_bound import TripsChoice as TripsChoice
from geodp.kinds.flows.trip_bound import choose_trips as choose_trips
from geodp.kinds.flows.trip_bound import plan as plan
