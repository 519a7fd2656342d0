"""Explain to people what a release means.

Its public names, those of ``geodp.explain``, are offered by :mod:`geodp.features.explain.api`.
"""
