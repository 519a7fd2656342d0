"""Planning of releases: how accurate a release will be.

The public names, those of ``geodp.planning``, are defined in :mod:`geodp.tools.plan.api`.
"""
