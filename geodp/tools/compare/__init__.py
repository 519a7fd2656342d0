"""Tests of what came back.

Its public names, those of ``geodp.compare``, are offered by :mod:`geodp.tools.compare.api`.
"""
