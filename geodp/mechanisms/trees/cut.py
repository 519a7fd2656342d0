"""What passes between the two parts of a release that is cut: roots, and what is below them."""

from __future__ import annotations

from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees.layer import Stage
from geodp.mechanisms.trees.walk import PassRecords
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts


@dataclass(frozen=True, eq=False, repr=False)
class Roots:
    """Nodes of a cut that hold somebody, in key order: noisy, and not released before the end.

    Attributes
    ----------
    prefix : uint64[n]
    count : int64[n]
        What the top gives them.
    z, variance : float64[n]
        Their own estimates, where estimates from below are to improve them; otherwise empty.
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
        """Without estimates."""
        return cls(prefix, count, np.empty(0), np.empty(0))

    def counts_of(self, some: Roots) -> IntArray:
        """Return counts of roots that are among these: int64[n]."""
        return self.count[np.searchsorted(self.prefix, some.prefix)]

    def between(self, first: int, stop: int) -> Roots:
        """Those with ``first <= prefix < stop``."""
        here = slice(*np.searchsorted(self.prefix, np.array([first, stop], np.uint64)))
        return Roots(self.prefix[here], self.count[here], self.z[here], self.variance[here])


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """What is held of subtrees with a prior: their open nodes, and variances, by layer."""

    stage: Stage
    variances: tuple[FloatArray, ...] = ()

    def __repr__(self) -> str:
        return "Held(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all that is kept, see :class:`Roots`."""
        return getsizeof(self.stage) + sum(part.nbytes for part in self.variances)


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """What subtrees tell of the predictions of a level: nodes that were measured, residuals."""

    nodes: int
    residuals: Residuals

    def __repr__(self) -> str:
        return "Seen(noisy)"


@dataclass(frozen=True, eq=False, repr=False)
class Subtrees:
    """What is below some roots, with all noise drawn.

    Attributes
    ----------
    roots : Roots
        With their estimates improved from below.
    cells : pair of arrays
        Released cells and their counts, where they do not wait for the top; otherwise empty.
    records : Records or Held
        What the second pass needs; empty without one.
    """

    roots: Roots
    cells: KeyedCounts
    records: PassRecords | Held

    def __repr__(self) -> str:
        return "Subtrees(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all that is kept, see :class:`Roots`."""
        cells = sum(part.nbytes for part in self.cells)
        return getsizeof(self.roots) + cells + getsizeof(self.records)


def fill_counts(roots: Roots, counted: KeyedCounts) -> IntArray:
    """Return counts of all roots, where those of the others are 0."""
    count = np.zeros(roots.prefix.size, np.int64)
    count[np.searchsorted(roots.prefix, counted[0])] = counted[1]
    return count
