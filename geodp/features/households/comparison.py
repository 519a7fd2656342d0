"""Differences of persons, households and mean size between two estimates."""

from __future__ import annotations

from dataclasses import dataclass

from geodp.accuracy.difference import Bounded, Difference, subtract
from geodp.accuracy.interval import Estimate
from geodp.features.households.estimates import HouseholdEstimate, MeanSize


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
    one, other, opposite = first.mean_size, second.mean_size, 0.0 if independent else 1.0
    return HouseholdDifference(
        subtract(_ends(first.persons), _ends(second.persons), opposite),
        subtract(_ends(first.households), _ends(second.households), opposite),
        None if one is None or other is None else subtract(_ends(one), _ends(other), opposite),
    )


def _ends(one: Estimate | MeanSize) -> Bounded:
    """Return a number with the ends of its interval."""
    return one.value if isinstance(one, MeanSize) else one.count, one.low, one.high
