"""People whom a threshold can have moved into a region, and out of it.

A method that drops children below a threshold gives their people to the siblings that it keeps, in
equal parts. A dropped child can hold as many people as the threshold, and more only by the amount
of noise, which the interval includes anyway. Many dropped children hold fewer each: if all of them
held that many, noise would have lifted more of them above the threshold than were kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.kernels.cell_paths import FEW, MORE
from geodp.typing import FloatArray, IntArray

INSIDE, CUT, OUTSIDE = range(3)
"""Children that lie in a region entirely, in part, and not at all."""


@dataclass(frozen=True)
class Drop:
    """The rule by which children are dropped on a level.

    Attributes
    ----------
    threshold : float
        Children with fewer people are dropped.
    scale : float
        Scale of their Laplace noise; 0: noise of another distribution, with the threshold as the
        only bound.
    """

    threshold: float
    scale: float

    def max_people(self, children: Any, retained: Any) -> Any:
        """Return an upper bound of the mean number of people in some dropped children.

        If each of them had ``c`` people, noise would lift it above the threshold with a probability
        that is convex in c, so that equal children hide most people. The bound is the c that the
        number of retained children still allows.

        Parameters
        ----------
        children, retained : float64[n]
            Number of children, and of those that were retained.
        """
        # An upper bound of the chance to be retained, from the number that were: FEW and MORE
        # leave room for its randomness.
        chance = (retained + FEW + MORE * np.sqrt(retained)) / np.maximum(children, 1)
        # Laplace noise exceeds x with probability 0.5 exp(-x / scale), solved for x.
        lifted = self.scale * np.log(0.5 / np.minimum(chance, 0.5))
        return np.maximum(self.threshold - lifted, 0.0)


def find_moved(
    zero: FloatArray,
    retained: FloatArray,
    held: FloatArray,
    drop: Drop,
    first: IntArray | None,
) -> FloatArray:
    """Return upper bounds of the people moved out of regions and into them: float64[2, regions].

    Parameters
    ----------
    zero, retained : float64[3, n]
        Numbers of children released as 0, and of others, of nodes that regions cut: those entirely
        in the region, in part, and outside.
    held : float64[2, n]
        People released in children that are not entirely in the region, and in those that are not
        entirely outside: upper bounds of the people moved out, and in.
    drop : Drop
    first : int64[regions], optional
        Position of each region's first node. Default: every node belongs to another region.
    """
    every = np.maximum(retained.sum(axis=0), 1)
    moved_people = []
    for side, other, limit in ((INSIDE, OUTSIDE, held[0]), (OUTSIDE, INSIDE, held[1])):
        dropped, ours = zero[side] + zero[CUT], retained[side] + retained[CUT]
        moved = dropped * (retained[other] + retained[CUT]) / every
        parts = np.array([moved, dropped + ours, ours, limit])
        if first is not None:
            parts = np.add.reduceat(parts, first, axis=1)
        moved_people.append(np.minimum(parts[0] * drop.max_people(parts[1], parts[2]), parts[3]))
    return np.array(moved_people)
