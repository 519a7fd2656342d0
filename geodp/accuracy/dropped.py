"""People whom a threshold can have moved into a region, and out of it.

A method that drops children below a threshold gives their people to their siblings that it keeps,
to each alike. A dropped child can hold as many people as the threshold says, and more by as much as
noise takes, which the interval counts anyway. Many dropped children hold fewer each: had all of
them so many, noise would have lifted more of them over the threshold than were kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.kernels.cell_paths import FEW, MORE
from geodp.typing import FloatArray, IntArray

WHOLE, CUT, OUTSIDE = range(3)
"""Children: those wholly in a region, in part, and not at all."""


@dataclass(frozen=True)
class Drop:
    """What is dropped on a level.

    Attributes
    ----------
    least : float
        Children with fewer people are dropped.
    scale : float
        Of their Laplace noise; 0: of another law, of which no more is known than the threshold.
    """

    least: float
    scale: float

    def most(self, children: Any, kept: Any) -> Any:
        """Return how many people some dropped children hold on average at most.

        Had each of them ``c``, noise would lift it over the threshold with a probability that is
        convex in c, so that equal ones hide most. It is at most the one that the number of kept
        children allows.

        Parameters
        ----------
        children, kept : float64[n]
            How many there are, and how many of them were kept.
        """
        chance = (kept + FEW + MORE * np.sqrt(kept)) / np.maximum(children, 1)
        lifted = self.scale * np.log(0.5 / np.minimum(chance, 0.5))
        return np.maximum(self.least - lifted, 0.0)


def find_moved(
    zero: FloatArray,
    kept: FloatArray,
    held: FloatArray,
    drop: Drop,
    first: IntArray | None,
) -> FloatArray:
    """Return the most people moved out of regions and into them on a level: float64[2, regions].

    Parameters
    ----------
    zero, kept : float64[3, n]
        Children released as 0, and others, of nodes that regions cut: those wholly in the region,
        in part, and outside.
    held : float64[2, n]
        People released in children that are not wholly in the region, and in those that are not
        wholly outside: so many can have been moved out, and in.
    drop : Drop
    first : int64[regions], optional
        Where the nodes of each region begin; default: every node is one region's.
    """
    every = np.maximum(kept.sum(axis=0), 1)
    found = []
    for own, other, most in ((WHOLE, OUTSIDE, held[0]), (OUTSIDE, WHOLE, held[1])):
        dropped, ours = zero[own] + zero[CUT], kept[own] + kept[CUT]
        moved = dropped * (kept[other] + kept[CUT]) / every
        parts = np.array([moved, dropped + ours, ours, most])
        if first is not None:
            parts = np.add.reduceat(parts, first, axis=1)
        found.append(np.minimum(parts[0] * drop.most(parts[1], parts[2]), parts[3]))
    return np.array(found)
