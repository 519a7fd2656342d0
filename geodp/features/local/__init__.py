"""Local differential privacy: counts from reports that devices randomise themselves.

:mod:`geodp.features.local.api` holds the public names, which are offered as ``geodp.local``.
"""
