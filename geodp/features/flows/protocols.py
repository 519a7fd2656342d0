"""Methods of flows and of their ends, by their names in cards; the core finds them here."""

from __future__ import annotations

from geodp.features.flows.methods import EndsOfFlows, FlowsOfTrips

PROTOCOLS: dict[str, EndsOfFlows | FlowsOfTrips] = {
    one.name: one for one in (EndsOfFlows(), FlowsOfTrips())
}
"""Every method by its name, with its default settings."""


def protocol(chosen: str) -> EndsOfFlows | FlowsOfTrips:
    """Look up a method by name, with settings after a colon.

    Raises UsageError for an unknown setting, and KeyError for an unknown name.
    """
    name, _, settings = chosen.partition(":")
    return PROTOCOLS[name].with_settings(settings)
