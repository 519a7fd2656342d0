"""Bound what may have changed between the dates of a prior map and of a release.

Below the noise, a release shows no change: how many cells have few people is known as of the date
of the prior map. The constants are the largest changes a year of public maps of two dates, measured
by ``python -m bench statistics`` (``docs/measured/statistics.md``).
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from geodp.errors import UsageError
from geodp.features.statistics.figures import Figure
from geodp.typing import IntArray

FEW = 20
"""Cells with fewer people come and go more often than others."""

FEW_CHANGE = 0.04
"""Change of the number of cells with few people, a year: the largest in the quarters of tile 9/8
(Finland, Sweden) of GEOSTAT from 2011 to 2018 or back, 3.94 %, rounded up."""

CHANGE = 0.02
"""The same of other statistics: the largest of the numbers of cells with 20 to 99, 100 to 499 and
500 to 1,999 people there, 1.63 %, rounded up."""

LONGEST = 10.0
"""Years assumed between unknown dates, as censuses are rarely further apart."""


def check_years(years: float | None, has_prior: bool) -> None:
    """Check the years between the dates; UsageError if they make no sense."""
    if years is None:
        return
    if not has_prior:
        raise UsageError(
            "Years between the dates are those to a prior map: name one, or leave them out.",
            code="years-without-prior",
        )
    if not (isfinite(years) and years >= 0):
        raise UsageError(
            "Years between the dates of the prior map and of the release are 0 or more.",
            code="years-negative",
        )


def change_few(count: IntArray, years: float) -> tuple[IntArray, IntArray]:
    """Change a table by as many cells of few people as may have vanished or appeared: int64[n].

    Those with the fewest people vanish, and those that appear have one person, as this changes a
    median and a Gini coefficient most.

    Parameters
    ----------
    count : int64[n]
    years : float
        Years between the dates.

    Examples
    --------
    >>> count = np.array([30, 0, 9, 2, 8, 1, 0])
    >>> [one.tolist() for one in change_few(count, 12.5)]
    [[30, 0, 9, 0, 8, 0, 0], [30, 1, 9, 2, 8, 1, 1]]
    """
    few = np.flatnonzero((count > 0) & (count < FEW))
    # Not more cells can vanish than there are.
    number = min(round(FEW_CHANGE * years * few.size), few.size)
    fewer, more = count.copy(), count.copy()
    fewer[few[np.argsort(count[few], kind="stable")[:number]]] = 0
    more[np.flatnonzero(count == 0)[:number]] = 1
    return fewer, more


def change_of(figure: Figure, years: float) -> float:
    """Return by what part of itself a statistic may have changed.

    Parameters
    ----------
    figure : Figure
        One that not all inhabited cells decide; otherwise see :func:`change_few`.
    years : float
        Years between the dates.
    """
    few = figure.below is not None and figure.below <= FEW
    return (FEW_CHANGE if few else CHANGE) * years
