"""Counts, sums and means of amounts by area: incomes, sales, floor areas.

:mod:`geodp.kinds.amounts.api` holds the public names, which are offered as
``geodp.amounts``.
"""
