"""The terms of a selection, which is made under epsilon alone."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.privacy.budget import Budget
from geodp.privacy.terms import Terms


def read_terms(epsilon: Budget, neighbours: str, contribution: int | None, unit: str) -> Terms:
    """Read the terms of a selection; UsageError without epsilon, as it takes no rho instead.

    Parameters
    ----------
    epsilon, neighbours, contribution, unit
        As of :meth:`geodp.privacy.terms.Terms.of`.

    Examples
    --------
    >>> read_terms("1/2", "add-remove-one", 1, "person").loss
    PureDP(epsilon=Fraction(1, 2))
    """
    if epsilon is None:
        raise UsageError(
            "A selection needs epsilon, its budget, such as epsilon='0.1' (--epsilon 0.1).",
            code="selection-without-epsilon",
        )
    return Terms.of(epsilon, None, None, neighbours, contribution, unit)
