"""Flows between zones from trips, protected by person, with both ends as released maps.

:mod:`geodp.kinds.flows.api` holds the public names, which are offered as ``geodp.flows``.
"""
