"""Explain to people what a release means.

The public names of ``geodp.explain`` are in :mod:`geodp.tools.explain.api`.
"""
