"""Many p-values at once: what each has to be for all answers together to be right."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError

Correction = Literal["holm", "benjamini-hochberg"]


def adjust(
    p_values: ArrayLike, correction: Correction = "holm", *, tests: int | None = None
) -> NDArray[np.float64]:
    """Return adjusted p-values, each to be compared with alpha.

    Parameters
    ----------
    p_values : float64[n]
        Each from 0 to 1.
    correction : str
        ``"holm"``: the chance of any false finding is at most alpha, however the tests depend on
        one another. ``"benjamini-hochberg"``: of the findings a share of alpha is false on
        average, for independent tests and some dependent ones.
    tests : int, optional
        How many tests there are, where some with a p-value of 1 are left out.

    Returns
    -------
    float64[n]
        In the order given, each at least the p-value and at most 1.

    Source
    ------
    Holm 1979; Benjamini and Hochberg 1995.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise UsageError("p-values are a list of numbers from 0 to 1.", code="p-values-form")
    n, order = given.size if tests is None else tests, np.argsort(given, kind="stable")
    if n < given.size:
        raise UsageError(
            "There are at least as many tests as p-values.", code="tests-fewer-than-p-values"
        )
    rank = np.arange(given.size)
    if correction == "holm":
        found = np.maximum.accumulate(given[order] * (n - rank))
    elif correction == "benjamini-hochberg":
        found = np.minimum.accumulate((given[order] * n / (rank + 1))[::-1])[::-1]
    else:
        raise UsageError("correction is holm or benjamini-hochberg.", code="correction-unknown")
    adjusted = np.empty(given.size)
    adjusted[order] = np.minimum(found, 1.0)
    return adjusted
