"""Audit conventional tables: how much they reveal.

:mod:`geodp.tools.audit.api` holds the public names, which are offered as ``geodp.audit``.
"""
