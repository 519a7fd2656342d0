"""What a release will cost in accuracy.

Its public names, those of ``geodp.planning``, are offered by :mod:`geodp.features.plan.api`.
"""
