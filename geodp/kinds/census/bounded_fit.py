"""Fit whole counts within bounds: households, and the parts of household status.

Households, those of every further size or more, other members and persons outside were measured
with equal noise. Persons outside are fitted first, at most as many as there are persons, and then
the households, those of two or more, and so on: each has a person, none more than the largest size,
and households of more persons are at most as many as those of fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geodp.kernels import bounded_counts
from geodp.mechanisms.parts.measuring import Measured
from geodp.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class NodeChildren:
    """The nodes of a level of the tree: all children of the open nodes above.

    Attributes
    ----------
    first : int64[m + 1]
        Where the children of each open node of the level above begin.
    opened : int64[k]
        Positions of the open nodes; all others have nobody.
    """

    first: IntArray
    opened: IntArray


Bounds = tuple[IntArray, IntArray]
"""The smallest and the largest counts of the nodes of a level."""


def fit_status(
    children: Sequence[NodeChildren],
    uniform: Sequence[FloatArray],
    levels: Sequence[Measured],
    persons: Sequence[IntArray],
    max_size: int,
) -> IntArray:
    """Divide the persons of cells: int64[cells, parts].

    Parameters
    ----------
    children : sequence of NodeChildren
        By level, the root first and the cells last, as all others.
    uniform : sequence of float64[parts - 1, m]
        Random numbers in [0, 1) of the open nodes above, for rounding.
    levels : sequence of Measured
        Estimates from below: of households, of those of every further size or more, of all other
        members, and of persons outside.
    persons : sequence of int64[n]
        Released persons.
    max_size : int
        Most persons of a household.

    Returns
    -------
    int64[cells, parts]
        In the order of the estimates. Households are at most as many as the persons in them, who
        are at most ``max_size`` for each.
    """
    variance, z = [one.variance for one in levels], [one.z for one in levels]
    parts = z[0].shape[1]
    bounds = [(np.zeros_like(one), one) for one in persons]
    goals = _share_lack(z, persons, -1)
    outside = divide(children, [one[0] for one in uniform], goals, variance, bounds)
    left = [one - some for one, some in zip(persons, outside, strict=True)]
    found, most = list[IntArray](), left[-1]
    for number in range(parts - 2):
        # Who is left has a place in the households that are counted last.
        size = max_size - number
        bounds = [
            *zip(
                _sum_up(children, left, -(-left[-1] // size)),
                _sum_up(children, left, np.minimum(left[-1], most)),
                strict=True,
            )
        ]
        goals = _share_lack([one[:, number:-1] for one in z], left, 0)
        homes = divide(children, [one[number + 1] for one in uniform], goals, variance, bounds)
        left = [one - some for one, some in zip(left, homes, strict=True)]
        most = homes[-1]
        found.append(most)
    return np.stack([*found, left[-1], outside[-1]], axis=1)


def _share_lack(z: Sequence[FloatArray], total: Sequence[IntArray], part: int) -> list[FloatArray]:
    """Return estimates of one part, which takes its share of what all lack of a total."""
    # Equal noise: each takes the same.
    return [
        one[:, part] + (n - one.sum(axis=1)) / one.shape[1] for one, n in zip(z, total, strict=True)
    ]


def _sum_up(
    children: Sequence[NodeChildren], nodes: Sequence[IntArray], cells: IntArray
) -> list[IntArray]:
    """Return the sums of cells in the nodes of all levels; ``nodes``: any counts of these."""
    sums = [cells]
    for i in range(len(children) - 2, -1, -1):
        some = np.zeros_like(nodes[i])
        some[children[i].opened] = np.add.reduceat(sums[0], children[i + 1].first[:-1])
        sums.insert(0, some)
    return sums


def divide(
    children: Sequence[NodeChildren],
    uniform: Sequence[FloatArray],
    goals: Sequence[FloatArray],
    variance: Sequence[FloatArray],
    bounds: Sequence[Bounds],
) -> list[IntArray]:
    """Divide a count from the root down, near to its goals and within bounds: by level.

    Parameters
    ----------
    children : sequence of NodeChildren
    uniform : sequence of float64[m]
        Random numbers in [0, 1) of the open nodes above, for rounding.
    goals, variance : sequence of float64[n]
        Estimates of the nodes, and their variances.
    bounds : sequence of Bounds
        The smallest counts of children add up to those of their nodes, and the largest to as much
        or more.

    Returns
    -------
    list of int64[n]
    """
    counts = [np.clip(np.floor(goals[0] + uniform[0]).astype(np.int64), *bounds[0])]
    for i in range(1, len(children)):
        least, most = bounds[i]
        # Above the smallest counts.
        total = (counts[-1] - bounds[i - 1][0])[children[i - 1].opened]
        more = np.empty_like(most)
        bounded_counts.apportion(
            children[i].first, total, uniform[i], goals[i] - least, variance[i], most - least, more
        )
        counts.append(least + more)
    return counts
