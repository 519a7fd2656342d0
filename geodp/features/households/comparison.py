"""Differences of persons, households and mean size between two estimates."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot

from geodp.accuracy.interval import Estimate
from geodp.features.households.estimates import HouseholdEstimate, MeanSize


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


@dataclass(frozen=True)
class HouseholdDifference:
    """Differences between two estimates, the second less the first.

    Attributes
    ----------
    persons, households : Difference
    mean_size : Difference or None
        None: one of the two mean sizes is not estimable.
    """

    persons: Difference
    households: Difference
    mean_size: Difference | None


def compare(
    first: HouseholdEstimate, second: HouseholdEstimate, *, independent: bool = False
) -> HouseholdDifference:
    """Compare two regions of one release, or one region in two releases.

    Parameters
    ----------
    first, second : HouseholdEstimate
    independent : bool
        Whether the errors of the two are independent, as those of two releases are. The errors of
        regions of one release may be opposite, as noise that one loses, the other may receive:
        then the margins are added up, and the interval is a bound.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> homes = np.full((16, 16), 400)
    >>> people = np.where(np.arange(16) < 8, 2, 3) * homes
    >>> tables = [geodp.CountTable.from_dense(one, grid) for one in (people, homes)]
    >>> release = geodp.households.publish(*tables, protect="person", epsilon=1, contribution=1)
    >>> halves = release.estimate_all([(0, 0, 8, 16), (8, 0, 16, 16)])
    >>> geodp.households.compare(*halves).mean_size.is_certain
    True
    """
    one, other = first.mean_size, second.mean_size
    return HouseholdDifference(
        _subtract(first.persons, second.persons, independent),
        _subtract(first.households, second.households, independent),
        None if one is None or other is None else _subtract(one, other, independent),
    )


def _subtract(
    first: Estimate | MeanSize, second: Estimate | MeanSize, independent: bool
) -> Difference:
    """Subtract the first number from the second."""
    start, end = (one.value if isinstance(one, MeanSize) else one.count for one in (first, second))
    below, above = (end - second.low, first.high - start), (second.high - end, start - first.low)
    # Independent margins are added as their squares, as those of a sum are.
    low, high = (hypot(*one) if independent else sum(one) for one in (below, above))
    return Difference(end - start, end - start - low, end - start + high)
