"""Selection: release which candidates are best, without any count.

:mod:`geodp.kinds.selection.api` holds the public names, which are offered as ``geodp.select``.
"""
