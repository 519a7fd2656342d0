"""Whole tables of an office: margins of the same people, which all agree.

:mod:`geodp.kinds.census.api` holds the public names, which are offered as ``geodp.census``.
"""
