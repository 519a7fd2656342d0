"""Estimate regions of a release by simulation, with its prior and its public totals.

The simulation is in :mod:`geodp.release.simulation`, and for releases with a prior in
:mod:`geodp.release.simulated_estimates`.

A release with a prior is nearer to it than the truth is, so that it is no stand-in for the truth:
the method would trust the prior more, and err less. Stand-ins are made rougher, at random and anew
for every simulated release: the people of a node of the release are shared out to its children by a
Dirichlet distribution around their released shares. How rough they are is fitted on every level,
such that the method trusts the prior as much on the stand-ins as the card says it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import LAPLACE_Z, Estimate, NodeSums
from geodp.accuracy.isolation_depth import find_depths, list_nodes, tilt
from geodp.accuracy.reach import RegionKeys, reach, strength
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.release import simulation
from geodp.release.base import BaseRelease
from geodp.release.simulation import SEED, SIDES, SIMULATION, KeyRuns, Simulation
from geodp.table.counts import Cells
from geodp.table.prior import RULES, Prior
from geodp.table.stated.release import StatedPrior
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
    nodes = ReleasedNodes.of(simulation, strides)
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
class ReleasedNodes:
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
    def of(cls, simulation: Simulation, strides: list[int]) -> ReleasedNodes:
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
    simulation: Simulation, nodes: ReleasedNodes, stated: StatedPrior, random: np.random.Generator
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


DROPPED = 0.5
"""Fraction counted of what a threshold can have moved, which stand-ins do not show: public maps
need up to this fraction, for regions that follow what was dropped."""

TILT = 3.0
"""Multiple of the expected number of people that the clamp moved across a coast that a region
follows: stand-ins do not show it, because the moved people are part of them."""

TILT_INFORMED = 1.25
"""The multiple with a prior, which knows coasts, mostly."""

SURROUNDINGS, AROUND = 64, 0.05
"""Fewest cells of the nodes that surround an isolated region, and the largest number of people in
them beside its own, as a fraction of these."""

DOUBT = 0.01
"""Probability of taking an empty child for a populated one, over all around a region."""

UNKNOWN_TO = 0.1
"""Standard deviations of a child: a prior with fewer people around a place does not know of any
settlement there."""


def simulate_estimates(
    release: BaseRelease, regions: Sequence[Region], prior: Prior | Cells | None = None
) -> list[Estimate]:
    """Estimate regions with simulated standard errors and 95 % intervals.

    Parameters
    ----------
    release : Release
    regions : sequence of Region
        All are estimated from the same simulated releases.
    prior : Prior or Cells, optional
        The prior of a release that was made with one: its card does not have the prior's cells.

    Raises
    ------
    UsageError
        For a method that clamps nothing, that has no tree of keys, or that is not central; for a
        release with a prior without that prior, or without any and with one.
    """
    _require_simulated(release)
    method, table = release.method, release.table
    assert isinstance(method, Mechanism)
    assert isinstance(table.event, Measurement)
    known = _require_prior(release, prior)
    # The map is simulated; how parts differ from place to place is learned from the release.
    if release.parts is not None:
        return release.parts.estimate_all(regions, SIMULATION)
    closed = release.estimate_all(regions)
    tree = method.tree_variance(table.grid, table.event)
    if not method.nonnegative or tree is None:
        raise UsageError(
            f"{method.name} clamps nothing, so its closed form is good already: leave out "
            "method='simulation'.",
            code="closed-form-is-good",
        )
    # A prior and public totals make errors smaller, also where nothing is clamped.
    plain = known is None and release.totals is None
    if plain and not any(estimate.clamped for estimate in closed):
        return closed
    simulated = Simulation(
        method, table, table.event, tree, simulation.RELEASES, known, release.totals
    )
    steps = simulation.RELEASES * (simulation.SHARPER + 2)
    progress.begin("Simulating releases", steps, public=True)
    if known is None:
        low, high, error = simulated.errors(KeyRuns.of(regions))
    else:
        assert release.prior is not None
        low, high, error = errors_with_prior(simulated, release.prior, KeyRuns.of(regions))
    allowances, estimates = Allowances(release, simulated), []
    for i, (region, estimate) in enumerate(zip(regions, closed, strict=True)):
        # Without a clamp the error is that of the noise, which the closed form has exactly.
        ends = estimate.count - np.array([high[i], low[i]])
        if estimate.clamped and allowances.is_island(region):
            estimates.append(estimate)
            continue
        if estimate.clamped:
            ends = allowances.widen(ends, region, estimate)
        elif plain:
            estimates.append(estimate)
            continue
        # Public totals take from the noise, and nothing else pulls the sum to either side.
        elif known is None:
            ends = estimate.count + LAPLACE_Z * float(error[i]) * np.array([-1.0, 1.0])
        # The closed form is proved, so simulation may only narrow it; it does not know of what a
        # prior takes from settlements that it lacks.
        above = estimate.high if known is None else max(estimate.high, float(ends[1]))
        below, above = np.clip(ends, estimate.low, above).tolist()
        estimates.append(replace(estimate, standard_error=float(error[i]), low=below, high=above))
    return estimates


@dataclass(frozen=True, eq=False)
class Allowances:
    """Possible effects of clamps and thresholds beyond those that stand-ins show.

    Attributes
    ----------
    release : Release
    simulation : Simulation
    """

    release: BaseRelease
    simulation: Simulation

    @cached_property
    def losses(self) -> FloatArray:
        """Possible losses of planted settlements."""
        return self.simulation.losses()

    @cached_property
    def held(self) -> Any:
        """The released nodes of all levels."""
        return list_nodes(self.simulation.tree, self.simulation.table)

    @cached_property
    def taken(self) -> list[tuple[float, float]]:
        """Mean and deviation of what the clamp takes on each level."""
        one = self.simulation
        losses = one.method.clamp_losses(one.table.grid, one.event)
        return losses or [(0.0, 0.0)] * len(one.tree.fanouts)

    def is_island(self, region: Region) -> bool:
        """Return whether hardly anybody was released around a region, whose closed form stands.

        Stand-ins show only those islands that the release shows.
        """
        stride = 1
        for fanout in reversed(self.simulation.tree.fanouts):
            stride *= fanout if stride < SURROUNDINGS else 1
        sums = self.release.node_sums
        held = int(sums.of(np.unique(region.key // np.uint64(stride)), stride).sum())
        inside = int(self.release.table.counts_at(region.key).sum())
        return held - inside <= AROUND * inside

    def loss_informed(self, region: Region, side: int, depth: int) -> float:
        """Return the possible loss of a settlement that the prior does not know; -inf if it does.

        Parameters
        ----------
        side, depth : int
            The region's indices in ``losses``, the depth being that in the release.
        """
        prior = self.simulation.prior
        assert prior is not None
        if prior.counts_at(region.key).any():
            return -np.inf
        # The release shows people around whom it took from the settlement; the prior does not.
        sums = NodeSums(prior)
        unknown = find_depths(self.simulation.tree, sums, region.key, UNKNOWN_TO)
        some = self.losses[side, : max(depth, int(unknown.max(initial=0))) + 1]
        return float(some[np.isfinite(some)].max(initial=0.0))

    def widen(self, ends: FloatArray, region: Region, estimate: Estimate) -> FloatArray:
        """Widen the simulated ends of a clamped region: float64[2]."""
        tree, grid, sums = self.simulation.tree, self.simulation.table.grid, self.release.node_sums
        depth = int(find_depths(tree, sums, region.key).max(initial=0))
        side = int(np.searchsorted(np.square(SIDES), min(region.cells, SIDES[-1] ** 2)))
        if self.simulation.prior is None:
            tilted = TILT
            lost = min(float(self.losses[side, depth]), estimate.high - estimate.count)
        else:
            tilted, lost = TILT_INFORMED, self.loss_informed(region, side, depth)
        # Cells dropped by a threshold are missing in the stand-ins: the closed form stands.
        if region.cells == 1 and tree.drops:
            return np.array([estimate.low, estimate.high])
        # The surroundings of one cell are of a class that planted settlements cover; those of a
        # larger region are not, so it also gets what clamp and threshold can have moved.
        if region.cells == 1:
            ends[1] = max(ends[1], estimate.count + lost)
            return ends
        moved = tilted * tilt(tree, grid, self.held, region.key, self.taken)
        ends += min(moved, 0.0), max(moved, 0.0)
        ends[1] = max(ends[1], estimate.count + lost)
        cells = RegionKeys.of([region.key])
        strong = strength(tree, cells, self.simulation.event.is_normal, DOUBT)
        domain = grid if self.simulation.method.skips_outside else None
        around = reach(tree, sums, cells, strong, domain)
        (out,), (into,) = around.moved
        ends += -DROPPED * into, DROPPED * out
        (inner,), (outer,) = around.approximations()
        return np.clip(ends, inner, outer)


def _require_simulated(release: BaseRelease) -> None:
    """Raise UsageError for a release whose method cannot be run on a stand-in."""
    central = isinstance(release.method, Mechanism)
    if not central or not isinstance(release.table.event, Measurement):
        raise UsageError(
            "Reports of devices are not simulated: leave out method='simulation'.",
            code="devices-not-simulated",
        )
    # A stand-in of one snapshot would need those of its neighbours.
    if release.postprocessing:
        raise UsageError(
            "Smoothed snapshots of a series are not simulated: leave out method='simulation', or "
            "publish the series with smooth='none'.",
            code="series-not-simulated",
        )


def _require_prior(release: BaseRelease, prior: Prior | Cells | None) -> Prior | None:
    """Return the prior on the release's grid; UsageError if it is not the one of the card."""
    stated = release.prior
    if stated is None:
        if prior is not None:
            raise UsageError(
                "This release was made without a prior: leave out prior= (--prior).",
                code="prior-not-used",
            )
        return None
    if prior is None:
        raise UsageError(
            "This release was made with a prior, whose cells its card does not have: give the same "
            f"public table or release with prior= (--prior): {stated.source}.",
            code="prior-not-given",
        )
    # Without any use of it the release is, bit for bit, the one without a prior.
    if not any(level.reliability for level in stated.levels):
        return None
    # The card's source, with which the operator vouched for it.
    known = prior if isinstance(prior, Prior) else Prior.of(release.grid, prior, stated.source)
    if (known.finest, RULES, known.grid) != (stated.finest, stated.version, release.grid):
        raise UsageError(
            "This is not the prior of the release: its cells have another size, or this version "
            "of geodp makes other use of a prior.",
            code="prior-differs",
        )
    return known
