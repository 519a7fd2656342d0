"""Simulate errors of releases with a prior.

Such a release is nearer to its prior than the truth is, so that it is no stand-in for the truth:
the method would trust the prior more, and err less. Stand-ins are made rougher, at random and anew
for every simulated release: the people of a node of the release are shared out to its children by a
Dirichlet distribution around their released shares. How rough they are is fitted on every level,
such that the method trusts the prior as much on the stand-ins as the card says it did.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.release.simulation import SEED, KeyRuns, Simulation
from geodp.table.stated.prior import StatedPrior
from geodp.typing import FloatArray, IntArray

ROUGHNESS = tuple(4.0**i for i in range(-1, 6))
"""Roughness that is tried, in people: the variance of a child's count over its mean, about."""

SMOOTH = 2.0**-20
"""Roughness below which children have their released shares."""

TRIED = 3
"""Number of stand-ins of each roughness."""

QUANTILE, RISK = 0.95, 0.01
"""Probability within the simulated errors apart from their mean, and beyond each end of those with
it."""

FACTOR, FACTOR_OF_CELL = 1.2, 1.4
"""Factors on the simulated errors of regions and of single cells: changes against a prior have
longer tails than those of stand-ins, which are equally rough everywhere. Found on pairs of
censuses, see docs/measured/uncertainty.md."""


def errors_with_prior(
    simulation: Simulation, stated: StatedPrior, runs: KeyRuns
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Simulate errors of regions' sums: low and high ends, and the standard error.

    float64[regions] each.

    Parameters
    ----------
    simulation : Simulation
        Simulation of a release with a prior.
    stated : StatedPrior
        From the card: how far the prior was trusted on each level.
    runs : KeyRuns
    """
    random = np.random.default_rng(SEED)
    strides = [*np.cumprod(simulation.tree.fanouts[::-1])[::-1].tolist(), 1]
    nodes = Nodes.of(simulation, strides)
    roughness = _fit_roughness(simulation, nodes, stated, random)
    errors = np.empty((simulation.releases, runs.regions))
    for trial in range(simulation.releases):
        standin = simulation.stand_in(simulation.table.key, nodes.draw(roughness, random))
        errors[trial] = runs.sums(simulation.release(standin, trial)) - runs.sums(standin)
    # Stand-ins lie around the release, while a release lies on the prior's side of the truth: the
    # mean error may widen an interval, but not narrow it.
    apart = np.quantile(np.abs(errors - errors.mean(axis=0)), QUANTILE, axis=0)
    low, high = np.quantile(errors, (RISK, 1 - RISK), axis=0)
    factor = np.where(runs.cells() == 1, FACTOR_OF_CELL, FACTOR)
    error = np.sqrt((errors**2).mean(axis=0))
    return factor * np.minimum(low, -apart), factor * np.maximum(high, apart), error


@dataclass(frozen=True, eq=False)
class Nodes:
    """The released nodes of all levels, the root first.

    Attributes
    ----------
    count : list of float64[n]
        Released sums.
    parent : list of int64[n]
        Index of every node's parent on the level above; from the second level on.
    """

    count: list[FloatArray] = field(repr=False)
    parent: list[IntArray] = field(repr=False)

    @classmethod
    def of(cls, simulation: Simulation, strides: list[int]) -> Nodes:
        """List the nodes of a release by the number of keys of a node on each level."""
        above: NDArray[np.uint64] = np.zeros(1, np.uint64)
        counts, parents = [np.array([float(simulation.table.count.sum())])], []
        for coarse, fine in pairwise(strides):
            node, place = np.unique(simulation.table.key // np.uint64(fine), return_inverse=True)
            parents.append(np.searchsorted(above, node // np.uint64(coarse // fine)))
            counts.append(np.bincount(place, simulation.table.count, node.size).astype(np.float64))
            above = node
        return cls(counts, parents)

    def draw(self, roughness: FloatArray, random: np.random.Generator) -> FloatArray:
        """Draw the counts of cells of a stand-in, whole numbers: float64[n]."""
        held = self.count[0]
        for mean, parent, rough in zip(self.count[1:], self.parent, roughness, strict=True):
            share = mean if rough <= SMOOTH else random.standard_gamma(mean / rough)
            sums = np.bincount(parent, share, held.size)
            # All of a family may be 0, as numbers of a small shape are.
            lost = sums[parent] <= 0
            share = np.where(lost, mean, share)
            sums = np.bincount(parent, share, held.size)
            held = held[parent] * share / sums[parent]
        return np.floor(held + random.random(held.size))


def _fit_roughness(
    simulation: Simulation, nodes: Nodes, stated: StatedPrior, random: np.random.Generator
) -> FloatArray:
    """Fit the roughness of every level to the reliability on the card: float64[levels]."""
    # A release of nobody has no levels.
    wanted = np.zeros(len(nodes.parent))
    wanted[: len(stated.levels)] = [level.reliability for level in stated.levels]
    tried, found = np.array([SMOOTH, *ROUGHNESS]), []
    for rough in tried:
        levels = np.zeros(wanted.size)
        for trial in range(TRIED):
            count = nodes.draw(np.full(wanted.size, rough), random)
            standin = simulation.stand_in(simulation.table.key, count)
            _, learned = simulation.release_stating(standin, trial)
            assert learned is not None
            some = [level.reliability for level in learned.levels]
            levels += np.pad(some, (0, wanted.size - len(some))) / TRIED
        found.append(levels)
    # Rougher stand-ins are trusted less; chance may have it otherwise.
    less = np.maximum.accumulate(-np.array(found), axis=0)
    fitted = np.array(
        [np.interp(-wanted[i], less[:, i], np.log(tried)) for i in range(wanted.size)]
    )
    # A level on which the prior was not used tells nothing; the release is as good as without it.
    return np.where(wanted > 0, np.exp(fitted), 0.0)
