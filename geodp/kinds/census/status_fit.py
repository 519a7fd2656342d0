"""Fit households, their other members and persons outside households to released persons.

All three were measured with equal noise. Persons outside are fitted first, at most as many as there
are persons, and then the households: each has a person, and none more than the largest size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodp.kernels import bounded_counts
from geodp.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class StatusLevel:
    """The nodes of a level of the tree: all children of the open nodes above.

    Attributes
    ----------
    first : int64[m + 1]
        Where the children of each open node of the level above begin.
    opened : int64[k]
        Which nodes are open; all others have nobody.
    persons : int64[n]
        Released persons.
    z : float64[n, 3]
        Estimates of households, of their other members, and of persons outside, from below.
    variance : float64[n]
        Of each of them.
    uniform : float64[2, m]
        Random numbers in [0, 1) of the open nodes above, for rounding.
    """

    first: IntArray
    opened: IntArray
    persons: IntArray
    z: FloatArray
    variance: FloatArray
    uniform: FloatArray


Bounds = tuple[IntArray, IntArray]
"""The smallest and the largest counts of the nodes of a level."""


def fit_status(levels: Sequence[StatusLevel], max_size: int) -> IntArray:
    """Divide the persons of cells: int64[cells, 3].

    Parameters
    ----------
    levels : sequence of StatusLevel
        The root first, the cells last.
    max_size : int
        Most persons of a household.

    Returns
    -------
    int64[cells, 3]
        Households, their other members, and persons outside. The first are at most as many as the
        persons in households, who are at most ``max_size`` for each.
    """
    # Equal noise: each of three takes the same of what they lack together, and of two, too.
    goals = [one.z[:, 2] + (one.persons - one.z.sum(axis=1)) / 3 for one in levels]
    nobody = [np.zeros_like(one.persons) for one in levels]
    persons = [one.persons for one in levels]
    outside = _divide(levels, 0, goals, [*zip(nobody, persons, strict=True)])
    inside = [one - some for one, some in zip(persons, outside, strict=True)]
    least = _sum_up(levels, -(-inside[-1] // max_size))
    goals = [
        one.z[:, 0] + (some - one.z[:, :2].sum(axis=1)) / 2
        for one, some in zip(levels, inside, strict=True)
    ]
    homes = _divide(levels, 1, goals, [*zip(least, inside, strict=True)])
    return np.stack([homes[-1], inside[-1] - homes[-1], outside[-1]], axis=1)


def _sum_up(levels: Sequence[StatusLevel], cells: IntArray) -> list[IntArray]:
    """Return the sums of cells in the nodes of all levels."""
    sums = [cells]
    for above, below in zip(levels[-2::-1], levels[:0:-1], strict=True):
        some = np.zeros_like(above.persons)
        some[above.opened] = np.add.reduceat(sums[0], below.first[:-1])
        sums.insert(0, some)
    return sums


def _divide(
    levels: Sequence[StatusLevel], number: int, goals: list[FloatArray], bounds: list[Bounds]
) -> list[IntArray]:
    """Divide a count from the root down, near to its goals and within bounds, by level.

    ``number``: of the random numbers that round it.
    """
    (least, most), root = bounds[0], levels[0]
    counts = [np.clip(np.floor(goals[0] + root.uniform[number]).astype(np.int64), least, most)]
    for i in range(1, len(levels)):
        one, (least, most) = levels[i], bounds[i]
        # Above the smallest counts, of which those of children add up to those of their nodes.
        total = (counts[-1] - bounds[i - 1][0])[levels[i - 1].opened]
        more = np.empty_like(most)
        bounded_counts.apportion(
            one.first,
            total,
            one.uniform[number],
            goals[i] - least,
            one.variance,
            most - least,
            more,
        )
        counts.append(least + more)
    return counts
