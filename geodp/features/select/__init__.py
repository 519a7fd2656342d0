"""Selection: which candidates are best, with no count shown.

Its public names, those of ``geodp.select``, are offered by :mod:`geodp.features.select.api`.
"""
