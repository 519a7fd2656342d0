"""The levels on which parts are measured: their shares of the budget, and how far down they go."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.grid.joint import Joint
from geodp.mechanisms.trees.descent import variance_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import Stream
from geodp.privacy.noise.law import Law

WEIGHTS = (40, 25, 16, 10, 6)
"""Weights of the measured levels from the last one up; the last weight is repeated."""

SIGNAL = 2
"""Expected count of a part, in noise scales, from which on a level is measured."""


MAX_STEP_PARTS = 1 << 6
"""Most parts that are apportioned together: the rounding has words of 64 bits for them."""

STREAMS = 1 << 6
"""Number of streams reserved for a step: one for each level."""


@dataclass(frozen=True)
class Step:
    """Parts that are apportioned together: all parts, groups, or the parts inside each group.

    Attributes
    ----------
    number : int
        0 or 1; marginals have larger ones.
    groups : int
        Number of groups from the previous step; 1: there was none.
    parts : int
        Parts of each group.
    last : int
        Parts of the last group, which may have fewer.
    inside : int
        Parts of the next step inside each of these.
    """

    number: int
    groups: int
    parts: int
    last: int
    inside: int

    @property
    def stream(self) -> int:
        """Stream of the noise on its first level."""
        return Stream.PARTS + STREAMS * self.number

    @property
    def rounding(self) -> int:
        """Stream of the rounding on its first level."""
        return Stream.PARTS_ROUNDING + STREAMS * self.number

    @property
    def description(self) -> tuple[str, int, int, int]:
        """Description of the counts, for queries."""
        return "parts of nodes of keys", self.groups, self.parts, self.inside


def steps_of(joint: Joint) -> tuple[Step, ...]:
    """Return the steps in which a grid's parts are apportioned; none for a single part.

    More parts than fit into one step form groups of neighbouring ones first: those that differ in
    the last attributes only, if these have a suitable number of labels; otherwise runs that contain
    some labels of the next attribute completely.
    """
    if joint.parts == 1:
        return ()
    if joint.parts <= MAX_STEP_PARTS:
        return (Step(0, 1, joint.parts, joint.parts, 1),)
    fewest, unit = -(-joint.parts // MAX_STEP_PARTS), 1
    inside = 0
    for size in accumulate(reversed(joint.labels), lambda a, b: a * b):
        if fewest <= size <= MAX_STEP_PARTS:
            inside = size
            break
        unit = size if size < fewest else unit
    inside = inside or -(-fewest // unit) * unit
    inside = inside if inside <= MAX_STEP_PARTS else fewest
    groups = -(-joint.parts // inside)
    last = joint.parts - (groups - 1) * inside
    return Step(0, 1, groups, groups, inside), Step(1, groups, inside, last, 1)


@dataclass(frozen=True, eq=False)
class Nodes:
    """The occupied nodes of a level in the map's release.

    Attributes
    ----------
    prefix : uint64[n]
        Strictly increasing.
    count : int64[n]
        Above 0.
    """

    prefix: NDArray[np.uint64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, cell: NDArray[np.uint64], count: NDArray[np.int64], stride: int) -> Self:
        """Sum cells, in key order, over nodes of ``stride`` keys."""
        node = cell // np.uint64(stride)
        first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]])[: node.size])
        sums = np.add.reduceat(count, first) if first.size else count[:0]
        return cls(node[first], sums)


@dataclass(frozen=True)
class Schedule:
    """The levels that can be measured, and their shares of the budget.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Children and keys of the nodes of all levels from the root to the cells, see
        :class:`geodp.mechanisms.trees.levels.LevelScheme`.
    share : Fraction
        Share of the budget for all levels together.
    last : int
        Factor of the last measured level's weight; a larger one favours small areas.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    share: Fraction
    last: int = 1

    def shares(self, levels: int) -> tuple[Fraction, ...]:
        """Return the shares of the budget if ``levels`` are measured; they add up to ``share``."""
        last, *above = (*WEIGHTS, *WEIGHTS[-1:] * levels)[:levels]
        weights = [*reversed(above), last * self.last]
        return tuple(self.share * Fraction(weight, sum(weights)) for weight in weights)

    def laws(self, event: Measurement, levels: int) -> tuple[Law, ...]:
        """Return the noise of every level if ``levels`` are measured."""
        return tuple(event.law(share) for share in self.shares(levels))

    def count_measured(self, event: Measurement, parts: int, expected: list[float]) -> int:
        """Count the levels that are measured: those with a signal, and always the root.

        Parameters
        ----------
        event : Measurement
        parts : int
        expected : list of float
            Average people of a node of each level, in all parts: by the map's release, or by a
            public guess.
        """
        # The budget is divided by the number of levels, so every number is tried, the largest
        # first. Only released counts are read: the choice is post-processing of the map.
        for levels in range(len(self.strides), 1, -1):
            width = event.width(self.shares(levels)[-1])
            if expected[levels - 1] >= SIGNAL * width * parts:
                return levels
        return 1

    def count_levels(self, event: Measurement, parts: int, levels: list[Nodes]) -> int:
        """Count the levels that are measured, from released counts; 0 if these are empty."""
        if not levels[0].count.size:
            return 0
        return self.count_measured(event, parts, [float(nodes.count.mean()) for nodes in levels])

    def list_nodes(self, cell: NDArray[np.uint64], count: NDArray[np.int64]) -> list[Nodes]:
        """List the occupied nodes of all levels, from released cells and counts."""
        return [Nodes.of(cell, count, stride) for stride in self.strides]

    def variances(self, event: Measurement, levels: int) -> NDArray[np.float64]:
        """Return the variances of the noise of all levels if ``levels`` are measured: float64[h].

        They are infinite for levels that are not measured.
        """
        variances = np.full(len(self.strides), np.inf)
        variances[:levels] = (
            [variance_of(law) for law in self.laws(event, levels)] if levels else []
        )
        return variances

    @property
    def min_share(self) -> Fraction:
        """Smallest share of the budget that a level can have."""
        return min(self.shares(len(self.strides)))
