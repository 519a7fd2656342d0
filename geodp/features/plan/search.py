"""Search for good pyramids by simulated objectives, which have no gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from typing import Self

import numpy as np

from geodp.features.plan.shares import LAST_STEP, MIN_PARTS, PARTS
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid

CHAINS = 0.3
"""Fraction of the moves that change levels; the others change shares."""

PASSES = 0.02
"""Fraction of the moves that change the number of passes."""

WIDEST, NARROWEST = 0.8, 0.08
"""Standard deviation of the logarithm of a changed share, at the first and at the last move."""


@dataclass(frozen=True)
class Candidate:
    """A pyramid: levels, shares and passes.

    Attributes
    ----------
    steps : tuple of int
        Number of digits that each level splits, from the root on.
    parts : tuple of int
        Shares in parts of 10,000, the root's first.
    passes : int
        1 or 2.
    """

    steps: tuple[int, ...]
    parts: tuple[int, ...]
    passes: int = 2

    @property
    def spec(self) -> str:
        """Specification for ``publish``."""
        chain, shares = ("-".join(map(str, part)) for part in (self.steps, self.parts))
        passes = "" if self.passes == 2 else f",passes={self.passes}"
        return f"pyramid:chain={chain},shares={shares}{passes}"

    @classmethod
    def of(cls, steps: Sequence[int], weights: Sequence[float], passes: int = 2) -> Self:
        """Round weights to integer parts, none below the minimum."""
        levels = len(weights)
        min_parts = min(MIN_PARTS, PARTS // (2 * levels))
        share = np.array(weights, np.float64) / float(sum(weights))
        parts = np.maximum(np.rint(share * PARTS).astype(int), min_parts)
        # The rounding error goes to the largest share, where it is relatively smallest.
        parts[np.argmax(parts)] += PARTS - parts.sum()
        return cls(tuple(steps), tuple(parts.tolist()), passes)

    @classmethod
    def of_method(cls, method: Mechanism, grid: Grid, *, gaussian: bool) -> Self:
        """Create the candidate of a pyramid's levels on a grid."""
        assert isinstance(method, Pyramid)
        chain = method.levels(grid, gaussian=gaussian)
        steps, at = [], 0
        for fanout in chain.fanouts:
            first = at
            while fanout > 1:
                fanout //= grid.order.radices[at]
                at += 1
            steps.append(at - first)
        return cls.of(steps, [float(share) for share in chain.shares], method.passes)

    def fits(self, radices: Sequence[int]) -> bool:
        """Whether no node has more than 4,096 children, and every level has its minimal share."""
        ends = [0, *accumulate(self.steps)]
        narrow = all(prod(radices[a:b]) <= 1 << LAST_STEP for a, b in pairwise(ends))
        min_parts = min(MIN_PARTS, PARTS // (2 * len(self.parts)))
        return narrow and min(self.parts) >= min_parts

    def move(self, random: np.random.Generator, width: float, *, fixed: bool) -> Candidate:
        """Return a random neighbour; ``fixed``: keep the levels."""
        drawn = random.random()
        if drawn < PASSES:
            return Candidate(self.steps, self.parts, 3 - self.passes)
        if drawn < PASSES + CHAINS and not fixed:
            return self._rechain(random)
        parts = np.array(self.parts, np.float64)
        parts[random.integers(parts.size)] *= np.exp(random.normal(0, width))
        if random.random() < 0.3:  # two at once, so that one level can gain what another loses
            parts[random.integers(parts.size)] *= np.exp(random.normal(0, width))
        return Candidate.of(self.steps, parts.tolist(), self.passes)

    def _rechain(self, random: np.random.Generator) -> Candidate:
        """Join two levels, split one, or move a digit from one to another."""
        steps, parts = list(self.steps), list(map(float, self.parts))
        i = int(random.integers(len(steps)))
        kind = int(random.integers(3))
        if kind == 0 and steps[i] > 1:
            first = int(random.integers(1, steps[i]))
            steps[i : i + 1] = [first, steps[i] - first]
            parts.insert(i + 1, parts[i + 1] * 0.6)
        elif kind == 1 and len(steps) > 1:
            i = min(i, len(steps) - 2)
            steps[i : i + 2] = [steps[i] + steps[i + 1]]
            joined = parts.pop(i + 1)
            parts[i + 1] += joined / 2
        else:
            j = int(random.integers(len(steps)))
            if i != j and steps[i] > 1:
                steps[i] -= 1
                steps[j] += 1
        return Candidate.of(steps, parts, self.passes)


Value = Callable[[Candidate], float]


def improve(
    start: Sequence[Candidate],
    value: Value,
    radices: Sequence[int],
    *,
    moves: int,
    seed: int = 0,
    fixed: bool = False,
) -> tuple[Candidate, float]:
    """Search, from the best of some pyramids, for better neighbours in ever shorter moves.

    Parameters
    ----------
    start : sequence of Candidate
    value : callable
        Objective to minimise; evaluated once for each candidate.
    radices : sequence of int
        Radices of the grid's keys.
    moves : int
        Number of neighbours that are tried; the result does not depend on the time taken.
    seed : int
    fixed : bool
        Keep the levels; change shares and passes only.

    Returns
    -------
    Candidate, float
        The best candidate, and its value.
    """
    random = np.random.default_rng(seed)
    values = {one: value(one) for one in start}
    best = min(values, key=lambda one: values[one])
    for n in range(moves):
        # Steps shrink geometrically, from exploration to refinement.
        width = WIDEST * (NARROWEST / WIDEST) ** (n / max(1, moves - 1))
        other = best.move(random, width, fixed=fixed)
        # A simulation costs far more than a lost move.
        if other in values or not other.fits(radices):
            continue
        values[other] = value(other)
        if values[other] < values[best]:
            best = other
    return best, values[best]
