"""Flows between zones, as ``geodp.flows``."""

from geodp.features.flows.card import FlowsCard
from geodp.features.flows.flows import Flows
from geodp.features.flows.reading.trips import read_trips
from geodp.features.flows.publish import publish

__all__ = ["Flows", "FlowsCard", "publish", "read_trips"]
