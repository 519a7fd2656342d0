"""A difference of two estimates with 95 % intervals, and its own interval.

Intervals that need not be symmetric are combined by the method of variance estimates recovery (Zou
2007, "Toward using confidence intervals to compare correlations"): the margins of a difference are
the roots of ``a**2 + b**2 + 2 r a b``, of the margins a and b of both estimates on the sides that
make it smaller, or larger, where r is how far their errors are opposite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

Bounded = tuple[float, float, float]
"""A value, and the lower and upper end of its 95 % interval."""


@dataclass(frozen=True)
class Difference:
    """A difference of two numbers, the second less the first.

    Attributes
    ----------
    value : float
    low, high : float
        A 95 % interval.
    """

    value: float
    low: float
    high: float

    @property
    def is_certain(self) -> bool:
        """Whether the interval holds differences of one sign only."""
        return self.low > 0 or self.high < 0


def subtract(first: Bounded, second: Bounded, opposite: float = 0.0) -> Difference:
    """Subtract the first number from the second.

    Parameters
    ----------
    first, second : (float, float, float)
    opposite : float
        How far the errors of the two may be opposite, from 0 to 1: the size of a negative
        correlation. At 0 the errors are independent, and at 1 the margins are added up, which is a
        bound whatever the errors are.

    Examples
    --------
    >>> subtract((10, 7, 14), (20, 16, 25))
    Difference(value=10, low=4.343145750507619, high=15.8309518948453)
    >>> subtract((10, 7, 14), (20, 16, 25), 1.0).high
    18.0
    """
    start, end = first[0], second[0]
    below, above = (end - second[1], first[2] - start), (second[2] - end, start - first[1])
    low, high = (sqrt(a * a + b * b + 2 * opposite * a * b) for a, b in (below, above))
    return Difference(end - start, end - start - low, end - start + high)
