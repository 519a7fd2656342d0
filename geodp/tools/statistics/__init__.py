"""Estimate what people compute of a released map.

Its public names, those of ``geodp.statistics``, are in :mod:`geodp.tools.statistics.api`.
"""
