"""Parts of a map's released counts, level by level: measured, predicted and apportioned.

Which levels are measured is decided in :mod:`geodp.mechanisms.parts.measuring`; tables are fitted
and rounded by :mod:`geodp.kernels.part_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.part_errors import difference
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels import part_tables as kernels
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
    compare_sizes,
    fit_line,
    learn_factor,
    scale,
    shift,
)
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import variance_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, blocks
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise, number_children

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
        return self.fit(levels, measured, self.measure_marginals(levels, measured))

    def fit(
        self,
        levels: list[PartNodes],
        measured: list[Measured],
        marginals: Sequence[MeasuredMarginal],
    ) -> PartCounts:
        """Apportion released counts of all levels by what was measured: cells, parts, counts."""
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
        measured = []
        for i, law in enumerate(self.schedule.laws(self.chain.event, some)):
            node = levels[0].prefix
            if i:
                node = number_children(levels[i - 1].prefix, self.schedule.fanouts[i - 1])
                node = node[overlaps(self.chain.grid, node, self.schedule.strides[i])]
            measured.append(self.measure_nodes(i, law, node))
        return measured

    def measure_nodes(self, i: int, law: Law, node: NDArray[np.uint64]) -> Measured:
        """Measure the parts of nodes of a level."""
        noisy = self.truth.tally(node, self.schedule.strides[i], self.parts)
        noisy += self.draw(i, law, node)
        spread = np.full(node.size, variance_of(law))
        return Measured(node, noisy.astype(np.float64), spread)

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
        marginals: Sequence[MeasuredMarginal],
    ) -> NDArray[np.float64] | None:
        """Estimate the parts of a level's open nodes; None if nothing was measured there."""
        (levels, i), (parent, _) = level, parents
        people = levels[i].count
        predicted = above[parent] * (people / levels[i - 1].count[parent])[:, None]
        wanted, goals = predicted, Goals()
        if i < len(measured):
            wanted = self.estimate(levels[i], predicted, measured[i], parent)
        for one in marginals:
            if i < len(one.measured):
                sums = one.marginal.add_up(predicted)
                goal = one.group.estimate(levels[i], sums, one.measured[i], parent)
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
        exact = np.cumsum(project_rows(shift(z, float(total), goals)[None], root.count)[0])
        uniform = float(self.seed(0, root.prefix)[0] >> np.uint64(11)) * 2.0**-53
        upto = np.clip(np.floor(exact + uniform).astype(np.int64), 0, total)
        upto[np.flatnonzero(np.diff(exact, prepend=0.0) > 0)[-1] :] = total
        return np.diff(upto, prepend=0)[None]

    def estimate(
        self,
        nodes: PartNodes,
        predicted: NDArray[np.float64],
        level: Measured,
        parent: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Estimate the parts of open nodes, between prediction and measurement: float64[n, parts].

        ``predicted``: by the shares of the areas above, whose positions are ``parent``.
        """
        people = nodes.count[:, None].astype(np.float64)
        if self.parts == 1:
            return people
        at = level.at(nodes.prefix)
        # Parts that add up to a known count have less noise, by one part in so many.
        noise = level.variance[at] * (self.parts - 1) / self.parts
        estimates = self._add_evenly(level.z[at], people)
        size = compare_sizes(people[:, 0], parent)
        for part in range(self.parts):
            before = predicted[:, part]
            differ = difference(people[:, 0], before / people[:, 0])
            # The line matters as far as measurements are not believed, and is fitted there.
            doubt = noise / (differ + noise)
            before = before + fit_line(size, estimates[:, part] - before, doubt**2)
            apart = estimates[:, part] - before
            differ = learn_factor(apart**2, noise, differ) * differ
            estimates[:, part] = before + differ / (differ + noise) * apart
        return project_rows(self._add_evenly(estimates, people), nodes.count)

    def _add_evenly(
        self, parts: NDArray[np.float64], people: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Add to all parts of a node alike, until they add up to its people."""
        # All have equal noise. Scaling would give nearly all of what is missing to the largest.
        return parts + (people - np.cumsum(parts, axis=1)[:, -1:]) / self.parts

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
        return np.asarray(self._draw_words(i, node)[0], np.uint64)

    def draw_uniform(self, i: int, node: NDArray[np.uint64], number: int) -> NDArray[np.float64]:
        """Draw up to eight random numbers in [0, 1) of each node: float64[number, n]."""
        words = self._draw_words(i, node)[:number]
        return np.asarray(words >> np.uint64(11), np.float64) * 2.0**-53

    def _draw_words(self, i: int, node: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Draw the digits that round below nodes on level i: uint64[8, n]."""
        # By address, like noise: chunks and threads do not affect the rounding.
        return blocks(self.chain.key, self.chain.step.rounding + i, self.number_vectors(node))


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


def project_rows(z: NDArray[np.float64], total: NDArray[np.int64]) -> NDArray[np.float64]:
    """Project each row on the non-negative numbers that add up to its total: float64[n, parts]."""
    order = np.sort(z, axis=1)[:, ::-1]
    shift = (np.cumsum(order, axis=1) - total[:, None]) / np.arange(1, z.shape[1] + 1)
    last = np.maximum((order > shift).sum(axis=1) - 1, 0)
    return np.asarray(np.maximum(z - np.take_along_axis(shift, last[:, None], 1), 0.0), np.float64)


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
