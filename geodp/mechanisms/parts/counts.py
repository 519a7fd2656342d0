"""Counts of parts in three classes: confidential, measured with noise, and released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.parts import fitting as kernels
from geodp.mechanisms.parts.levels import Step
from geodp.privacy.noise.law import Law

PartCounts = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]
"""Cells, parts and counts."""


@dataclass(frozen=True, eq=False, repr=False)
class TrueParts:
    """Confidential counts of parts of cells.

    Attributes
    ----------
    cell : uint64[m]
        In order.
    part, count : int64[m]
    """

    cell: NDArray[np.uint64]
    part: NDArray[np.int64]
    count: NDArray[np.int64]

    def __repr__(self) -> str:
        return "Truth(confidential)"

    def of_group(self, group: int, step: Step) -> TrueParts:
        """Select the parts of one of a step's groups, numbered inside the group."""
        if step.groups == step.inside == 1:
            return self
        part = self.part // step.inside
        # Parts are numbered group by group, so an integer division gives the group.
        some = part // step.parts == group
        return TrueParts(self.cell[some], part[some] - group * step.parts, self.count[some])

    def tally(self, node: NDArray[np.uint64], stride: int, parts: int) -> NDArray[np.int64]:
        """Sum counts by node, in key order, and by part: int64[n, parts]."""
        # Integers: noise is added to exact sums, see docs/decisions/0002.
        sums = np.zeros((node.size, parts), np.int64)
        kernels.tally(node, np.uint64(stride), self.cell, self.part, self.count, sums)
        return sums


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """Noisy parts of a level's nodes, and the estimates from them.

    Attributes
    ----------
    node : uint64[n]
        In order; all children of open nodes, except those outside the domain.
    y : float64[n, parts]
        Noisy counts.
    z : float64[n, parts]
        The best estimates from these and from the measurements below.
    variance : float64[n]
        Variance of z, the same for every part.
    law : Law
        Law of the noise.
    """

    node: NDArray[np.uint64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    law: Law

    def at(self, node: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the positions of nodes that are among these."""
        return np.searchsorted(self.node, node)


@dataclass(frozen=True, eq=False)
class Shared:
    """Released counts of parts of cells, above 0.

    Attributes
    ----------
    cell : uint64[n]
        In order.
    part, count : int64[n]
    """

    cell: NDArray[np.uint64]
    part: NDArray[np.int64]
    count: NDArray[np.int64]
