"""Audit conventional tables: how much they reveal.

:mod:`geodp.features.audit.api` holds the public names, which are offered as ``geodp.audit``.
"""
