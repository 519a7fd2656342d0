"""Audit conventional tables: how much they reveal.

Its public names, those of ``geodp.audit``, are offered by :mod:`geodp.features.audit.api`.
"""
