"""Plan a release: how accurate it will be.

Its public names, those of ``geodp.planning``, are offered by :mod:`geodp.features.plan.api`.
"""
