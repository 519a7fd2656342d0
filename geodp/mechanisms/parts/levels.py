"""Where parts of counts are measured: the levels of a map, their shares, and how far down."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.grid.joint import Joint
from geodp.mechanisms.trees.descent import variance_of
from geodp.mechanisms.trees.levels import LevelScheme
from geodp.privacy.event import Measurement
from geodp.privacy.key import Stream
from geodp.privacy.noise.law import Law

WEIGHTS = (1, 2, 4)
"""Of the measured levels from the top down; the last one is that of all that follow."""

SIGNAL = 2
"""Noise scales that a part is to expect in a node of a level that is measured."""


MOST_OF_A_STEP = 1 << 6
"""Parts that are shared out at once."""

STREAMS = 1 << 6
"""Of a step: one for each level."""


@dataclass(frozen=True)
class Step:
    """Parts that are shared out at once: all of them, groups, or the parts inside each group.

    Attributes
    ----------
    number : int
        0 or 1.
    groups : int
        That have been shared out before; 1: none.
    parts : int
        Of each group.
    last : int
        Of the last group, which may have fewer.
    inside : int
        Parts of the next step that each of these holds.
    """

    number: int
    groups: int
    parts: int
    last: int
    inside: int

    @property
    def stream(self) -> int:
        """Of the noise of its first level."""
        return Stream.PARTS + STREAMS * self.number

    @property
    def rounding(self) -> int:
        """Stream of the rounding on its first level."""
        return Stream.PARTS_ROUNDING + STREAMS * self.number

    @property
    def words(self) -> tuple[str, int, int, int]:
        """What it counts, in words and numbers."""
        return "parts of nodes of keys", self.groups, self.parts, self.inside


def steps_of(joint: Joint) -> tuple[Step, ...]:
    """Return the steps in which a grid's parts are shared out; none of one part.

    More parts than fit into one step are groups of neighbouring ones first: those that differ in
    the last attributes only, where these have enough labels and not too many, otherwise runs that
    hold some labels of the next attribute whole.
    """
    if joint.parts == 1:
        return ()
    if joint.parts <= MOST_OF_A_STEP:
        return (Step(0, 1, joint.parts, joint.parts, 1),)
    fewest, unit = -(-joint.parts // MOST_OF_A_STEP), 1
    inside = 0
    for whole in accumulate(reversed(joint.labels), lambda a, b: a * b):
        if fewest <= whole <= MOST_OF_A_STEP:
            inside = whole
            break
        unit = whole if whole < fewest else unit
    inside = inside or -(-fewest // unit) * unit
    inside = inside if inside <= MOST_OF_A_STEP else fewest
    groups = -(-joint.parts // inside)
    last = joint.parts - (groups - 1) * inside
    return Step(0, 1, groups, groups, inside), Step(1, groups, inside, last, 1)


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a level with somebody in them, as the map's release says.

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
    """How many levels can be measured, and with which part of the budget each.

    Attributes
    ----------
    fanouts, strides : tuple of int
        Of all levels from the root to the cells, see
        :class:`geodp.mechanisms.trees.levels.LevelScheme`.
    share : Fraction
        Of the budget, for all levels together.
    last : int
        Times that the last measured level has its weight, so that small areas are known better.
    """

    fanouts: tuple[int, ...]
    strides: tuple[int, ...]
    share: Fraction
    last: int = 1

    @classmethod
    def of(cls, chain: LevelScheme, share: Fraction, last: int = 1) -> Self:
        """With the levels of a chain; its shares are not looked at."""
        return cls(chain.fanouts, chain.strides, share, last)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Of all levels, the root's first."""
        more = len(self.strides) - len(WEIGHTS)
        return (WEIGHTS + (WEIGHTS[-1],) * max(more, 0))[: len(self.strides)]

    def shares(self, levels: int) -> tuple[Fraction, ...]:
        """Of the budget, where so many levels are measured; they add up to ``share``."""
        *above, last = self.weights[:levels]
        weights = [*above, last * self.last]
        return tuple(self.share * Fraction(weight, sum(weights)) for weight in weights)

    def laws(self, event: Measurement, levels: int) -> tuple[Law, ...]:
        """Noise of every level, where so many are measured."""
        return tuple(event.law(share) for share in self.shares(levels))

    def count_measured(self, event: Measurement, parts: int, expected: list[float]) -> int:
        """Return how many levels are measured: as many as have a signal; the root always.

        Parameters
        ----------
        event : Measurement
        parts : int
        expected : list of float
            People of a node of each level, in all parts together: of the map's release, or of a
            public guess.
        """
        for levels in range(len(self.strides), 1, -1):
            width = event.width(self.shares(levels)[-1])
            if expected[levels - 1] >= SIGNAL * width * parts:
                return levels
        return 1

    def count_known(self, event: Measurement, parts: int, levels: list[Nodes]) -> int:
        """Return the same of nodes of released counts; 0 without any."""
        if not levels[0].count.size:
            return 0
        return self.count_measured(event, parts, [float(own.count.mean()) for own in levels])

    def list_nodes(self, cell: NDArray[np.uint64], count: NDArray[np.int64]) -> list[Nodes]:
        """Return the nodes of all levels that hold cells; cells and counts as of the last."""
        return [Nodes.of(cell, count, stride) for stride in self.strides]

    def variances(self, event: Measurement, levels: int) -> NDArray[np.float64]:
        """Return those of the noise of all levels, where so many are measured: float64[levels].

        Infinite of the others.
        """
        found = np.full(len(self.strides), np.inf)
        found[:levels] = [variance_of(law) for law in self.laws(event, levels)] if levels else []
        return found

    @property
    def min_share(self) -> Fraction:
        """Smallest part of the budget that a level can have."""
        return self.shares(len(self.strides))[0]
