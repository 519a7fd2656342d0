"""The request of a selection, which is made under epsilon alone."""

from __future__ import annotations

from typing import Any

from geodp.advice import takes
from geodp.errors import UsageError
from geodp.release.request import OF_TABLES, Request, make_request


@takes(make_request, without=(*OF_TABLES, "method", "rho", "delta", "people", "metadata"))
def request_selection(**options: Any) -> Request:
    """Make the request of a selection; UsageError without epsilon, as it takes no rho instead.

    Examples
    --------
    >>> request_selection(epsilon="1/2", contribution=1).terms.loss
    PureDP(epsilon=Fraction(1, 2))
    """
    if options.get("epsilon") is None:
        raise UsageError(
            "A selection needs epsilon, its budget, such as epsilon='0.1' (--epsilon 0.1).",
            code="selection-without-epsilon",
        )
    return make_request(**options)
