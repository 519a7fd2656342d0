"""Local collection: counts from reports that devices randomise themselves.

Its public names, those of ``geodp.local``, are offered by :mod:`geodp.features.local.api`.
"""
