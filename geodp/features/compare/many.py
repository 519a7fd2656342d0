"""Adjust p-values for the number of tests."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError

Correction = Literal["holm", "benjamini-hochberg"]


def adjust(
    p_values: ArrayLike, correction: Correction = "holm", *, tests: int | None = None
) -> NDArray[np.float64]:
    """Adjust p-values for the number of tests, so that each can be compared with alpha.

    Parameters
    ----------
    p_values : float64[n]
        Each from 0 to 1.
    correction : str
        ``"holm"``: the chance of any false finding is at most alpha, however the tests depend on
        one another. ``"benjamini-hochberg"``: of the findings a share of alpha is false on
        average, for independent tests and some dependent ones.
    tests : int, optional
        The number of tests, if some with a p-value of 1 are left out. Default: all are given.

    Returns
    -------
    float64[n]
        In the order of ``p_values``, each at least the p-value and at most 1.

    Source
    ------
    Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, np.float64)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise UsageError("p-values are a list of numbers from 0 to 1.", code="p-values-form")
    # A stable sort gives equal p-values one order on all platforms.
    n, order = values.size if tests is None else tests, np.argsort(values, kind="stable")
    if n < values.size:
        raise UsageError(
            "There are at least as many tests as p-values.", code="tests-fewer-than-p-values"
        )
    rank = np.arange(values.size)
    # A larger p-value must not be adjusted to a smaller one, hence the running extremes.
    if correction == "holm":
        ordered = np.maximum.accumulate(values[order] * (n - rank))
    elif correction == "benjamini-hochberg":
        ordered = np.minimum.accumulate((values[order] * n / (rank + 1))[::-1])[::-1]
    else:
        raise UsageError("correction is holm or benjamini-hochberg.", code="correction-unknown")
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(ordered, 1.0)
    return adjusted
