"""Persons and households of the same cells, released together so that no area is impossible.

:mod:`geodp.kinds.households.api` holds the public names, which are offered as
``geodp.households``.
"""
