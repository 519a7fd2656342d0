"""Values exchanged between the top of a partitioned release and its subtrees.

:mod:`geodp.cluster` sends them between workers. All are noisy but not released: their
``repr`` shows no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees.layer import Stage
from geodp.mechanisms.trees.parallel import partition
from geodp.mechanisms.trees.traversal import PassRecords
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts


@dataclass(frozen=True, eq=False, repr=False)
class Roots:
    """Occupied nodes of a cut, in key order: the roots of subtrees.

    Attributes
    ----------
    prefix : uint64[n]
    count : int64[n]
        Counts apportioned by the top.
    z, variance : float64[n]
        Estimates of their counts, if estimates from below are to improve them; otherwise empty.
    """

    prefix: KeyArray
    count: IntArray
    z: FloatArray
    variance: FloatArray

    def __repr__(self) -> str:
        return "Roots(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return sum(part.nbytes for part in (self.prefix, self.count, self.z, self.variance))

    @classmethod
    def of_counts(cls, prefix: KeyArray, count: IntArray) -> Roots:
        """Make roots without estimates."""
        return cls(prefix, count, np.empty(0), np.empty(0))

    def counts_of(self, some: Roots) -> IntArray:
        """Return the counts of roots that are among these: int64[n]."""
        return self.count[np.searchsorted(self.prefix, some.prefix)]

    def divide(self, parts: int) -> list[Roots]:
        """Divide the roots into at most ``parts`` ranges of about the same count, in key order.

        A function of noisy counts and nothing else: where a range ends reveals no more than they
        do.
        """
        return [
            Roots(self.prefix[here], self.count[here], self.z[here], self.variance[here])
            for here in partition(self.count, parts)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Open nodes of subtrees of a release with a prior, and their variances, by layer."""

    stage: Stage
    variances: tuple[FloatArray, ...] = ()

    def __repr__(self) -> str:
        return "Held(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all arrays, see :class:`Roots`."""
        return getsizeof(self.stage) + sum(part.nbytes for part in self.variances)


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """Statistics of the predictions of a level in subtrees: nodes measured, and residuals."""

    nodes: int
    residuals: Residuals

    def __repr__(self) -> str:
        return "Seen(noisy)"


@dataclass(frozen=True, eq=False, repr=False)
class Subtrees:
    """Subtrees below some roots, with all noise drawn.

    Attributes
    ----------
    roots : Roots
        With estimates improved from below.
    cells : pair of arrays
        Released cells and their counts, if there is no second pass; otherwise empty.
    records : PassRecords or Held
        Input of the second pass; empty without one.
    """

    roots: Roots
    cells: KeyedCounts
    records: PassRecords | Held

    def __repr__(self) -> str:
        return "Subtrees(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all arrays, see :class:`Roots`."""
        cells = sum(part.nbytes for part in self.cells)
        return getsizeof(self.roots) + cells + getsizeof(self.records)


def fill_counts(roots: Roots, counted: KeyedCounts) -> IntArray:
    """Return counts of all roots, with 0 for those that are not among ``counted``."""
    count = np.zeros(roots.prefix.size, np.int64)
    count[np.searchsorted(roots.prefix, counted[0])] = counted[1]
    return count
