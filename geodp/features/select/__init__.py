"""Selection: release which candidates are best, without any count.

:mod:`geodp.features.select.api` holds the public names, which are offered as ``geodp.select``.
"""
