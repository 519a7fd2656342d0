"""What a release means for people.

Its public names, those of ``geodp.explain``, are offered by :mod:`geodp.features.explain.api`.
"""
