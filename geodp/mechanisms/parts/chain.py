"""Parts of a map's released counts, level by level: measured, predicted and apportioned.

Which levels are measured is decided in :mod:`geodp.mechanisms.parts.measuring`; tables are fitted
and rounded by :mod:`geodp.kernels.part_tables`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels import part_tables as kernels
from geodp.mechanisms.learned import Reliability, Residuals
from geodp.mechanisms.parts.measuring import (
    Goals,
    Marginal,
    Measured,
    PartCounts,
    PartNodes,
    Schedule,
    Shared,
    Step,
    TrueParts,
    scale,
    shift,
)
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import variance_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, blocks
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise, number_children

SURE = 4, 5
"""Smallest gain of predictions above the last measured level, as a fraction of the variance."""

ENTRIES = 1 << 18
"""Number of parts of children that are apportioned together."""


@dataclass(frozen=True, eq=False)
class PartsPass:
    """A step of apportioning a map to parts.

    Attributes
    ----------
    grid : Grid
        The map.
    schedule : Schedule
    event : Measurement
    key : NoiseKey
        The key of the parts.
    step : Step
    marginals : tuple of Marginal
        Marginals that are measured too, in the first step only.
    """

    grid: Grid
    schedule: Schedule
    event: Measurement
    key: NoiseKey
    step: Step
    marginals: tuple[Marginal, ...] = ()

    def run(self, truth: TrueParts, shared: Shared) -> Shared:
        """Apportion every group to its parts.

        Parameters
        ----------
        truth : TrueParts
            True counts by the parts of the last step.
        shared : Shared
            Released counts of the groups.
        """
        groups = [Group(self, i, truth.of_group(i, self.step)) for i in range(self.step.groups)]
        if len(groups) == 1:
            return Shared(*groups[0].run(shared.cell, shared.count))
        results = []
        for number, group in enumerate(groups):
            some = shared.part == number
            cell, part, count = group.run(shared.cell[some], shared.count[some])
            results.append((cell, part + number * self.step.parts, count))
        cell, part, count = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
        # Back to key order: the groups follow each other.
        order = np.lexsort((part, cell))
        return Shared(cell[order], part[order], count[order])


@dataclass(frozen=True, eq=False)
class Group:
    """A group of parts that add up to released counts.

    Attributes
    ----------
    chain : PartsPass
    number : int
    truth : TrueParts
        True counts of these parts.
    """

    chain: PartsPass
    number: int
    truth: TrueParts

    @property
    def parts(self) -> int:
        """Number of parts."""
        step = self.chain.step
        return step.last if self.number == step.groups - 1 else step.parts

    @property
    def schedule(self) -> Schedule:
        """All levels."""
        return self.chain.schedule

    def run(self, cell: NDArray[np.uint64], count: NDArray[np.int64]) -> PartCounts:
        """Apportion released counts of cells, in key order and above 0: cells, parts, counts."""
        levels = self.schedule.list_nodes(cell, count)
        some = self.schedule.count_levels(self.chain.event, self.parts, levels)
        if not some:  # the release is empty: three empty arrays
            return cell, count, count
        measured = self.measure(levels, some)
        self.combine(levels, measured)
        marginals = self.measure_marginals(levels, measured)
        goals = [(one.marginal, one.measured[0].z) for one in marginals]
        allotted = self.share_root(levels[0], measured[0].z[0], goals)
        results = [(levels[0].prefix, allotted)]
        for i in range(1, len(levels)):
            allotted = np.concatenate([part for _, part in results])
            parents = self.find_parents(levels, i)
            wanted = self.estimate_parts((levels, i), allotted, parents, measured, marginals)
            results = self.share((levels, i), allotted, parents[1], wanted)
        return _sparse(results)

    def measure(self, levels: list[PartNodes], some: int) -> list[Measured]:
        """Measure the parts of all children of open nodes, on the first levels."""
        levels_measured = []
        for i, law in enumerate(self.schedule.laws(self.chain.event, some)):
            stride = self.schedule.strides[i]
            node = levels[0].prefix
            if i:
                node = number_children(levels[i - 1].prefix, self.schedule.fanouts[i - 1])
                node = node[overlaps(self.chain.grid, node, stride)]
            noisy = self.truth.tally(node, stride, self.parts)
            noisy += self.draw(i, law, node)
            y = noisy.astype(np.float64)
            levels_measured.append(
                Measured(node, y, y.copy(), np.full(node.size, variance_of(law)), law)
            )
        return levels_measured

    def draw(self, i: int, law: Law, node: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Draw the noise of the parts of nodes of a level: int64[n, parts]."""
        step = self.chain.step
        noise = NodeNoise(self.chain.key, step.stream + i, law)
        drawn, _ = noise.families(self.number_vectors(node), step.parts)
        return drawn.reshape(-1, step.parts)[:, : self.parts]

    def number_vectors(self, node: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return numbers for the vectors of nodes, different in every group: uint64[n]."""
        # Groups of one step share a stream, so the number must contain the group: two vectors with
        # the same address would have the same noise.
        groups = np.uint64(self.chain.step.groups)
        return np.asarray(node * groups + np.uint64(self.number), np.uint64)

    def combine(self, levels: list[PartNodes], measured: list[Measured]) -> None:
        """Improve the estimates of open nodes by those of all of their children."""
        # Weights by inverse variances, from the last measured level up: Hay et al. (2010).
        for i in range(len(measured) - 2, -1, -1):
            above, below = measured[i], measured[i + 1]
            parent = below.node // np.uint64(self.schedule.fanouts[i])
            first = np.searchsorted(parent, levels[i].prefix)
            at = above.at(levels[i].prefix)
            spread = np.add.reduceat(below.variance, first)
            weight = spread / (spread + above.variance[at])
            sums = np.add.reduceat(below.z, first, axis=0)
            above.z[at] = weight[:, None] * above.z[at] + (1 - weight)[:, None] * sums
            above.variance[at] *= weight

    def measure_marginals(
        self, levels: list[PartNodes], measured: list[Measured]
    ) -> list[MeasuredMarginal]:
        """Measure marginals as if they were parts, and improve them by the measured parts."""
        result = []
        for marginal in self.chain.marginals:
            truth_parts = self.truth
            truth = TrueParts(truth_parts.cell, marginal.label[truth_parts.part], truth_parts.count)
            chain = replace(self.chain, step=marginal.step, marginals=())
            group = Group(chain, 0, truth)
            some = self.schedule.count_levels(self.chain.event, marginal.labels, levels)
            measured_levels = group.measure(levels, some)
            group.combine(levels, measured_levels)
            marginal.improve(measured_levels, measured)
            result.append(MeasuredMarginal(marginal, group, measured_levels))
        return result

    def estimate_parts(
        self,
        level: tuple[list[PartNodes], int],
        above: NDArray[np.int64],
        parents: tuple[NDArray[np.int64], NDArray[np.int64]],
        measured: list[Measured],
        marginals: list[MeasuredMarginal],
    ) -> NDArray[np.float64] | None:
        """Estimate the parts of a level's open nodes; None if nothing was measured there."""
        (levels, i), (parent, members) = level, parents
        people = levels[i].count
        predicted = above[parent] * (people / levels[i - 1].count[parent])[:, None]
        even = (above / members[:, None])[parent]
        wanted, goals = predicted, Goals()
        if i < len(measured):
            wanted = self.estimate(i, levels[i], (predicted, even), measured)
        for one in marginals:
            if i < len(one.measured):
                sums = one.marginal.add_up(predicted), one.marginal.add_up(even)
                goal = one.group.estimate(i, levels[i], sums, one.measured)
                goals.append((one.marginal, goal))
        if not goals:
            return wanted if i < len(measured) else None
        return scale(wanted, people, goals)

    def share_root(
        self, root: PartNodes, z: NDArray[np.float64], goals: Goals
    ) -> NDArray[np.int64]:
        """Apportion the total to parts, close to their estimates: int64[1, parts]."""
        # Projection on the simplex, then systematic rounding with one uniform number.
        total = int(root.count[0])
        exact = np.cumsum(project(shift(z, float(total), goals), float(total)))
        uniform = float(self.seed(0, root.prefix)[0] >> np.uint64(11)) * 2.0**-53
        upto = np.clip(np.floor(exact + uniform).astype(np.int64), 0, total)
        upto[np.flatnonzero(np.diff(exact, prepend=0.0) > 0)[-1] :] = total
        return np.diff(upto, prepend=0)[None]

    def estimate(
        self,
        i: int,
        nodes: PartNodes,
        expected: tuple[NDArray[np.float64], NDArray[np.float64]],
        measured: list[Measured],
    ) -> NDArray[np.float64]:
        """Estimate the parts of a level's open nodes, between prediction and measurement.

        ``expected``: predictions by the shares of the areas above, and equal shares.
        """
        level, (predicted, even) = measured[i], expected
        z, law = level.z[level.at(nodes.prefix)], level.law
        y = level.y[level.at(nodes.prefix)]
        sd = sqrt(variance_of(law))
        residuals = Residuals.of(y.reshape(-1), predicted.reshape(-1), even.reshape(-1), sd)
        learned = Reliability.learn(
            residuals,
            sd=sd,
            laplace=self.chain.event.rho is None,
            cells=self.schedule.strides[i] == 1,
        )
        # Predictions that explain nothing are ignored, and measurements are only clamped. Above the
        # last measured level, which is the noisiest, predictions must explain nearly all: they pull
        # towns towards the country around them, by little in each area and by much in their sum.
        is_last = i == len(measured) - 1
        if learned is None or not (is_last or learned.gains(SURE, residuals)):
            return np.maximum(z, 0.0)
        min_variance = float(level.variance.min())
        tables = (
            learned.tabulate(min_variance) if min_variance < variance_of(law) else learned.tables
        )
        estimates, _ = tables.apply(z.reshape(-1), predicted.reshape(-1))
        return estimates.reshape(z.shape)

    def find_parents(
        self, levels: list[PartNodes], i: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the position of every node's parent, and the number of nodes of each parent."""
        above = levels[i].prefix // np.uint64(self.schedule.fanouts[i - 1])
        parent = np.searchsorted(levels[i - 1].prefix, above)
        return parent, np.bincount(parent, minlength=levels[i - 1].prefix.size)

    def share(
        self,
        level: tuple[list[PartNodes], int],
        above: NDArray[np.int64],
        members: NDArray[np.int64],
        wanted: NDArray[np.float64] | None,
    ) -> list[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
        """Apportion the parts of open nodes to their open children on a level, chunk by chunk."""
        levels, i = level
        nodes, seed = levels[i], self.seed(i, levels[i - 1].prefix)
        ends = np.cumsum(members)
        runs = parallel.partition(members, -(-nodes.prefix.size * self.parts // ENTRIES))

        def work(run: slice) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
            rows = slice(ends[run.start] - members[run.start], ends[run.stop - 1])
            out = np.empty((rows.stop - rows.start, self.parts), np.int64)
            # Without measurements the kernel uses the node's shares.
            goal = np.empty((0, self.parts)) if wanted is None else wanted[rows]
            kernels.share_parts(goal, nodes.count[rows], members[run], above[run], seed[run], out)
            return nodes.prefix[rows], out

        return parallel.map_items(work, runs, 0)

    def seed(self, i: int, node: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Draw a random seed of each node, for the rounding below it on level i: uint64[n]."""
        # By address, like noise: chunks and threads do not affect the rounding.
        stream = self.chain.step.rounding + i
        words = blocks(self.chain.key, stream, self.number_vectors(node))
        return np.asarray(words[0], np.uint64)


@dataclass(frozen=True, eq=False)
class MeasuredMarginal:
    """A marginal of a group, and its measurements.

    Attributes
    ----------
    marginal : Marginal
    group : Group
        The marginal, treated as parts.
    measured : list of Measured
    """

    marginal: Marginal
    group: Group
    measured: list[Measured]


def project(z: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Project on the non-negative numbers that add up to a total above 0: float64[n]."""
    order = np.sort(z)[::-1]
    shift = (np.cumsum(order) - total) / np.arange(1, z.size + 1)
    last = np.flatnonzero(order > shift)[-1]
    return np.asarray(np.maximum(z - shift[last], 0.0), np.float64)


def _sparse(tables: list[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> PartCounts:
    """List cells, parts and counts above 0 of tables of cells times parts."""
    sizes = [int(np.count_nonzero(table)) for _, table in tables]
    cells = np.empty(sum(sizes), np.uint64)
    parts, counts = np.empty(cells.size, np.int64), np.empty(cells.size, np.int64)
    stop = 0
    for (cell, table), size in zip(tables, sizes, strict=True):
        here = slice(stop, stop := stop + size)
        kernels.list_some(table, cell, (cells[here], parts[here], counts[here]))
    return cells, parts, counts
